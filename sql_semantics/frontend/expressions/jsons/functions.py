"""Calls of functions of JSON whose arguments are of any type (PostgreSQL 9.16). Does not know what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions.jsons.operators import path_of
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.frontend.types.coerce import is_loose, refuse_unmodelled, settle, settle_alone
from sql_semantics.ir.expressions import Const, Expr, Function, Param
from sql_semantics.values.types import BOOLEAN, FLOAT_KINDS, JSON, JSONB, TEXT, Kind

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_LISTS = frozenset({"json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array"})
_SINGLE = frozenset({"to_json", "to_jsonb", "row_to_json", "array_to_json"})


def bind_json_function(binder: Binder, name: str, nodes: Sequence[Node]) -> Expr | None:
    """A call of a function that makes JSON of its arguments; None for another function."""
    if not binder.context.dialect.rules.expressions.has_jsonb or name not in _LISTS | _SINGLE | _OF_PATHS:
        return None
    if name in _OF_PATHS:
        return _of_path(binder, name, nodes)
    nodes = [whole_row(binder, node) for node in nodes]
    given = [shown(binder, binder.value(node)) for node in nodes]
    if name in _SINGLE:
        if len(given) != 1:
            raise Unsupported(f"function {name}() with {len(given)} arguments")
        wanted = {"row_to_json": Kind.COMPOSITE, "array_to_json": Kind.ARRAY}.get(name)
        untyped = isinstance(given[0], Const) and is_loose(binder.value(nodes[0]))
        if untyped or (wanted is not None and given[0].type.kind is not wanted):
            raise Unsupported(f"function {name}() of {given[0].type}")
    return Function(name, tuple(given), JSONB if name.startswith("jsonb") or name == "to_jsonb" else JSON)


_OF_PATHS = frozenset({"jsonb_set"})


def _of_path(binder: Binder, name: str, nodes: Sequence[Node]) -> Expr:
    """jsonb_set(value, path, new [, whether to create it])."""
    if len(nodes) not in (3, 4):
        raise Unsupported(f"function {name}() with {len(nodes)} arguments")
    value, new = (settle(binder.value(node), JSONB, binder.context) for node in (nodes[0], nodes[2]))
    more = [settle(binder.value(node), BOOLEAN, binder.context) for node in nodes[3:]]
    if value.type.kind is not Kind.JSONB or new.type.kind is not Kind.JSONB or any(m.type != BOOLEAN for m in more):
        raise Unsupported(f"function {name}() of {value.type} and {new.type}")
    return Function(name, (value, path_of(binder, nodes[1]), new, *more), JSONB)


def whole_row(binder: Binder, node: Node) -> Node:
    """``t.*`` as an argument is the row that the name ``t`` stands for (PostgreSQL 8.16.5); any other one as it is."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
        return node
    name = node.args.get("table")
    folded = fold_column(name, binder.context.dialect) if isinstance(name, exp.Identifier) else ""
    if not folded or node.args.get("db") is not None or binder.scope.unqualified(folded):
        raise Unsupported("a row of all columns (table.*) as an argument")
    return exp.Column(this=exp.to_identifier(folded, quoted=True))


def shown(binder: Binder, value: Expr) -> Expr:
    """A value of which JSON is made. Raises Unsupported for a parameter of which only the driver knows the type."""
    refuse_unmodelled((value.type,))
    if not is_loose(value):
        return value
    if isinstance(value, Param):
        kind = binder.context.parameters.kinds[value.key]
        if kind in FLOAT_KINDS or kind is Kind.TEXT:
            raise Unsupported("JSON of a parameter of no type")
        return settle_alone(value, binder.context)
    return settle(value, TEXT, binder.context)
