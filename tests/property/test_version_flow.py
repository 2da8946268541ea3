"""Versions of registers that are ordered by what depends on their writers: the contrary is itself a circle of ww and
wr, so that the oracle explains no log at a level that excludes both. Seeded.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.property.object_logs import GENERAL, Draft
from troubadour.anomalies.assumptions import Assumption
from troubadour.anomalies.objects import anomalies_of
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.isolation.models import ruled_out
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.oracle.enumerate import BudgetExceeded

FOLLOW = [Assumption.WRITES_FOLLOW_READS]
BUDGET = 40_000


def drafted(seed: int) -> Draft:
    """Four or five transactions on three registers, which read some version that was written before."""
    rng = random.Random(f"versions {seed}")
    draft = Draft({"r": "register"}, {})
    there: dict[str, list[int | None]] = {key: [None] for key in "xyz"}
    for number in range(rng.choice((4, 5))):
        ops: list[list[object]] = []
        own: dict[str, int] = {}
        for at, key in enumerate(rng.sample("xyz", 3)):
            if rng.random() < 0.5:
                ops.append(["r", "r", key, rng.choice(there[key][-2:])])
            else:
                own[key] = 10 * number + at
                ops.append(["w", "r", key, own[key]])
        for key, value in own.items():
            there[key].append(value)
        draft.lines.append({"id": f"t{number}", "status": "committed", "ops": ops})
    return draft


def looked_at(seeds: Iterable[int]) -> Counter[str]:
    """What was found with the assumption, and of how many levels more than without the oracle was asked."""
    counts: Counter[str] = Counter()
    certain = ruled_out("G1c") & set(GENERAL)
    for seed in seeds:
        log = drafted(seed).read()
        plain = anomalies_of(log).anomalies
        known = {level for one in plain for level in one.rules_out}
        found = anomalies_of(log, FOLLOW).anomalies
        counts.update(f"{one.name}{', assumed' * bool(one.assumed)}" for one in found)
        sql = expanded(log)
        for level in sorted({level for one in found for level in one.rules_out & certain} - known):
            try:
                answer = explain(*library_for(sql, level), level, budget=BUDGET)
            except BudgetExceeded:
                continue
            assert answer.status is Status.VIOLATION, f"{seed} at {level}"
            counts["levels"] += 1
    return counts


def test_what_follows_the_oracle_does_not_explain() -> None:
    assert looked_at(range(60))["levels"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 3_000, 200))
def test_of_many(first: int) -> None:
    assert looked_at(range(first, first + 200))["levels"] > 0
