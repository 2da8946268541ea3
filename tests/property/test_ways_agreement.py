"""Tiny logs whose statements leave the DBMS several ways: the search says what trying everything says."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property import test_writes_agreement as upserts
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Scope, Status
from troubadour.oracle import explain

SCHEMA = ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE u (id INT, v INT)")
LEVELS = ("serializable", "strict-serializable", "read-committed", "snapshot", "strict-snapshot")


def rows(*values: int) -> tuple[ObservedRows, ...]:
    return (ObservedRows(("x",), tuple((value,) for value in values)),)


def logged(chance: random.Random) -> Statement:
    """One thing that a client does, and an answer that may be right."""
    match chance.randrange(7):
        case 0:
            return Statement("INSERT INTO u SELECT id, v FROM t ORDER BY v LIMIT 1", affected=1)
        case 1:
            return Statement("UPDATE t SET v = u.v FROM u WHERE u.id = t.id", affected=chance.choice([0, 1, 2]))
        case 2:
            return Statement("SELECT v FROM u", results=rows(*chance.choice([(5, 6), (5, 6, 1), (5, 6, 2), (5, 6, 5)])))
        case 3:
            return Statement("SELECT v FROM t", results=rows(*chance.choice([(1, 1), (5, 1), (6, 1), (1, 7)])))
        case 4:
            return Statement("DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY v LIMIT 1)", affected=1)
        case 5:
            return Statement("SELECT id FROM t", results=rows(*chance.choice([(1,), (2,), (1, 2)])))
    return Statement("SELECT (SELECT v FROM u LIMIT 1)", results=rows(chance.choice([5, 6, 1])))


def random_log(seed: int) -> Log:
    chance = random.Random(seed)
    transactions = []
    for number in range(chance.choice([2, 3])):
        statements = tuple(logged(chance) for _ in range(chance.choice([1, 1, 2])))
        start = chance.randrange(4)
        times = {"start": start * 10 + number, "commit": (start + 1 + chance.randrange(3)) * 10 + number}
        transactions.append(Transaction(number, "committed", statements, number, **times))
    initial = (InitialTable("t", None, [(1, 1), (2, 1)]), InitialTable("u", None, [(1, 5), (1, 6)]))
    return Log(Header("postgres", SCHEMA, initial=initial), transactions, f"ways {seed}")


def test_search_and_oracle_agree() -> None:
    seen: Counter[Status] = Counter()
    library = SqlLibrary(Dialect("postgres", collation="C"), SCHEMA)
    for seed in range(50):
        log = random_log(seed)
        for level in LEVELS if seed < 15 else ("serializable", "snapshot"):
            ours = audit(log, library, Options(level))
            seen[ours.status] += 1
            if ours.status is not Status.UNDECIDED:
                theirs = explain(log, library, level)
                assert (theirs.status, theirs.verified_prefix) == (ours.status, ours.verified_prefix), (seed, level)
    assert seen[Status.CORRECT] > 15
    assert seen[Status.VIOLATION] > 30
    assert seen[Status.UNDECIDED] < 5


def test_the_solver_agrees_where_nothing_is_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways, and rows that constraints meet after a snapshot, as guards."""
    monkeypatch.setattr("troubadour.search.exact.explained_in_order", lambda *arguments, **options: None)
    for module in ("scheduler", "unhinted"):
        monkeypatch.setattr(f"troubadour.search.{module}.SMALL", 0)
    seen: Counter[Status] = Counter()
    ways = SqlLibrary(Dialect("postgres", collation="C"), SCHEMA)
    for seed in range(20):
        for log, library in ((random_log(seed), ways), (upserts.random_log(seed), upserts.library())):
            for level in ("snapshot", "serializable"):
                ours, theirs = audit(log, library, Options(level)), explain(log, library, level)
                seen[ours.status] += 1
                every = ours.scope is Scope.EVERY_ORDER
                if theirs.status is not Status.UNDECIDED and (ours.status is Status.CORRECT or every):
                    assert ours.status is theirs.status, (seed, library is ways, level)
    assert seen[Status.CORRECT] > 25
    assert seen[Status.VIOLATION] > 20
