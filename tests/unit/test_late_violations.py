"""A violation late in a long log of overlapping transactions is decided from few of them, with its prefix and core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.streams import KINDS, LEVELS, with_violation, write
from tests.case_files import opened
from troubadour.audit import driver, one_state, searched
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Scope, Status

FAILING = {"value": 2_700, "lost update": 2_701, "phantom": 2_700}
CORES = {"value": {2_700}, "lost update": {2_700, 2_701}, "phantom": {2_700}}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_decided_from_few(kind: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "THOUSANDS", 1_000)
    asked: list[int] = []
    decided = searched.decided

    def noted(log: one_state.Log, *more: Any) -> object:
        asked.append(len(log.transactions))
        return decided(log, *more)

    monkeypatch.setattr(searched, "decided", noted)
    log, library = opened(read_log([write(tmp_path / "log", with_violation(3_000, kind))]), level)
    verdict = audit(log, library, Options(level))
    assert (verdict.status, verdict.scope) == (Status.VIOLATION, Scope.EVERY_ORDER)
    assert verdict.failing_transaction == FAILING[kind]
    placed = [one.id for one in log.transactions].index(FAILING[kind])
    assert (verdict.verified_prefix, verdict.committed) == (placed, 3_000)
    assert verdict.core is not None
    assert CORES[kind] <= set(verdict.core)
    assert len(verdict.core) <= 4
    assert asked
    assert max(asked) < 100
