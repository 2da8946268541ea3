"""Tiny logs with CREATE and DROP TABLE: the search says what trying everything says. Does not know any server."""

from __future__ import annotations

import random
from collections import Counter

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.execution.definitions import definitions_of
from troubadour.model.log import Header, InitialTable, Log, ObservedError, ObservedRows, Statement, Transaction
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


def test_search_and_oracle_agree() -> None:
    seen: Counter[Status] = Counter()
    for seed in range(60):
        log = random_log(seed)
        library = SqlLibrary(Dialect("postgres", collation="C"), log.header.schema, (), definitions_of(log))
        for level in LEVELS:
            ours = audit(log, library, Options(level))
            seen[ours.status] += 1
            if ours.status is not Status.UNDECIDED:
                assert explain(log, library, level).status in (ours.status, Status.UNDECIDED), (seed, level)
    assert seen[Status.CORRECT] > 20
    assert seen[Status.VIOLATION] > 20
