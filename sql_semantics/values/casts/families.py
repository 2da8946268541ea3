"""Conversions to and from enums, arrays, composites and jsonb (PostgreSQL 8.7, 8.14 to 8.16). Does not know how values
compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sql_semantics.errors import Unsupported
from sql_semantics.values.casts.conversion import Conversion, Converter
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.array_text import read_array
from sql_semantics.values.families.arrays import Array, ArrayFamily, array_text, each
from sql_semantics.values.families.composites import Composite, CompositeFamily, composite
from sql_semantics.values.families.enums import EnumFamily
from sql_semantics.values.families.jsonb import read_jsonb
from sql_semantics.values.families.record_text import read_record, record_text
from sql_semantics.values.text import rule_of, text_equality, text_rule
from sql_semantics.values.types import TEXT, Kind, SqlType, Value

Caster = Callable[[SqlType, SqlType, bool, Dialect, bool], Converter | None]


def to_family(this: Conversion, caster: Caster) -> Converter | None:
    """To an enum, an array, a composite or jsonb; `caster` is how items and fields are converted."""
    family, may = this.target.family, this.may
    if this.dialect.rules.types.enums_are_texts and isinstance(family, EnumFamily):
        return _to_label(this, family)
    if not this.rules.has_families:
        raise this.unmodelled()
    if isinstance(family, ArrayFamily):
        return _to_array(this, family, caster)
    if isinstance(family, CompositeFamily):
        return _to_row(this, family, caster)
    if this.source == this.target:
        return None
    if isinstance(family, EnumFamily) and this.source.kind is Kind.TEXT:
        return lambda value: family.read(str(value), may)
    if this.target.kind is Kind.JSONB and this.source.kind in (Kind.TEXT, Kind.JSON):
        return lambda value: read_jsonb(str(value), may)
    raise this.unmodelled()


def _to_label(this: Conversion, family: EnumFamily) -> Converter | None:
    """MySQL 11.3.5: the label that equals the text under the column's collation; a text of a number may be a place."""
    if this.source == this.target:
        return None
    if this.source.kind is not Kind.TEXT:
        raise this.unmodelled()
    equal = text_equality(rule_of(this.target, text_rule(this.dialect)))

    def read(value: Value) -> Value:
        text = str(value)
        if text in family.labels:
            return family.given(text)
        for label in family.labels:
            if equal(label, text):
                return family.given(label)
        if not text[:1].isalpha():
            raise Unsupported(f"a text that may be a place in {family.name}")
        raise this.fail("01000", f"data truncated: {text[:40]!r} is none of {family.name}")

    return read


def _to_array(this: Conversion, family: ArrayFamily, caster: Caster) -> Converter | None:
    source = this.source.family
    if isinstance(source, ArrayFamily):
        of_items = caster(source.item, family.item, this.assignment, this.dialect, this.may)
        if of_items is None:
            return None
        convert = each(of_items)
        return lambda value: convert(cast(Array, value))
    if this.source.kind is not Kind.TEXT:
        raise this.unmodelled()
    read = caster(TEXT, family.item, False, this.dialect, this.may)

    def from_text(value: Value) -> Value:
        items = read_array(str(value), this.may)
        return Array(tuple(item if item is None or read is None else read(item) for item in items))

    return from_text


def _to_row(this: Conversion, family: CompositeFamily, caster: Caster) -> Converter | None:
    """From a text, each field with its length and precision as in a column; from another row, field by field."""
    source = this.source.family
    if this.source == this.target:
        return None
    if isinstance(source, CompositeFamily):
        if len(source.fields) != len(family.fields):
            raise this.unmodelled()
        pairs = zip(source.fields, family.fields, strict=True)
        converters = [caster(one, other, this.assignment, this.dialect, this.may) for (_, one), (_, other) in pairs]
        return lambda value: composite(map(_converted, cast(Composite, value).fields, converters))
    if this.source.kind is not Kind.TEXT:
        raise this.unmodelled()
    readers = [caster(TEXT, type_, True, this.dialect, this.may) for _, type_ in family.fields]
    return lambda value: composite(map(_converted, read_record(str(value), len(readers), this.may), readers))


def _converted(value: Value, convert: Converter | None) -> Value:
    return value if value is None or convert is None else convert(value)


Render = Callable[[Conversion], Callable[[Value], str]]


def array_writer(this: Conversion, family: ArrayFamily, render: Render) -> Callable[[Value], str]:
    """An array as a text; `render` is how an item is written."""
    if family.item.kind is Kind.TEXT:
        return str
    write = _writer(family.item, this, render)
    return lambda value: array_text([write(item) for item in cast(Array, value).items])


def row_writer(this: Conversion, family: CompositeFamily, render: Render) -> Callable[[Value], str]:
    """A row as a text; `render` is how a field is written."""
    writers = [_writer(type_, this, render) for _, type_ in family.fields]

    def write(value: Value) -> str:
        fields = cast(Composite, value).fields
        return record_text([writer(field) for writer, field in zip(writers, fields, strict=True)])

    return write


def _writer(type_: SqlType, this: Conversion, render: Render) -> Callable[[Value], str | None]:
    """How an item or a field is written within its array or row, NULL apart."""
    if type_.kind is Kind.BOOLEAN:
        return _letter
    write = str if type_.kind is Kind.TEXT else render(Conversion(type_, TEXT, False, this.dialect, this.may))
    return lambda item: None if item is None else write(item)


def _letter(item: Value) -> str | None:
    """A truth value as its type writes it; only a cast of one alone gives a word."""
    return None if item is None else "t" if item else "f"
