"""Subqueries in expressions: scalar, EXISTS, IN, ANY and ALL (PostgreSQL 9.24, MySQL 15.2.15). Does not know clauses.

A subquery sees the names of the query that it stands in, after its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.arrays import with_array
from sql_semantics.frontend.expressions.rows import converts_row, row_items
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.collation import beside_column, is_collated, refuse_uncollated_query
from sql_semantics.frontend.types.comparison import comparable, reads_both
from sql_semantics.ir.expressions import Column, Const, Exists, Expr, InQuery, Quantified, ScalarQuery
from sql_semantics.ir.queries import Query, Select, SetOperation
from sql_semantics.ir.walks.affinity import affine_output
from sql_semantics.ir.walks.correlation import reads_outside
from sql_semantics.ir.walks.traverse import has_subquery

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

QUERIES = (exp.Subquery, exp.Select, exp.SetOperation)
_REFUSED = frozenset({"CHECK", "DEFAULT", "CALL", "GENERATED ALWAYS AS"})
"""Clauses in which products allow none, or not all of them."""


def bind_inside(node: Node, binder: Binder) -> Query:
    """A subquery of the expression that the binder binds."""
    from sql_semantics.frontend.queries.compound import bind_query  # queries have expressions

    in_returning = binder.context.dialect.rules.expressions.returning_takes_subqueries
    if binder.clause in _REFUSED or (binder.clause == "RETURNING" and not in_returning):
        raise Unsupported(f"subquery in {binder.clause}")
    outer = binder.scope
    if binder.aliases:
        outer.lenient = True
    return bind_query(node, binder.context.inside(outer))


def _too_many(context: Context) -> SqlError | Unsupported:
    state = context.dialect.rules.expressions.column_count_error
    message = "subquery with another number of columns than expected"
    return Unsupported(message) if state is None else SqlError(state, message)


def scalar(binder: Binder, node: Node) -> Expr:
    """A query in parentheses where a value is wanted."""
    if isinstance(node, exp.Subquery) and node.args.get("alias") is not None:
        raise Unsupported("alias of a subquery in an expression")
    query = bind_inside(node, binder)
    dialect, rules = binder.context.dialect, binder.context.dialect.rules.expressions
    if len(query.outputs) != 1:
        if rules.row_subqueries and isinstance(node.parent, exp.Predicate):
            raise Unsupported("a row of a subquery as an operand")
        raise _too_many(binder.context)
    value = query.outputs[0].expression
    if rules.null_subqueries_untyped and isinstance(value, Const) and value.value is None:
        raise Unsupported(f"a subquery of a bare NULL in {dialect.name}")
    return ScalarQuery(query, value.type)


def exists(binder: Binder, node: Node) -> Expr:
    """``EXISTS (query)``."""
    only(node, "this")
    inner, dialect = node.this, binder.context.dialect
    if isinstance(inner, exp.Select) and not inner.expressions and dialect.rules.queries.selects_nothing:
        inner = inner.copy()
        inner.set("expressions", [exp.Literal.number(1)])
    query = bind_inside(inner, binder)
    if dialect.rules.expressions.loses_subtractions and _subtracts(query):
        raise Unsupported(f"INTERSECT or EXCEPT in EXISTS in {dialect.name}")  # MariaDB at times loses its rows of NULL
    return Exists(query, False)


def in_query(binder: Binder, operand: Node, node: Node) -> Expr:
    """``operand IN (query)``, where the operand may be a row."""
    query = bind_inside(node, binder)
    _check_limit(query, binder.context)
    operands = _row(binder, operand)
    if len(operands) != len(query.outputs):
        raise _too_many(binder.context)
    dialect, rules = binder.context.dialect, binder.context.dialect.rules.expressions
    if not rules.correlated_row_in and len(operands) > 1 and reads_outside(query):
        raise Unsupported(f"a row IN a subquery that reads outer columns in {dialect.name}")
    if rules.correlated_in_misses and reads_outside(query) and has_subquery(query):
        # DuckDB 2.0 loses rows of an outer join by NOT IN over such a one that is empty
        raise Unsupported(f"IN of a subquery that reads outer columns beside a subquery of its own in {dialect.name}")
    left: list[Expr] = []
    items: list[Expr] = []
    for place, one in enumerate(operands):
        ours, theirs = _beside(one, query, place, binder.context, "=")
        if reads_both(ours):
            # It reads both sides at once, which stand on different rows here.
            raise Unsupported(f"IN (query) that compares {one.type} with {query.outputs[place].expression.type}")
        left.append(ours)
        items.append(theirs)
    return InQuery(tuple(left), query, tuple(items), False)


def _beside(operand: Expr, query: Query, place: int, context: Context, op: str) -> tuple[Expr, Expr]:
    """An operand and a column of a query that it is compared with, converted."""
    if not is_collated(operand, context.dialect):
        refuse_uncollated_query(query, context)
    left, right = comparable(operand, _column(query, place), context, op)
    return beside_column(operand, query, place, (left, right), context)


def _column(query: Query, place: int) -> Column:
    output = query.outputs[place]
    return Column(place, output.expression.type, output.name, affine=affine_output(query, place))


def _row(binder: Binder, node: Node) -> Sequence[Expr]:
    if converts_row(node):
        raise Unsupported("a row that is converted, and compared field by field with a query")
    items = row_items(node)
    return [binder.expr(node)] if items is None else [binder.expr(item) for item in items]


def _check_limit(query: Query, context: Context) -> None:
    dialect, rules = context.dialect, context.dialect.rules.expressions
    if not rules.in_takes_limits and isinstance(query, Select) and query.limit is not None:
        raise Unsupported(f"LIMIT in a subquery of IN, ANY or ALL in {dialect.name}")
    if rules.loses_subtractions and _subtracts(query):
        # MariaDB moves the comparison into the branches, and then NOT IN over an empty EXCEPT is not TRUE
        raise Unsupported(f"INTERSECT or EXCEPT in a subquery of IN, ANY or ALL in {dialect.name}")


def _subtracts(query: Query) -> bool:
    if not isinstance(query, SetOperation):
        return False
    return query.op != "union" or _subtracts(query.left) or _subtracts(query.right)


def quantified(binder: Binder, op: str, operand: Node, node: Node) -> Expr:
    """``operand op ANY (query)`` and ALL."""
    only(node, "this")
    if not binder.context.dialect.rules.expressions.has_quantifiers:
        raise Unsupported(f"ANY and ALL in {binder.context.dialect.name}")
    every = isinstance(node, exp.All)
    inner = node.this
    if not isinstance(inner, QUERIES):
        return with_array(binder, op, operand, inner, every)
    if op not in ("=", "<>", "<", "<=", ">", ">="):
        raise Unsupported(f"{op} with {node.key.upper()}")
    if (op, every) in (("=", False), ("<>", True)):
        found = in_query(binder, operand, inner)
        return InQuery(found.operands, found.query, found.items, every) if isinstance(found, InQuery) else found
    query = bind_inside(inner, binder)
    _check_limit(query, binder.context)
    operands = _row(binder, operand)
    if len(operands) != 1:
        raise Unsupported(f"row value with {node.key.upper()}")
    if len(query.outputs) != 1:
        raise _too_many(binder.context)
    left, item = _beside(operands[0], query, 0, binder.context, op)
    if reads_both(left):
        raise Unsupported(f"{node.key.upper()} that compares {operands[0].type} with a quotient")
    return Quantified(op, left, query, item, every)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Subquery: scalar,
    exp.Exists: exists,
}
