"""Logs whose initial rows are not known, against the oracle on every initial state of a small
domain: what some initial state explains is never a violation, and what was explained with the rows at hand is correct
or, where statements meet rows that nothing names, undecided.
"""

from __future__ import annotations

from itertools import product

import msgspec
import pytest

from tests.property.concurrent_logs import concurrent_log
from tests.property.random_logs import LEVELS, random_log, write
from tests.property.random_statements import library
from tests.property.test_agreement import COMBINATIONS
from troubadour.audit.driver import Options, audit
from troubadour.model.log import InitialTable, Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.replay.checker import check

FAST, SLOW = range(7009, 7016), range(7000, 7440)
"""`make slow` has the second."""
TABLES = ("accounts", "t")


def hidden(log: Log, tables: tuple[str, ...]) -> Log:
    given = tuple(table for table in log.header.initial if table.table not in tables)
    return Log(msgspec.structs.replace(log.header, initial=given, initial_unknown=tables), log.transactions, log.digest)


def with_initial(log: Log, accounts: list[tuple[object, ...]], tokens: list[tuple[object, ...]]) -> Log:
    given = (InitialTable("accounts", None, accounts), InitialTable("t", None, tokens))
    return Log(msgspec.structs.replace(log.header, initial=given), log.transactions, log.digest)


def compare(seed: int, level: str) -> tuple[Status, Status]:
    log = random_log(seed)
    try:
        known = explain(log, library(), level)
    except BudgetExceeded:
        pytest.skip("too large for the oracle")
    tables = TABLES if seed % 2 else ("accounts",)
    log_hidden = hidden(log, tables)
    heuristics = COMBINATIONS[seed % len(COMBINATIONS)]
    verdict = audit(log_hidden, library(), Options(level, heuristics=heuristics, timeout=600))
    shown = f"seed {seed} at {level}: {verdict}\n{write(log)}"
    if known.status is Status.CORRECT:
        assert verdict.status is not Status.VIOLATION, shown
    if verdict.status is Status.CORRECT:
        assert verdict.witness is not None
        assert check(log_hidden, verdict.witness, library(), isolation=level) is None, shown
    if verdict.status is Status.VIOLATION:
        assert verdict.verified_prefix >= known.verified_prefix, shown
        for rows in some_initial_rows(seed):
            other = explain(with_initial(log, rows, []), library(), level) if "t" in tables else None
            assert other is None or other.status is not Status.CORRECT, f"explained by {rows}: {shown}"
    return known.status, verdict.status


def some_initial_rows(seed: int) -> list[list[tuple[object, ...]]]:
    """A few initial states of accounts, others for each seed."""
    values = [None, 0, 1, 2, 5, 10]
    states = [
        [(key, value, "x") for key, value in enumerate(held, 1) if value is not None]
        for held in product(values, repeat=2)
    ]
    return states[seed % 3 :: 3]


@pytest.mark.parametrize("level", LEVELS)
def test_hidden_rows_and_the_oracle_agree(level: str) -> None:
    pairs = [compare(seed, level) for seed in FAST]
    decided = [found for _, found in pairs if found is not Status.UNDECIDED]
    assert len(decided) * 2 > len(pairs), pairs


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", [SLOW[n : n + 50] for n in range(0, len(SLOW), 50)], ids=str)
def test_hidden_rows_and_the_oracle_agree_on_many(seeds: range, level: str) -> None:
    for seed in seeds:
        compare(seed, level)


@pytest.mark.parametrize("serial", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["snapshot", "serial"])
def test_longer_runs_are_explained_by_guessed_rows_or_left_open(serial: bool) -> None:
    """Too long for all rows to be open at once; what was served is right, so that nothing is a violation."""
    found: list[Status] = []
    for seed in range(1, 5):
        log = hidden(concurrent_log(seed, serial=serial, transactions=40), ("accounts",))
        verdict = audit(log, library(), Options(None, timeout=600))
        assert verdict.status is not Status.VIOLATION, f"seed {seed}: {verdict}\n{write(log)}"
        found.append(verdict.status)
    assert Status.CORRECT in found, found
