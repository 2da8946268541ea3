"""Subqueries of an UPDATE or DELETE that read the table which it writes to, in SQLite: which of them see it as it was.

SQLite evaluates a subquery that reads nothing of the row around it once, where it is first needed. Whether it writes a
row before it has found the next one is its planner's choice (update.c and delete.c, `eOnePass`; a DELETE never does
beside a subquery that reads the row around it), so that what is needed first at a later row may see rows that were
written before. Does not know versions.
"""

from __future__ import annotations

from sql_semantics.ir.expressions import (
    Binary,
    Cast,
    Const,
    Exists,
    Expr,
    InQuery,
    IsNull,
    IsTruth,
    Quantified,
    ScalarQuery,
    Unary,
)
from sql_semantics.ir.queries import BaseTable, Select
from sql_semantics.ir.walks.correlation import reads_row_around
from sql_semantics.ir.walks.parts import walk_parts

OWN_TARGET = "a subquery on the table of an UPDATE or DELETE in sqlite"
"""What is not modelled where it may see what the statement has written by then."""


def reads(part: object, table: str) -> bool:
    """Whether a part of a statement reads a table."""
    return any(isinstance(inner, BaseTable) and inner.name == table for inner in walk_parts((part,)))


def finds_before(where: Expr, table: str) -> bool:
    """Whether all subqueries of a WHERE that read a table are evaluated before the first row for which it is true is
    written: they are needed in every conjunct in which they stand."""
    if isinstance(where, Binary) and where.op == "and":
        return finds_before(where.left, table) and finds_before(where.right, table)
    return not reads(where, table) or _is_needed(where, table, others=True)


def computes_before(value: Expr, table: str) -> bool:
    """Whether all subqueries of an assigned value that read a table are evaluated for the first row, before it is
    written."""
    return not reads(value, table) or _is_needed(value, table, others=False)


def _is_needed(expression: Expr, table: str, *, others: bool) -> bool:
    """Whether an expression cannot be evaluated without its subqueries on a table, which read nothing around them.
    `others`: nor is one of two operands skipped where the other is NULL, as newer versions do."""
    match expression:
        case ScalarQuery() | Exists():
            return not reads_row_around(expression.query)
        case InQuery(operands=operands, query=query):
            return not reads(operands, table) and not reads_row_around(query) and not _is_scan(query)
        case Quantified():
            return False
        case Unary(operand=operand) | Cast(operand=operand) | IsNull(operand=operand) | IsTruth(operand=operand):
            return _is_needed(operand, table, others=others)
        case Binary(op=op, left=left, right=right) if op not in ("and", "or"):
            pairs = ((left, right), (right, left))
            return all(
                not reads(one, table) or (_is_needed(one, table, others=others) and (others or _is_never_null(other)))
                for one, other in pairs
            )
    return False


def _is_scan(query: object) -> bool:
    """Whether a query may be answered by looking into the table itself, or an index of it, again and again."""
    return not isinstance(query, Select) or (query.where is None and query.limit is None)


def _is_never_null(expression: Expr) -> bool:
    return isinstance(expression, Const) and expression.value is not None
