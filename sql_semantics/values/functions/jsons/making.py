"""Functions that make JSON of values (PostgreSQL 9.16): objects and arrays of their arguments, a value by itself.

Where json is made its blanks are PostgreSQL's. Aggregates make it of many rows (`made_of_values`, `made_of_pairs`).
Does not know expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import SqlError
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.json_making import json_tree, json_writer, key_of
from sql_semantics.values.families.jsonb import Jsonb, jsonb_of, string_text
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, any_of, plainly
from sql_semantics.values.types import JSON, JSONB, Kind, SqlType

_ANY = any_of(frozenset(Kind))
_LINE = "\n "
_ARRAY, _ROW = Slot(frozenset({Kind.ARRAY})), Slot(frozenset({Kind.COMPOSITE}))


def _json(call: Call) -> Implementation:
    """A value by itself; NULL stays NULL."""
    return json_writer(call.arguments[0], call.dialect)


def _jsonb(call: Call) -> Implementation:
    tree = json_tree(call.arguments[0], call.dialect)
    return lambda value: jsonb_of(tree(value))


def _pairs(call: Call, value_of: Callable[[SqlType, Dialect], Callable[[Any], Any]]) -> list[tuple[Any, Any]]:
    """How keys and values are made, two by two."""
    types = call.arguments
    if len(types) % 2:
        raise SqlError("22023", "argument list must have even number of elements")
    return [
        (key_of(key, call.dialect), value_of(value, call.dialect))
        for key, value in zip(types[::2], types[1::2], strict=True)
    ]


def _keyed(call: Call, makers: Sequence[tuple[Any, Any]], given: Sequence[Any], state: str) -> list[tuple[str, Any]]:
    found = []
    for (key, value), name, item in zip(makers, given[::2], given[1::2], strict=True):
        if name is None:
            raise call.fail(state, "a key of a JSON object must not be null")
        found.append((key(name), value(item)))
    return found


def _json_object(call: Call) -> Implementation:
    makers = _pairs(call, json_writer)

    def make(*given: Any) -> str:
        pairs = _keyed(call, makers, given, "22004")
        return "{" + ", ".join(f"{string_text(key)} : {value}" for key, value in pairs) + "}"

    return make


def _jsonb_object(call: Call) -> Implementation:
    makers = _pairs(call, json_tree)
    return lambda *given: jsonb_of(dict(_keyed(call, makers, given, "22023")))


def _json_array(call: Call) -> Implementation:
    writers = [json_writer(type_, call.dialect) for type_ in call.arguments]
    return lambda *given: "[" + ", ".join(write(item) for write, item in zip(writers, given, strict=True)) + "]"


def _jsonb_array(call: Call) -> Implementation:
    trees = [json_tree(type_, call.dialect) for type_ in call.arguments]
    return lambda *given: jsonb_of([tree(item) for tree, item in zip(trees, given, strict=True)])


def made_of_values(name: str, type_: SqlType, dialect: Dialect) -> Callable[[Sequence[Any]], str | Jsonb]:
    """json_agg and jsonb_agg of values of a type, in their order."""
    if name.startswith("jsonb"):
        tree = json_tree(type_, dialect)
        return lambda values: jsonb_of([tree(value) for value in values])
    write = json_writer(type_, dialect)
    if type_.kind not in (Kind.ARRAY, Kind.COMPOSITE):
        return lambda values: f"[{', '.join(map(write, values))}]"

    def lines(values: Sequence[Any]) -> str:
        """Each on a line of its own, but for the first and NULL."""
        rest = "".join(f", {'' if value is None else _LINE}{write(value)}" for value in values[1:])
        return f"[{write(values[0])}{rest}]"

    return lines


def made_of_pairs(
    name: str, types: tuple[SqlType, SqlType], dialect: Dialect
) -> Callable[[Sequence[tuple[Any, Any]]], str | Jsonb]:
    """json_object_agg and jsonb_object_agg of keys and values, in their order."""
    key = key_of(types[0], dialect)

    def check(pairs: Sequence[tuple[Any, Any]]) -> None:
        if any(name is None for name, _ in pairs):
            raise SqlError("22023" if name.startswith("jsonb") else "22004", "field name must not be null")

    if name.startswith("jsonb"):
        tree = json_tree(types[1], dialect)

        def jsonb(pairs: Sequence[tuple[Any, Any]]) -> Jsonb:
            check(pairs)
            return jsonb_of({key(one): tree(value) for one, value in pairs})

        return jsonb
    write = json_writer(types[1], dialect)

    def json(pairs: Sequence[tuple[Any, Any]]) -> str:
        check(pairs)
        shown = ", ".join(f"{string_text(key(one))} : {write(value)}" for one, value in pairs)
        return f"{{ {shown} }}"

    return json


POSTGRES: Table = {
    "to_json": (Rule((_ANY,), JSON, _json),),
    "to_jsonb": (Rule((_ANY,), JSONB, _jsonb),),
    "row_to_json": (Rule((_ROW,), JSON, _json),),
    "array_to_json": (Rule((_ARRAY,), JSON, _json),),
    "json_build_object": (
        Rule((), JSON, plainly(lambda: "{}"), strict=False),
        Rule((_ANY,), JSON, _json_object, variadic=True, strict=False, errors=("22004", "22023")),
    ),
    "jsonb_build_object": (
        Rule((), JSONB, plainly(lambda: jsonb_of({})), strict=False),
        Rule((_ANY,), JSONB, _jsonb_object, variadic=True, strict=False, errors=("22023",)),
    ),
    "json_build_array": (
        Rule((), JSON, plainly(lambda: "[]"), strict=False),
        Rule((_ANY,), JSON, _json_array, variadic=True, strict=False),
    ),
    "jsonb_build_array": (
        Rule((), JSONB, plainly(lambda: jsonb_of([])), strict=False),
        Rule((_ANY,), JSONB, _jsonb_array, variadic=True, strict=False),
    ),
}
