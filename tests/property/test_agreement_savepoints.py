"""Search and oracle agree on random logs with savepoints and failed statements. Does not know why a
statement failed."""

from __future__ import annotations

import pytest

from tests.property.random_logs import LEVELS, random_log, write
from tests.property.random_statements import library
from tests.property.test_agreement import COMBINATIONS, audited, difference
from troubadour.oracle import BudgetExceeded, explain

FAST, SLOW = range(36), range(36, 660)


@pytest.mark.parametrize("level", LEVELS)
def test_search_and_oracle_agree_on_savepoints(level: str) -> None:
    compare(FAST, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_search_and_oracle_agree_on_many_savepoints(level: str) -> None:
    compare(SLOW, level)


def compare(seeds: range, level: str) -> None:
    for seed in seeds:
        log = random_log(seed, savepoints=True)
        try:
            answer = explain(log, library(), level)
        except BudgetExceeded:
            continue
        heuristics = COMBINATIONS[(7 * seed + LEVELS.index(level)) % len(COMBINATIONS)]
        verdict = audited(log, level, False, heuristics)
        fault = difference(log, level, False, answer, verdict)
        assert fault is None, f"seed {seed} at {level}, {heuristics}: {fault}\n{verdict}\n{write(log)}"


def test_the_logs_have_what_they_are_for() -> None:
    statements = [
        statement
        for seed in FAST
        for transaction in random_log(seed, savepoints=True).transactions
        if transaction.status == "committed"
        for statement in transaction.statements
    ]
    errors = [statement.error.sqlstate for statement in statements if statement.error is not None]
    assert errors.count("25P02") > 5
    assert errors.count("22012") > 10
    assert sum(statement.sql.startswith("ROLLBACK TO") for statement in statements) > 40
