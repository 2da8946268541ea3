"""Logs of simulated replicated stores are correct at the level that they kept, whatever a site had not applied yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.property.replicated_logs import replicated_log
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Status
from troubadour.replay.checker import check

KEPT = {
    "causal": (True, True),
    "parallel-snapshot": (True, False),
    "read-atomic": (False, True),
    "update-atomic": (False, False),
}


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        *((seed, 12) for seed in range(2)),
        *(pytest.param(seed, 12, marks=pytest.mark.slow) for seed in (2, 3)),
        *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in range(100, 110)),
    ],
)
@pytest.mark.parametrize("level", KEPT)
def test_correct_at_the_level_that_was_kept(level: str, seed: int, count: int, tmp_path: Path) -> None:
    causal, conflicts = KEPT[level]
    log = replicated_log(seed, tmp_path, count=count, causal=causal, conflicts=conflicts)
    verdict = audit(log, library_of(log), Options(level, timeout=600))
    # long ones may take too long, but are never refuted
    assert verdict.status is not Status.VIOLATION, verdict.explanation
    assert verdict.status is Status.CORRECT or count > 12, verdict.reason
    if verdict.witness is not None:
        assert check(log, verdict.witness, library_of(log), isolation=level) is None
