"""Comparisons of row values, column by column (PostgreSQL 9.25.5, MySQL 14.4.2). Does not know subqueries.

A row comparison is what its columns' comparisons make of it, with NULL where they leave it open. DuckDB compares rows
as structs, in a total order in which a NULL equals a NULL and comes after everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import is_loose
from sql_semantics.frontend.types.comparison import comparable
from sql_semantics.ir.expressions import Binary, Column, Const, Expr, IsNull, IsTruth, Param, Unary
from sql_semantics.values.types import BOOLEAN

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_STRICT = {"<": "<", "<=": "<", ">": ">", ">=": ">"}


def row_items(node: Node) -> list[Node] | None:
    """The parts of a row value, in parentheses or not; None for any other node."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Tuple):
        only(node, "expressions")
        return list(node.expressions)
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "ROW":
        only(node, "this", "expressions")
        return list(node.expressions)
    return None


def refuse_row(binder: Binder, nodes: Sequence[Node]) -> None:
    """Raise the error of MariaDB for a row where values are wanted (4078, 4079), after those of what stands in it; not
    in other products."""
    if binder.context.dialect.product != "mariadb" or any(isinstance(node, exp.Query | exp.Subquery) for node in nodes):
        return
    if all(row_items(node) is None for node in nodes):
        return
    for node in nodes:
        items = row_items(node)
        for part in [node] if items is None else items:
            if row_items(part) is not None:
                raise Unsupported("a row within a row")
            binder.value(part)
    raise SqlError("HY000", "illegal parameter data type row")


def converts_row(node: Node) -> bool:
    """Whether it is ``ROW(...)::type``, which PostgreSQL takes for a row that is written out in some places."""
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Cast) and row_items(node.this) is not None


def compare_rows(binder: Binder, op: str, left: Node, right: Node) -> Expr:
    """A comparison of which at least one side is a row value."""
    ours, theirs = row_items(left), row_items(right)
    rules = binder.context.dialect.rules.expressions
    queries = any(isinstance(side, exp.Query | exp.Subquery) for side in (left, right))
    if (ours is None or theirs is None) and rules.has_rows and not queries:
        one, other = binder.expr(left), binder.expr(right)
        if any(is_loose(binder.value(item)) for item in ours or theirs or ()):
            raise Unsupported("a comparison of a row with one of untyped values")
        one, other = comparable(one, other, binder.context, op)
        return Binary(op, one, other, BOOLEAN)
    if ours is None or theirs is None:
        refuse_row(binder, [left, right])
        raise Unsupported("comparison of a row value with something else")
    if len(ours) != len(theirs):
        state = rules.column_count_error
        message = "unequal number of entries in row expressions"
        raise Unsupported(message) if state is None else SqlError(state, message)
    if not ours:
        message = "cannot compare rows of zero length"
        raise SqlError("0A000", message) if rules.has_rows else Unsupported(message)
    pairs = [(binder.expr(one), binder.expr(other)) for one, other in zip(ours, theirs, strict=True)]
    return _compared(binder, op, pairs)


def _compared(binder: Binder, op: str, pairs: Sequence[tuple[Expr, Expr]]) -> Expr:
    def single(operator: str, pair: tuple[Expr, Expr]) -> Expr:
        one, other = comparable(pair[0], pair[1], binder.context, operator)
        return Binary(operator, one, other, BOOLEAN)

    if binder.context.dialect.rules.expressions.rows_compare_as_structs:
        return _structs(binder, op, pairs)
    if op in ("=", "is_not_distinct"):
        return _joined("and", [single(op, pair) for pair in pairs])
    if op in ("<>", "is_distinct"):
        return _joined("or", [single(op, pair) for pair in pairs])
    result = single(op, pairs[-1])
    for pair in reversed(pairs[:-1]):
        equal = Binary("and", single("=", pair), result, BOOLEAN)
        result = Binary("or", single(_STRICT[op], pair), equal, BOOLEAN)
    return result


def _structs(binder: Binder, op: str, pairs: Sequence[tuple[Expr, Expr]]) -> Expr:
    """DuckDB's comparison of structs, always true or false. Structs are made before they are compared, so that every
    part is computed, and may fail, whatever the first ones decide."""
    typed = [comparable(one, other, binder.context, op) for one, other in pairs]
    computed = [part for pair in typed[1:] for part in pair if not isinstance(part, Column | Const | Param)]
    return _joined("and", [*map(_computed, computed), _ordered(op, typed)])


def _computed(part: Expr) -> Expr:
    """True, once a value is computed."""
    return Binary("or", IsNull(part, False), IsNull(part, True), BOOLEAN)


def _ordered(op: str, typed: Sequence[tuple[Expr, Expr]]) -> Expr:
    if op in ("=", "is_not_distinct", "<>", "is_distinct"):
        equal = _joined("and", [Binary("is_not_distinct", one, other, BOOLEAN) for one, other in typed])
        return equal if op in ("=", "is_not_distinct") else Unary("not", equal, BOOLEAN)
    if op in (">", "<="):
        typed = [(other, one) for one, other in typed]
    result: Expr = Const(False, BOOLEAN)
    for one, other in reversed(typed):
        last = Binary("and", IsNull(one, True), IsNull(other, False), BOOLEAN)
        less = Binary("or", IsTruth(Binary("<", one, other, BOOLEAN), True, False), last, BOOLEAN)
        same = Binary("and", Binary("is_not_distinct", one, other, BOOLEAN), result, BOOLEAN)
        result = Binary("or", less, same, BOOLEAN)
    return result if op in ("<", ">") else Unary("not", result, BOOLEAN)


def _joined(op: str, parts: Sequence[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = Binary(op, result, part, BOOLEAN)
    return result


def in_rows(binder: Binder, operand: Node, items: Sequence[Node]) -> Expr:
    """``(a, b) IN ((1, 2), (3, 4))``."""
    return _joined("or", [compare_rows(binder, "=", operand, item) for item in items])
