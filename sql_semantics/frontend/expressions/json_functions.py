"""Calls of functions of JSON whose arguments are of any type (PostgreSQL 9.16). Does not know what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.frontend.types.coerce import is_loose, refuse_unmodelled, settle, settle_alone
from sql_semantics.ir.expressions import Const, Expr, Function, Param
from sql_semantics.values.types import FLOAT_KINDS, JSON, JSONB, TEXT, Kind

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_LISTS = frozenset({"json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array"})
_SINGLE = frozenset({"to_json", "to_jsonb", "row_to_json", "array_to_json"})


def bind_json_function(binder: Binder, name: str, nodes: Sequence[Node]) -> Expr | None:
    """A call of a function that makes JSON of its arguments; None for another function."""
    if not binder.context.dialect.rules.expressions.has_jsonb or name not in _LISTS | _SINGLE:
        return None
    given = [shown(binder, binder.value(node)) for node in nodes]
    if name in _SINGLE:
        if len(given) != 1:
            raise Unsupported(f"function {name}() with {len(given)} arguments")
        wanted = {"row_to_json": Kind.COMPOSITE, "array_to_json": Kind.ARRAY}.get(name)
        untyped = isinstance(given[0], Const) and is_loose(binder.value(nodes[0]))
        if untyped or (wanted is not None and given[0].type.kind is not wanted):
            raise Unsupported(f"function {name}() of {given[0].type}")
    return Function(name, tuple(given), JSONB if name.startswith("jsonb") or name == "to_jsonb" else JSON)


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
