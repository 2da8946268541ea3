"""Rows picked by a subquery on their own table: what follows for the row that a condition with such a subquery meets.

``id = (SELECT MIN(id) FROM t WHERE p)`` and ``id IN (SELECT id FROM t WHERE p ...)`` are met by rows of which p is true
only; with MIN or MAX no row of a smaller or larger key has it true. Does not know what is done to the row.
"""

from __future__ import annotations

from sql_semantics.ir.expressions import Binary, Cast, Column, Expr, InQuery, ScalarQuery
from sql_semantics.ir.queries import BaseTable, Derived, Query, Select
from sql_semantics.ir.walks.traverse import has_subquery
from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True)
class Picked:
    """`where`: what is true of a row that is met (None: anything). `first`: of the rows of which it is true it is that
    of the smallest key (True) or the largest (False); None where it may be any of them."""

    where: Expr | None
    first: bool | None


def picked_by(condition: Expr, table: str, key: int) -> Picked | None:
    """What a condition asks of the row that it is true of, where it compares the key with a subquery on the table
    itself; None where it is of another form."""
    match condition:
        case Binary("=", left, ScalarQuery(query=query)) | Binary("=", ScalarQuery(query=query), left):
            return _picked(query, table, key) if _is_key(left, key) else None
        case InQuery(operands=(left,), query=query, items=(item,), negated=False):
            return _picked(query, table, key) if _is_key(left, key) and _is_key(item, 0) else None
    return None


def _is_key(expression: Expr, key: int) -> bool:
    while isinstance(expression, Cast):
        expression = expression.operand
    return isinstance(expression, Column) and expression.index == key


def _picked(query: Query, table: str, key: int) -> Picked | None:
    if not isinstance(query, Select) or len(query.sources) != 1 or len(query.outputs) != 1:
        return None
    if query.having is not None or query.windows or query.qualify is not None or query.grouping_sets is not None:
        return None
    output, relation = query.outputs[0].expression, query.sources[0].relation
    if isinstance(relation, Derived) and query.where is None and query.groups is None and not query.aggregates:
        whole = query.limit is None and query.offset is None
        return _picked(relation.query, table, key) if whole and _is_key(output, 0) else None
    if not isinstance(relation, BaseTable) or relation.name != table:
        return None
    if query.where is not None and has_subquery(query.where):
        return None
    if query.groups == () and len(query.aggregates) == 1 and _is_key(output, 0):
        one = query.aggregates[0]
        if one.function in ("min", "max") and one.filter is None and _is_key(one.arguments[0], key):
            return Picked(query.where, one.function == "min")
        return None
    if query.groups is None and not query.aggregates and _is_key(output, key):
        return Picked(query.where, None)
    return None
