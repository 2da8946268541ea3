"""What is looked for only among rows that were there lately is found as before, however short that is.

Search and oracle on random logs, where one of the two takes nothing for recent. Does not know the logs' levels.
"""

from __future__ import annotations

import pytest

from tests.property.test_agreement import AUDITED, compare
from troubadour.execution.states import history, index
from troubadour.replay import store

SEEDS = 4


@pytest.mark.parametrize("level", AUDITED)
def test_the_search_finds_rows_that_are_gone(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LATELY", 0)
    monkeypatch.setattr(index, "FEW", 0)
    monkeypatch.setattr(history, "LATELY", 0)
    start = 100 + SEEDS * AUDITED.index(level)
    compare(range(start, start + SEEDS), level)


@pytest.mark.parametrize("level", AUDITED)
def test_replay_finds_rows_that_are_gone(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LATELY", 0)
    start = 300 + SEEDS * AUDITED.index(level)
    compare(range(start, start + SEEDS), level)
