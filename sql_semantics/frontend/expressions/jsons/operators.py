"""Operators of json and jsonb (PostgreSQL 9.16), such as ``->``, ``#>>``, ``@>``, ``?``, ``||``, ``-``;
what SQLite's functions of JSON take for JSON.

Products and the parser rank them differently against arithmetic, so that operands which are operations need
parentheses. Does not know what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.text.dialects import array_of
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import is_loose, null, settle, settle_alone
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import Const, Expr, Function, Param
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.types import (
    BOOLEAN,
    INTEGER_KINDS,
    JSON,
    JSONB,
    NUMBER_KINDS,
    SQLITE_JSON,
    TEXT,
    Kind,
    SqlType,
)

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_KEYED: Mapping[type[Node], str] = {exp.JSONExtract: "->", exp.JSONExtractScalar: "->>"}
_ARROWS = (exp.JSONExtract, exp.JSONExtractScalar)
_OPERATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe)


def _keyed(binder: Binder, node: Node) -> Expr:
    arrows = binder.context.dialect.rules.text.json_arrows
    while arrows == "closest" and isinstance(node.expression, _ARROWS):
        # the parser reads a -> b -> c from the right
        inner: Node = node.expression
        node = type(inner)(this=type(node)(this=node.this, expression=inner.this), expression=inner.expression)
    only(node, "this", "expression")
    symbol = _KEYED[type(node)]
    if arrows == "none":
        raise unsupported(node)
    if isinstance(node.this, _OPERATIONS) or isinstance(node.expression, _OPERATIONS):
        raise Unsupported(f"operator {symbol} on an operation without parentheses")
    if arrows == "closest":
        return call_function(symbol, [binder.value(node.this), binder.value(node.expression)], binder.context)
    value = binder.expr(node.this)
    if value.type.kind not in (Kind.JSON, Kind.JSONB):
        raise Unsupported(f"operator {symbol} on {value.type}")
    key = _key(binder, node.expression, symbol)
    result = TEXT if symbol == "->>" else JSON if value.type.kind is Kind.JSON else JSONB
    return Function(symbol, (value, key), result)


def _key(binder: Binder, node: Node, symbol: str) -> Expr:
    """A key, a text, or a place, an integer of four bytes at most."""
    context, key = binder.context, binder.value(node)
    if isinstance(key, Param) and is_loose(key) and context.parameters.kinds[key.key] in NUMBER_KINDS:
        key = settle_alone(key, context)
    elif is_loose(key):
        if isinstance(key, Const) and key.value is None:
            raise Unsupported(f"operator {symbol} with NULL")
        key = settle(key, TEXT, context)
    if key.type.kind not in (Kind.TEXT, Kind.INT, Kind.SMALLINT) or key.type.padded:
        raise Unsupported(f"operator {symbol} with a key of type {key.type}")
    return key


def merged(binder: Binder, left: Expr, right: Expr) -> Expr:
    """``||`` of two values of jsonb, one of which may be of no type yet."""
    return _of_two(binder, "||", left, right, JSONB)


def removed(left: Expr, right: Expr) -> Expr:
    """``-`` of a key or a place of jsonb; a literal is a key. Raises Unsupported for an untyped parameter."""
    if isinstance(right, Const) and right.type.kind is Kind.NULL and isinstance(right.value, str):
        right = Const(right.value, TEXT)
    if right.type.kind is Kind.TEXT and not right.type.padded:
        return Function("jsonb -", (left, right), JSONB)
    if right.type.kind in INTEGER_KINDS - {Kind.BIGINT}:
        return Function("jsonb -", (left, right), JSONB)
    raise Unsupported(f"operator - on {left.type} and {right.type}")


def contained(binder: Binder, left: Expr, right: Expr) -> Expr:
    """``@>`` of jsonb."""
    return _of_two(binder, "@>", left, right, BOOLEAN)


def _of_two(binder: Binder, symbol: str, left: Expr, right: Expr, result: SqlType) -> Expr:
    left, right = (settle(side, JSONB, binder.context) for side in (left, right))
    if {left.type.kind, right.type.kind} != {Kind.JSONB}:
        raise Unsupported(f"operator {symbol} on {left.type} and {right.type}")
    return Function(f"jsonb {symbol}", (left, right), result)


def _has_key(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    value = binder.expr(node.this)
    if not binder.context.dialect.rules.expressions.has_jsonb or value.type.kind is not Kind.JSONB:
        raise unsupported(node)
    key = settle(binder.value(node.expression), TEXT, binder.context)
    if key.type.kind is not Kind.TEXT:
        raise Unsupported(f"operator ? with a key of type {key.type}")
    return Function("jsonb ?", (value, key), BOOLEAN)


_PATHS: Mapping[type[Node], str] = {
    exp.JSONBExtract: "#>", exp.JSONBExtractScalar: "#>>", exp.JSONBDeleteAtPath: "#-",
    exp.JSONBContainsAnyTopKeys: "jsonb ?|", exp.JSONBContainsAllTopKeys: "jsonb ?&",
}  # fmt: skip


def _along(binder: Binder, node: Node) -> Expr:
    """An operator with a path, or with several keys."""
    only(node, "this", "expression")
    symbol = _PATHS[type(node)]
    if not binder.context.dialect.rules.expressions.has_jsonb:
        raise unsupported(node)
    if isinstance(node.this, (*_OPERATIONS, *_ARROWS, *_PATHS)) or isinstance(node.expression, _OPERATIONS):
        raise Unsupported(f"operator {symbol} on an operation without parentheses")
    value = binder.expr(node.this)
    allowed = (Kind.JSON, Kind.JSONB) if symbol in ("#>", "#>>") else (Kind.JSONB,)
    if value.type.kind not in allowed:
        raise Unsupported(f"operator {symbol} on {value.type}")
    return Function(symbol, (value, path_of(binder, node.expression)), _result(symbol, value))


def _result(symbol: str, value: Expr) -> SqlType:
    if symbol in ("jsonb ?|", "jsonb ?&"):
        return BOOLEAN
    return TEXT if symbol == "#>>" else value.type


def path_of(binder: Binder, node: Node) -> Expr:
    """An array of texts. Raises Unsupported for anything else."""
    path = settle(binder.value(node), array_of(TEXT), binder.context)
    family = path.type.family
    if not isinstance(family, ArrayFamily) or family.item.kind is not Kind.TEXT:
        raise Unsupported(f"a path of JSON of type {path.type}")
    return path


_MAKERS: Mapping[str, slice] = {
    "json": slice(0), "json_remove": slice(0), "->": slice(0),
    "json_array": slice(0, None), "json_quote": slice(0, None), "json_object": slice(1, None, 2),
    "json_set": slice(2, None, 2), "json_insert": slice(2, None, 2), "json_replace": slice(2, None, 2),
}  # fmt: skip
"""SQLite's functions that give JSON, and which of their arguments become parts of it."""


