"""Conversions to numbers (PostgreSQL 8.1 and 10.4, MySQL 14.6.5, DuckDB's casts, SQLite 3). Knows no other targets.

Text that is no clean number is an error in PostgreSQL; elsewhere the prefix rules of `prefix_number` apply where the
front end asks for them by name, and a plain cast is Unsupported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.casts.conversion import Conversion, Converter
from sql_semantics.values.numbers.floating import float_overflow, to_real
from sql_semantics.values.numbers.number import EXACT, plain, power_of_ten, round_scale
from sql_semantics.values.numbers.sqlite_text import leading_number, narrowed, whole_number
from sql_semantics.values.types import (
    FLOAT_KINDS,
    INTEGER_KINDS,
    INTEGER_RANGE,
    SQLITE_ANY,
    SQLITE_NUMBER,
    SQLITE_NUMERIC,
    Kind,
    Value,
)

_INTEGER = pattern(r"[ \t\n\r\f\v]*([+-]?[0-9]+)[ \t\n\r\f\v]*\Z")
_NUMBER = pattern(r"[ \t\n\r\f\v]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)[ \t\n\r\f\v]*\Z")
_NEWER_NUMBER = pattern(r"\s*[+-]?(?:0[xXoObB]|[0-9.]+_|nan\b|inf)", re.IGNORECASE | re.ASCII)
_INTEGER_PREFIX = pattern(r"[ \t\n\r\f\v]*([+-]?[0-9]+)")
_PREFIX = pattern(r"[ \t\n\r\f\v]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)?")


_LONG = 1000


def prefix_number(text: str) -> tuple[Decimal, bool]:
    """The number that a text begins with (0 for none), and whether it is all of the text but blanks around it."""
    match = _PREFIX.match(text)
    number = match.group(1) if match else None
    end = match.end() if match else 0
    return Decimal(number or 0), number is not None and not text[end:].strip(" ")


def _bad_text(this: Conversion, text: str) -> Exception:
    message = this.rules.bad_number
    if message is None or _NEWER_NUMBER.match(text):
        return Unsupported(f"conversion of the text {text!r} to {this.target}")
    return this.fail("22P02", message.format(text=text, target=this.target))


def _overflows(text: str, high: int) -> bool:
    """Whether PostgreSQL has read too many digits before it comes to what is none (pg_strtoint32)."""
    digits = _INTEGER_PREFIX.match(text)
    return digits is not None and not _NEWER_NUMBER.match(text) and abs(int(digits.group(1))) // 10 > (high + 1) // 10


def _checker(this: Conversion) -> Callable[[int], int]:
    """The test of an integer against the target's range."""
    target, rules = this.target, this.rules
    low, high = INTEGER_RANGE[Kind.BIGINT if rules.integers_of_64_bits else target.kind]
    explicit = rules.casts_clamp and not this.assignment

    def check(number: int) -> int:
        if low <= number <= high:
            return number
        if explicit and target.kind is Kind.UBIGINT and -(2**63) <= number < 0 and this.source.kind in INTEGER_KINDS:
            return number + 2**64
        if explicit and target.kind is Kind.BIGINT and this.source.kind is Kind.UBIGINT:
            return number - 2**64
        if explicit:
            raise Unsupported(f"CAST beyond the range of {target} in mysql")
        raise this.fail("22003", f"{target} out of range")

    return check


def _float_to_integer(this: Conversion) -> Converter:
    check, target = _checker(this), this.target
    cuts, overflows = this.rules.cuts_floats, this.rules.infinity_overflows

    def convert(value: Value) -> Value:
        if isinstance(value, int):
            return check(value)  # among floats, in SQLite
        number = float(value)  # type: ignore[arg-type]
        if not math.isfinite(number):
            if not overflows:
                raise Unsupported("CAST of an infinite number")
            raise this.fail("22003", f"{target} out of range")
        if cuts:
            if this.assignment and (number != int(number) or abs(number) >= 2**63):
                raise Unsupported("a REAL in an INTEGER column of sqlite")
            return max(-(2**63), min(2**63 - 1, int(number)))
        return check(round(number))

    return convert


