"""SQLite's functions of JSON (sqlite.org/json1), over texts. Does not know which expressions give JSON.

A text that is no JSON is an error to all of them but json_valid(), in newer versions of less: it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.products import PRODUCTS
from sql_semantics.values.families.sqlite_json import (
    MALFORMED,
    List,
    Node,
    Object,
    Scalar,
    changed,
    found_at,
    quoted,
    read_json,
    read_path,
    refuse_dependent,
    step_of,
    type_of,
    value_of,
    without,
    written,
)
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, any_of, exactly, plainly
from sql_semantics.values.numbers.floating import float_text
from sql_semantics.values.types import ANY, BIGINT, INTEGER_KINDS, JSON, SQLITE_JSON, TEXT, Kind, SqlType, Value

_FLOAT_TEXT = PRODUCTS["sqlite"].values.float_text
_VALUES = any_of(frozenset({Kind.TEXT, Kind.DOUBLE, Kind.JSON, Kind.BOOLEAN, *INTEGER_KINDS}))
"""What becomes a part of a JSON text; JSON: a text that is one."""
_KEY = Slot(frozenset({Kind.TEXT, *INTEGER_KINDS}), TEXT)


def _read(text: str) -> Node | None:
    if "\0" in text:
        raise Unsupported("a JSON text with the character 0, in sqlite")  # some functions stop there, others do not
    return read_json(text)


def _parsed(text: str) -> Node:
    node = _read(text)
    if node is None:
        raise Unsupported(MALFORMED)
    return node


def _valid(call: Call) -> Implementation:
    """Of NULL it is 0 in versions up to 3.40, and NULL from 3.42 on."""
    version = call.dialect.version

    def apply(text: str | None) -> int | None:
        if text is not None:
            return int(_read(text) is not None)
        if version is None or (3, 41) <= version < (3, 42):
            raise Unsupported("json_valid() of NULL in a version of sqlite that is not known")
        return 0 if version < (3, 41) else None

    return apply


def _extract(call: Call) -> Implementation:
    def apply(text: str | None, *paths: str | None) -> Value:
        if text is None:
            return None
        node = _parsed(text)
        if paths == (None,):
            return None
        if None in paths:
            raise Unsupported("json_extract() with NULL among several paths, in sqlite")
        found = [found_at(node, read_path(str(path))) for path in paths]
        if len(found) == 1:
            return None if found[0] is None else value_of(found[0], call.dialect.version)
        return written(List([Scalar("null") if one is None else one for one in found]))

    return apply


def _of_text(apply: Callable[..., Value]) -> Callable[..., Value]:
    """f(a text, others) -> NULL where one of them is; a text that is no JSON is looked at all the same."""

    def of_text(text: str | None, *others: Any) -> Value:
        if text is None:
            return None
        node = _parsed(text)
        return None if None in others else apply(node, *others)

    return of_text


def _member(whole: Node, key: str | int) -> str | None:
    node = found_at(whole, step_of(key))
    return None if node is None else written(node)


def _shown_member(call: Call) -> Implementation:
    def apply(whole: Node, key: str | int) -> Value:
        node = found_at(whole, step_of(key))
        return None if node is None else value_of(node, call.dialect.version)

    return _of_text(apply)


def _type(whole: Node, path: str = "$") -> str | None:
    node = found_at(whole, read_path(path))
    return None if node is None else type_of(node)


def _length(whole: Node, path: str = "$") -> int | None:
    node = found_at(whole, read_path(path))
    return None if node is None else len(node.items) if isinstance(node, List) else 0


def _part(kind: Kind, value: Value) -> Node:
    """A value as a part of a JSON text."""
    if value is None:
        return Scalar("null")
    if isinstance(value, float):
        text = float_text(value, Kind.DOUBLE, _FLOAT_TEXT)
        if float(text) != value:
            raise Unsupported("a floating-point number of more than 15 digits as JSON, in sqlite")
        return Scalar(text)
    if isinstance(value, int):
        return Scalar(str(int(value)))
    assert isinstance(value, str)
    return _parsed(value) if kind is Kind.JSON else quoted(value)


def _parts(call: Call, values: Sequence[Any]) -> list[Node]:
    return [_part(type_.kind, value) for type_, value in zip(call.arguments, values, strict=True)]


def _array(call: Call) -> Implementation:
    return lambda *values: written(List(_parts(call, values)))


def _object(call: Call) -> Implementation:
    def apply(*values: Any) -> str:
        keys = values[::2]
        if len(values) % 2 or any(type_.kind is not Kind.TEXT for type_ in call.arguments[::2]) or None in keys:
            raise Unsupported("json_object() with other keys than texts, in sqlite")
        items = _parts(call, values)[1::2]
        return written(Object([(quoted(key).text[1:-1], item) for key, item in zip(keys, items, strict=True)]))

    return apply


def _quote(call: Call) -> Implementation:
    return lambda value: written(_part(call.arguments[0].kind, value))


def _changing(*, overwrites: bool, creates: bool) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        def apply(text: str | None, *pairs: Any) -> str | None:
            if text is None:
                return None
            if len(pairs) % 2 or None in pairs[::2]:
                raise Unsupported(f"{call.name}() without a path to each value, in sqlite")
            node = _parsed(text)
            kinds = [type_.kind for type_ in call.arguments[2::2]]
            paths = [read_path(path) for path in pairs[::2]]
            refuse_dependent(paths)
            for steps, value, kind in zip(paths, pairs[1::2], kinds, strict=True):
                part = _part(kind, value)
                node = changed(node, steps, part, overwrites=overwrites, creates=creates)
            return written(node)

        return apply

    return build


def _remove(text: str | None, *paths: str | None) -> str | None:
    """The paths are looked at in turn, so that a wrong one before a NULL is an error."""
    if text is None:
        return None
    node: Node | None = _parsed(text)
    for path in paths:
        if path is None:
            return None
        steps = read_path(path)
        node = None if node is None else without(node, steps)
    return None if node is None else written(node)


def _pairs(count: int, *, overwrites: bool, creates: bool) -> tuple[Rule, ...]:
    """A text with up to so many paths, each with its value."""
    build = _changing(overwrites=overwrites, creates=creates)
    one = exactly(TEXT)
    return tuple(Rule((*one, *((*one, _VALUES) * n)), SQLITE_JSON, build, strict=False) for n in range(1, count + 1))


def _with_path(result: SqlType, of: Callable[..., Any]) -> tuple[Rule, ...]:
    build = plainly(_of_text(of))
    return Rule(exactly(TEXT), result, build, strict=False), Rule(exactly(TEXT, TEXT), result, build, strict=False)


SQLITE: Table = {
    "json_valid": (Rule(exactly(TEXT), BIGINT, _valid, strict=False),),
    "json": (Rule(exactly(TEXT), SQLITE_JSON, plainly(lambda text: written(_parsed(text)))),),
    "json_extract": (Rule(exactly(TEXT, TEXT), ANY, _extract, variadic=True, strict=False),),
    "->": (Rule((*exactly(TEXT), _KEY), SQLITE_JSON, plainly(_of_text(_member)), strict=False),),
    "->>": (Rule((*exactly(TEXT), _KEY), ANY, _shown_member, strict=False),),
    "json_type": _with_path(TEXT, _type),
    "json_array_length": _with_path(BIGINT, _length),
    "json_array": (
        Rule((), SQLITE_JSON, _array, strict=False),
        Rule((_VALUES,), SQLITE_JSON, _array, variadic=True, strict=False),
    ),
    "json_object": (
        Rule((), SQLITE_JSON, _object, strict=False),
        Rule((_VALUES,), SQLITE_JSON, _object, variadic=True, strict=False),
    ),
    "json_quote": (Rule((_VALUES,), SQLITE_JSON, _quote, strict=False),),
    "json_set": _pairs(6, overwrites=True, creates=True),
    "json_insert": _pairs(6, overwrites=False, creates=True),
    "json_replace": _pairs(6, overwrites=True, creates=False),
    "json_remove": (Rule(exactly(TEXT, TEXT), SQLITE_JSON, plainly(_remove), variadic=True, strict=False),),
    "json part": (Rule(exactly(TEXT), JSON, plainly(lambda text: text)),),
}
