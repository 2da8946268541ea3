"""Executions that are gone through with those alike as one, beside the oracle, which merges none."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from tests.property.concurrent_logs import concurrent_log
from tests.property.random_logs import write
from tests.property.test_mixed_levels import log_of
from tests.property.test_profiles_agreement import library
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import known_rows
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.problem.budget import THOUSANDS
from troubadour.problem.problem import Problem
from troubadour.search.executions import applies, longest
from troubadour.search.schedule.placement import TooManyRuns

FAST, SLOW = range(700, 740), [range(start, start + 100) for start in range(30_000, 32_000, 100)]


def test_the_longest_prefix_is_the_oracles() -> None:
    assert compare(FAST) > len(FAST) // 4


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_the_longest_prefix_is_the_oracles_on_many(seeds: range) -> None:
    compare(seeds)


def compare(seeds: range) -> int:
    """How many logs were gone through."""
    compiled, count = library("postgres"), 0
    for seed in seeds:
        log = log_of(seed)
        problem = Problem(log, compiled, known_rows(log, compiled), isolation=None)
        if not applies(problem):
            continue
        try:
            found = longest(problem, 2 * THOUSANDS)
            answer = explain(log, compiled, None, budget=400_000)
        except (TooManyRuns, BudgetExceeded, UnsupportedStatement):
            continue
        if answer.status is Status.UNDECIDED or problem.free.choices:
            continue
        count += 1
        explained = found.verified == len(problem.judged)
        assert explained is (answer.status is Status.CORRECT), f"seed {seed}\n{write(log)}"
        if not explained:
            failing = problem.transaction(problem.judged[found.verified]).id
            assert failing == answer.failing, f"seed {seed}: {failing}, not {answer.failing}\n{write(log)}"
    return count


@pytest.mark.parametrize(("seed", "count", "mixed"), [(90_022, 12, False), (90_023, 20, True)])
def test_a_write_skew_has_a_core_of_few(seed: int, count: int, mixed: bool) -> None:
    """Of runs of snapshot isolation, at the level of serializable ones or beside others."""
    log, rng = concurrent_log(seed, serial=False, transactions=count), Random("ser20/23")
    if mixed:
        names = ("postgres:serializable",) * 3 + ("postgres:repeatable-read", "postgres:read-committed")
        log = Log(log.header, [msgspec.structs.replace(t, isolation=rng.choice(names)) for t in log.transactions], "")
    verdict = audit(log, library("postgres"), Options(None if mixed else "postgres:serializable", effort=20))
    assert verdict.status is Status.VIOLATION, verdict
    assert len(verdict.core or ()) <= 3, verdict
