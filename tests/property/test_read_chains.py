"""Chains of reads that numbers ask for keep to real time, and fail quietly where the order does not have them.

The seeds are those of a campaign: of them one made the search fail with a fault of its own, the others left a witness
that replay refused, so that what the oracle decides was undecided.
"""

from __future__ import annotations

import pytest

from tests.property.campaign import OWN, compare, log_of

SEEDS = (900599, 900707, 902772, 903445, 903457, 904548, 904799, 904948, 905401, 905469, 905759, 907261, 907598, 908930)


@pytest.mark.parametrize("seed", SEEDS)
def test_search_and_oracle_agree_at_read_committed(seed: int) -> None:
    answer, fault = compare(log_of(seed), seed, "read-committed")
    assert answer is not None
    assert fault is None, fault


@pytest.mark.parametrize("seed", [904548, 907598])
def test_search_and_oracle_agree_at_mixed_levels(seed: int) -> None:
    answer, fault = compare(log_of(seed), seed, OWN)
    assert answer is not None
    assert fault is None, fault
