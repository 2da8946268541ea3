"""A row seen as it never was: the core, and the few of it that people are shown.

On small logs of `benchmarks.search.ambiguity`. Replay knows nothing of how an execution was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import pytest

from benchmarks.search.ambiguity import FAMILIES, ambiguous_log
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.audit.violation import NOT_MINIMAL
from troubadour.execution.initial.rows import known_rows
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.problem.problem import Problem
from troubadour.proof.cores.seen_row import clash_of, explained_but_for
from troubadour.search.inference.values.reachable_numbers import numbers_of_all
from troubadour.search.inference.values.unreachable_rows import RowsByKey, Unreachable

SIZES = {"copies": 60, "skewed": 100, "two-rows": 60}


def library_for(log: Log) -> SqlLibrary:
    return SqlLibrary(Dialect("postgres", collation="C"), log.header.schema)


def wrong_log(family: str, seed: int = 1) -> tuple[Problem, Unreachable]:
    log = ambiguous_log(family, SIZES[family], seed, wrong=True)
    library = library_for(log)
    problem = Problem(log, library, known_rows(log, library), isolation=None)
    numbers = numbers_of_all(problem)
    assert numbers is not None
    rows = RowsByKey(numbers)
    shown = next(found for item in problem.committed if (found := rows.unreachable(problem, item)) is not None)
    return problem, shown


@pytest.mark.parametrize("family", FAMILIES)
def test_the_clash_names_the_reader_and_the_last_writers_of_the_row(family: str) -> None:
    problem, shown = wrong_log(family)
    explained = explained_but_for(problem, shown)
    assert explained is not None
    clash = clash_of(explained, problem.transaction(shown.item), shown)
    assert clash is not None and clash.transactions == (problem.transaction(shown.item).id,)
    assert len(clash.writers) <= 9
    touched = [
        one for one in problem.log.transactions if one.id in clash.writers
        if str(shown.table) in one.statements[0].sql
    ]  # fmt: skip
    assert len(touched) == len(clash.writers) > 0


@pytest.mark.parametrize("family", ["copies", "two-rows"])
def test_a_core_that_is_not_shown_minimal_says_so(family: str) -> None:
    problem, _ = wrong_log(family)
    verdict = audit(problem.log, problem.library, Options())
    assert verdict.status is Status.VIOLATION and verdict.notes == (NOT_MINIMAL,)
    # each row of the archive has one version: two readers that saw it differently are enough
    assert verdict.core is not None and (len(verdict.core) == 2) == (family == "copies")
    assert (verdict.clash is None) == (family == "copies")


@pytest.mark.parametrize("written", [3, 7])
def test_two_who_saw_a_row_of_one_version_differently_contradict_each_other(written: int) -> None:
    """Whatever the only writer wrote there, for the oracle one of them alone is explained by some of it, not both."""
    header = Header(
        "postgres", ("CREATE TABLE n (id INT PRIMARY KEY, v INT NOT NULL)",), isolation="snapshot",
        initial=(InitialTable("n", None, []),),
    )  # fmt: skip
    write = Transaction("w", "committed", (Statement("INSERT INTO n VALUES (1, $1)", (written,)),), 0)
    readers = [
        Transaction(f"r{value}", "committed", (Statement(
            "SELECT id, v FROM n ORDER BY id", results=(ObservedRows(("id", "v"), ((1, value),)),)
        ),), value)
        for value in (3, 7)
    ]  # fmt: skip
    both, one = Log(header, [write, *readers], "both"), Log(header, [write, readers[written // 5]], "one")
    assert explain(both, library_for(both), "snapshot").failing is not None
    assert explain(one, library_for(one), "snapshot").failing is None


WRITERS = 4


def counted(free: tuple[int, ...]) -> Log:
    """Some count a row up and a reader sees a number below all; those that are free write that number."""
    header = Header(
        "postgres", ("CREATE TABLE n (id INT PRIMARY KEY, v INT NOT NULL)",), isolation="read-committed",
        initial=(InitialTable("n", None, [(1, 0)]),),
    )  # fmt: skip
    transactions = [
        Transaction(
            n,
            "committed",
            (Statement("UPDATE n SET v = $1" if n in free else "UPDATE n SET v = v + $1", (-7 if n in free else 1,)),),
            n,
        )
        for n in range(WRITERS)
    ]
    seen = Statement("SELECT id, v FROM n ORDER BY id", results=(ObservedRows(("id", "v"), ((1, -7),)),))
    return Log(header, [*transactions, Transaction("reader", "committed", (seen,), WRITERS)], "counted")


def subsets() -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(WRITERS), size) for size in range(WRITERS + 1))


def test_no_core_is_smaller_than_all_writers_of_the_row() -> None:
    """A transaction that is left out may have written what was seen: for the oracle only all of them contradict."""
    for free in subsets():
        log = counted(free)
        assert (explain(log, library_for(log), "read-committed").failing is None) == bool(free)
