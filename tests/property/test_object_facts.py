"""Facts and order decide random logs of operations on objects as the oracle's enumeration does, or leave them open."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.property.object_logs import GENERAL, KINDS, random_log
from troubadour.audit.objects.decide import Disagreement, ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.oracle.enumerate import BudgetExceeded
from troubadour.replay.objects import check

BUDGET = 40_000


def decided(kind: str, seeds: Iterable[int], *, distinct: bool) -> Counter[str]:
    """How logs are decided, by status; each as the oracle says, with its prefix, and its core as SQL."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        log = random_log(kind, seed, distinct=distinct).read()
        for level in random.Random(f"facts {kind} {seed}").sample(GENERAL, 3):
            verdict = decide_objects(log, ObjectOptions(level), by_sql)
            if verdict is None:
                counts["open"] += 1
                continue
            try:
                answer = explain(*library_for(expanded(log), level), level, budget=BUDGET)
            except BudgetExceeded:
                continue
            where = f"{kind} {seed} at {level}"
            assert verdict.status is answer.status, where
            assert verdict.verified_prefix == answer.verified_prefix, where
            if verdict.witness is not None:
                assert check(log, verdict.witness, level) is None, where
            counts[verdict.status.value] += 1
    return counts


@pytest.mark.parametrize("distinct", [False, True], ids=["few values", "distinct values"])
@pytest.mark.parametrize("kind", KINDS)
def test_as_the_oracle_says(kind: str, distinct: bool) -> None:
    counts = decided(kind, range(60_000, 60_006), distinct=distinct)
    assert counts["correct"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [False, True], ids=["few values", "distinct values"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(61_000, 61_800, 100))
def test_as_the_oracle_says_of_many(kind: str, distinct: bool, first: int) -> None:
    assert decided(kind, range(first, first + 100), distinct=distinct)["correct"] > 0


def test_a_second_decision_that_differs_is_no_verdict() -> None:
    def explains(core: ObjectLog, level: str) -> Status:
        return Status.CORRECT

    for seed in range(100):
        log = random_log("register", seed, distinct=True).read()
        verdict = decide_objects(log, ObjectOptions("serializable"), by_sql)
        if verdict is not None and verdict.status is Status.VIOLATION:
            with pytest.raises(Disagreement):
                decide_objects(log, ObjectOptions("serializable"), explains)
            return
    raise AssertionError("no log of these is a violation")
