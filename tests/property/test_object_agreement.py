"""What facts, order and anomalies say of random logs of operations on objects at every general level, and at levels of
each transaction's own, replay and oracle confirm."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from tests.property.anomaly_campaign import OWN, block, judged
from tests.property.object_logs import KINDS, random_log


@pytest.mark.parametrize("kind", KINDS)
def test_no_judge_differs(kind: str) -> None:
    counts = block(kind, 400_000, 6)
    assert not [word for word in counts if word.startswith("FAULT")]
    assert counts["witnesses before the replay of SQL"] > 2
    assert counts["causal: correct"] > 0


def test_levels_of_their_own_are_decided_without_search() -> None:
    drafts = (seed for seed in range(410_000, 411_000, 2) if random_log("mixed", seed).header)
    counts = Counter(word for seed in islice(drafts, 12) for word in judged("mixed", seed))
    assert not [word for word in counts if word.startswith("FAULT")]
    assert counts[f"{OWN}: correct"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(420_000, 421_000, 250))
@pytest.mark.parametrize("kind", KINDS)
def test_no_judge_differs_of_many(kind: str, first: int) -> None:
    assert not [word for word in block(kind, first, 250) if word.startswith("FAULT")]
