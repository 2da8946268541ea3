"""What is refuted of numbers that are added to and copied has, by the oracle, no witness in any order."""

from __future__ import annotations

import pytest

from tests.property.copied_logs import copied_library, copied_log
from troubadour.execution.initial.rows import known_rows
from troubadour.oracle import BudgetExceeded, explain
from troubadour.problem.problem import Problem
from troubadour.proof.cores.sums_core import writers_of_row, writers_of_sums
from troubadour.search.inference.values.reachable_numbers import is_no_sum, numbers_of_all
from troubadour.search.inference.values.unreachable_rows import RowsByKey
from troubadour.search.inference.values.value_closure import is_refuted_anywhere

LEVELS = ("read-committed", "causal", "snapshot", "serializable", "postgres:read-committed")
FAST, SLOW = range(12), range(12, 4_012)


def refuted_by(problem: Problem) -> dict[str, int]:
    """By the name of a refuter, how many of the committed transactions it says have no explanation."""
    found: dict[str, int] = {}
    numbers = numbers_of_all(problem)
    rows = None if numbers is None else RowsByKey(numbers)
    for place, item in enumerate(problem.committed, 1):
        sums = is_no_sum(problem, item)
        row = None if rows is None else rows.unreachable(problem, item)
        if sums is not None:
            found.setdefault("sums", place)
            if writers_of_sums(problem, item, sums) is not None:
                found.setdefault("sums, decided again", place)
        if row is not None:
            found.setdefault("rows", place)
            if writers_of_row(problem, item, row) is not None:
                found.setdefault("rows, decided again", place)
        if is_refuted_anywhere(problem, item):
            found.setdefault("values", place)
    return found


def compare(seed: int, level: str) -> dict[str, int]:
    """What is refuted of a log, and agrees with the oracle."""
    library = copied_library()
    log = copied_log(seed)
    refuted = refuted_by(Problem(log, library, known_rows(log, library), isolation=level))
    if refuted:
        try:
            answer = explain(log, library, level)
        except BudgetExceeded:
            return {}
        assert answer.verified_prefix < min(refuted.values()), f"{seed} at {level}: {refuted}, {answer}"
    return refuted


@pytest.mark.parametrize("level", LEVELS)
def test_refuted_numbers_have_no_witness(level: str) -> None:
    fired = {name for seed in FAST for name in compare(seed, level)}
    assert fired >= {"sums", "rows", "rows, decided again"}


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", [SLOW[n : n + 400] for n in range(0, len(SLOW), 400)], ids=str)
def test_refuted_numbers_of_many_have_no_witness(seeds: range, level: str) -> None:
    for seed in seeds:
        compare(seed, level)
