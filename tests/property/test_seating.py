"""Where those stand that wrote nothing changes no verdict: search and oracle agree where they go to the front."""

from __future__ import annotations

import pytest

from tests.property import test_agreement, test_profiles_agreement
from troubadour.search import stronger_first as tighten
from troubadour.search.repair.moves import read_only as seating
from troubadour.search.schedule.trace import Trace

FAST, SLOW = range(9400, 9409), range(9400, 9440)


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("level", ["strict-snapshot", "snapshot", "postgres:repeatable-read"])
def test_search_and_oracle_agree_on_whom_it_moves(level: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = []
    take_place = seating._move

    def noted(trace: Trace, position: int, place: int) -> None:
        item = trace.placements[position - 1].item
        take_place(trace, position, place)
        if trace.placements[place].item == item and place < position - 1:
            moved.append(item)

    monkeypatch.setattr(seating, "_move", noted)
    monkeypatch.setattr(tighten, "SOME", 0)
    compare = test_profiles_agreement.compare if ":" in level else test_agreement.compare
    compare(seeds, level)
    assert moved
