"""Logs whose times are wrong are explained along an order that has all that the engine knows, aborted transactions and
values that the DBMS chose included. Does not know how that order is completed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.histories.generate import Shape, generate
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.model.log import InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.problem.budget import Tally
from troubadour.problem.problem import Problem
from troubadour.search import scheduler
from troubadour.search.found import Found
from troubadour.search.scheduler import Search

LEVELS = pytest.mark.parametrize("level", ["serializable", "snapshot", "postgres:repeatable-read"])


def mistimed(path: Path, seed: int, more: tuple[Transaction, ...] = ()) -> Log:
    """A serial history, shuffled, whose commit times say that it ran as the file stands."""
    generate(Shape(60, 6, operations=4), seed).write(path)
    log = read_log([path])
    shuffled = (*more, *log.transactions)
    timed = (msgspec.structs.replace(one, place=n, commit=10 * (n + 1)) for n, one in enumerate(shuffled))
    return Log(log.header, tuple(timed), "")


def searched(log: Log, level: str) -> tuple[Problem, Found, Tally | None]:
    """What a search of the log comes to, and what following the engine's order did of it."""
    library = library_of(log)
    problem = Problem(log, library, known_rows(log, library), isolation=level)
    found = Search(problem).run()
    return problem, found, next((one for one in problem.budget.tallies() if one.name == "engine's order"), None)


@LEVELS
@pytest.mark.parametrize("seed", range(2))
def test_times_that_are_wrong_leave_the_order_to_what_was_read(level: str, seed: int, tmp_path: Path) -> None:
    log = mistimed(tmp_path / "log.jsonl", seed)
    problem, found, order = searched(log, level)
    assert found.is_explained
    assert order is not None
    assert order.helped == 1
    assert sorted(placement.item for placement in found.trace.placements) == list(problem.judged)
    assert audit(log, library_of(log), Options(isolation=level)).status is Status.CORRECT


def test_an_aborted_transaction_that_is_judged_has_its_place_in_that_order(tmp_path: Path) -> None:
    log = mistimed(tmp_path / "log.jsonl", 0)
    one = next(one for one in log.transactions if any(statement.results for statement in one.statements))
    aborted = msgspec.structs.replace(one, id="aborted", status="aborted", statements=one.statements[:1])
    _, found, order = searched(mistimed(tmp_path / "log.jsonl", 0, (aborted,)), "postgres:repeatable-read")
    assert found.is_explained
    assert order is not None
    assert order.helped == 1
    problem = found.trace.problem
    assert "aborted" in {problem.transaction(placement.item).id for placement in found.trace.placements}


@pytest.mark.parametrize("read", [None, 0.25])
def test_values_that_the_dbms_chose_are_guessed_along_that_order_too(read: float | None, tmp_path: Path) -> None:
    """One is never told, or only by a transaction that comes before it in the file."""
    drawn = Statement("INSERT INTO drawn VALUES (1, random())", affected=1)
    more = (Transaction("writer", "committed", (drawn,), 0),)
    if read is not None:
        seen = Statement("SELECT x FROM drawn WHERE id = 1", results=(ObservedRows(("x",), ((read,),)),))
        more = (Transaction("reader", "committed", (seen,), 0), *more)
    log = mistimed(tmp_path / "log.jsonl", 0, more)
    table = "CREATE TABLE drawn (id INT PRIMARY KEY, x DOUBLE PRECISION)"
    header = msgspec.structs.replace(log.header, schema=(*log.header.schema, table))
    log = Log(header, log.transactions, "")
    _, found, order = searched(log, "serializable")
    assert found.is_explained
    assert order is not None
    assert order.helped == 1
    assert audit(log, library_of(log), Options(isolation="serializable")).status is Status.CORRECT


def stale(path: Path, seed: int) -> Log:
    """A transaction that missed one which was over before it began, and many whose times are wrong."""
    generate(Shape(80, 6, operations=4), seed).write(path)
    log = read_log([path])
    (table,) = log.header.initial
    assert isinstance(table, InitialTable)
    header = msgspec.structs.replace(
        log.header, initial=(msgspec.structs.replace(table, rows=(*table.rows, (100, 0))),)
    )
    written = Statement("UPDATE kv SET v = 999 WHERE k = 100", affected=1)
    missed = Statement("SELECT v FROM kv WHERE k = 100", results=(ObservedRows(("v",), ((0,),)),))
    first, *rest = log.transactions
    over = Transaction("over", "committed", (written,), 0, invoked=0, returned=10)
    begun = msgspec.structs.replace(first, invoked=20, returned=30, statements=(missed, *first.statements))
    timed = (msgspec.structs.replace(one, place=n, commit=10 * (n + 1)) for n, one in enumerate((over, begun, *rest)))
    return Log(header, tuple(timed), "")


@pytest.mark.parametrize("seconds", [0.005, 30.0])
def test_an_order_that_takes_too_long_leaves_the_levels_as_they_were(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is followed all may be held to a server's rules, under which a stale read cannot be."""
    monkeypatch.setattr(scheduler, "KNOWN_SECONDS", seconds)
    log = stale(tmp_path / "log.jsonl", 0)
    problem, found, _ = searched(log, "snapshot")
    library = library_of(log)
    untouched = Problem(log, library, known_rows(log, library), isolation="snapshot")
    assert problem.levels == untouched.levels
    assert found.is_explained or seconds < 1
    assert audit(log, library_of(log), Options(isolation="snapshot")).status is not Status.VIOLATION
