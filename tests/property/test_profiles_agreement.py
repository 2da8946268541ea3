"""Search and oracle agree at the profiles of DBMSs, on random logs.

The logs are those of the other levels, as ones of the profile's dialect; statements that only PostgreSQL has are left
out. Does not know what a product does: tests/live does.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.random_logs import random_log, write
from tests.property.random_statements import ACCOUNTS, ROUTINES, TOKENS
from tests.property.test_agreement import COMBINATIONS, SECONDS, difference
from troubadour.audit.driver import Options, audit
from troubadour.execution.merging import MERGED
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Log, Statement
from troubadour.model.verdict import Status
from troubadour.oracle import explain

PROFILES = tuple(name for name, level in LEVELS.items() if level.dialect is not None)
"""Why the solver, which knows of no merged rows, may leave open what the oracle calls a violation at `duckdb`."""
FAST, SLOW = range(7000, 7006), [range(7006, 7060), *(range(start, start + 100) for start in range(8000, 9000, 100))]


@cache
def library(dialect: str) -> SqlLibrary:
    settings = "utf8mb4_bin" if dialect == "mysql" else "C" if dialect == "postgres" else None
    return SqlLibrary(
        Dialect(dialect, collation=settings), (ACCOUNTS, TOKENS), ROUTINES if dialect == "postgres" else ()
    )


def log_of(seed: int, dialect: str) -> Log | None:
    """A random log in a dialect; None where it has statements that the dialect has not."""
    log = random_log(seed)
    if dialect == "postgres":
        return log
    texts = [statement.sql for transaction in log.transactions for statement in transaction.statements]
    if any("CALL" in text or (dialect == "mysql" and "RETURNING" in text) for text in texts):
        return None
    header = msgspec.structs.replace(log.header, dialect=dialect, procedures=(), settings={})
    transactions = [
        msgspec.structs.replace(transaction, statements=tuple(map(with_marks, transaction.statements)))
        for transaction in log.transactions
    ]
    return Log(header, transactions, log.digest)


def with_marks(statement: Statement) -> Statement:
    """Parameters as question marks, in the order of the text."""
    if not isinstance(statement.params, tuple):
        return statement
    places = [int(number) - 1 for number in re.findall(r"\$(\d+)", statement.sql)]
    params = tuple(statement.params[place] for place in places)
    return msgspec.structs.replace(statement, sql=re.sub(r"\$\d+", "?", statement.sql), params=params)


@pytest.mark.parametrize("level", PROFILES)
def test_search_and_oracle_agree(level: str) -> None:
    compare(FAST, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", PROFILES)
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_search_and_oracle_agree_on_many(seeds: range, level: str) -> None:
    compare(seeds, level)


def compare(seeds: range, level: str) -> None:
    dialect = LEVELS[level].dialect
    assert dialect is not None
    compiled = library(dialect)
    judged = 0
    for seed in seeds:
        log = log_of(seed, dialect)
        if log is None:
            continue
        for recorded in (False, True):
            answer = explain(log, compiled, level, recorded)
            if answer.status is Status.UNDECIDED:
                continue
            heuristics = COMBINATIONS[(7 * seed + recorded) % len(COMBINATIONS)]
            verdict = audit(log, compiled, Options(level, recorded, timeout=SECONDS, heuristics=heuristics))
            if answer.status is Status.VIOLATION and MERGED in (verdict.reason or ""):
                continue
            judged += 1
            fault = difference(log, level, recorded, answer, verdict, compiled)
            if fault is not None:
                order = "recorded order" if recorded else "every order"
                pytest.fail(f"seed {seed} at {level}, {order}, {heuristics}: {fault}\n{verdict}\n{write(log)}")
    assert judged > len(seeds) // 10
