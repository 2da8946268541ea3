"""What numbers can add up to where each of several changes happens once or not at all (paper §8.1, RQ1).

The sums are the bits of one integer, so that a change is a shift; beyond a width only what divides them and how far
they reach is kept. Does not know rows, nor transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from sql_semantics.records import dataclass

WIDEST = 1 << 23
"""Sums that are told apart one by one; of more only interval and stride are known."""

Options = tuple[int, ...]
"""What one change may add: one of these, or nothing."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The numbers `low`, `low + stride`, ... of which `bits` says which ones are sums (None: all up to `high`)."""

    low: int
    high: int
    stride: int
    bits: int | None

    def __contains__(self, value: int) -> bool:
        if not self.low <= value <= self.high or (value - self.low) % self.stride:
            return False
        return self.bits is None or bool(self.bits >> ((value - self.low) // self.stride) & 1)


def sums_of(changes: Sequence[Options]) -> Sums:
    """All sums of one option, or none, of each change."""
    changes = [options for options in map(_effective, changes) if options]
    low = sum(min(0, *options) for options in changes)
    high = sum(max(0, *options) for options in changes)
    stride = gcd(*(option for options in changes for option in options)) or 1
    if (high - low) // stride > WIDEST:
        return Sums(low, high, stride, None)
    bits = 1
    for options in changes:
        lowest = min(0, *options)
        before, bits = bits, 0
        for option in (0, *options):
            bits |= before << ((option - lowest) // stride)
    return Sums(low, high, stride, bits)


def chosen(changes: Sequence[Options], target: int) -> list[tuple[int, int]] | None:
    """Changes by their place, and what each adds, that add up to a target; None where none do, or the sums are too
    wide to tell."""
    if not target:
        return []
    if len(changes) == 1:
        return [(0, target)] if target in changes[0] else None
    middle = len(changes) // 2
    first, second = sums_of(changes[:middle]), sums_of(changes[middle:])
    part = _split(first, second, target)
    if part is None:
        return None
    left, right = chosen(changes[:middle], part), chosen(changes[middle:], target - part)
    if left is None or right is None:
        return None
    return [*left, *((place + middle, added) for place, added in right)]


def may_add_up(first: Sums, second: Sums, target: int) -> bool:
    """Whether a sum of each may add up to a target; True where that is not known."""
    if first.bits is None or second.bits is None:
        stride = gcd(first.stride, second.stride)
        low, high = first.low + second.low, first.high + second.high
        return low <= target <= high and not (target - low) % stride
    return _split(first, second, target) is not None


def _split(first: Sums, second: Sums, target: int) -> int | None:
    """A sum of the first that leaves one of the second; None where there is none, or that is not known."""
    if first.bits is None or second.bits is None:
        return None
    if first.bits.bit_count() > second.bits.bit_count():
        found = _split(second, first, target)
        return None if found is None else target - found
    stride = gcd(first.stride, second.stride)
    spread = (_spread(first, stride), _spread(second, stride))
    if spread[0] is None or spread[1] is None or (target - first.low - second.low) % stride:
        return None
    reach = (target - first.low - second.low) // stride
    backwards = int(bin(spread[1])[:1:-1], 2)
    moved = spread[1].bit_length() - 1 - reach
    common = spread[0] & (backwards >> moved if moved >= 0 else backwards << -moved)
    if not common:
        return None
    return first.low + ((common & -common).bit_length() - 1) * stride


def _spread(sums: Sums, stride: int) -> int | None:
    """The bits of sums for a finer stride; None where these are too many."""
    bits, factor = sums.bits, sums.stride // stride
    assert bits is not None
    if factor == 1:
        return bits
    if bits.bit_length() * factor > WIDEST:
        return None
    text = bin(bits)[2:]
    return int(("0" * (factor - 1)).join(text), 2)


def _effective(options: Options) -> Options:
    return tuple(sorted({option for option in options if option}))
