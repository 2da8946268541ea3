"""No anomaly of a random log of operations on objects rules out a level at which the oracle explains the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.property.object_logs import GENERAL, random_log
from troubadour.anomalies.objects import anomalies_of
from troubadour.anomalies.report import Listed
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.oracle.enumerate import BudgetExceeded

BUDGET = 40_000
KINDS = ("register", "list", "set", "counter", "mixed")


def excluded(anomalies: Iterable[Listed]) -> set[str]:
    return {level for one in anomalies for level in one.rules_out if level in GENERAL}


def looked_at(kind: str, seeds: Iterable[int], *, distinct: bool, every: bool = False) -> Counter[str]:
    """What anomalies were found of logs, by name; the levels that they rule out are violated, as the oracle says."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        log = random_log(kind, seed, distinct=distinct).read()
        found = anomalies_of(log).anomalies
        counts["logs"] += 1
        counts.update(one.name for one in found)
        levels = sorted(excluded(found))
        if not levels:
            continue
        sql = expanded(log)
        # the weakest ones say what the others imply
        for level in levels if every else levels[seed % len(levels) :][:2]:
            try:
                answer = explain(*library_for(sql, level), level, budget=BUDGET)
            except BudgetExceeded:
                counts["too large"] += 1
                continue
            named = [(one.name, one.text) for one in found if level in one.rules_out]
            assert answer.status is Status.VIOLATION, f"{kind} {seed} at {level}: {named}"
            counts["levels"] += 1
    return counts


@pytest.mark.parametrize("distinct", [False, True], ids=["few values", "distinct values"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_ruled_out_the_oracle_does_not_explain(kind: str, distinct: bool) -> None:
    assert looked_at(kind, range(90_000, 90_024), distinct=distinct)["levels"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [False, True], ids=["few values", "distinct values"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(91_000, 92_000, 250))
def test_what_is_ruled_out_of_many(kind: str, distinct: bool, first: int) -> None:
    assert looked_at(kind, range(first, first + 250), distinct=distinct, every=True)["levels"] > 0
