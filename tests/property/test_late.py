"""Who waits for later transactions changes no verdict: short logs, in which all may wait, and none for long."""

from __future__ import annotations

import pytest

from tests.property.test_profiles_agreement import compare
from troubadour.search import postponed as late
from troubadour.search import scheduler as search

LEVELS = ("postgres:read-committed", "mysql:read-committed", "mysql:repeatable-read")
FAST, SLOW = range(7600, 7604), range(7600, 7640)


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("patience", [1, 3])
@pytest.mark.parametrize("level", LEVELS)
def test_waiting_agrees_with_the_oracle(
    level: str, patience: int, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FEW_TO_WAIT", 0)
    monkeypatch.setattr(late, "PATIENCE", patience)
    waited = []
    wait = late.Late.wait

    def noted(self: late.Late, number: int, item: int) -> None:
        waited.append(item)
        wait(self, number, item)

    monkeypatch.setattr(late.Late, "wait", noted)
    compare(seeds, level)
    assert waited
