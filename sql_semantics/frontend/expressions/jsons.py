"""Operators of json and jsonb (PostgreSQL 9.16): ``->``, ``->>``, ``@>``, ``?``, ``||``, ``-``.

Products and the parser rank them differently against arithmetic, so that operands which are operations need
parentheses. Does not know what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import is_loose, settle, settle_alone
from sql_semantics.ir.expressions import Const, Expr, Function, Param
from sql_semantics.values.types import BOOLEAN, INTEGER_KINDS, JSON, JSONB, NUMBER_KINDS, TEXT, Kind

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_KEYED: Mapping[type[Node], str] = {exp.JSONExtract: "->", exp.JSONExtractScalar: "->>"}
_OPERATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe)


def _keyed(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    symbol = _KEYED[type(node)]
    if binder.context.dialect.name != "postgres":
        raise unsupported(node)
    if isinstance(node.this, _OPERATIONS) or isinstance(node.expression, _OPERATIONS):
        raise Unsupported(f"operator {symbol} on an operation without parentheses")
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
    left, right = (settle(side, JSONB, binder.context) for side in (left, right))
    if {left.type.kind, right.type.kind} != {Kind.JSONB}:
        raise Unsupported(f"operator || on {left.type} and {right.type}")
    return Function("jsonb ||", (left, right), JSONB)


def removed(left: Expr, right: Expr) -> Expr:
    """``-`` of a key or a place of jsonb. Raises Unsupported for an untyped one, which may be either."""
    if right.type.kind is Kind.TEXT and not right.type.padded:
        return Function("jsonb -", (left, right), JSONB)
    if right.type.kind in INTEGER_KINDS - {Kind.BIGINT}:
        return Function("jsonb -", (left, right), JSONB)
    raise Unsupported(f"operator - on {left.type} and {right.type}")


def contained(binder: Binder, left: Expr, right: Expr) -> Expr:
    """``@>`` of jsonb."""
    left, right = (settle(side, JSONB, binder.context) for side in (left, right))
    if {left.type.kind, right.type.kind} != {Kind.JSONB}:
        raise Unsupported(f"operator @> on {left.type} and {right.type}")
    return Function("jsonb @>", (left, right), BOOLEAN)


def _has_key(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    value = binder.expr(node.this)
    if binder.context.dialect.name != "postgres" or value.type.kind is not Kind.JSONB:
        raise unsupported(node)
    key = settle(binder.value(node.expression), TEXT, binder.context)
    if key.type.kind is not Kind.TEXT:
        raise Unsupported(f"operator ? with a key of type {key.type}")
    return Function("jsonb ?", (value, key), BOOLEAN)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    **dict.fromkeys(_KEYED, _keyed),
    exp.JSONBContainsTopKey: _has_key,
}
