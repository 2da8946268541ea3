"""Exact and floating arithmetic of concrete, non-null numbers.

A Decimal's exponent carries the SQL scale. `EXACT` never rounds silently: it traps inexact results, which the run
entry turns into `Unsupported`. Does not know NULL, nor which dialect is in use: callers pick the function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from functools import cache, partial

from sql_semantics.errors import Unsupported

EXACT = Context(
    prec=1500,
    rounding=ROUND_HALF_UP,
    Emin=-100_000,
    Emax=100_000,
    traps=[Inexact, InvalidOperation, Overflow],
)
"""Sums and products in full; raises `decimal.Inexact` beyond 1500 digits."""

ROUNDING = Context(
    prec=3000,
    rounding=ROUND_HALF_UP,
    Emin=-100_000,
    Emax=100_000,
    traps=[InvalidOperation, Overflow],
)
"""For `quantize`: half away from zero, as SQL rounds exact numbers."""

_POWERS = [10**n for n in range(64)]
_UNITS = [Decimal(1).scaleb(-n) for n in range(64)]


def power_of_ten(n: int) -> int:
    """10**n for n >= 0."""
    return _POWERS[n] if n < 64 else int(10**n)


def round_scale(value: Decimal, scale: int) -> Decimal:
    """`value` with exactly `scale` digits after the point, half away from zero (negative: tens, hundreds, ...)."""
    if 0 <= scale < 64:
        return value.quantize(_UNITS[scale], context=ROUNDING)
    rounded = value.quantize(Decimal(1).scaleb(-scale), context=ROUNDING)
    return rounded if scale >= 0 else rounded.quantize(_UNITS[0], context=ROUNDING)


def truncate_scale(value: Decimal, scale: int) -> Decimal:
    """`value` cut to `scale` digits after the point, toward zero."""
    kept = value.quantize(Decimal(1).scaleb(-scale), rounding="ROUND_DOWN", context=ROUNDING)
    return kept if scale >= 0 else kept.quantize(_UNITS[0], context=ROUNDING)


def scale_of(value: Decimal) -> int:
    """Digits after the point (never negative)."""
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


def divide_integers(left: int, right: int) -> int:
    """Quotient truncated toward zero; `right` is not 0."""
    quotient = abs(left) // abs(right)
    return quotient if (left >= 0) == (right >= 0) else -quotient


def modulo_integers(left: int, right: int) -> int:
    """Remainder with the sign of the dividend; `right` is not 0."""
    remainder = abs(left) % abs(right)
    return remainder if left >= 0 else -remainder


def _ratio(left: Decimal, right: Decimal, scale: int, *, truncate: bool = False) -> Decimal:
    """left / right at `scale` digits, half away from zero unless `truncate`."""
    left_sign, left_digits, left_exponent = left.as_tuple()
    right_sign, right_digits, right_exponent = right.as_tuple()
    if not isinstance(left_exponent, int) or not isinstance(right_exponent, int):
        raise InvalidOperation
    numerator = int("".join(map(str, left_digits)))
    denominator = int("".join(map(str, right_digits)))
    shift = scale + left_exponent - right_exponent
    if shift >= 0:
        numerator *= power_of_ten(shift)
    else:
        denominator *= power_of_ten(-shift)
    quotient, remainder = divmod(numerator, denominator)
    if not truncate and 2 * remainder >= denominator:
        quotient += 1
    return EXACT.scaleb(Decimal(quotient if left_sign == right_sign else -quotient), -scale)


def _weight(value: Decimal) -> tuple[int, int]:
    """The base-10000 weight of the first non-zero digit, and that digit (0, 0 for zero), as PostgreSQL stores it."""
    if not value:
        return 0, 0
    top = value.adjusted()
    weight = top // 4
    count = top - 4 * weight + 1
    digits = value.as_tuple().digits[:count]
    first = 0
    for digit in digits:
        first = first * 10 + digit
    return weight, first * power_of_ten(count - len(digits))


def leading_words(value: Decimal, count: int) -> tuple[int, int]:
    """The first `count` base-10000 digits of a number above zero that stores so many, and the weight of the last one of
    them: value ~ digits * 10000 ** weight. (0, 0) for zero."""
    if not value:
        return 0, 0
    _, digits, exponent = value.as_tuple()
    whole = int("".join(map(str, digits)))
    scale = -int(exponent) if int(exponent) < 0 else 0
    below = -(-scale // 4)
    whole *= power_of_ten(below * 4 - scale + max(int(exponent), 0))
    words: list[int] = []
    while whole:
        whole, word = divmod(whole, 10_000)
        words.append(word)
    weight = len(words) - 1 - below
    words.reverse()
    while not words[-1]:
        words.pop()
    found = 0
    for word in words[:count]:
        found = found * 10_000 + word
    return found, weight - len(words[:count]) + 1


def divide_postgres(left: Decimal, right: Decimal) -> Decimal:
    """numeric / numeric with the scale that PostgreSQL's select_div_scale picks; `right` is not 0."""
    weight_left, first_left = _weight(left)
    weight_right, first_right = _weight(right)
    weight = weight_left - weight_right
    if first_left <= first_right:
        weight -= 1
    scale = min(max(16 - weight * 4, scale_of(left), scale_of(right), 0), 1000)
    return _ratio(left, right, scale)


