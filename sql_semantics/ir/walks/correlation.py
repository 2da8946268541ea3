"""Outer references of subqueries, moved with the expressions that hold them. Does not know the parse tree.

What a subquery reads of the row around it is an `Outer` of depth 1 seen from the subquery's own level. Where the
expression that holds the subquery moves to another environment row (above GROUP BY, into a nested level), these
references move like the expression's own columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Column, Exists, Expr, InQuery, Outer, Quantified, ScalarQuery, Subquery
from sql_semantics.ir.queries import CommonScan, CommonTable, Derived, WrittenTable

T = TypeVar("T")


def rebuild_subquery(expr: Subquery, change: Callable[[Expr], Expr]) -> Expr:
    """The subquery with `change` applied to its operands and, as `Column`s, to what it reads of the row around it.

    `change` must make columns of columns there.
    """

    def moved(outer: Outer, level: int) -> Expr:
        if outer.depth != level:
            return outer
        column = change(Column(outer.index, outer.type, outer.name, outer.constant, outer.affine))
        if not isinstance(column, Column):
            raise Unsupported(f"outer column {outer.name} that stands for an expression")
        return replace(outer, index=column.index)

    query = map_outer(expr.query, moved, 1)
    match expr:
        case ScalarQuery() | Exists():
            return expr if query is expr.query else replace(expr, query=query)
        case InQuery():
            return replace(expr, query=query, operands=tuple(map(change, expr.operands)))
        case Quantified():
            return replace(expr, query=query, operand=change(expr.operand))


def reads_outside(node: object) -> bool:
    """Whether an expression, or a subquery in it, reads a row of a query around the one that it stands in."""
    return _reads(node, 0, lambda depth, level: depth > level)


def subqueries_read_row(expression: object) -> bool:
    """Whether a subquery in an expression reads the row that the expression is about."""
    return _reads(expression, 0, lambda depth, level: depth == level)


def reads_row_around(query: object) -> bool:
    """Whether the query of a subquery reads a row around it."""
    return _reads(query, 1, lambda depth, level: depth >= level)


def _reads(node: object, level: int, wanted: Callable[[int, int], bool]) -> bool:
    """Whether an outer reference in what stands at a level has a wanted depth, where it is met at its own level."""
    found = False

    def look(outer: Outer, level: int) -> Expr:
        nonlocal found
        found = found or wanted(outer.depth, level)
        return outer

    map_outer(node, look, level)
    return found


def map_outer(node: T, change: Callable[[Outer, int], Expr], level: int) -> T:
    """A node with every outer reference changed; `change` is given the level it stands on (`level` at the top).

    What holds none is returned as it is.
    """
    if isinstance(node, Outer):
        return cast(T, change(node, level))
    if isinstance(node, tuple):
        items = tuple(map_outer(item, change, level) for item in node)
        return node if all(a is b for a, b in zip(items, node, strict=True)) else cast(T, items)
    if not is_dataclass(node) or isinstance(node, type | WrittenTable):
        return node
    changes: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        inner = level
        if field.name == "query" and (isinstance(node, Subquery) or (isinstance(node, Derived) and node.lateral)):
            inner += 1
        elif isinstance(node, CommonScan) and isinstance(value, CommonTable):
            inner -= node.levels
        new = map_outer(value, change, inner)
        if new is not value:
            changes[field.name] = new
    return cast(T, replace(cast(Any, node), **changes)) if changes else node
