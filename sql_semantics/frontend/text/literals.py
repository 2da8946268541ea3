"""Literals as constants: numbers as they are written, texts by what they meet.

Sources: PostgreSQL 4.1.2, MySQL 11.1, DuckDB's literal types. Does not know the parse tree.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.numbers.sqlite_text import leading_real
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NUMBER_KINDS,
    NUMERIC,
    TEXT,
    UBIGINT,
    Kind,
    SqlType,
)

from sql_semantics.ir.expressions import Const  # isort: skip

_INTEGER = pattern(r"\s*[+-]?[0-9]+\s*\Z", re.ASCII)
_DECIMAL = pattern(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*\Z", re.ASCII)
_BLANKS = " \t\n\r\v\f"
_LONG = 30
"""Digits beyond which no integer type holds a number."""
_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def base(kind: SqlType) -> SqlType:
    """The type without its length, precision and scale; CHAR stays CHAR."""
    if kind.kind is Kind.TEXT:
        return SqlType(Kind.TEXT, padded=kind.padded)
    if isinstance(kind.family, ArrayFamily):
        return SqlType(Kind.ARRAY, family=ArrayFamily(base(kind.family.item)))
    return kind if kind.family is not None else SqlType(kind.kind)


def literal_value(text: str, target: SqlType, dialect: Dialect) -> Const:
    """A string literal read as a value of `target`'s family. Raises SqlError of class 22, Unsupported."""
    kind, rules, types = target.kind, dialect.rules.text, dialect.rules.types
    if kind is Kind.REAL and types.reals_compute_as_doubles:
        return literal_value(text, DOUBLE, dialect)
    if kind is Kind.TEXT:
        return Const(text, base(target))
    if kind in INTEGER_KINDS and _INTEGER.match(text):
        value = int(_exact(text))
        low, high = INTEGER_RANGE[kind]
        if low <= value <= high:
            return Const(value, base(target))
        if rules.integer_texts == "in range":
            raise SqlError("22003", f'value "{text}" is out of range for type {kind.value}')
        if rules.integer_texts == "converted":
            raise SqlError("22003", f"could not convert {text!r} to {kind.value}")
        return Const(Decimal(value), NUMERIC)
    if kind not in NUMBER_KINDS and kind is not Kind.BOOLEAN:
        return _other_literal(text, base(target), dialect)
    exact = kind is Kind.NUMERIC or (kind in INTEGER_KINDS and rules.integer_texts == "any number")
    if exact and _DECIMAL.match(text) and rules.reads_decimal_texts:
        return Const(_exact(text), NUMERIC)
    if kind in FLOAT_KINDS and (_DECIMAL.match(text) or types.untyped_texts_convert):
        return _other_literal(text, SqlType(kind), dialect)
    if kind is Kind.BOOLEAN and rules.boolean_texts == "cast":
        return _other_literal(text, BOOLEAN, dialect)
    if kind is Kind.BOOLEAN and rules.boolean_texts == "words":
        word = text.strip(_BLANKS).lower()
        if word in _TRUE or word in _FALSE:
            return Const(word in _TRUE, BOOLEAN)
    if not types.untyped_texts_convert:
        raise Unsupported(f"text literal {text!r} where {kind.value} is expected")
    if kind is Kind.NUMERIC and text.strip(_BLANKS).lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise Unsupported(f"numeric value {text!r}")
    if kind in NUMBER_KINDS and re.match(r"\s*[+-]?(?:0[xXoObB]|[0-9.]+_)", text, re.ASCII):
        raise Unsupported(f"number written {text!r}")
    raise SqlError("22P02", f'invalid input syntax for type {kind.value}: "{text}"')


_DIGITS = 20_000
"""Digits of an exact number that are modelled; PostgreSQL has 131,072 of them before the point."""


