"""Sums of doubles: every order of additions, with or without compensation, stays inside the interval."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.values.numbers.rounded import rounded_sum


def neumaier(values: tuple[float, ...]) -> float:
    """The compensated sum (SQLite since 3.43)."""
    total = lost = 0.0
    for value in values:
        after = total + value
        lost += (total - after) + value if abs(total) >= abs(value) else (value - after) + total
        total = after
    return total + lost


def trees(values: tuple[float, ...]) -> set[float]:
    """Every sum that some bracketing of these additions gives."""
    if len(values) == 1:
        return set(values)
    return {a + b for cut in range(1, len(values)) for a in trees(values[:cut]) for b in trees(values[cut:])}


@pytest.mark.parametrize("seed", range(12))
def test_every_order_is_inside(seed: int) -> None:
    chance = random.Random(seed)
    values = tuple(chance.uniform(-1, 1) * 10 ** chance.randrange(-8, 9) for _ in range(5))
    total, mean = rounded_sum(values, average=False), rounded_sum(values, average=True)
    assert total.holds(math.fsum(values))
    for order in itertools.permutations(values):
        assert total.holds(neumaier(order))
        for found in trees(order):
            assert total.holds(found) and mean.holds(found / 5)


def test_the_interval_is_narrow() -> None:
    values = [0.1] * 100
    total = rounded_sum(values, average=False)
    assert total.high - total.low < 2.4e-13
    assert not total.holds(10.000000000001) and not total.holds("10") and not total.holds(10)


def test_it_can_only_be_shown() -> None:
    value = rounded_sum([0.1, 0.2, 0.3], average=False)
    for name in ("__eq__", "__add__", "__lt__", "__hash__", "__float__", "__round__", "__bool__"):
        with pytest.raises(Unsupported):
            getattr(value, name)()
    with pytest.raises(Unsupported):
        rounded_sum([math.inf, 1.0, 0.1], average=False)
    with pytest.raises(Unsupported):
        rounded_sum([1.7e308, 1.7e308, 0.1], average=False)