def _text_to_integer(this: Conversion) -> Converter:
    check, texts = _checker(this), this.rules.integer_texts
    prefixes, digits = texts == "prefixes", texts == "digits"
    decimals, stored = texts == "decimals", texts == "stored_decimals" and this.assignment

    def convert(value: Value) -> Value:
        text = str(value)
        if len(text) > _LONG:
            raise Unsupported(f"a text of more than {_LONG} characters as an integer")
        if prefixes and this.assignment:
            number = whole_number(text, this.dialect.version)
            if number is None or isinstance(narrowed(number), float):
                raise _bad_text(this, text)
            return narrowed(number)
        if prefixes:
            # the longest prefix that is an integer, 0 where there is none
            prefix = _INTEGER_PREFIX.match(text)
            return max(-(2**63), min(2**63 - 1, int(prefix.group(1)))) if prefix else 0
        match = _INTEGER.match(text)
        if match:
            return check(int(match.group(1)))
        decimal = _NUMBER.match(text)
        if decimal and (decimals or (stored and "e" not in text.lower())):
            return check(int(round_scale(plain(Decimal(decimal.group(1))), 0)))
        if digits and _overflows(text, INTEGER_RANGE[this.target.kind][1]):
            raise this.fail("22003", f"{this.target} out of range")
        raise _bad_text(this, text)

    return convert


def to_integer(this: Conversion) -> Converter | None:
    """To any of the integer types."""
    source, target, wide = this.source, this.target, this.rules.integers_of_64_bits
    check = _checker(this)
    if source.kind in INTEGER_KINDS:
        low, high = INTEGER_RANGE[Kind.BIGINT if wide else target.kind]
        inside = INTEGER_RANGE[Kind.BIGINT if wide else source.kind]
        return None if low <= inside[0] and inside[1] <= high else lambda value: check(value)  # type: ignore[arg-type]
    if source.kind is Kind.NUMERIC:

        def from_numeric(value: Value) -> Value:
            if isinstance(value, Decimal) and value.is_nan():
                raise this.fail("0A000", "cannot convert NaN to integer")
            return check(int(round_scale(Decimal(value), 0)))  # type: ignore[arg-type]

        return from_numeric
    if source.kind in FLOAT_KINDS:
        return _float_to_integer(this)
    if source.kind is Kind.BOOLEAN:
        return lambda value: 1 if value else 0
    if source.kind is Kind.TEXT:
        return _text_to_integer(this)
    raise this.unmodelled()


def _within(number: Decimal) -> Decimal:
    """The number, unless its exponent is beyond what any product's exact numbers have. Raises Unsupported."""
    if abs(number.adjusted()) > 20_000:
        raise Unsupported("an exact number beyond 20,000 digits")
    return number


def _to_decimal(this: Conversion) -> Callable[[Value], Decimal]:
    kind, dialect, digits = this.source.kind, this.dialect.name, this.rules.decimal_of_float

    def from_float(value: Value) -> Decimal:
        number = float(value)  # type: ignore[arg-type]
        if not math.isfinite(number):
            raise Unsupported("NaN and infinity in NUMERIC")
        if digits == "significant":
            return plain(Decimal(format(number, ".15g" if kind is Kind.DOUBLE else ".6g")))
        if digits == "shortest":
            return plain(Decimal(repr(number)))
        raise Unsupported(f"conversion of a floating-point number to NUMERIC in {dialect}")

    def from_text(value: Value) -> Decimal:
        text = str(value)
        match = _NUMBER.match(text)
        if match:
            return plain(_within(Decimal(match.group(1))))
        raise _bad_text(this, text)

    if kind is Kind.NUMERIC:
        return lambda value: plain(value)  # type: ignore[arg-type]
    if kind in INTEGER_KINDS or kind is Kind.BOOLEAN:
        return lambda value: Decimal(value)  # type: ignore[arg-type]
    if kind in FLOAT_KINDS:
        return from_float
    if kind is Kind.TEXT:
        return from_text
    raise this.unmodelled()


def to_numeric(this: Conversion) -> Converter | None:
    """To NUMERIC, rounded half away from zero to its scale. MySQL's explicit CAST clamps what is too large."""
    if not this.rules.exact_decimals:
        raise Unsupported("NUMERIC in sqlite (stored as floating point)")
    parse, target = _to_decimal(this), this.target
    if target.precision is None:
        return None if this.source.kind is Kind.NUMERIC else parse
    scale = target.scale or 0
    bound = EXACT.scaleb(Decimal(power_of_ten(target.precision)), -scale)
    least = bound.copy_negate()
    clamp = this.rules.casts_clamp and not this.assignment

    def convert(value: Value) -> Value:
        number = parse(value)
        if number.is_nan():
            return number
        rounded = round_scale(number, scale)
        if least < rounded < bound:
            return rounded
        if clamp and this.dialect.writing is not None:
            raise SqlError("22003", "out of range in a CAST within a write", may=True)  # strict mode
        if clamp:
            most = Decimal((0, (9,) * (target.precision or 0), -scale))
            return most if rounded > 0 else most.copy_negate()
        raise this.fail("22003", "numeric field overflow")

    return convert


