"""Roots, logarithms, powers and digits of PostgreSQL's NUMERIC (its manual, 9.3). Does not know doubles.

PostgreSQL picks how many digits such a result has from a rough estimate of its size, so that there are 16 significant
ones at the least; the estimates are made again here. The value itself is computed to many more digits and rounded once.
Where what is cut off is so near to one half that PostgreSQL's own few guard digits may round the other way, or where
versions choose other digits, the call is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation, Overflow
from fractions import Fraction

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly, plainly
from sql_semantics.values.numbers.number import (
    EXACT,
    leading_words,
    round_scale,
    scale_of,
)
from sql_semantics.values.types import BIGINT, INT, NUMERIC

_DIGITS = 16
"""Significant digits that a result has at the least."""
_MOST = 1000
"""Digits after the point that a result has at the most."""
_SPARE = 30
"""Digits computed beyond those that are shown."""
_LOG_E = 0.434294481903252
_LN_10 = 2.302585092994046
_INTEGER = 2**31


def _between(scale: int, *least: int) -> int:
    return min(max(scale, 0, *least), _MOST)


def _context(digits: int) -> Context:
    return Context(prec=max(digits, 1) + _SPARE, rounding=ROUND_HALF_UP, traps=[InvalidOperation, Overflow])


def _settled(value: Decimal, scale: int, name: str) -> Decimal:
    """A value computed to many digits, at its scale. Raises Unsupported where the rounding is near its edge."""
    rounded = round_scale(value, scale)
    rest = abs(abs(rounded - value).scaleb(scale) - Decimal("0.5"))  # 28 digits of it are enough
    if rounded != value and rest < Decimal("1e-4"):
        raise Unsupported(f"{name}() of an exact number whose last digit is not certain")
    return rounded if rounded else abs(rounded)


def _ln_size(value: Decimal) -> int:
    """PostgreSQL's estimate of the decimal weight of ln(value), for a value above zero."""
    if Decimal("0.9") <= value <= Decimal("1.1"):
        words, weight = leading_words(EXACT.subtract(value, Decimal(1)), 1)
        return weight * 4 + int(math.log10(words)) if words else 0
    words, weight = leading_words(value, 2)
    return int(math.log10(abs(math.log(words) + weight * 4 * _LN_10)))


def _logarithm_fails(value: Decimal, call: Call) -> None:
    if value <= 0:
        sign = "zero" if not value else "a negative number"
        raise call.fail("2201E", f"cannot take logarithm of {sign}")


def _ln(value: Decimal, scale: int) -> Decimal:
    return _context(scale + 10).ln(value)


def _natural(call: Call) -> Implementation:
    def apply(value: Decimal) -> Decimal:
        _logarithm_fails(value, call)
        scale = _between(_DIGITS - _ln_size(value), scale_of(value))
        return _settled(_ln(value, scale), scale, "ln")

    return apply


def _logarithm(call: Call) -> Implementation:
    """log(x) and log(base, x); log10(x) is the first."""

    def apply(*given: Decimal) -> Decimal:
        base, value = given if len(given) == 2 else (Decimal(10), given[0])
        _logarithm_fails(base, call)
        _logarithm_fails(value, call)
        if base == 1:
            raise call.fail("22012", "division by zero")
        scale = _between(_DIGITS - (_ln_size(value) - _ln_size(base)), scale_of(base), scale_of(value))
        digits = scale + abs(_ln_size(value)) + abs(_ln_size(base)) + 10
        context = _context(digits)
        found = context.divide(_ln(value, digits), _ln(base, digits))
        near = round(found)
        whole = abs(near) < 20_000 and near >= 0 and context.power(base, near) == value
        return round_scale(Decimal(near), scale) if whole else _settled(found, scale, "log")

    return apply


def _exponential(call: Call) -> Implementation:
    def apply(value: Decimal) -> Decimal:
        size = max(min(float(value) * _LOG_E, 2000.0), -2000.0)
        scale = _between(_DIGITS - int(size), scale_of(value))
        return _raised_e(value, scale, call)

    return apply