def _exact(text: str) -> Decimal:
    """An exact number as it is written. Raises Unsupported for one that is too long."""
    try:
        number = Decimal(text.strip()) if len(text) <= 2 * _DIGITS else None
    except InvalidOperation:  # an exponent that no Decimal has
        number = None
    if number is None or abs(number.adjusted()) > _DIGITS:
        raise Unsupported(f"an exact number beyond {_DIGITS:,} digits")
    return number


def _double(text: str, dialect: Dialect) -> Const:
    """A number written as a double. Raises SqlError for one that MySQL refuses while it parses, Unsupported."""
    rules = dialect.rules.text
    value = leading_real(text, dialect.version) if rules.own_real_reader else float(text)
    if not math.isinf(value):
        return Const(value, DOUBLE)
    if rules.double_range_error is not None:
        raise SqlError(rules.double_range_error, f"illegal double '{text}' value found during parsing")
    raise Unsupported("a number beyond the range of a double")


def _other_literal(text: str, target: SqlType, dialect: Dialect) -> Const:
    convert = caster(TEXT, target, False, dialect)
    try:
        return Const(text if convert is None else convert(text), target)
    except SqlError:
        if dialect.rules.text.float_texts_saturate and target.kind in FLOAT_KINDS:
            raise Unsupported("a text beyond the range of a double") from None  # saturated where it is compared
        raise


def signed_literal(literal: Const, dialect: Dialect) -> Const:
    """A numeric literal together with its sign, typed by PostgreSQL's rules; elsewhere as it is."""
    value = literal.value
    if not dialect.rules.text.typed_after_sign or not isinstance(value, (int, Decimal)):
        return literal
    if isinstance(value, Decimal) and value.as_tuple().exponent != 0:
        return literal
    number = int(value)
    for kind in (INT, BIGINT):
        low, high = INTEGER_RANGE[kind.kind]
        if low <= number <= high and (literal.type.kind is not Kind.NUMERIC or abs(number) > high):
            return Const(number, kind)
    return literal


def number_literal(text: str, dialect: Dialect) -> Const:
    """A numeric literal by the dialect's rules (PostgreSQL 4.1.2.6, MySQL 11.1.2)."""
    rules = dialect.rules.text
    if text.isascii() and text.isdigit():
        if len(text) > _LONG and rules.long_integers == "numeric":
            return Const(_exact(text), NUMERIC)
        if len(text) > _LONG and rules.long_integers != "double":
            raise Unsupported("an integer literal beyond 64 bits")
        value = 10**_LONG if len(text) > _LONG else int(text)
        for kind in (INT, BIGINT, UBIGINT) if rules.unsigned_literals else (INT, BIGINT):
            if value <= INTEGER_RANGE[kind.kind][1]:
                return Const(value, kind)
        if rules.long_integers == "double":
            return _double(text, dialect)
        if rules.long_integers != "numeric":
            raise Unsupported(f"integer literal {text[:40]} beyond 64 bits")
        return Const(Decimal(value), NUMERIC)
    if not _DECIMAL.match(text):
        raise Unsupported(f"number written {text}")
    if rules.fractions == "double" or ("e" in text.lower() and rules.fractions == "decimal"):
        return _double(text, dialect)
    number = _exact(text)
    if (exponent := number.as_tuple().exponent) == 0 or (isinstance(exponent, int) and exponent > 0):
        number = Decimal(int(number))
    if rules.fractions == "numeric":
        return Const(number, NUMERIC)
    scale = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    digits = len(number.as_tuple().digits)
    if rules.decimal_bounds is not None and (digits > rules.decimal_bounds[0] or scale > rules.decimal_bounds[1]):
        most, places = rules.decimal_bounds
        raise Unsupported(f"a decimal literal of more than {most} digits, or {places} after the point")
    if rules.counts_leading_zero:
        return Const(number, SqlType(Kind.NUMERIC, max(digits, scale + 1), scale))
    return Const(number, SqlType(Kind.NUMERIC, max(digits, scale, 1), scale))
