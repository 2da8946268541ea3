"""Of a log of operations on objects the audit of its SQL, the oracle, the replay of its SQL and the replay on columns
say the same, of its witnesses and of spoilt ones. The whole campaign is ``make objects``."""

from __future__ import annotations

import pytest

from tests.property.object_campaign import faults, run
from tests.property.object_logs import KINDS
from troubadour.replay.objects import judge

FAST, MANY = range(50_000, 50_012), range(51_000, 51_600)


@pytest.mark.parametrize("kind", KINDS)
def test_every_judge_says_the_same(kind: str) -> None:
    counts = run(kind, FAST)
    assert not faults(counts)
    assert counts["oracle: correct"] > 1 and counts["oracle: violation"] > 1
    assert counts["spoilt witness: accepted"] > 1 and counts["spoilt witness: refused: observation"] > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("together", [1, 1 << 22], ids=["cell by cell", "at once"])
def test_replays_agree_on_spoilt_witnesses(kind: str, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "PART", together)
    assert not faults(run(kind, range(52_000, 52_004), audits=False, mutants=16))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(0, len(MANY), 100))
def test_every_judge_says_the_same_of_many(kind: str, first: int) -> None:
    assert not faults(run(kind, MANY[first : first + 100]))