def told_parts(name: str, arguments: list[Expr], context: Context) -> list[Expr]:
    """The arguments of a function, where SQLite puts the JSON among them into what it makes as JSON, and texts as
    strings (sqlite.org/json1, 3.4). Raises Unsupported where one may be either."""
    dialect = context.dialect
    if not dialect.rules.expressions.json_is_text:
        return arguments
    if name == "replace" and _may_be_json(arguments[0]) and not _is_some_text(arguments[1]):
        raise Unsupported(
            f"replace() of what may be JSON, in {dialect.name}"
        )  # which it stays where nothing is replaced
    if name not in _MAKERS:
        return arguments
    arguments = [Const(None, TEXT) if item == null() else settle_alone(item, context) for item in arguments]
    for place in range(len(arguments))[_MAKERS[name]]:
        given = arguments[place]
        if isinstance(given, Function) and given.name in _MAKERS:
            arguments[place] = Function("json part", (given,), JSON)
        elif _may_be_json(given):
            raise Unsupported(f"{name}() of what may be JSON or a text, in {dialect.name}")
    return arguments


def _may_be_json(expression: Expr) -> bool:
    """Whether SQLite may know a text for JSON."""
    types = (getattr(part, "type", None) for part in walk_parts((expression,)))
    return any(isinstance(type_, SqlType) and (type_ == SQLITE_JSON or type_.kind is Kind.ANY) for type_ in types)


def _is_some_text(expression: Expr) -> bool:
    return isinstance(expression, Const) and bool(expression.value)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    **dict.fromkeys(_KEYED, _keyed),
    exp.JSONBContainsTopKey: _has_key,
    **dict.fromkeys(_PATHS, _along),
}
