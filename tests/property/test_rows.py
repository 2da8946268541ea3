"""What is derived of rows is so: nothing is derived of a log, or of a prefix, that the oracle explains, and what is
derived of the order holds in the oracle's witness.

Logs of random statements, writes with constraints, and servers that commit late, at every level at which rows are
followed. Does not know how a verdict is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from tests.property import inserted_groups, two_keys
from tests.property import test_profiles_agreement as profiles
from tests.property import test_writes_agreement as writes
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.cli.common import library_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, OracleAnswer, explain
from troubadour.order.rows.propagation import Derived, Rows
from troubadour.problem.problem import Problem

Maker = Callable[[int, str], tuple[Log, SqlLibrary] | None]

GENERAL = ("snapshot", "strict-snapshot", "serializable", "session-serializable", "strict-serializable")
PROFILES = tuple(name for name, level in LEVELS.items() if level.dialect is not None and name != "duckdb")


def _random(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    dialect = LEVELS[level].dialect
    if dialect is None:
        return random_log(seed), library()
    log = profiles.log_of(seed, dialect)
    return None if log is None else (log, profiles.library(dialect))


def _writing(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    return None if LEVELS[level].dialect not in (None, "postgres") else (writes.random_log(seed), writes.library())


def _wider(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    return None if LEVELS[level].dialect is not None else (random_log(seed, wider=True), library())


def _two_keys(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    dialect = LEVELS[level].dialect or ("mysql", "postgres")[seed % 2]
    return (two_keys.random_log(seed, dialect), two_keys.library(dialect)) if dialect in two_keys.UPSERTS else None


def _subqueries(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    dialect = LEVELS[level].dialect or ("mysql", "postgres")[seed % 2]
    if dialect not in two_keys.UPSERTS:
        return None
    return two_keys.random_log(seed, dialect, subqueries=True), two_keys.library(dialect)


def _groups(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    dialect = LEVELS[level].dialect or ("mysql", "postgres")[seed % 2]
    if dialect not in two_keys.UPSERTS:
        return None
    return inserted_groups.random_log(seed, dialect), inserted_groups.library(dialect)


MAKERS: dict[str, Maker] = {"statements": _random, "writes": _writing, "wider": _wider}
MAKERS |= {"two keys": _two_keys, "subqueries": _subqueries, "groups": _groups}


def faults(log: Log, compiled: SqlLibrary, level: str) -> tuple[str | None, str]:
    """What is wrong with what is derived, and what came of it; raises BudgetExceeded, Unsupported."""
    problem = Problem(log, compiled, known_rows(log, compiled), isolation=level, unknown=unknown_tables(log, compiled))
    rows = Rows(problem)
    derived = rows.derive() if problem.committed else None
    if derived is None:
        return None, "nothing told"
    answer = explain(log, compiled, level, budget=60_000)
    if answer.status is Status.UNDECIDED:
        return None, "not decided"
    if derived.conflict is not None and answer.status is Status.CORRECT:
        return f"refuted: {derived.conflict}", "refuted"
    if answer.verified_prefix:
        prefix = rows.derive(answer.verified_prefix)
        if prefix is not None and prefix.conflict is not None:
            return f"refuted of {answer.verified_prefix}: {prefix.conflict}", "refuted"
    if derived.conflict is not None:
        return None, "refuted"
    if answer.status is Status.VIOLATION:
        return None, "missed"
    return against_witness(problem, derived, answer), "held"


def against_witness(problem: Problem, derived: Derived, answer: OracleAnswer) -> str | None:
    """Two commits that the witness has the other way round."""
    assert answer.witness is not None
    events = derived.events
    items = map(problem.index_of, answer.witness.order)
    order = [events.commit[item] for item in items if item in events.commit]
    for place, later in enumerate(order):
        for earlier in order[:place]:
            if events.graph.precedes(later, earlier):
                names = events.names[later], events.names[earlier]
                return f"{names}, and the witness has {answer.witness.order}"
    return None


def compare(maker: Maker, level: str, seeds: range) -> Counter[str]:
    told: Counter[str] = Counter()
    for seed in seeds:
        made = maker(seed, level)
        if made is None:
            continue
        try:
            fault, came = faults(*made, level)
        except (BudgetExceeded, Unsupported):
            continue
        told[came] += 1
        if fault is not None:
            pytest.fail(f"seed {seed} at {level}: {fault}\n{write(made[0])}")
    return told


@pytest.mark.parametrize("level", [*GENERAL, *PROFILES])
@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_derived_of_rows_is_so(maker: str, level: str) -> None:
    compare(MAKERS[maker], level, range(6))


CONTENDED = Path(__file__).parents[2] / "logs" / "contended"


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("postgres-read-committed-profile-0", "postgres:read-committed"),
        ("postgres-read-committed-profile-1", "postgres:read-committed"),
        ("postgres-read-committed-10", "postgres:read-committed"),
        ("postgres-repeatable-read-profile-1", "postgres:repeatable-read"),
        ("postgres-serializable-profile-1", "postgres:repeatable-read"),
        ("mysql-read-committed-profile-1", "mysql:read-committed"),
        ("mysql-repeatable-read-profile-1", "mysql:repeatable-read"),
    ],
)
def test_what_servers_did_under_contention_is_not_refuted(name: str, level: str) -> None:
    log = read_log([CONTENDED / f"{name}.jsonl.gz"])
    compiled = library_of(log)
    problem = Problem(log, compiled, known_rows(log, compiled), isolation=level, unknown=unknown_tables(log, compiled))
    derived = Rows(problem).derive()
    assert derived is not None
    assert derived.conflict is None


@pytest.mark.slow
@pytest.mark.parametrize("level", [*GENERAL, *PROFILES])
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("start", range(100, 2100, 200))
def test_what_is_derived_of_rows_is_so_in_many(start: int, maker: str, level: str) -> None:
    compare(MAKERS[maker], level, range(start, start + 200))


def test_much_is_refuted() -> None:
    told = sum((compare(_random, level, range(100, 130)) for level in GENERAL), Counter[str]())
    assert told["refuted"] > 20
    assert told["held"] > 60
