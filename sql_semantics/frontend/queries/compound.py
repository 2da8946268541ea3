"""Queries of every kind: SELECT, UNION and its kin, VALUES, WITH (paper §3.1). Does not know where a query stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.common import with_common
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.queries.query import bind_over, bind_select
from sql_semantics.frontend.queries.unnesting import moved_to_from
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import as_value, is_loose, null, settle_alone, unify
from sql_semantics.frontend.types.collation import collated_columns, refuse_uncollated_query
from sql_semantics.frontend.types.comparison import check_identity
from sql_semantics.ir.expressions import Cast, Column, Const, Expr
from sql_semantics.ir.queries import Derived, OutputColumn, Query, Select, SetOperation, Source, Values
from sql_semantics.values.types import INTEGER_KINDS, Kind, SqlType

_OPERATIONS: dict[type[Node], str] = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}
_ABOVE = ("order", "limit", "offset")


def bind_query(node: Node, context: Context, targets: Sequence[SqlType] = (), *, loose: bool = False) -> Query:
    """A query. `targets`: the column types that an INSERT stores the outputs in; `loose`: outputs that no context
    types may stay so."""
    context = with_common(node, context)
    if isinstance(node, exp.Select):
        return bind_select(moved_to_from(node, context), context, targets, loose=loose)
    if isinstance(node, exp.Subquery):
        return _parenthesised(node, context, targets, loose)
    if isinstance(node, exp.SetOperation):
        only(node, "this", "expression", "distinct", "with_", *_ABOVE)
        return _above(_set_operation(node, context), node, context)
    if isinstance(node, exp.Values):
        only(node, "expressions", "with_", *_ABOVE)
        return _above(_values(node, context), node, context)
    raise unsupported(node)


def _above(query: Query, node: Node, context: Context) -> Query:
    """The query under the ORDER BY, LIMIT and OFFSET that the node carries."""
    if not any(node.args.get(part) is not None for part in _ABOVE):
        return query
    if not context.dialect.rules.queries.orders_values_and_parentheses and not isinstance(query, SetOperation):
        raise Unsupported(f"ORDER BY or LIMIT of VALUES or of a query in parentheses in {context.dialect.name}")
    return bind_over(query, node, context)


def _parenthesised(node: Node, context: Context, targets: Sequence[SqlType], loose: bool) -> Query:
    only(node, "this", "with_", *_ABOVE)
    if not any(node.args.get(part) is not None for part in _ABOVE):
        return bind_query(node.this, context, targets, loose=loose)
    inner = node.this
    while isinstance(inner, exp.Subquery) and not any(inner.args.get(part) is not None for part in _ABOVE):
        inner = inner.this
    if any(inner.args.get(part) is not None for part in _ABOVE):
        raise Unsupported("ORDER BY or LIMIT around a query that has its own")
    return _above(bind_query(node.this, context), node, context)


def converted(query: Query, place: int, expression: Expr) -> tuple[Query, Expr]:
    """An output column converted as `expression` says: what still was loose inside the query, anything else above it.

    Returns the query and the expression over its output row.
    """
    output = query.outputs[place]
    if is_loose(output.expression) and isinstance(query, Select):
        outputs = list(query.outputs)
        outputs[place] = replace(output, expression=expression)
        return replace(query, outputs=tuple(outputs)), Column(place, expression.type, output.name)
    return query, expression


def matched(left: Query, right: Query, context: Context, what: str) -> tuple[Query, Query, list[Expr], list[Expr]]:
    """Two queries with their columns converted to common types, and the conversions above their output rows."""
    rules = context.dialect.rules.queries
    if len(left.outputs) != len(right.outputs):
        state = rules.set_width_error
        message = f"each {what} query must have the same number of columns"
        raise Unsupported(message) if state is None else SqlError(state, message)
    left_items: list[Expr] = []
    right_items: list[Expr] = []
    for place, (ours, theirs) in enumerate(zip(left.outputs, right.outputs, strict=True)):
        pair = [
            output.expression if is_loose(output.expression) else Column(place, output.expression.type, output.name)
            for output in (ours, theirs)
        ]
        if context.dialect.rules.types.enums_are_texts and any(item.type.kind is Kind.ENUM for item in pair):
            raise Unsupported(f"{what} of ENUMs")  # texts, or enums still
        if not rules.types_literals_by_other_branches and sum(is_loose(item) for item in pair) == 1:
            pair = [settle_alone(as_value(item, context), context) if _is_text(item) else item for item in pair]
        if pair[0].type != pair[1].type and any(item.type.padded for item in pair) and null() not in pair:
            # each row keeps the blanks of its own side
            raise Unsupported(f"{what} of CHAR and another type")
        if pair[0].type != pair[1].type or is_loose(pair[0]):
            kinds = {_family(item.type) for item in pair if not is_loose(item)}
            if not rules.columns_have_one_type and len(kinds) > 1:
                raise Unsupported(f"{what} of columns of different types in {context.dialect.name}")
            pair = _widened(*unify(pair, context, what), context)
        left, item = converted(left, place, pair[0])
        left_items.append(item)
        right, item = converted(right, place, pair[1])
        right_items.append(item)
    return left, right, left_items, right_items


def _widened(items: list[Expr], target: SqlType, context: Context) -> list[Expr]:
    """The items with their common type's own length, scale and (in PostgreSQL, where the type of a sum above hangs on
    it) integer width: what is cast to varchar(3) above a UNION of varchar(3) and text is still to be cut."""
    exactly = context.dialect.rules.queries.converts_to_exact_type
    if target.kind in INTEGER_KINDS:
        if not exactly:
            return items
        return [item if item.type.kind is target.kind else Cast(item, target) for item in items]
    exact = target.kind is Kind.TEXT or (exactly and target.kind in _MODIFIED)
    return [item if item.type == target or not exact else _declared(item, target) for item in items]


_MODIFIED = frozenset({Kind.NUMERIC, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
"""Kinds of types with digits of their own in PostgreSQL, texts aside."""


def _declared(item: Expr, target: SqlType) -> Expr:
    return Const(item.value, target) if isinstance(item, Const) else Cast(item, target)


def _family(kind: SqlType) -> Kind:
    return Kind.BIGINT if kind.kind in INTEGER_KINDS else kind.kind


def _is_text(item: Expr) -> bool:
    """Whether a loose expression is a string literal or a parameter, whose own looks count."""
    return is_loose(item) and getattr(item, "value", "") is not None


def _set_operation(node: Node, context: Context) -> Query:
    op = _OPERATIONS.get(type(node))
    if op is None:
        raise unsupported(node)
    every = not node.args.get("distinct")
    if every and op != "union" and not context.dialect.rules.queries.intersect_all:
        raise Unsupported(f"{op.upper()} ALL in {context.dialect.name}")
    if not context.dialect.rules.queries.parenthesised_branches and any(
        isinstance(branch, exp.Subquery) and not isinstance(branch.this, exp.SetOperation)
        for branch in (node.this, node.expression)
    ):
        raise Unsupported(f"a query in parentheses beside UNION, INTERSECT or EXCEPT in {context.dialect.name}")
    for branch in (node.this, node.expression):
        if not isinstance(branch, exp.Subquery) and any(branch.args.get(part) is not None for part in _ABOVE):
            raise Unsupported("ORDER BY or LIMIT before UNION, INTERSECT or EXCEPT")
    if any(branch.args.get("locks") for branch in (node.this, node.expression)):
        raise Unsupported("FOR UPDATE beside UNION, INTERSECT or EXCEPT")
    inside = replace(context, compound=True)
    left = bind_query(node.this, inside, loose=True)
    right = bind_query(node.expression, inside, loose=True)
    left, right, left_items, right_items = matched(left, right, context, op.upper())
    if op != "union" or not every:
        check_identity(left_items, context)
    left_items, right_items = collated_columns((left, right), (left_items, right_items), context)
    outputs = tuple(
        OutputColumn(output.name, Column(place, item.type, output.name), output.exact)
        for place, (output, item) in enumerate(zip(left.outputs, left_items, strict=True))
    )
    query = SetOperation(op, every, left, right, tuple(left_items), tuple(right_items), outputs)
    if op != "union" or not every:
        refuse_uncollated_query(query, context)
    return query


def _values(node: Node, context: Context) -> Values:
    binder = Binder(context, Scope(outer=context.outer), "VALUES")
    rows: list[list[Expr]] = []
    for item in node.expressions:
        if not isinstance(item, exp.Tuple):
            raise unsupported(item, "VALUES")
        only(item, "expressions")
        parts = list(item.expressions)
        if len(parts) == 1 and isinstance(parts[0], exp.Anonymous) and str(parts[0].this).upper() == "ROW":
            raise Unsupported("VALUES ROW()")
        rows.append([binder.expr(part) for part in parts])
    width = len(rows[0])
    rules = context.dialect.rules.queries
    if any(len(row) != width for row in rows):
        if rules.values_width_error is not None:
            raise SqlError(rules.values_width_error, "VALUES lists must all be the same length")
        raise Unsupported("VALUES lists of different lengths")
    columns: list[list[Expr]] = []
    outputs: list[OutputColumn] = []
    prefix, first = rules.values_columns or ("column", 1)
    for place in range(width):
        column = [as_value(row[place], context) for row in rows]
        known = {item.type for item in column}
        if rules.types_values_alone:
            column = [settle_alone(item, context) if _is_text(item) else item for item in column]
            known = {item.type for item in column if not is_loose(item)}
            if not rules.columns_have_one_type and len({_family(kind) for kind in known}) > 1:
                raise Unsupported(f"VALUES of different types in {context.dialect.name}")
        if len(known) > 1 or any(is_loose(item) for item in column):
            column = _widened(*unify(column, context, "VALUES"), context)
        columns.append(column)
        name = f"{prefix}{place + first}"
        outputs.append(OutputColumn(name, Column(place, column[0].type, name), rules.values_columns is not None))
    return Values(tuple(zip(*columns, strict=True)), tuple(outputs))


def over(query: Query, expressions: Sequence[Expr]) -> Select:
    """A SELECT of expressions over the output rows of a query."""
    outputs = tuple(
        replace(output, expression=expression) for output, expression in zip(query.outputs, expressions, strict=True)
    )
    sources = (Source(Derived(query), "", 0, len(query.outputs)),)
    return Select(sources, None, None, (), None, outputs)