def _raised_e(value: Decimal, scale: int, call: Call) -> Decimal:
    if abs(value) >= 5990:
        if value < 6010 and value > -6010:
            raise Unsupported("exp() near the limits of NUMERIC")
        if value > 0:
            raise call.fail("22003", "value overflows numeric format")
        return round_scale(Decimal(0), scale)
    return _settled(_context(scale + abs(int(value)) + 10).exp(value), scale, call.name)


def _root(call: Call) -> Implementation:
    def apply(value: Decimal) -> Decimal:
        if value < 0:
            raise call.fail("2201F", "cannot take square root of a negative number")
        _, weight = leading_words(value, 1)
        weight = weight if value else 0
        size = weight * 2 + 1 if weight >= 0 else 1 - (1 - weight * 4) // 2
        scale = _between(_DIGITS - size, scale_of(value))
        return round_scale(_context(scale + abs(weight) * 4 + 40).sqrt(value), scale)  # rounded by the exact rest

    return apply


def _power(call: Call) -> Implementation:
    def apply(base: Decimal, exponent: Decimal) -> Decimal:
        if not base and exponent < 0:
            raise call.fail("2201F", "zero raised to a negative power is undefined")
        whole = exponent == exponent.to_integral_value()
        if base < 0 and not whole:
            raise call.fail("2201F", "a negative number raised to a non-integer power yields a complex result")
        if whole and -_INTEGER <= exponent < _INTEGER:
            return _whole_power(base, int(exponent), scale_of(exponent), call)
        if not base:
            return round_scale(Decimal(0), _DIGITS)
        if base < 0:
            raise Unsupported("power() of a negative number to a large exponent")
        return _any_power(base, exponent, call)

    return apply


def _any_power(base: Decimal, exponent: Decimal, call: Call) -> Decimal:
    digits = 60 + len(exponent.as_tuple().digits) + scale_of(exponent)
    size = float(_context(digits).multiply(_ln(base, digits), exponent))
    if abs(size) > 6000:
        if abs(size) < 6040:
            raise Unsupported("power() near the limits of NUMERIC")
        if size > 0:
            raise call.fail("22003", "value overflows numeric format")
        return round_scale(Decimal(0), _MOST)
    scale = _between(_DIGITS - int(size * _LOG_E), scale_of(base), scale_of(exponent))
    if abs(size * _LOG_E - round(size * _LOG_E)) < 1e-7 and base != 1:
        raise Unsupported("power() of an exact number whose digits are not certain")
    digits += scale + abs(int(size))
    context = _context(digits)
    return _settled(context.exp(context.multiply(_ln(base, digits), exponent)), scale, "power")


def _whole_power(base: Decimal, exponent: int, given: int, call: Call) -> Decimal:
    """To the power of a whole number."""
    if not base:
        scale = _between(_DIGITS, scale_of(base), given)
        return round_scale(Decimal(0 if exponent else 1), scale)
    words, weight = leading_words(base.copy_abs(), 4)
    size = exponent * (math.log10(words) + weight * 4)
    if size > 131_072:
        raise call.fail("22003", "value overflows numeric format")
    if size + 1 < -_MOST:
        return round_scale(Decimal(0), _MOST)
    if abs(size) > 2_000:
        raise Unsupported("power() of more than 2,000 digits")
    scale = _between(_DIGITS - int(size), scale_of(base), given)
    context = _context(scale + abs(int(size)) + 40)
    found = context.power(base, exponent) if exponent >= 0 else context.divide(1, context.power(base, -exponent))
    result = _settled(found, scale, "power")
    version = call.dialect.version
    before = _between(_DIGITS, scale_of(base))  # what PostgreSQL did up to 15
    if version is None or version < (16,):
        older = round_scale(found, before)
        if older != result and version is None:
            raise Unsupported("power() of an exact number, whose digits hang on the version")
        return older if version is not None else result
    return result


def _least_scale(value: Decimal) -> int:
    text = format(value, "f")
    return len(text.partition(".")[2].rstrip("0"))


