"""Tiny logs that create, alter and drop tables: the search says what trying everything says. Knows no server."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import msgspec
import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.execution.definitions import definitions_of
from troubadour.model.log import (
    Header,
    InitialTable,
    Log,
    LogError,
    ObservedError,
    ObservedRows,
    Statement,
    Transaction,
)
from troubadour.model.verdict import Status
from troubadour.oracle import explain

HOME = "CREATE TABLE home (k INT, v INT)"
MADE = "CREATE TABLE made (a INT)"
LEVELS = ("serializable", "strict-serializable", "read-committed", "snapshot", "strict-snapshot")


def rows(*values: int) -> tuple[ObservedRows, ...]:
    return (ObservedRows(("x",), tuple((value,) for value in values)),)


def logged(chance: random.Random) -> list[Statement]:
    """One thing that a client does, and an answer that may be right."""
    absent = ObservedError("42P01", "")
    match chance.randrange(8):
        case 0:
            return [Statement(MADE), Statement("INSERT INTO made VALUES (1)", affected=1)]
        case 1:
            return [Statement("DROP TABLE made")]
        case 2:
            return [Statement("DROP TABLE home"), Statement(HOME)]
        case 3:
            seen = chance.choice([(), (1,), (1, 1), (1, 2)])
            return [Statement("SELECT a FROM made", results=rows(*seen))]
        case 4:
            failing = Statement("SELECT a FROM made", error=absent)
            return [Statement("SAVEPOINT s"), failing, Statement("ROLLBACK TO s")]
        case 5:
            return [Statement("SELECT v FROM home", results=rows(*chance.choice([(), (5,), (6,)])))]
        case 6:
            return [Statement("UPDATE home SET v = v + 1", affected=chance.choice([0, 1]))]
    return [
        Statement(MADE.replace("TABLE", "TABLE IF NOT EXISTS")),
        Statement("INSERT INTO made VALUES (2)", affected=1),
    ]


def random_log(seed: int) -> Log:
    chance = random.Random(seed)
    # the log names the table, whoever creates it
    transactions = [Transaction("never", "aborted", (Statement(MADE),), 0, start=0, commit=None)]
    for number in range(chance.choice([2, 3])):
        statements = [item for _ in range(chance.choice([1, 1, 2])) for item in logged(chance)]
        start = chance.randrange(4)
        times = {"start": start * 10 + number, "commit": (start + 1 + chance.randrange(3)) * 10 + number}
        transactions.append(Transaction(number, "committed", tuple(statements), number + 1, **times))
    header = Header("postgres", (HOME,), initial=(InitialTable("home", None, [(1, 5)]),))
    return Log(header, transactions, f"definitions {seed}")


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(60), marks=pytest.mark.slow)], ids=str)
def test_search_and_oracle_agree(seeds: range) -> None:
    seen: Counter[Status] = Counter()
    for seed in seeds:
        log = random_log(seed)
        library = SqlLibrary(Dialect("postgres", collation="C"), log.header.schema, (), definitions_of(log))
        for level in LEVELS:
            ours = audit(log, library, Options(level))
            seen[ours.status] += 1
            if ours.status is not Status.UNDECIDED:
                assert explain(log, library, level).status in (ours.status, Status.UNDECIDED), (seed, level)
    assert seen[Status.CORRECT] > len(seeds) // 3
    assert seen[Status.VIOLATION] > len(seeds) // 3


ADD = "ALTER TABLE home ADD COLUMN w INT DEFAULT 7"
DROP = "ALTER TABLE home DROP COLUMN v"
NAME = "ALTER TABLE home RENAME COLUMN v TO u"
CHANGING = ([ADD], [DROP], [NAME], [ADD, DROP], [NAME, ADD])
SESSIONS = ("snapshot", "serializable", "session-snapshot", "session-serializable", "strict-serializable")


def changing_log(seed: int) -> Log:
    """A session whose transactions change a table and use it, without times; its answers may be right."""
    chance = random.Random(seed)
    transactions: list[Transaction] = []
    for number in range(chance.choice([2, 3, 4])):
        picked = chance.randrange(7)
        if picked < 2:
            statements = [Statement(text) for text in chance.choice(CHANGING)]
            if chance.random() < 0.5:
                statements.append(Statement("UPDATE home SET k = k + 1", affected=1))
        else:
            shown = chance.choice([1, 1, 2, 5, 7])
            statements = [
                [Statement("SELECT k FROM home", results=rows(shown))],
                [Statement("SELECT v FROM home", results=rows(shown))],
                [Statement("SELECT w FROM home", results=rows(shown))],
                [Statement("UPDATE home SET k = k + 1", affected=1)],
                [Statement("INSERT INTO home VALUES (1, 5)", affected=1)],
                [Statement("SELECT * FROM home", results=(ObservedRows(("a", "b"), ((1, shown),)),))],
            ][chance.randrange(6)]
        transactions.append(Transaction(number, "committed", tuple(statements), number, session="s"))
    header = Header("postgres", (HOME,), initial=(InitialTable("home", None, [(1, 5)]),))
    return Log(header, transactions, f"changes {seed}")


def readings(log: Log, library: SqlLibrary) -> Iterator[Log]:
    """The log with its statements read by the definitions of each scope."""
    left = [
        [after for s in transaction.statements if (after := library.scope_after(s.sql, s.scope)) is not None]
        for transaction in log.transactions
    ]
    scopes = [0, *(after[-1] for after in left if after)]
    for reading in product(*([None] if after else scopes for after in left)):
        found = []
        for transaction, scope in zip(log.transactions, reading, strict=True):
            if scope is not None:
                statements = tuple(msgspec.structs.replace(s, scope=scope) for s in transaction.statements)
                transaction = msgspec.structs.replace(transaction, statements=statements)
            found.append(transaction)
        yield log.with_transactions(found)


def is_explained(log: Log, library: SqlLibrary, level: str) -> bool:
    """Whether some reading of a log by its definitions is explained."""
    for reading in readings(log, library):
        with suppress(LogError, Unsupported):
            if explain(reading, library, level).status is Status.CORRECT:
                return True
    return False


@pytest.mark.parametrize("seeds", [range(14), pytest.param(range(60), marks=pytest.mark.slow)], ids=str)
def test_a_log_whose_definitions_change_is_judged_by_any_of_them(seeds: range) -> None:
    seen: Counter[Status] = Counter()
    for seed in seeds:
        whole = changing_log(seed)
        for level in SESSIONS:
            log, library = library_for(whole, level)
            if not library.standing:
                continue
            try:
                ours = audit(log, library, Options(level))
            except LogError:
                continue
            seen[ours.status] += 1
            if ours.status is Status.CORRECT:
                assert explain(log, library, level).status is Status.CORRECT, (seed, level)
            if ours.status is Status.VIOLATION:
                assert not is_explained(log, library, level), (seed, level)
    assert seen[Status.CORRECT] > len(seeds) // 3, seen
    assert seen[Status.VIOLATION] > len(seeds) * 5 // 6, seen
