"""Conversions between SQL types (DESIGN §3), chosen once per cast, applied to concrete non-null values.

`caster` returns a function of one value. Assignment casts check length and range of what is stored. Does not know
rows, and leaves Unsupported what a product converts by rules of its own (MySQL's numeric prefixes of text, SQLite's
dynamic typing).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.number import (
    EXACT,
    decimal_text,
    double_text,
    plain,
    power_of_ten,
    round_scale,
)
from sql_semantics.values.types import (
    INTEGER_KINDS,
    INTEGER_RANGE,
    Kind,
    SqlType,
    Value,
)

Converter = Callable[[Value], Value]

_INTEGER = re.compile(r"[ \t\n\r\f\v]*([+-]?[0-9]+)[ \t\n\r\f\v]*\Z")
_NUMBER = re.compile(r"[ \t\n\r\f\v]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)[ \t\n\r\f\v]*\Z")
_NEWER_NUMBER = re.compile(r"\s*[+-]?(?:0[xXoObB]|[0-9.]+_|nan\b|inf)", re.IGNORECASE)
_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


def caster(
    source: SqlType,
    target: SqlType,
    assignment: bool,
    dialect: Dialect,
    may: bool = False,
) -> Converter | None:
    """The conversion from `source` to `target`; None where every value stays as it is.

    Raises Unsupported for a pair of types that is not modelled; the function raises SqlError 22003, 22001 or 22P02
    (`may` as given).
    """
    if source.kind is Kind.NULL:
        return None
    kind = target.kind
    if kind is Kind.NULL:
        return None
    if kind in INTEGER_KINDS:
        return _to_integer(source, target, dialect, may)
    if kind is Kind.NUMERIC:
        return _to_numeric(source, target, assignment, dialect, may)
    if kind is Kind.DOUBLE:
        return _to_double(source, dialect, may)
    if kind is Kind.BOOLEAN:
        return _to_boolean(source, dialect, may)
    return _to_text(source, target, assignment, dialect, may)


def _unmodelled(source: SqlType, target: SqlType, dialect: Dialect) -> Unsupported:
    return Unsupported(f"conversion of {source} to {target} in {dialect.name}")


def _range(kind: Kind, dialect: Dialect) -> tuple[int, int]:
    return INTEGER_RANGE[Kind.BIGINT if dialect.name == "sqlite" else kind]


def _to_integer(source: SqlType, target: SqlType, dialect: Dialect, may: bool) -> Converter | None:
    low, high = _range(target.kind, dialect)
    name = str(target)

    def checked(number: int) -> int:
        if low <= number <= high:
            return number
        raise SqlError("22003", f"{name} out of range", may=may)

    def from_integer(value: Value) -> Value:
        if low <= value <= high:  # type: ignore[operator]
            return value
        raise SqlError("22003", f"{name} out of range", may=may)

    def from_numeric(value: Value) -> Value:
        if dialect.name == "sqlite":
            return checked(int(value))  # type: ignore[arg-type]
        return checked(int(round_scale(value, 0)))  # type: ignore[arg-type]

    def from_double(value: Value) -> Value:
        if not isinstance(value, (float, int)) or not math.isfinite(value):
            raise SqlError("22003", f"{name} out of range", may=may)
        return checked(int(value) if dialect.name == "sqlite" else round(value))

    def from_boolean(value: Value) -> Value:
        return 1 if value else 0

    def from_text(value: Value) -> Value:
        text = str(value)
        match = _INTEGER.match(text)
        if match:
            return checked(int(match.group(1)))
        if dialect.name != "postgres" or _NEWER_NUMBER.match(text):
            raise Unsupported(f"conversion of the text {text!r} to {name}")
        raise SqlError("22P02", f"invalid input syntax for type {name}", may=may)

    if source.kind in INTEGER_KINDS:
        inside = _range(source.kind, dialect)
        return None if low <= inside[0] and inside[1] <= high else from_integer
    table: dict[Kind, Converter] = {
        Kind.NUMERIC: from_numeric,
        Kind.DOUBLE: from_double,
        Kind.BOOLEAN: from_boolean,
        Kind.TEXT: from_text,
    }
    return table[source.kind]


def _to_numeric(source: SqlType, target: SqlType, assignment: bool, dialect: Dialect, may: bool) -> Converter | None:
    parse: Callable[[Value], Decimal]
    if source.kind is Kind.NUMERIC:

        def parse(value: Value) -> Decimal:
            return plain(value)  # type: ignore[arg-type]

    elif source.kind in INTEGER_KINDS or source.kind is Kind.BOOLEAN:

        def parse(value: Value) -> Decimal:
            return Decimal(value)  # type: ignore[arg-type]

    elif source.kind is Kind.DOUBLE:

        def parse(value: Value) -> Decimal:
            if not math.isfinite(value):  # type: ignore[arg-type]
                raise Unsupported("NaN and infinity in NUMERIC")
            return plain(Decimal(format(value, ".15g") if dialect.name == "postgres" else repr(value)))

    elif source.kind is Kind.TEXT:

        def parse(value: Value) -> Decimal:
            text = str(value)
            match = _NUMBER.match(text)
            if match:
                return plain(Decimal(match.group(1)))
            if dialect.name != "postgres" or _NEWER_NUMBER.match(text):
                raise Unsupported(f"conversion of the text {text!r} to {target}")
            raise SqlError("22P02", "invalid input syntax for type numeric", may=may)

    else:
        raise _unmodelled(source, target, dialect)
    if dialect.name == "sqlite":
        raise Unsupported("NUMERIC in sqlite (stored as floating point)")
    if target.precision is None:
        return None if source.kind is Kind.NUMERIC else parse
    scale = target.scale or 0
    bound = EXACT.scaleb(Decimal(power_of_ten(target.precision)), -scale)
    least = bound.copy_negate()
    clamp = dialect.name == "mysql" and not assignment

    def convert(value: Value) -> Value:
        rounded = round_scale(parse(value), scale)
        if least < rounded < bound:
            return rounded
        if clamp:
            most = Decimal((0, (9,) * (target.precision or 0), -scale))
            return most if rounded > 0 else most.copy_negate()
        raise SqlError("22003", "numeric field overflow", may=may)

    return convert


def _to_double(source: SqlType, dialect: Dialect, may: bool) -> Converter | None:
    if source.kind is Kind.DOUBLE:
        return None
    if source.kind is not Kind.TEXT:

        def from_number(value: Value) -> Value:
            result = float(value)  # type: ignore[arg-type]
            if math.isinf(result):
                raise SqlError("22003", "out of range for type double precision", may=may)
            return result

        return from_number

    def from_text(value: Value) -> Value:
        text = str(value)
        match = _NUMBER.match(text)
        if match:
            result = float(match.group(1))
            if math.isinf(result):
                raise SqlError("22003", "out of range for type double precision", may=may)
            return result
        if dialect.name != "postgres" or _NEWER_NUMBER.match(text):
            raise Unsupported(f"conversion of the text {text!r} to double precision")
        raise SqlError("22P02", "invalid input syntax for type double precision", may=may)

    return from_text


def _to_boolean(source: SqlType, dialect: Dialect, may: bool) -> Converter | None:
    if source.kind is Kind.BOOLEAN:
        return None
    if source.kind is not Kind.TEXT:
        return lambda value: value != 0

    def from_text(value: Value) -> Value:
        text = str(value).strip(" \t\n\r\f\v").lower()
        if dialect.name == "postgres" or dialect.name == "duckdb":
            if text in _TRUE:
                return True
            if text in _FALSE:
                return False
            raise SqlError("22P02", "invalid input syntax for type boolean", may=may)
        raise Unsupported(f"conversion of the text {value!r} to boolean")

    return from_text


def _render(source: SqlType, dialect: Dialect) -> Callable[[Value], str]:
    if source.kind in INTEGER_KINDS:
        return str
    if source.kind is Kind.NUMERIC:
        return lambda value: decimal_text(value)  # type: ignore[arg-type]
    if source.kind is Kind.BOOLEAN:
        if dialect.name in ("postgres", "duckdb"):
            return lambda value: "true" if value else "false"
        return lambda value: "1" if value else "0"
    if source.kind is Kind.DOUBLE and dialect.name == "postgres":
        return lambda value: double_text(value)  # type: ignore[arg-type]
    raise Unsupported(f"conversion of {source} to text in {dialect.name}")


def _to_text(source: SqlType, target: SqlType, assignment: bool, dialect: Dialect, may: bool) -> Converter | None:
    length = target.length if dialect.name in ("postgres", "mysql") else None
    render = None if source.kind is Kind.TEXT else _render(source, dialect)
    if length is None and not target.padded:
        return render

    def convert(value: Value) -> Value:
        text = str(value) if render is None else render(value)
        if target.padded:
            text = text.rstrip(" ")
        if length is None or len(text) <= length:
            return text
        if assignment and text[length:].strip(" "):
            raise SqlError("22001", f"value too long for type {target}", may=may)
        kept = text[:length]
        return kept.rstrip(" ") if target.padded else kept

    return convert
