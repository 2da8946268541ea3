"""Versions of a row that do not add up exclude every order; of right logs they do, at each level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.serial import header, serial, written
from sql_semantics.run import Arguments
from sql_semantics.view import Row
from tests.case_files import opened
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.rows.local import Effect, Part, Untold, effect_of
from troubadour.formats import read_log
from troubadour.model.verdict import Scope, Status
from troubadour.order.rows.balance import Unbalanced
from troubadour.order.rows.propagation import RowConflict, Rows
from troubadour.problem.problem import Problem

READ, SET = "SELECT n FROM c WHERE id = 1", "UPDATE c SET n = {} WHERE id = 1"
LEVELS = ("serializable", "strict-serializable", "postgres:repeatable-read")


def read(value: int) -> dict[str, Any]:
    return {"sql": READ, "result": {"columns": ["n"], "rows": [[value]]}}


def update(value: int, affected: int | None = 1) -> dict[str, Any]:
    return {"sql": SET.format(value), "affected": affected}


def imbalance(folder: Path, level: str, *transactions: list[dict[str, Any]], unknown: int = 0) -> Unbalanced | None:
    """What does not add up of a row that is 0 at first; the last `unknown` transactions are of unknown outcome."""
    lines = [header("CREATE TABLE c (id INT PRIMARY KEY, n INT)", [[1, 0]], "c")]
    for number, statements in enumerate(transactions):
        status = "unknown" if number >= len(transactions) - unknown else "committed"
        lines.append({"id": number, "status": status, "statements": statements})
    log, library = opened(read_log([written(folder / "log.jsonl", iter(lines))]), level)
    found = Rows(Problem(log, library, known_rows(log, library), isolation=level)).imbalance()
    return None if found is None else found.unbalanced


@pytest.mark.parametrize("level", LEVELS)
def test_a_version_that_two_change_was_left_twice(level: str, tmp_path: Path) -> None:
    lost = imbalance(tmp_path, level, [read(0), update(5)], [read(5), update(7)], [read(5), update(7)])
    assert lost is not None
    assert (lost.version, lost.changed, lost.came) == ((1, 5), (1, 2), 1)
    again = [read(7), update(5)]
    assert imbalance(tmp_path, level, [read(0), update(5)], [read(5), update(7)], [read(5), update(7)], again) is None


@pytest.mark.parametrize("level", LEVELS)
def test_one_version_is_the_last(level: str, tmp_path: Path) -> None:
    both = imbalance(tmp_path, level, [read(0), update(5)], [update(9)], [read(9), update(6)], [read(6), update(8)])
    assert both is None, "what the blind one changed is not told"
    both = imbalance(tmp_path, level, [read(0), update(5)], [read(7), update(9)], [read(8), update(7)], [update(8)])
    assert both is None
    twice = imbalance(tmp_path, level, [read(0), update(5)], [read(5), update(7)], [read(5), update(8)], [read(7)])
    assert twice is not None


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_not_certain_may_have_left_it(level: str, tmp_path: Path) -> None:
    transactions = [read(0), update(5)], [read(5), update(7)], [read(5), update(7)]
    blind = [update(5)]
    assert imbalance(tmp_path, level, *transactions, blind) is None
    assert imbalance(tmp_path, level, *transactions, blind, unknown=1) is None
    unfollowed = {"sql": "UPDATE c SET n = (SELECT max(n) FROM c AS d) + 1", "affected": 1}
    assert imbalance(tmp_path, level, *transactions, [unfollowed]) is None
    otherwise = [read(7), update(6)]
    assert imbalance(tmp_path, level, *transactions, otherwise, unknown=1) is not None


@pytest.mark.parametrize("level", ["postgres:read-committed", "mysql:read-committed"])
def test_what_is_excluded_for_one_writer_is_not_for_another(level: str, tmp_path: Path) -> None:
    """Two send the same and are answered alike, but by what they met the one changed one row, the other another."""
    both = {"sql": "UPDATE c SET n = 1 WHERE id BETWEEN 1 AND 2 AND n = 0", "affected": 1}
    back = {"sql": "UPDATE c SET n = 0 WHERE id = 2", "affected": 1}
    first = header("CREATE TABLE c (id INT PRIMARY KEY, n INT)", [[1, 0], [2, 1]], "c")
    lines = [{**first, "dialect": level.partition(":")[0]}]
    for number, statement in enumerate((both, back, both)):
        times = {"invoked": 10 * number, "returned": 10 * number + 5}
        lines.append({"id": number, "status": "committed", "statements": [statement], **times})
    log, library = opened(read_log([written(tmp_path / "log.jsonl", iter(lines))]), level)
    derived = Rows(Problem(log, library, known_rows(log, library), isolation=level)).derive()
    assert derived is not None and derived.conflict is None


def derived(folder: Path, level: str, head: dict[str, Any], *transactions: list[dict[str, Any]]) -> RowConflict | None:
    """Why transactions that ran one after another have no order, if anything tells so."""
    lines, clock = [head], 0
    for number, statements in enumerate(transactions):
        first = clock
        timed = [one | {"invoked": first + 2 * n, "returned": first + 2 * n + 1} for n, one in enumerate(statements)]
        clock += 2 * len(statements) + 2
        lines.append(
            {"id": number, "session": f"s{number}", "status": "committed", "statements": timed, "invoked": first}
            | {"returned": clock - 1, "end": {"invoked": clock - 2, "returned": clock - 1}}
        )
    log, library = opened(read_log([written(folder / "log.jsonl", iter(lines))]), level)
    found = Rows(Problem(log, library, known_rows(log, library), isolation=level)).derive()
    assert found is not None
    return found.conflict


@pytest.mark.parametrize(
    ("dialect", "type_", "text", "first", "second"),
    [
        ("postgres", "NUMERIC", "n::text", ("1.0", "1.0"), ("1.00", "1.00")),
        ("postgres", "FLOAT8", "n::text", ("0", "0"), ("'-0'::float8", "-0")),
        ("postgres", "JSONB", "n::text", ("'1'", "1"), ("'1.0'", "1.0")),
        ("sqlite", "", "typeof(n)", ("1", "integer"), ("1.0", "real")),
    ],
)
def test_equal_values_may_be_read_otherwise(
    dialect: str, type_: str, text: str, first: tuple[str, str], second: tuple[str, str], tmp_path: Path
) -> None:
    head = header(f"CREATE TABLE c (id INTEGER PRIMARY KEY, n {type_}, t TEXT)", [[1, 7, "-"]], "c")

    def shown(value: str) -> dict[str, Any]:
        return {"sql": "SELECT t FROM c WHERE id = 1", "result": {"columns": ["t"], "rows": [[value]]}}

    def changed(what: str) -> dict[str, Any]:
        return {"sql": f"UPDATE c SET {what} WHERE id = 1", "affected": 1}

    said = changed(f"t = {text}")
    assert (
        derived(tmp_path, "serializable", head | {"dialect": dialect}, [shown("-"), changed(f"n = {first[0]}")], [said],
                [shown(first[1]), changed(f"n = {second[0]}, t = '-'")], [said], [shown(second[1])])
        is None
    )  # fmt: skip


def test_a_replaced_row_that_others_refer_to_is_counted_twice(tmp_path: Path) -> None:
    head = header("CREATE TABLE c (id INT PRIMARY KEY, n INT)", [[1, 0]], "c") | {"dialect": "mysql"}
    head["schema"].append("CREATE TABLE d (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id))")
    replaced = {"sql": "REPLACE INTO c VALUES (1, 0)", "affected": 2}
    assert derived(tmp_path, "mysql:serializable", head, [replaced], [read(0)]) is None


def test_increments_are_not_followed_for_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of increments that were told nothing a row may have come to any number."""
    asked: list[object] = []

    def counted(part: Part, arguments: Arguments, row: Row | None) -> Effect | Untold:
        asked.append(row)
        return effect_of(part, arguments, row)

    monkeypatch.setattr("troubadour.facts.rows.programs.effect_of", counted)
    added = [[{"sql": "UPDATE c SET n = n + $1 WHERE id = 1", "params": [n], "affected": 1}] for n in (1, 2, 3, 4)]
    assert imbalance(tmp_path, "serializable", *added) is None
    assert len(asked) < 200


@pytest.mark.parametrize(("wrong", "status"), [(1_800, Status.VIOLATION), (None, Status.CORRECT)])
def test_a_row_of_many_versions(wrong: int | None, status: Status, tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", serial(3_600, 1, wrong=wrong, accounts=6))
    log, library = opened(read_log([path]), "serializable")
    verdict = audit(log, library, Options("serializable", timeout=120.0))
    assert verdict.status is status, verdict.reason
    if wrong is not None:
        assert verdict.scope is Scope.EVERY_ORDER
        assert verdict.explanation is not None
        assert "changed it from" in verdict.explanation
