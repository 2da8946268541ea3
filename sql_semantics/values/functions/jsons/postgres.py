"""Operators and functions of json and jsonb (PostgreSQL 9.16). Does not know the order of two values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sql_semantics.values.families.json_texts import member, shown
from sql_semantics.values.families.jsonb import Jsonb, jsonb_of, number_text
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, exactly, plainly
from sql_semantics.values.types import BOOLEAN, INT, JSON, JSONB, TEXT, Kind

_JSON = Slot(frozenset({Kind.JSON}))
_JSONB = Slot(frozenset({Kind.JSONB}), JSONB)
_PLACE = Slot(frozenset({Kind.INT, Kind.SMALLINT}), INT)
_ABSENT = object()


def _part(value: Jsonb, key: str | int) -> Any:
    tree = value.tree
    if isinstance(tree, dict) and isinstance(key, str):
        return tree.get(key, _ABSENT)
    if isinstance(key, int) and not isinstance(tree, dict | list) and key in (0, -1):
        return tree  # a scalar is kept as an array of one
    if isinstance(tree, list) and isinstance(key, int) and -len(tree) <= key < len(tree):
        return tree[key]
    return _ABSENT


def _member(value: Jsonb, key: str | int) -> Jsonb | None:
    part = _part(value, key)
    return None if part is _ABSENT else jsonb_of(part)


def _shown_member(value: Jsonb, key: str | int) -> str | None:
    part = _part(value, key)
    return None if part is _ABSENT else shown_part(part)


def shown_part(part: Any) -> str | None:
    """What ``->>`` makes of a part."""
    if part is None:
        return None
    if isinstance(part, str):
        return part
    if isinstance(part, bool):
        return "true" if part else "false"
    return number_text(part) if isinstance(part, Decimal) else jsonb_of(part).text


def _shown_text(text: str, key: str | int) -> str | None:
    return shown(member(text, key))


def _merged(one: Jsonb, other: Jsonb) -> Jsonb:
    """``||``: of two objects the keys of both, the second's winning; else what both hold, as an array."""
    left, right = one.tree, other.tree
    if isinstance(left, dict) and isinstance(right, dict):
        return jsonb_of({**left, **right})
    return jsonb_of([*(left if isinstance(left, list) else [left]), *(right if isinstance(right, list) else [right])])


def _contains(one: Jsonb, other: Jsonb) -> bool:
    """``@>``; an array also contains a scalar that is one of its items (8.14.3)."""
    if isinstance(one.tree, list) and not isinstance(other.tree, dict | list):
        return _holds(one.tree, [other.tree])
    return _holds(one.tree, other.tree)


def _holds(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(key in one and _holds(one[key], item) for key, item in other.items())
    if isinstance(one, list) and isinstance(other, list):
        return all(any(_holds(candidate, item) for candidate in one) for item in other)
    return type(one) is type(other) and one == other and not isinstance(one, dict | list)


def _has_key(value: Jsonb, key: str) -> bool:
    tree = value.tree
    if isinstance(tree, dict):
        return key in tree
    return any(isinstance(item, str) and item == key for item in tree) if isinstance(tree, list) else tree == key


def _without(call: Call) -> Implementation:
    """``-`` of a key or a place."""

    def apply(value: Jsonb, key: str | int) -> Jsonb:
        tree = value.tree
        if not isinstance(tree, dict | list):
            raise call.fail("22023", "cannot delete from scalar")
        if isinstance(tree, dict):
            if isinstance(key, int):
                raise call.fail("22023", "cannot delete from object using integer index")
            return jsonb_of({name: item for name, item in tree.items() if name != key})
        if isinstance(key, str):
            return jsonb_of([item for item in tree if not (isinstance(item, str) and item == key)])
        if not -len(tree) <= key < len(tree):
            return value
        key %= len(tree)
        return jsonb_of([*tree[:key], *tree[key + 1 :]])

    return apply


def _typeof(value: Jsonb) -> str:
    tree = value.tree
    if tree is None or isinstance(tree, bool):
        return "null" if tree is None else "boolean"
    kinds = {dict: "object", list: "array", str: "string", Decimal: "number"}
    return kinds[type(tree)]


def _typeof_text(text: str) -> str:
    """Of a text that is JSON: what it begins with tells."""
    first = text.lstrip(" \t\r\n")[:1]
    return {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}.get(
        first, "number"
    )


def _length(call: Call) -> Implementation:
    def apply(value: Jsonb) -> int:
        if not isinstance(value.tree, list):
            raise call.fail("22023", "cannot get array length of something else")
        return len(value.tree)

    return apply


def _by_key(result: Any, of_text: Callable[..., Any], of_value: Callable[..., Any]) -> tuple[Rule, ...]:
    json_result, jsonb_result = result
    return (
        Rule((_JSON, *exactly(TEXT)), json_result, plainly(of_text)),
        Rule((_JSON, _PLACE), json_result, plainly(of_text)),
        Rule((_JSONB, *exactly(TEXT)), jsonb_result, plainly(of_value)),
        Rule((_JSONB, _PLACE), jsonb_result, plainly(of_value)),
    )


POSTGRES: Table = {
    "->": _by_key((JSON, JSONB), member, _member),
    "->>": _by_key((TEXT, TEXT), _shown_text, _shown_member),
    "jsonb ||": (Rule((_JSONB, _JSONB), JSONB, plainly(_merged)),),
    "jsonb @>": (Rule((_JSONB, _JSONB), BOOLEAN, plainly(_contains)),),
    "jsonb ?": (Rule((_JSONB, *exactly(TEXT)), BOOLEAN, plainly(_has_key)),),
    "jsonb -": (
        Rule((_JSONB, *exactly(TEXT)), JSONB, _without, errors=("22023",)),
        Rule((_JSONB, _PLACE), JSONB, _without, errors=("22023",)),
    ),
    "json_typeof": (Rule(exactly(JSON), TEXT, plainly(_typeof_text)),),
    "jsonb_typeof": (Rule((_JSONB,), TEXT, plainly(_typeof)),),
    "jsonb_array_length": (Rule((_JSONB,), INT, _length, errors=("22023",)),),
}
