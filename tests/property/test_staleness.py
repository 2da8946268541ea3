"""A bound on how old a state is read (``--max-staleness``) against enumeration, and what it may
change of a verdict, with states forgotten at once and far fewer of them kept than in earnest.

Does not know how much memory is saved.
"""

from __future__ import annotations

import pytest

from tests.property.random_statements import library
from tests.property.test_agreement import AUDITED, isolation, log_of
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.oracle import explain
from troubadour.search.repair import placer as frontier
from troubadour.search.schedule import trace

FAST, SLOW = range(7000, 7016), range(7000, 7060)
SEEDS = pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
ONE_STATE = ("snapshot", "session-snapshot", "strict-snapshot", "serializable")


@pytest.fixture(autouse=True)
def _forgets_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier, "FORGETTING", 1)
    monkeypatch.setattr(trace, "CHANGEABLE", 0)


def _decided(log: Log, level: str, recorded: bool, bound: int | None) -> Verdict:
    return audit(log, library(), Options(isolation(level), recorded, timeout=120.0, max_staleness=bound))


@pytest.mark.parametrize("recorded", [False, True], ids=["searched", "recorded"])
@pytest.mark.parametrize("level", ONE_STATE)
@SEEDS
def test_what_a_bound_leaves_is_what_enumeration_finds(seeds: range, level: str, recorded: bool) -> None:
    decided = stale = 0
    for seed in seeds:
        log, bound = log_of(seed), int(seed % 3 == 0)
        verdict = _decided(log, level, recorded, bound)
        if verdict.status is Status.UNDECIDED:
            # where something was forgotten the order is not changed any more
            assert not recorded or verdict.reason is None or "--max-staleness" not in verdict.reason
            continue
        expected = explain(log, library(), level, recorded, max_staleness=bound)
        if expected.status is Status.UNDECIDED:
            continue
        decided += 1
        found = (verdict.status, verdict.verified_prefix)
        assert found == (expected.status, expected.verified_prefix), f"seed {seed}, bound {bound}: {verdict}"
        if verdict.status is Status.VIOLATION and explain(log, library(), level, recorded).status is Status.CORRECT:
            stale += 1
            assert verdict.scope is Scope.BOUNDED_STALENESS, f"seed {seed}: {verdict}"
            assert "--max-staleness" in (verdict.explanation or "")
    assert decided > len(seeds) // 2
    assert stale or not recorded or level in ("strict-snapshot", "serializable")


@pytest.mark.parametrize("recorded", [False, True], ids=["searched", "recorded"])
@pytest.mark.parametrize("level", AUDITED)
@SEEDS
def test_a_bound_makes_nothing_correct_and_says_so(seeds: range, level: str, recorded: bool) -> None:
    for seed in seeds:
        log = log_of(seed)
        free = _decided(log, level, recorded, None)
        far = _decided(log, level, recorded, len(log.transactions))
        assert (far.status, far.verified_prefix, far.scope) == (free.status, free.verified_prefix, free.scope), seed
        near = _decided(log, level, recorded, int(seed % 3 == 0))
        assert near.max_staleness == int(seed % 3 == 0)
        if near.status is Status.CORRECT:
            assert free.status is not Status.VIOLATION, f"seed {seed}"
        if near.status is Status.VIOLATION and free.status is Status.CORRECT:
            assert near.scope is Scope.BOUNDED_STALENESS, f"seed {seed}: {near}"
