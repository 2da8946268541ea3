"""Draws of ranks by Zipf's law, as Cobra's workloads use them. Does not know what is drawn."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from itertools import accumulate
from random import Random


@cache
def _sums(count: int, exponent: float) -> list[float]:
    return list(accumulate(1 / rank**exponent for rank in range(1, count + 1)))


def zipf(random: Random, count: int, exponent: float) -> int:
    """A number from 1 to `count`; *n* is drawn in proportion to 1 / n**exponent."""
    sums = _sums(count, exponent)
    return bisect_left(sums, random.random() * sums[-1]) + 1
