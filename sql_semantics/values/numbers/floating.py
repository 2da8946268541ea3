"""Floating-point numbers: 32-bit rounding, their text by product, and arithmetic with its errors.

Sources: PostgreSQL's float.c and ryu_common (shortest digits), SQLite's printf ``%!.15g``, DuckDB's fmt. Does not know
MySQL's text of a double, which differs between its versions.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.products.rules.values import FloatText
from sql_semantics.values.types import Kind


def to_real(value: float) -> float:
    """The nearest 32-bit float, infinite beyond their range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _shortest(value: float, kind: Kind) -> Decimal:
    """The shortest decimal strictly between the midpoints to the neighbours of this positive number (as Ryu does:
    a decimal on a midpoint reads back as this number or not, by the parity of its last bit)."""
    low, high = _neighbours(value, kind)
    for digits in range(1, 18):
        exact = Fraction(text := f"{value:.{digits - 1}e}")
        if low < exact < high:
            return Decimal(text).normalize()
    return Decimal(repr(value)).normalize()


def _neighbours(value: float, kind: Kind) -> tuple[Fraction, Fraction]:
    """The midpoints to the next smaller and the next larger float."""
    exact = Fraction(value)
    if kind is Kind.REAL:
        bits = struct.unpack("I", struct.pack("f", value))[0]
        below = Fraction(struct.unpack("f", struct.pack("I", bits - 1))[0])
        top = struct.unpack("f", struct.pack("I", bits + 1))[0]
        above = 2 * exact - below if math.isinf(top) else Fraction(top)
    else:
        below = Fraction(math.nextafter(value, 0.0))
        top = math.nextafter(value, math.inf)
        above = 2 * exact - below if math.isinf(top) else Fraction(top)
    return (exact + below) / 2, (exact + above) / 2


def _scientific(digits: str, exponent: int) -> str:
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def float_text(value: float, kind: Kind, style: FloatText | None) -> str:
    """A float as the product prints it. Raises Unsupported where that is not modelled."""
    if style is None:
        raise Unsupported("conversion of a floating-point number to text in mysql")
    if style.digits == "fifteen":
        return _fifteen_digits(value)
    if math.isnan(value):
        return style.nan
    if math.isinf(value):
        return style.infinity if value > 0 else f"-{style.infinity}"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + ("0.0" if style.point else "0")
    if kind is Kind.REAL and not style.large_reals and abs(value) >= 1e7:
        raise Unsupported("conversion of a large REAL to text in duckdb")
    shortest = _shortest(abs(value), kind)
    digits = "".join(map(str, shortest.as_tuple().digits))
    top = shortest.adjusted()
    double, real = style.scientific
    if top < -4 or top >= (double if kind is Kind.DOUBLE else real):
        return sign + _scientific(digits, top)
    plain = format(shortest, "f")
    return sign + (plain + ".0" if style.point and "." not in plain else plain)


def _fifteen_digits(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        raise Unsupported("conversion of an infinite number to text in sqlite")
    if value == 0:
        return "0.0"
    rounded = Decimal(f"{abs(value):.14e}").normalize()
    digits, top = "".join(map(str, rounded.as_tuple().digits)), rounded.adjusted()
    sign = "-" if value < 0 else ""
    if top < -4 or top >= 15:
        return sign + _scientific(digits if len(digits) > 1 else digits + "0", top)
    plain = format(rounded, "f")
    return sign + (plain if "." in plain else plain + ".0")


def float_overflow(kind: Kind, may: bool) -> SqlError:
    """22003 for a float."""
    return SqlError("22003", f"value out of range: {kind.value}", may=may)


def checked_float(op: str, left: float, right: float, kind: Kind, may: bool) -> float:
    """+ - * / on floats of one kind with PostgreSQL's overflow and underflow errors; for / `right` is 0 beside NaN
    only."""
    if left != left:
        return left
    if op == "+":
        result = left + right
    elif op == "-":
        result = left - right
    else:
        result = left * right if op == "*" else left / right if right else math.nan
    if kind is Kind.REAL:
        result = to_real(result)
    if op in ("*", "/") and result == 0 and left != 0 and not (op == "*" and right == 0) and not math.isinf(right):
        raise float_overflow(kind, may)
    if math.isinf(result) and not math.isinf(left) and not math.isinf(right):
        raise float_overflow(kind, may)
    return result


def finite_double(number: float, may: bool) -> float:
    """A result that must be finite, else 22003."""
    if math.isinf(number):
        raise float_overflow(Kind.DOUBLE, may)
    return number
