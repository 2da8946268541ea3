"""Values as JSON: what to_json and its kin write, and what to_jsonb makes of them (PostgreSQL 9.16, 8.14).

json keeps the text that is written here, so that its blanks count: none in what stands for an array or a row. Does not
know the functions that put values together.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.families.jsonb import Jsonb, number_of, parsed, string_text
from sql_semantics.values.types import NUMBER_KINDS, TEXT, UNMODELLED_KINDS, Kind, SqlType, Value

Write = Callable[[Any], str]
Tree = Callable[[Any], Any]


def json_writer(type_: SqlType, dialect: Dialect) -> Write:
    """A value as JSON text, NULL as null."""
    write = _writer(type_, dialect)
    return lambda value: "null" if value is None else write(value)


def _writer(type_: SqlType, dialect: Dialect) -> Write:
    kind, family = type_.kind, type_.family
    if isinstance(family, ArrayFamily):
        item = json_writer(family.item, dialect)
        return lambda array: f"[{','.join(map(item, array.items))}]"
    if isinstance(family, CompositeFamily):
        names = [string_text(name) for name, _ in family.fields]
        fields = [json_writer(field, dialect) for _, field in family.fields]

        def write_row(row: Any) -> str:
            parts = [f"{name}:{write(value)}" for name, write, value in zip(names, fields, row.fields, strict=True)]
            return f"{{{','.join(parts)}}}"

        return write_row
    if kind is Kind.BOOLEAN:
        return lambda value: "true" if value else "false"
    if kind in (Kind.JSON, Kind.JSONB):
        return str
    text = text_of(type_, dialect)
    if kind in NUMBER_KINDS:

        def write_number(value: Any) -> str:
            shown = text(value)
            return shown if shown[-1:].isdigit() else string_text(shown)

        return write_number
    return lambda value: string_text(text(value))


def json_tree(type_: SqlType, dialect: Dialect) -> Tree:
    """A value as a tree of jsonb, NULL as null."""
    make = _tree(type_, dialect)
    return lambda value: None if value is None else make(value)


def _tree(type_: SqlType, dialect: Dialect) -> Tree:
    kind, family = type_.kind, type_.family
    if isinstance(family, ArrayFamily):
        item = json_tree(family.item, dialect)
        return lambda array: [item(one) for one in array.items]
    if isinstance(family, CompositeFamily):
        fields = [(name, json_tree(field, dialect)) for name, field in family.fields]
        return lambda row: {name: make(value) for (name, make), value in zip(fields, row.fields, strict=True)}
    if kind is Kind.BOOLEAN:
        return bool
    if kind is Kind.JSONB:
        return lambda value: value.tree
    if kind is Kind.JSON:
        return lambda value: parsed(value, False)
    text = text_of(type_, dialect)
    if kind in NUMBER_KINDS:

        def number(value: Any) -> Decimal | str:
            shown = text(value)
            return number_of(shown) if shown[-1:].isdigit() else shown

        return number
    return text


def text_of(type_: SqlType, dialect: Dialect) -> Write:
    """A value that is neither an array nor a row nor JSON as the text that stands for it. Raises Unsupported."""
    kind = type_.kind
    if kind in UNMODELLED_KINDS or type_.padded:
        raise Unsupported(f"JSON of {type_.name or type_}")
    if kind is Kind.TIMESTAMPTZ and dialect.timezone is not None:
        raise Unsupported(f"the session time zone {dialect.timezone}")
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return _moment
    if kind in (Kind.TEXT, Kind.NULL):
        return str
    convert = caster(type_, TEXT, False, dialect)
    assert convert is not None
    return lambda value: str(convert(value))


def _moment(value: Value) -> str:
    """A date and a time of day as XML Schema writes them."""
    assert isinstance(value, datetime) and isinstance(value, date)
    shown = value.replace(tzinfo=None).isoformat(sep="T")
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return shown if value.tzinfo is None else f"{shown}+00:00"


def key_of(type_: SqlType, dialect: Dialect) -> Write:
    """A value as the key of an object. Raises Unsupported for what PostgreSQL refuses, too."""
    if type_.family is not None and type_.kind is not Kind.ENUM:
        raise Unsupported(f"a JSON key of type {type_}")
    if type_.kind is Kind.JSON:
        raise Unsupported(f"a JSON key of type {type_}")
    if type_.kind is Kind.BOOLEAN:
        return lambda value: "true" if value else "false"
    return text_of(type_, dialect)


def tree_of(value: Jsonb | None) -> Any:
    """The tree of a value of jsonb."""
    return None if value is None else value.tree