def _trimmed(value: Decimal) -> Decimal:
    return round_scale(value, _least_scale(value))


def _bucket(call: Call) -> Implementation:
    """width_bucket() of numbers."""

    def apply(value: Decimal, low: Decimal, high: Decimal, count: int) -> int:
        if count <= 0:
            raise call.fail("2201G", "count must be greater than zero")
        if low == high:
            raise call.fail("2201G", "lower bound cannot equal upper bound")
        below = value < low if low < high else value > low
        above = value >= high if low < high else value <= high
        if below:
            return 0
        if above:
            if count + 1 >= _INTEGER:
                raise call.fail("22003", "integer out of range")
            return count + 1
        start = Fraction(low)
        place = (Fraction(value) - start) * count / (Fraction(high) - start)
        if math.floor(place) != math.floor(place + Fraction(1, 10**12)):
            raise Unsupported("width_bucket() of a number at the end of its bucket")  # which older versions round
        return math.floor(place) + 1

    return apply


def _common(function: Callable[[int, int], int], low: int) -> Callable[[Call], Implementation]:
    """gcd() and lcm() of integers, which may not fit."""

    def build(call: Call) -> Implementation:
        def apply(left: int, right: int) -> int:
            found = function(left, right)
            if found >= low:
                raise call.fail("22003", "integer out of range")
            return found

        return apply

    return build


def _common_of_decimals(name: str) -> Implementation:
    def apply(left: Decimal, right: Decimal) -> Decimal:
        scale = max(scale_of(left), scale_of(right))
        if left.adjusted() + right.adjusted() + 2 * scale > 1_000:
            raise Unsupported(f"{name}() of more than 1,000 digits")
        first, second = int(EXACT.scaleb(left, scale)), int(EXACT.scaleb(right, scale))
        found = math.gcd(first, second) if name == "gcd" else math.lcm(first, second)
        return EXACT.scaleb(Decimal(found), -scale)

    return apply


def _factorial(call: Call) -> Implementation:
    def apply(value: int) -> Decimal:
        if value < 0:
            raise call.fail("22003", "factorial of a negative number is undefined")
        if value > 32177:
            raise call.fail("22003", "value overflows numeric format")
        if value > 500:
            raise Unsupported("factorial() of more than 1,000 digits")
        return Decimal(math.factorial(value))

    return apply


_ONE, _TWO = exactly(NUMERIC), exactly(NUMERIC, NUMERIC)
SQRT = Rule(_ONE, NUMERIC, _root, errors=("2201F",))
POWER = Rule(_TWO, NUMERIC, _power, errors=("2201F", "22003"))
LOG = Rule(_ONE, NUMERIC, _logarithm, errors=("2201E",))
LN = Rule(_ONE, NUMERIC, _natural, errors=("2201E",))
EXP = Rule(_ONE, NUMERIC, _exponential, errors=("22003",))
POSTGRES: Table = {
    "log": (Rule(_TWO, NUMERIC, _logarithm, errors=("2201E", "22012")),),
    "scale": (Rule(_ONE, INT, plainly(scale_of)),),
    "min_scale": (Rule(_ONE, INT, plainly(_least_scale)),),
    "trim_scale": (Rule(_ONE, NUMERIC, plainly(_trimmed)),),
    "width_bucket": (Rule(exactly(NUMERIC, NUMERIC, NUMERIC, INT), INT, _bucket, errors=("2201G", "22003")),),
    **{
        name: (
            Rule(exactly(INT, INT), INT, _common(whole, 2**31), errors=("22003",)),
            Rule(exactly(BIGINT, BIGINT), BIGINT, _common(whole, 2**63), errors=("22003",)),
            Rule(_TWO, NUMERIC, plainly(_common_of_decimals(name))),
        )
        for name, whole in (("gcd", math.gcd), ("lcm", math.lcm))
    },
    "factorial": (Rule(exactly(BIGINT), NUMERIC, _factorial, errors=("22003",)),),
}
