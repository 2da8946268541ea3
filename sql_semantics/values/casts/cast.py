"""Conversions between SQL types, chosen once per cast, applied to concrete non-null values.

`caster` returns a function of one value. Assignment casts check length and range of what is stored. Which casts a
product has at all is the front end's business; what is not modelled here raises Unsupported. Does not know rows.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.casts import families, numbers, others
from sql_semantics.values.casts.conversion import Conversion, Converter
from sql_semantics.values.casts.numbers import prefix_number
from sql_semantics.values.dates.temporal import temporal_text
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.numbers.floating import float_text
from sql_semantics.values.numbers.number import decimal_text, round_scale
from sql_semantics.values.types import (
    FAMILY_KINDS,
    FLOAT_KINDS,
    INTEGER_KINDS,
    SQLITE_DATE,
    TEMPORAL_KINDS,
    Kind,
    SqlType,
    Value,
    charset_of,
)

__all__ = ["Converter", "caster"]


def caster(
    source: SqlType,
    target: SqlType,
    assignment: bool,
    dialect: Dialect,
    may: bool = False,
) -> Converter | None:
    """The conversion from `source` to `target`; None where every value stays as it is.

    Raises Unsupported for a pair of types that is not modelled; the function raises SqlError of class 22 (`may` as
    given), Unsupported for values whose conversion is not modelled, and returns None where the product says NULL.
    """
    if source.kind is Kind.NULL or target.kind is Kind.NULL:
        return None
    this = Conversion(source, target, assignment, dialect, may)
    kind = target.kind
    if kind in INTEGER_KINDS:
        return numbers.to_integer(this)
    if kind is Kind.NUMERIC:
        return numbers.to_numeric(this)
    if kind in FLOAT_KINDS:
        return numbers.to_float(this)
    if kind is Kind.TEXT:
        return _to_text(this)
    if kind in FAMILY_KINDS:
        return families.to_family(this, caster)
    if kind is Kind.ANY:
        return numbers.to_sqlite_any(this)
    convert = others.TARGETS.get(kind)
    if convert is None:
        raise this.unmodelled()
    return convert(this)


def _render(this: Conversion) -> Callable[[Value], str]:
    """A value of the source type as text."""
    source, rules = this.source, this.rules
    kind = source.kind
    if kind in INTEGER_KINDS:
        return str
    if kind is Kind.NUMERIC:
        scale = source.scale
        if rules.declared_digits and scale is not None:
            return lambda value: decimal_text(round_scale(value, scale))  # type: ignore[arg-type]
        return lambda value: decimal_text(value) if isinstance(value, Decimal) else str(value)
    style = rules.float_text
    if kind is Kind.ANY:
        return lambda value: float_text(value, Kind.DOUBLE, style) if isinstance(value, float) else str(value)
    if kind is Kind.BOOLEAN:
        true, false = rules.truth_words
        return lambda value: true if value else false
    if kind in FLOAT_KINDS and style is not None:
        return lambda value: float_text(value, kind, style) if isinstance(value, float) else str(value)
    if kind is Kind.TIMESTAMPTZ and this.dialect.timezone is not None:
        raise Unsupported(f"the session time zone {this.dialect.timezone}")
    if kind in TEMPORAL_KINDS:
        digits = (source.precision or 0) if rules.declared_fractions else None
        short = rules.short_intervals
        return lambda value: temporal_text(value, short=short, digits=digits)  # type: ignore[arg-type]
    if kind in (Kind.UUID, Kind.JSON, Kind.ENUM, Kind.JSONB):
        return str
    if isinstance(source.family, ArrayFamily):
        return families.array_writer(this, source.family, _render)
    if isinstance(source.family, CompositeFamily):
        return families.row_writer(this, source.family, _render)
    if kind is Kind.BYTES and rules.bytes_in_hexadecimal:
        return lambda value: "\\x" + value.hex()  # type: ignore[union-attr, operator]
    raise this.unmodelled()


def _to_sqlite_date(this: Conversion) -> Converter:
    """NUMERIC affinity (SQLite 3) leaves a text alone that is no number."""
    if this.source.kind is not Kind.TEXT:
        raise this.unmodelled()

    def convert(value: Value) -> Value:
        if prefix_number(str(value).strip())[1]:
            raise Unsupported("a text that is a number in a date column of sqlite")
        return value

    return convert


def _to_text(this: Conversion) -> Converter | None:
    target = this.target
    if target == SQLITE_DATE and this.rules.affinities:
        return _to_sqlite_date(this)
    length = target.length if this.rules.lengths_bind else None
    render = None if this.source.kind is Kind.TEXT else _render(this)
    if this.assignment and charset_of(target.collation) not in _WHOLE:
        return _checked_characters(this, render)
    return _fitted(this, length, render)


_WHOLE = frozenset({"", "?", "utf8mb4"})
"""Character sets that have every character."""


def _checked_characters(this: Conversion, render: Converter | None) -> Converter:
    """What is stored in a character set that lacks some characters, and has others in other bytes."""
    charset = charset_of(this.target.collation)
    last = "\uffff" if charset in ("utf8", "utf8mb3") else "\x7f"
    fit = _fitted(this, this.target.length if this.rules.lengths_bind else None, render)

    def convert(value: Value) -> Value:
        found = value if fit is None else fit(value)
        if isinstance(found, str) and max(found, default="") > last:
            raise Unsupported(f"a character that CHARACTER SET {charset} may lack")
        return found

    return convert


def _fitted(this: Conversion, length: int | None, render: Converter | None) -> Converter | None:
    """A text of at most this many characters."""
    target = this.target
    if length is None and not target.padded:
        return render
    assignment, may, writing = this.assignment, this.may, this.dialect.writing is not None

    def convert(value: Value) -> Value:
        text = str(value if render is None else render(value))
        if target.padded:
            text = text.rstrip(" ")
        if length is None or len(text) <= length:
            return text
        if assignment and text[length:].strip(" "):
            raise SqlError("22001", f"value too long for type {target}", may=may)
        if writing and not assignment and text[length:].strip(" "):
            raise SqlError("22007", f"a text cut to {target} in a write", may=True)  # strict mode
        kept = text[:length]
        return kept.rstrip(" ") if target.padded else kept

    return convert
