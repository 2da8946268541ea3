"""Functions that give rows, each as the arrays of its columns (PostgreSQL 9.16, 9.25, 9.26). Does not know FROM.

Their names have a blank in front of the product's, so that no statement calls them by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.dates import calendar as dates
from sql_semantics.values.families.arrays import Array, ArrayFamily
from sql_semantics.values.families.json_texts import parts_of, shown
from sql_semantics.values.families.jsonb import Jsonb, jsonb_of, written_order
from sql_semantics.values.functions.arrays import split_text
from sql_semantics.values.functions.jsons.postgres import shown_part
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, exactly, plainly
from sql_semantics.values.functions.texts.regular import all_matched, split_by_pattern
from sql_semantics.values.numbers.number import EXACT, round_scale, scale_of
from sql_semantics.values.types import (
    BIGINT,
    INT,
    INTERVAL,
    JSON,
    JSONB,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Interval,
    Kind,
    SqlType,
)

MOST = 100_000
"""Rows that a call gives at the most."""


def _list(of: SqlType) -> SqlType:
    return SqlType(Kind.ARRAY, family=ArrayFamily(of))


def _few(rows: int) -> None:
    if rows > MOST:
        raise Unsupported(f"generate_series of more than {MOST} rows")


def _stepped(call: Call, down: bool, zero: bool, start: Any, stop: Any, plus: Callable[[Any], Any]) -> Array:
    if zero:
        raise call.fail("22023", "step size cannot equal zero")
    found = []
    while start >= stop if down else start <= stop:
        found.append(start)
        _few(len(found))
        start = plus(start)
    return Array(tuple(found))


def _integers(call: Call) -> Implementation:
    def apply(start: int, stop: int, step: int = 1) -> Array:
        return _stepped(call, step < 0, step == 0, start, stop, lambda at: at + step)

    return apply


def _decimals(call: Call) -> Implementation:
    def apply(start: Decimal, stop: Decimal, step: Decimal = Decimal(1)) -> Array:
        scale = max(map(scale_of, (start, step)))
        begin = round_scale(start, scale)
        found = _stepped(call, step < 0, not step, begin, stop, lambda at: EXACT.add(at, step))
        return Array((start, *found.items[1:])) if found.items else found

    return apply


def _moments(call: Call) -> Implementation:
    def apply(start: datetime, stop: datetime, step: Interval) -> Array:
        size = step.months * 30 * 86_400_000_000 + step.days * 86_400_000_000 + step.microseconds
        return _stepped(call, size < 0, not size, start, stop, lambda at: dates.add_interval(at, step))

    return apply


def _items(call: Call) -> Implementation:
    def apply(value: Jsonb) -> tuple[Any, ...]:
        if not isinstance(value.tree, list):
            kind = "an object" if isinstance(value.tree, dict) else "a scalar"
            raise call.fail("22023", f"cannot extract elements from {kind}")
        return tuple(value.tree)

    return apply


def _members(call: Call) -> Implementation:
    def apply(value: Jsonb) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value.tree, dict):
            raise call.fail("22023", "cannot deconstruct something else than an object")
        return tuple(sorted(value.tree.items(), key=lambda pair: written_order(pair[0])))

    return apply


def _text_items(call: Call) -> Implementation:
    def apply(text: str) -> tuple[str, ...]:
        if not text.lstrip(" \t\r\n").startswith("["):
            raise call.fail("22023", "cannot call json_array_elements on something else than an array")
        return tuple(part for _, part in parts_of(text))

    return apply


def _text_members(call: Call) -> Implementation:
    def apply(text: str) -> tuple[tuple[Any, str], ...]:
        if not text.lstrip(" \t\r\n").startswith("{"):
            raise call.fail("22023", "cannot deconstruct something else than an object")
        return tuple(parts_of(text))

    return apply


def _each(build: Callable[[Call], Implementation], show: Callable[[Any], Any]) -> Callable[[Call], Implementation]:
    """The array of what is shown of each part."""

    def made(call: Call) -> Implementation:
        parts = build(call)
        return lambda value: Array(tuple(show(part) for part in parts(value)))

    return made


def _subscripts(array: Array, dimension: int) -> Array:
    return Array(tuple(range(1, len(array.items) + 1)) if dimension == 1 else ())


_JSON = Slot(frozenset({Kind.JSON}), JSON)
_JSONB = Slot(frozenset({Kind.JSONB}), JSONB)
_ARRAY = Slot(frozenset({Kind.ARRAY}))


def _of_json(
    slot: Slot, build: Callable[[Call], Implementation], show: Callable[[Any], Any], of: SqlType
) -> tuple[Rule, ...]:
    return (Rule((slot,), _list(of), _each(build, show), errors=("22023",)),)


POSTGRES: Table = {
    " generate_series": (
        *(
            Rule(exactly(*(kind,) * count), _list(kind), _integers, errors=("22023",))
            for kind in (INT, BIGINT)
            for count in (2, 3)
        ),
        *(Rule(exactly(*(NUMERIC,) * count), _list(NUMERIC), _decimals, errors=("22023",)) for count in (2, 3)),
        *(Rule(exactly(kind, kind, INTERVAL), _list(kind), _moments, errors=("22023",), stable=kind is TIMESTAMPTZ)
          for kind in (TIMESTAMPTZ, TIMESTAMP)),
    ),
    " generate_subscripts": (Rule((_ARRAY, *exactly(INT)), _list(INT), plainly(_subscripts)),),
    " string_to_table": (
        Rule(exactly(TEXT, TEXT), _list(TEXT), plainly(split_text), strict=False),
        Rule(exactly(TEXT, TEXT, TEXT), _list(TEXT), plainly(split_text), strict=False),
    ),
    " regexp_split_to_table": tuple(
        Rule(exactly(*(TEXT,) * count), _list(TEXT), plainly(split_by_pattern)) for count in (2, 3)
    ),
    " regexp_matches": tuple(
        Rule(exactly(*(TEXT,) * count), _list(_list(TEXT)), plainly(all_matched)) for count in (2, 3)
    ),
    " jsonb_array_elements": _of_json(_JSONB, _items, jsonb_of, JSONB),
    " jsonb_array_elements_text": _of_json(_JSONB, _items, shown_part, TEXT),
    " jsonb_object_keys": _of_json(_JSONB, _members, lambda pair: pair[0], TEXT),
    " jsonb_each": _of_json(_JSONB, _members, lambda pair: jsonb_of(pair[1]), JSONB),
    " jsonb_each_text": _of_json(_JSONB, _members, lambda pair: shown_part(pair[1]), TEXT),
    " json_array_elements": _of_json(_JSON, _text_items, lambda part: part, JSON),
    " json_array_elements_text": _of_json(_JSON, _text_items, shown, TEXT),
    " json_object_keys": _of_json(_JSON, _text_members, lambda pair: pair[0], TEXT),
    " json_each": _of_json(_JSON, _text_members, lambda pair: pair[1], JSON),
    " json_each_text": _of_json(_JSON, _text_members, lambda pair: shown(pair[1]), TEXT),
}  # fmt: skip