def root_at_scale(value: Decimal, scale: int) -> Decimal:
    """The square root of a number that is not below zero, half away from zero."""
    digits = math.isqrt(int(EXACT.scaleb(value, 2 * (scale + 1))))
    return round_scale(EXACT.scaleb(Decimal(digits), -(scale + 1)), scale)


def _words(digits: int) -> int:
    return -(-digits // 9) * 9


def divide_mysql(left: Decimal, right: Decimal, more: int = 4) -> Decimal:
    """DECIMAL / DECIMAL as MySQL holds it internally: the scale grows by div_precision_increment, is rounded up to
    whole words of nine digits and the quotient cut there; the result is rounded to its declared scale on output.
    `right` is not 0.
    """
    left_scale, right_scale = scale_of(left), scale_of(right)
    left_words, right_words = _words(left_scale), _words(right_scale)
    increment = max(more - (left_words - left_scale) - (right_words - right_scale), 0)
    return _ratio(left, right, _words(left_words + right_words + increment), truncate=True)


@cache
def mysql_division(more: int) -> Callable[[Decimal, Decimal], Decimal]:
    """`divide_mysql` under this div_precision_increment."""
    return partial(divide_mysql, more=more)


def divide_to_integer(left: Decimal, right: Decimal) -> int:
    """The quotient cut to an integer; `right` is not 0."""
    return int(EXACT.divide_int(left, right))


def modulo_decimals(left: Decimal, right: Decimal) -> Decimal:
    """Remainder with the sign of the dividend and the larger scale; `right` is not 0."""
    return EXACT.remainder(left, right)


def plain(value: Decimal) -> Decimal:
    """The same number without a positive exponent, so that its exponent is its SQL scale."""
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent > 0:
        return value.quantize(_UNITS[0], context=ROUNDING)
    return value


def decimal_text(value: Decimal) -> str:
    """Plain digits, no exponent, no negative zero."""
    return format(value if value else abs(value), "f")


def double_key(value: float) -> tuple[int, float]:
    """A total order of doubles in which NaN equals itself and is the greatest."""
    return (1, 0.0) if math.isnan(value) else (0, value)


def adds_up_exactly(values: Sequence[float]) -> bool:
    """Whether no sum of some of these doubles rounds, so that they can be added and taken away in any order."""
    finite = [value.as_integer_ratio() for value in values if value and math.isfinite(value)]
    if not finite:
        return True
    denominator = max(below for _, below in finite)
    units = [abs(above) * (denominator // below) for above, below in finite]
    grain = min(unit & -unit for unit in units)
    return sum(units) <= grain << 53


def sums_exactly(values: Sequence[float]) -> bool:
    """Whether the sum of these doubles is the same in every order: nothing rounds, or there are but two of them."""
    return len(values) <= 2 or adds_up_exactly(values)


def platform_free_ratio(numerator: int, denominator: int) -> float:
    """The quotient as a double, where it is the same computed in double and in either kind of long double.

    Raises Unsupported where it is not, or where an operand is beyond 63 bits.
    """
    exact = Fraction(numerator, denominator)
    results = {float(_rounded_to(exact, bits)) for bits in (53, 64, 113)}
    if max(abs(numerator), denominator) >= 2**63 or len(results) > 1:
        raise Unsupported("an average whose last digits depend on the platform")
    return results.pop()


def _rounded_to(value: Fraction, bits: int) -> Fraction:
    """The nearest number with a significand of so many bits, ties to even."""
    if not value:
        return value
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length() - bits
    for shift in (exponent - 1, exponent, exponent + 1):
        significand = round(value / Fraction(2) ** shift)
        if abs(significand).bit_length() <= bits:
            return significand * Fraction(2) ** shift
    return value
