"""The part of a log about one row: none of a correct log is a violation, and a wrong value in a long log is found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.serial import Line, serial, written
from sql_semantics.errors import SqlSemanticsError
from tests.case_files import Case, all_cases, opened
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.facts.rows.one_row import about_one_row
from troubadour.formats import read_log
from troubadour.model.log import Log, LogError
from troubadour.model.verdict import Status

RIGHT = [
    (case, expected.level)
    for case in all_cases()
    for expected in case.expectations
    if expected.verdict == "correct" and not expected.order_recorded
]
EACH = 10
"""Parts of each log, at most."""


def parts(case: Case, level: str | None, folder: Path) -> Iterator[tuple[str, Log]]:
    """The parts about the first rows that are named, each with the statement that names it."""
    try:
        log, library = opened(case.log(folder), level)
    except (LogError, SqlSemanticsError):
        return
    for place, one in enumerate(log.transactions[: 20 * EACH]):
        for statement in range(len(one.statements)):
            part = None if one.status == "aborted" else about_one_row(log, library, level, place, statement)
            if part is not None:
                yield f"{one.id!r}, statement {statement}", part.log


@pytest.mark.parametrize(
    ("step", "each", "least"), [(7, 1, 5), pytest.param(1, EACH, 150, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_no_part_of_a_correct_log_is_a_violation(
    step: int, each: int, least: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cases")
    made = 0
    for case, level in RIGHT[::step]:
        own = None if level == "own" else level
        for name, part in islice(parts(case, own, folder), each):
            made += 1
            verdict = audit(part, library_of(part), Options(own, effort=5.0))
            assert verdict.status is not Status.VIOLATION, f"{case.name} at {level}, {name}: {verdict.explanation}"
    assert made >= least, made


LATE = [
    ("postgres", "postgres:repeatable-read", "SET LOCAL work_mem = '4MB'", None),
    ("postgres", "strict-snapshot", "LOCK TABLE u", None),
    ("duckdb", "duckdb", "SELECT 1", None),
    ("mysql", "strict-snapshot", "UPDATE u SET v = 3 WHERE k = 1", None),
    ("postgres", "postgres:repeatable-read", "SAVEPOINT s", "SELECT v FROM u WHERE k = 1"),
    ("postgres", "strict-snapshot", "SET LOCAL work_mem = '4MB'", "SELECT v FROM u WHERE k = 1"),
]


def changed_between(dialect: str, first: str, second: str | None, seen: int) -> Iterator[Line]:
    """A row is changed between what a transaction does elsewhere and its read of the row."""
    tables = ("t", [[1, 5], [2, 6]]), ("u", [[1, 1]])
    schema = [f"CREATE TABLE {name} (k INT PRIMARY KEY, v INT)" for name, _ in tables]
    initial = {name: {"columns": ["k", "v"], "rows": rows} for name, rows in tables}
    yield {"format": "troubadour-log", "version": 1, "dialect": dialect, "schema": schema, "initial": initial}
    asked: list[Line] = [{"sql": first, "invoked": 20, "returned": 21}]
    if second is not None:
        asked.append({"sql": second, "invoked": 22, "returned": 23})
    result = {"columns": ["v"], "rows": [[seen]]}
    asked.append({"sql": "SELECT v FROM t WHERE k = 1", "invoked": 40, "returned": 41, "result": result})
    for name, statements, begun, over in (
        ("elsewhere", [{"sql": "UPDATE t SET v = 8 WHERE k = 2"}], 1, 2),
        ("writer", [{"sql": "UPDATE t SET v = 9 WHERE k = 1"}], 30, 35),
        ("reader", asked, 19, 50),
    ):
        yield {"id": name, "status": "committed", "statements": statements, "invoked": begun, "returned": over}


@pytest.mark.parametrize(("dialect", "level", "first", "second"), LATE)
def test_a_part_takes_its_snapshots_when_the_log_does(
    dialect: str, level: str, first: str, second: str | None, tmp_path: Path
) -> None:
    """The read shows the change where nothing before it takes a snapshot, and not where something does."""
    verdicts = {}
    for seen in (5, 9):
        log = read_log([written(tmp_path / f"{seen}.jsonl", changed_between(dialect, first, second, seen))])
        log, library = opened(log, level)
        (place,) = [place for place, one in enumerate(log.transactions) if one.id == "reader"]
        part = about_one_row(log, library, level, place, len(log.transactions[place].statements) - 1)
        assert part is not None and [one.id for one in part.log.transactions] == ["writer", "reader"]
        verdicts[seen] = [audit(each, library, Options(level)).status for each in (log, part.log)]
    right, other = (9, 5) if second is None else (5, 9)
    assert verdicts[right] == [Status.CORRECT] * 2
    if second is not None:
        assert verdicts[other] == [Status.VIOLATION] * 2


@pytest.mark.parametrize("level", ["serializable", "snapshot", "strict-serializable"])
def test_one_wrong_value_in_a_long_serial_log_is_named(level: str, tmp_path: Path) -> None:
    count, wrong = 2_000, 1_400
    log = read_log([written(tmp_path / "log.jsonl", serial(count, 1, wrong=wrong))])
    verdict = audit(log, library_of(log), Options(level))
    assert (verdict.status, verdict.failing_transaction) == (Status.VIOLATION, f"t{wrong}"), verdict.reason
    assert verdict.verified_prefix == wrong
    assert "left balance=" in (verdict.explanation or "")


@pytest.mark.parametrize(
    ("accounts", "count", "seed", "wrong", "says"),
    [
        (20, 4_000, 2, 1_714, "observed 169, expected 162, where 't1708' was the last one to write accounts(id=9)"),
        pytest.param(50, 20_000, 0, 2_857, "was the last one to write accounts(id=45)", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_value_that_the_row_had_at_other_times_is_named(
    accounts: int, count: int, seed: int, wrong: int, says: str, tmp_path: Path
) -> None:
    log = read_log([written(tmp_path / "log.jsonl", serial(count, seed, wrong=wrong, accounts=accounts))])
    verdict = audit(log, library_of(log), Options("serializable"))
    assert (verdict.status, verdict.failing_transaction) == (Status.VIOLATION, f"t{wrong}"), verdict.reason
    assert says in (verdict.explanation or "")
