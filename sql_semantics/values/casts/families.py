"""Conversions to and from enums, arrays and jsonb (PostgreSQL 8.7, 8.14, 8.15). Does not know how values compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sql_semantics.values.casts.conversion import Conversion, Converter
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.array_text import read_array
from sql_semantics.values.families.arrays import Array, ArrayFamily, array_text, each
from sql_semantics.values.families.enums import EnumFamily
from sql_semantics.values.families.jsonb import read_jsonb
from sql_semantics.values.types import TEXT, Kind, SqlType, Value

Caster = Callable[[SqlType, SqlType, bool, Dialect, bool], Converter | None]


def to_family(this: Conversion, caster: Caster) -> Converter | None:
    """To an enum, an array or jsonb; `caster` is how items are converted."""
    if this.dialect.name != "postgres":
        raise this.unmodelled()
    family, may = this.target.family, this.may
    if isinstance(family, ArrayFamily):
        return _to_array(this, family, caster)
    if this.source == this.target:
        return None
    if isinstance(family, EnumFamily) and this.source.kind is Kind.TEXT:
        return lambda value: family.read(str(value), may)
    if this.target.kind is Kind.JSONB and this.source.kind in (Kind.TEXT, Kind.JSON):
        return lambda value: read_jsonb(str(value), may)
    raise this.unmodelled()


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


def array_writer(
    this: Conversion, family: ArrayFamily, render: Callable[[Conversion], Callable[[Value], str]]
) -> Callable[[Value], str]:
    """An array as a text; `render` is how an item is written."""
    if family.item.kind is Kind.TEXT:
        return str
    write = render(Conversion(family.item, TEXT, False, this.dialect, this.may))
    if family.item.kind is Kind.BOOLEAN:
        return lambda value: array_text([_letter(item) for item in cast(Array, value).items])
    return lambda value: array_text([None if item is None else write(item) for item in cast(Array, value).items])


def _letter(item: Value) -> str | None:
    """A truth value as its type writes it; only a cast of one alone gives a word."""
    return None if item is None else "t" if item else "f"
