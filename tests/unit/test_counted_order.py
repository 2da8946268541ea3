"""Logs without times, in a random order of the file, whose order is told by totals: what is right is explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.serial import Line, header, shuffled_counts, shuffled_rows, written
from tests.case_files import opened
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.sql.totals import Total, Totals
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.order.counted_order import ordered_by_counts
from troubadour.order.engine import certain_of
from troubadour.problem.problem import Problem


def audited(folder: Path, lines: Iterator[Line]) -> Verdict:
    log, library = opened(read_log([written(folder / "log.jsonl", lines)]), "serializable")
    return audit(log, library, Options("serializable", timeout=120.0))


@pytest.mark.parametrize("make", [shuffled_counts, shuffled_rows])
@pytest.mark.parametrize(
    ("count", "seed"), [(60, 3), *(pytest.param(600, seed, marks=pytest.mark.slow) for seed in range(5))]
)
def test_what_is_right_is_explained(make: Callable[..., Iterator[Line]], count: int, seed: int, tmp_path: Path) -> None:
    verdict = audited(tmp_path, make(count, seed))
    assert verdict.status is Status.CORRECT, verdict.reason


@pytest.mark.parametrize("make", [shuffled_counts, shuffled_rows])
def test_what_is_wrong_is_not_explained(make: Callable[..., Iterator[Line]], tmp_path: Path) -> None:
    assert audited(tmp_path, make(9, 1, wrong=True)).status is Status.VIOLATION


SUM, COUNT = "SELECT SUM(n) FROM c", "SELECT COUNT(*) FROM c"


def asked(sql: str, value: int | None) -> dict[str, Any]:
    return {"sql": sql, "result": {"columns": ["v"], "rows": [[value]]}}


def totals(folder: Path, *statements: dict[str, Any]) -> tuple[list[tuple[Total, int]], Totals, Problem]:
    lines = [header("CREATE TABLE c (id INT PRIMARY KEY, n INT)", [[1, 4], [2, 5]], "c")]
    lines.append({"id": 1, "status": "committed", "statements": list(statements)})
    log, library = opened(read_log([written(folder / "log.jsonl", iter(lines))]), "serializable")
    problem = Problem(log, library, known_rows(log, library), isolation="serializable")
    made = Totals(problem, accounts_for(problem, problem.levels[0]))
    return list(made.told(0)), made, problem


def test_what_a_transaction_wrote_before_is_no_part_of_a_total(tmp_path: Path) -> None:
    insert = {"sql": "INSERT INTO c VALUES (7, 10)", "affected": 1}
    add = {"sql": "UPDATE c SET n = n + 3 WHERE id = 1", "affected": 1}
    told, made, problem = totals(tmp_path, asked(SUM, 9), insert, add, asked(SUM, 22), asked(COUNT, 3))
    rows, total = Total("c", None), Total("c", 1)
    assert told == [(total, 9), (total, 9), (rows, 2)]
    assert [made.initial(one) for one in (rows, total)] == [2, 9]
    account = accounts_for(problem, problem.levels[0]).of(0)
    assert [made.added(one, account) for one in (rows, total)] == [1, 13]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(n) FROM c WHERE id = 1",
        "SELECT SUM(DISTINCT n) FROM c",
        "SELECT COUNT(n) FROM c",
        "SELECT COUNT(*) FROM c GROUP BY n",
        "SELECT SUM(n) FILTER (WHERE n > 4) FROM c",
        "SELECT SUM(n) + 1 FROM c",
        "SELECT COUNT(*) FROM c AS one, c AS other",
    ],
)
def test_other_questions_are_no_totals(sql: str, tmp_path: Path) -> None:
    told, _, _ = totals(tmp_path, asked(sql, 4))
    assert told == []


def test_what_is_written_blindly_is_not_known(tmp_path: Path) -> None:
    written_blindly = {"sql": "UPDATE c SET n = 8 WHERE id = 1", "affected": 1}
    told, _, _ = totals(tmp_path, written_blindly, asked(SUM, 13))
    assert told == []


def test_no_totals_no_order(tmp_path: Path) -> None:
    _, _, problem = totals(tmp_path, {"sql": "UPDATE c SET n = n + 3 WHERE id = 1", "affected": 1})
    accounts = accounts_for(problem, problem.levels[0])
    known = certain_of(problem, None, accounts).known
    assert known is not None
    assert ordered_by_counts(problem, known, accounts) is None
