"""Sums of doubles whose last digits hang on the order of the additions.

Such a value is an interval: whatever the order, and with or without compensation, the sum s of n doubles x differs from
the exact one by at most n u / (1 - n u) times the sum of all |x|, where u = 2^-53, since no x goes through more than n
additions and each of these is off by a factor of at most 1 + u (Higham, Accuracy and Stability of Numerical Algorithms,
2nd ed., 4.2 and 4.3). An average divides that and rounds once more. Does not know where the values come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from sql_semantics.errors import Unsupported

_UNIT = Fraction(1, 2**53)


class Rounded:
    """Some double in [`low`, `high`]. It can only be shown: anything else that is done with it is Unsupported."""

    __slots__ = ("high", "low")

    def __init__(self, low: float, high: float) -> None:
        self.low = low
        self.high = high

    def holds(self, seen: object) -> bool:
        """Whether the value seen may be this one."""
        return isinstance(seen, float) and self.low <= seen <= self.high

    @property
    def middle(self) -> float:
        """One of the values that it may be."""
        return self.low + (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.middle!r} (rounded in some order)"

    __repr__ = __str__

    def _refuse(self, *_: object) -> NoReturn:
        raise Unsupported("a use of a sum of floating-point numbers that depends on the order of the rows")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __neg__ = __pos__ = __abs__ = __float__ = __int__ = __index__ = __round__ = __trunc__ = _refuse
    __floor__ = __ceil__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __floordiv__ = __rfloordiv__ = _refuse


def rounded_sum(values: Sequence[float], *, average: bool) -> Rounded:
    """The sum or the average of finite doubles, added up in some order. Raises Unsupported where one is not finite or
    the sum may overflow."""
    if not all(math.isfinite(value) for value in values):
        raise Unsupported("sum of infinite floating-point numbers that depends on the order of the rows")
    exact = [Fraction(value) for value in values]
    count = len(values)
    error = count * _UNIT / (1 - count * _UNIT) * sum(map(abs, exact))
    low, high = sum(exact) - error, sum(exact) + error
    if average:
        low, high = low / count, high / count
        slack = _UNIT * max(abs(low), abs(high))
        low, high = low - slack, high + slack
    try:
        return Rounded(math.nextafter(float(low), -math.inf), math.nextafter(float(high), math.inf))
    except OverflowError:
        raise Unsupported("sum of floating-point numbers that may overflow") from None
