"""Functions and operators of arrays (PostgreSQL 9.19, 9.25). Items are compared as their types do: the front end takes
only items whose values Python compares so. Does not know unnest(), nor how an untyped item gets its type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.families.arrays import Array, ArrayFamily
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, any_of, exactly, plainly
from sql_semantics.values.types import BOOLEAN, INT, TEXT, Kind, SqlType, Value

_ARRAY = Slot(frozenset({Kind.ARRAY}))
_ANY = any_of(frozenset(Kind))
_TEXTS = SqlType(Kind.ARRAY, family=ArrayFamily(TEXT))


def _length(array: Array, dimension: int) -> int | None:
    return len(array.items) if dimension == 1 and array.items else None


def _lower(array: Array, dimension: int) -> int | None:
    return 1 if dimension == 1 and array.items else None


def _appended(array: Array | None, item: Any) -> Array:
    return Array((*(array.items if array is not None else ()), item))


def _prepended(item: Any, array: Array | None) -> Array:
    return Array((item, *(array.items if array is not None else ())))


def _joined(one: Array | None, other: Array | None) -> Array | None:
    if one is None or other is None:
        return other if one is None else one
    return Array(one.items + other.items)


def _removed(array: Array | None, item: Any) -> Array | None:
    return None if array is None else Array(tuple(one for one in array.items if one != item))


def _replaced(array: Array | None, old: Any, new: Any) -> Array | None:
    return None if array is None else Array(tuple(new if one == old else one for one in array.items))


def _position(array: Array | None, item: Any, start: int | None = 1) -> int | None:
    if array is None:
        return None
    if start is None:
        raise Unsupported("array_position() from NULL")
    for place, one in enumerate(array.items, 1):
        if place >= start and one == item:
            return place
    return None


def _item(array: Array, place: int) -> Any:
    return array.items[place - 1] if 1 <= place <= len(array.items) else None


def _letter(item: Value) -> Value:
    return "t" if item else "f"


def _joiner(call: Call) -> Implementation:
    """array_to_string: NULL is left out, or written as the third argument says."""
    family = call.arguments[0].family
    assert isinstance(family, ArrayFamily)
    write: Callable[[Value], Value] | None = (
        None if family.item.kind is Kind.TEXT else caster(family.item, TEXT, False, call.dialect, call.may)
    )
    if family.item.kind is Kind.BOOLEAN:
        write = _letter

    def apply(array: Array | None, separator: str | None, missing: str | None = None) -> str | None:
        if array is None or separator is None:
            return None
        items = [missing if item is None else str(item if write is None else write(item)) for item in array.items]
        return separator.join(item for item in items if item is not None)

    return apply


def split_text(text: str | None, separator: str | None, missing: str | None = None) -> Array | None:
    """string_to_array()."""
    if text is None:
        return None
    pieces: list[str] = [] if not text else list(text) if separator is None else [text]
    if separator and text:
        pieces = text.split(separator)
    return Array(tuple(None if missing is not None and piece == missing else piece for piece in pieces))


_SYMBOLS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _quantified(compare: Callable[[Any, Any], bool], every: bool) -> Implementation:
    """``operand op ANY (array)``, with `every` ALL (9.25.3)."""

    def apply(operand: Any, array: Array | None) -> bool | None:
        if array is None:
            return None
        if not array.items:
            return every
        if operand is None:
            return None
        known = [compare(operand, item) for item in array.items if item is not None]
        if (not every) in known:
            return not every
        return every if len(known) == len(array.items) else None

    return apply


def _contains(array: Array, other: Array) -> bool:
    return all(item is not None and item in array.items for item in other.items)


def _overlaps(array: Array, other: Array) -> bool:
    return any(item is not None and item in other.items for item in array.items)


POSTGRES: Table = {
    "array of": (
        Rule((), INT, plainly(lambda: Array(())), strict=False),
        Rule((_ANY,), INT, plainly(lambda *items: Array(items)), variadic=True, strict=False),
    ),
    "array item": (Rule((_ARRAY, *exactly(INT)), INT, plainly(_item)),),
    "cardinality": (Rule((_ARRAY,), INT, plainly(lambda array: len(array.items))),),
    "array_length": (Rule((_ARRAY, *exactly(INT)), INT, plainly(_length)),),
    "array_upper": (Rule((_ARRAY, *exactly(INT)), INT, plainly(_length)),),
    "array_lower": (Rule((_ARRAY, *exactly(INT)), INT, plainly(_lower)),),
    "array_ndims": (Rule((_ARRAY,), INT, plainly(lambda array: 1 if array.items else None)),),
    "array_append": (Rule((_ARRAY, _ANY), INT, plainly(_appended), strict=False),),
    "array_prepend": (Rule((_ANY, _ARRAY), INT, plainly(_prepended), strict=False),),
    "array_cat": (Rule((_ARRAY, _ARRAY), INT, plainly(_joined), strict=False),),
    "array_remove": (Rule((_ARRAY, _ANY), INT, plainly(_removed), strict=False),),
    "array_replace": (Rule((_ARRAY, _ANY, _ANY), INT, plainly(_replaced), strict=False),),
    "array_position": (
        Rule((_ARRAY, _ANY), INT, plainly(_position), strict=False),
        Rule((_ARRAY, _ANY, *exactly(INT)), INT, plainly(_position), strict=False),
    ),
    "array_to_string": (
        Rule((_ARRAY, *exactly(TEXT)), TEXT, _joiner, strict=False),
        Rule((_ARRAY, *exactly(TEXT, TEXT)), TEXT, _joiner, strict=False),
    ),
    "string_to_array": (
        Rule(exactly(TEXT, TEXT), _TEXTS, plainly(split_text), strict=False),
        Rule(exactly(TEXT, TEXT, TEXT), _TEXTS, plainly(split_text), strict=False),
    ),
    "array @>": (Rule((_ARRAY, _ARRAY), BOOLEAN, plainly(_contains)),),
    "array &&": (Rule((_ARRAY, _ARRAY), BOOLEAN, plainly(_overlaps)),),
    **{
        f"{symbol} {'all' if every else 'any'}": (
            Rule((_ANY, _ARRAY), BOOLEAN, plainly(_quantified(compare, every)), strict=False),
        )
        for symbol, compare in _SYMBOLS.items()
        for every in (False, True)
    },
}
"""Those whose result hangs on the items have INT here; the front end gives the type with the call."""
