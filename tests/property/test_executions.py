"""Executions that are gone through with those alike as one, beside the oracle, which merges none."""

from __future__ import annotations

import pytest

from tests.property.random_logs import write
from tests.property.test_mixed_levels import log_of
from tests.property.test_profiles_agreement import library
from troubadour.execution.initial.rows import known_rows
from troubadour.execution.prepared import UnsupportedStatement
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