def to_float(this: Conversion) -> Converter | None:
    """To REAL or DOUBLE."""
    source, kind, rules = this.source, this.target.kind, this.rules
    if rules.affinities and this.target == SQLITE_NUMERIC:
        return _to_sqlite_numeric(this)
    if rules.affinities and source.kind is Kind.TEXT:
        return _text_to_sqlite_float(this)
    if this.target == SQLITE_NUMBER:
        if source.kind in FLOAT_KINDS or source.kind in INTEGER_KINDS:
            return None
        raise this.unmodelled()
    if rules.affinities and source.kind is Kind.DOUBLE:
        return lambda value: float(value)  # type: ignore[arg-type]  # integers stand among floats there
    if source.kind is kind or (source.kind is Kind.REAL and kind is Kind.DOUBLE):
        return None
    if source.kind is Kind.BOOLEAN and not rules.casts_truth_to_float:
        raise this.unmodelled()
    underflow_fails, words = rules.underflow_fails, _FLOAT_WORDS if rules.float_words else {}

    nothing = 0.0 if source.kind is Kind.NUMERIC else -0.0  # exact numbers have no negative zero

    def finished(exact: Decimal | float) -> float:
        number = float(exact) + nothing
        result = to_real(number) if kind is Kind.REAL else number
        infinite = exact.is_infinite() if isinstance(exact, Decimal) else math.isinf(exact)
        if math.isinf(result) and not infinite:
            raise float_overflow(kind, this.may)
        if result == 0 and exact != 0:
            if not underflow_fails:
                raise Unsupported("a number too small for a float")
            raise float_overflow(kind, this.may)
        return result

    def from_text(value: Value) -> Value:
        text = str(value)
        match = _NUMBER.match(text)
        if match:
            return finished(Decimal(match.group(1)))
        word = text.strip(" \t\n\r\f\v").lower()
        if word in words:
            return words[word]
        raise _bad_text(this, text)

    if source.kind is Kind.TEXT:
        return from_text
    scale = source.scale
    if rules.hides_digits and source.kind is Kind.NUMERIC and scale is not None:

        def declared(value: Value) -> Value:
            # a NUMERIC source has Decimals only
            short = round_scale(value, scale)  # type: ignore[arg-type]
            if short != value:  # plan and version decide whether the digits beyond its scale reach the double
                raise Unsupported("a quotient of decimals as a floating-point number in mysql")
            return finished(short)

        return declared
    if source.kind is Kind.DOUBLE or source.kind in INTEGER_KINDS or source.kind in (Kind.NUMERIC, Kind.BOOLEAN):
        return lambda value: finished(value)  # type: ignore[arg-type]
    raise this.unmodelled()


def _text_to_sqlite_float(this: Conversion) -> Converter:
    """CAST to NUMERIC, and the affinity of a REAL column."""

    def convert(value: Value) -> Value:
        if this.target == SQLITE_NUMBER:
            return leading_number(str(value), this.dialect.version)
        whole = whole_number(str(value), this.dialect.version)
        if whole is None:
            raise _bad_text(this, str(value))
        return float(whole)

    return convert


def _to_sqlite_numeric(this: Conversion) -> Converter:
    """NUMERIC affinity (SQLite 3): a whole number becomes an integer, unless it is too large for 64 bits."""

    def convert(value: Value) -> Value:
        if isinstance(value, str):
            number = whole_number(value, this.dialect.version)
            if number is None:
                raise Unsupported(f"the text {value!r} in a NUMERIC column of sqlite")
            return narrowed(number)
        return narrowed(value) if isinstance(value, int | float) else value

    return convert


def to_sqlite_any(this: Conversion) -> Converter | None:
    """Into a SQLite column that holds numbers and texts: as they are, or by NUMERIC affinity."""
    if this.source.kind is Kind.BOOLEAN:
        return lambda value: int(bool(value))
    if this.target != SQLITE_ANY:
        return None

    def convert(value: Value) -> Value:
        if isinstance(value, str):
            number = whole_number(value, this.dialect.version)
            return value if number is None else narrowed(number)
        return narrowed(value) if isinstance(value, int | float) else value

    return convert


_FLOAT_WORDS = {
    "nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf,
    "infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf,
}  # fmt: skip
