"""Aggregate functions: their forms, argument and result types. Does not know groups or how they are folded.

Sources: PostgreSQL manual 4.2.7 and 9.21, MySQL manual 14.19.1, SQLite "Built-in Aggregate Functions", DuckDB
"Aggregate Functions". A bound aggregate stands in its expression as a `Column` with a negative index; `grouping` puts
it in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.directions import direction
from sql_semantics.frontend.expressions.functions import as_text
from sql_semantics.frontend.expressions.jsons.functions import shown, whole_row
from sql_semantics.frontend.expressions.jsons.parts import json_part
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.frontend.text.dialects import array_of, fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.arithmetic import aggregate_type
from sql_semantics.frontend.types.coerce import (
    as_value,
    cast,
    is_loose,
    mismatch,
    refuse_unmodelled,
    settle,
    settle_alone,
)
from sql_semantics.frontend.types.collation import with_collation
from sql_semantics.frontend.types.comparison import check_identity, has_more_digits, sorted_digits
from sql_semantics.ir.expressions import Binary, Case, Column, Const, Expr, Function, IsNull, Param, Subquery, Variable
from sql_semantics.ir.queries import Aggregate, OrderKey
from sql_semantics.ir.walks.correlation import reads_outside
from sql_semantics.ir.walks.traverse import can_raise, children, outer_reads, walk
from sql_semantics.values.families.json_making import key_of
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    EXACT_KINDS,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    JSON,
    JSONB,
    NUMBER_KINDS,
    NUMERIC,
    TEXT,
    UBIGINT,
    Kind,
    SqlType,
)

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

FUNCTIONS: Mapping[type[Node], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Min: "min", exp.Max: "max", exp.Avg: "avg",
    exp.LogicalAnd: "bool_and", exp.LogicalOr: "bool_or", exp.GroupConcat: "string_agg",
    exp.ArrayAgg: "array_agg", exp.JSONArrayAgg: "json_agg", exp.JSONObjectAgg: "json_object_agg",
    exp.JSONBObjectAgg: "jsonb_object_agg", exp.Median: "median",
}  # fmt: skip
_SPREADS: Mapping[type[Node], str] = {
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}  # fmt: skip
_BITS: Mapping[type[Node], str] = {
    exp.BitwiseAndAgg: "bit_and", exp.BitwiseOrAgg: "bit_or", exp.BitwiseXorAgg: "bit_xor",
}  # fmt: skip
_ORDERED_SETS: Mapping[type[Node], str] = {
    exp.PercentileCont: "percentile_cont", exp.PercentileDisc: "percentile_disc", exp.Mode: "mode",
}  # fmt: skip


def is_aggregate(node: Node, binder: Binder) -> bool:
    """Whether a node is an aggregate call, with or without FILTER."""
    if isinstance(node, exp.Filter):
        node = node.this
    if isinstance(node, exp.Anonymous):
        return _named(node, binder) is not None
    return type(node) in FUNCTIONS or _is_statistic(node, binder)


def _is_statistic(node: Node, binder: Binder) -> bool:
    rules = binder.context.dialect.rules.expressions
    if type(node) in _BITS:
        return rules.folds_bits
    if type(node) in _SPREADS:
        return rules.has_statistics or rules.spreads_are_shown
    return isinstance(node, exp.WithinGroup) and type(node.this) in _ORDERED_SETS and rules.has_statistics


def shows_otherwise(node: Node) -> bool:
    """Whether it is a variance, a standard deviation or a fold of bits, which MariaDB's windows answer otherwise."""
    return type(node) in _SPREADS or type(node) in _BITS


def _named(node: Node, binder: Binder) -> str | None:
    """The aggregate that a function is which the parser knows by name only."""
    return dict(binder.context.dialect.rules.expressions.named_aggregates).get(str(node.this).lower())


def aggregate(binder: Binder, node: Node) -> Expr:
    """An aggregate of the query's group. Raises SqlError 42803 (PostgreSQL) or Unsupported where none may stand."""
    rules = binder.context.dialect.rules.expressions
    if binder.aggregates is None or binder.inside_aggregate:
        parts = list(bind_aggregate(binder.within("an aggregate"), node).expressions())
        if any(map(reads_outside, parts)) and not any(map(columns_of, parts)):
            raise Unsupported("aggregate of a column of an outer query")
        if rules.misuse_is_error:
            raise SqlError("42803", f"aggregate functions are not allowed in {binder.clause}")
        raise Unsupported(f"aggregate function in {binder.clause}")
    if rules.spreads_are_shown and type(node) in _SPREADS and not _is_only_shown(binder, node):
        raise Unsupported("a variance or a standard deviation that is not only shown")
    bound = bind_aggregate(binder.within("an aggregate"), node)
    parts = list(bound.expressions())
    doubtful = bound.filter is not None and rules.aggregates_belong == "by one part"
    own = [column for part in parts for column in columns_of(part)]
    if rules.aggregates_belong == "by what is read":
        own = [column for part in parts for column in _surely_read(part)]
    if any(reads_outside(part) for part in parts) and (doubtful or not own):
        # the standard makes it an aggregate of the query further out
        raise Unsupported("aggregate of a column of an outer query")
    if rules.aggregates_belong == "by all, outwards" and any(map(_query_reads_outside, parts)):
        # MariaDB 10.11 gives it to the query further out, columns of this one or none
        raise Unsupported(f"aggregate of a subquery that reads an outer query in {binder.context.dialect.name}")
    return _placed(bound, binder.aggregates)


def _is_only_shown(binder: Binder, node: Node) -> bool:
    """Whether an item of the outermost query is this aggregate alone, and nothing else is made of it."""
    item = node.parent if isinstance(node.parent, exp.Alias) else node
    query = item.parent
    if not isinstance(query, exp.Select) or query.parent is not None or binder.context.variables:
        return False
    used = [query.args[part] for part in ("order", "having", "qualify", "distinct", "into") if query.args.get(part)]
    places = [str(place.this) for part in used for place in part.find_all(exp.Literal)]
    names = [column.name.lower() for part in used for column in part.find_all(exp.Column)]
    named = item.alias.lower() in names if isinstance(item, exp.Alias) else False
    return item in query.expressions and not (named or places or query.args.get("distinct") or query.args.get("into"))


def _surely_read(expr: Expr) -> list[Column]:
    """The columns that SQLite counts: it forgets those of an IS NULL that its schema decides before it looks for the
    query of an aggregate (3.40.1: ``(SELECT sum(CASE WHEN t.k IS NULL THEN o.a END) FROM t) FROM o``, t.k NOT NULL)."""
    if isinstance(expr, IsNull):
        return []
    if isinstance(expr, Column | Subquery):
        return columns_of(expr)
    return [column for child in children(expr) for column in _surely_read(child)]


def _query_reads_outside(part: Expr) -> bool:
    return any(
        isinstance(inner, Subquery) and any(depth > 1 for depth, _ in outer_reads(inner.query)) for inner in walk(part)
    )


def _placed(bound: Aggregate, found: list[Aggregate]) -> Column:
    if bound not in found:
        found.append(bound)
    return Column(-1 - found.index(bound), bound.type, bound.function, affine=False)


def bind_aggregate(inner: Binder, node: Node) -> Aggregate:
    """The call by itself; `inner` binds what stands inside it."""
    condition: Expr | None = None
    dialect, rules = inner.context.dialect, inner.context.dialect.rules.expressions
    if isinstance(node, exp.Filter):
        only(node, "this", "expression")
        if not rules.aggregates_filter:
            raise Unsupported("FILTER clause of an aggregate")
        where = node.expression
        only(where, "this")
        condition = inner.condition(where.this)
        node = node.this
    if isinstance(node, exp.WithinGroup) and _is_statistic(node, inner):
        return _ordered_set(node, condition, inner)
    function, argument, more = _call(node, inner)
    if function.startswith("json") and not (rules.lists_values or _makes_parts(function, inner)):
        raise unsupported(node)
    order: tuple[OrderKey, ...] = ()
    if isinstance(argument, exp.Order):
        only(argument, "this", "expressions")
        if rules.aggregates_order == "texts" and function not in ("string_agg", "json_arrayagg"):
            raise Unsupported(f"ORDER BY in {function}()")
        if rules.aggregates_order == "none":
            raise Unsupported(f"ORDER BY in an aggregate in {dialect.name}, which only knows it since 3.44")
        order = tuple(_order_key(item, inner) for item in argument.expressions)
        argument = argument.this
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Distinct):
        only(argument, "expressions")
        items = list(argument.expressions)
    else:
        items = [argument]
    if len(items) == 1 and isinstance(items[0], exp.Star) and not distinct and not order:
        only(items[0])
        if function != "count":
            raise unsupported(node)
        return Aggregate("count_star", (), False, BIGINT, condition)
    if not items or any(item is None or isinstance(item, exp.Star) for item in items):
        raise unsupported(node)
    if function == "count" and not distinct and not order and len(items) == 1 and _is_row(items[0], inner):
        return Aggregate("count_star", (), False, BIGINT, condition)
    if function == "json_arrayagg":
        return _array_of_parts(items, distinct, order, inner)
    bound = [inner.expr(item) for item in items]
    computed = any(can_raise(item) and not _may_be_null(item) for item in bound)
    if rules.counts_unseen and function == "count" and computed:
        raise Unsupported(f"COUNT of what may fail in {dialect.name}")
    check_identity([key.expression for key in order if key.expression is not None], inner.context, "ordering")
    check_identity(bound if distinct else (), inner.context)
    _check_distinct_order(distinct, [key.expression for key in order], bound, inner)
    if function == "string_agg":
        return _string_agg(bound, more, distinct, condition, order, inner)
    if function in ("json_object_agg", "jsonb_object_agg"):
        assert more is not None
        bound = [inner.expr(more), *bound]
    if function == "array_agg" or function.startswith("json"):
        return _listed(function, bound, distinct, condition, order, inner)
    if len(bound) > 1:
        if function != "count":
            raise Unsupported(f"{function}(DISTINCT) of several expressions")
        return _count_combinations(bound, condition, inner)
    return _of_one(function, bound[0], distinct, condition, order, inner)


def _makes_parts(function: str, inner: Binder) -> bool:
    """Whether it is MariaDB's JSON_ARRAYAGG, which MySQL has in another way."""
    return function == "json_arrayagg" and inner.context.dialect.product == "mariadb"


def _array_of_parts(items: list[Node], distinct: bool, order: tuple[OrderKey, ...], inner: Binder) -> Aggregate:
    """JSON_ARRAYAGG. Its values are distinct as values, so that texts which differ may be one."""
    if len(items) != 1 or isinstance(items[0], exp.Limit) or isinstance(items[0].unnest(), exp.Null):
        raise Unsupported("json_arrayagg() of several expressions, of a bare NULL or with LIMIT")
    if distinct and inner.typed(items[0]).type.kind not in INTEGER_KINDS:
        raise Unsupported("json_arrayagg(DISTINCT) of other than integers")
    return Aggregate("json_arrayagg", (json_part(inner, items[0]),), distinct, JSON, None, order)


def _is_row(node: Node, inner: Binder) -> bool:
    """Whether it is the name of a FROM item that stands for its row, which is never NULL itself, whatever is in it."""
    if not inner.context.dialect.rules.expressions.has_rows or not isinstance(node, exp.Column):
        return False
    name = fold_column(node.this, inner.context.dialect) if isinstance(node.this, exp.Identifier) else ""
    table = inner.scope.table(name) if not node.args.get("table") else None
    if table is None or table.extended or name in inner.context.variables or name in inner.context.refused:
        return False
    composite = table.row is None or table.row.kind is Kind.COMPOSITE
    return composite and not inner.scope.unqualified(name)


def _call(node: Node, inner: Binder) -> tuple[str, Node, Node | None]:
    """The function, its (last) argument and, for string_agg, the delimiter, for an object of JSON the keys."""
    if isinstance(node, exp.Anonymous):
        only(node, "this", "expressions")
        function = _named(node, inner)
        if function == "count_star" and not node.expressions:
            return "count", exp.Star(), None
        if function is None or function == "count_star" or len(node.expressions) != 1:
            raise unsupported(node)
        return function, whole_row(inner, node.expressions[0]), None
    known = FUNCTIONS.get(type(node))
    if known is None and _is_statistic(node, inner):
        known = _SPREADS.get(type(node)) or _BITS.get(type(node))
    if known is None:
        raise unsupported(node, "an aggregate's place")
    if isinstance(node, exp.Stddev) and inner.context.dialect.rules.expressions.spreads_are_shown:
        known = "stddev_pop"
    if isinstance(node, exp.GroupConcat):
        only(node, "this", "separator")
        return known, node.this, node.args.get("separator")
    if isinstance(node, exp.JSONObjectAgg):
        only(node, "expressions")
        if len(node.expressions) != 2:
            raise unsupported(node)
        return known, node.expressions[1], node.expressions[0]
    if isinstance(node, exp.JSONBObjectAgg):
        only(node, "this", "expression")
        return known, node.expression, node.this
    only(node, "this", "big_int")
    return known, whole_row(inner, node.this) if isinstance(node, exp.JSONArrayAgg) else node.this, None


def _order_key(item: Node, inner: Binder) -> OrderKey:
    only(item, "this", "desc", "nulls_first")
    expression = inner.typed(item.this)
    if isinstance(expression, Const):
        raise Unsupported("constant in the ORDER BY of an aggregate")
    expression = sorted_digits(expression, inner.context)
    return OrderKey(expression, None, *direction(item, inner.context.dialect))


def _check_distinct_order(
    distinct: bool, keys: list[Expr | None], arguments: list[Expr], inner: Binder
) -> None:  # fmt: skip
    """What an aggregate with DISTINCT orders by must be what it is distinct in."""
    if not distinct or all(key in arguments for key in keys):
        return
    if inner.context.dialect.rules.expressions.misuse_is_error:
        raise SqlError("42P10", "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list")
    raise Unsupported("aggregate with DISTINCT that is ordered by something else")


def _of_one(
    function: str, bound: Expr, distinct: bool, condition: Expr | None, order: tuple[OrderKey, ...], inner: Binder
) -> Aggregate:
    context = inner.context
    if function in ("bool_and", "bool_or"):
        bound = settle(bound, BOOLEAN, context)
        if bound.type.kind is not Kind.BOOLEAN:
            raise mismatch(f"function {function}({bound.type}) does not exist", context.dialect)
        return Aggregate(function, (bound,), distinct, BOOLEAN, condition, order)
    if is_loose(bound) and function in ("sum", "avg", "total", "median", *_BITS.values()):
        raise Unsupported(f"{function.upper()} of an untyped value")
    operand = settle_alone(as_value(bound, context), context)
    if function == "total":
        if operand.type.kind not in NUMBER_KINDS:
            raise Unsupported(f"total({operand.type})")
        return Aggregate(function, (operand,), distinct, DOUBLE, condition, order)
    if function == "median":
        if operand.type.kind not in INTEGER_KINDS | {Kind.DOUBLE}:
            raise Unsupported(f"median({operand.type})")
        return Aggregate(function, (operand,), distinct, DOUBLE, condition, order)
    if function in _BITS.values():
        if distinct or operand.type.kind not in INTEGER_KINDS:
            raise Unsupported(f"function {function}() of {operand.type}")
        return Aggregate(function, (operand,), distinct, UBIGINT, condition, order)
    if distinct:
        operand = sorted_digits(operand, context)
    if function in _SPREADS.values() and operand.type.kind in FLOAT_KINDS:
        raise Unsupported(f"function {function}() of {operand.type}")  # its last digits hang on the order of the rows
    if function in _SPREADS.values() and context.dialect.rules.expressions.spreads_are_shown:
        if distinct or operand.type.kind not in EXACT_KINDS or operand.type == NUMERIC:
            raise Unsupported(f"function {function}() of {operand.type}")
        digits = (operand.type.scale or 0) + context.dialect.quotient_digits
        shown = SqlType(Kind.DOUBLE, scale=digits, name="deviation")
        return Aggregate(function, (operand,), distinct, shown, condition, order)
    operand, result = aggregate_type(function, operand, context.dialect)
    shows = context.dialect.rules.types.computed_digits_show
    if shows and function in ("sum", "avg") and has_more_digits(operand):
        operand = Function("declared digits", (operand,), operand.type)  # whether more are summed is the plan's choice
    return Aggregate(function, (operand,), distinct, result, condition, order)


def _may_be_null(item: Expr) -> bool:
    """Whether MySQL knows that an expression may be NULL, whatever its columns are."""
    return isinstance(item, Case) or (isinstance(item, Binary) and item.op in ("/", "%", "div"))


def _count_combinations(bound: list[Expr], condition: Expr | None, inner: Binder) -> Aggregate:
    """COUNT(DISTINCT a, b), which only MySQL has."""
    context = inner.context
    rules = context.dialect.rules
    if rules.types.mismatch_is_error and not rules.expressions.counts_combinations:
        raise SqlError("42883", "function count with several arguments does not exist")
    if not rules.expressions.counts_combinations:
        raise Unsupported("COUNT(DISTINCT) of several expressions")
    operands = tuple(settle_alone(as_value(item, context), context) for item in bound)
    return Aggregate("count", operands, True, BIGINT, condition)


def _string_agg(
    bound: list[Expr],
    delimiter: Node | None,
    distinct: bool,
    condition: Expr | None,
    order: tuple[OrderKey, ...],
    inner: Binder,
) -> Aggregate:
    context = inner.context
    rules = context.dialect.rules.expressions
    if len(bound) != 1:
        raise Unsupported("string_agg or GROUP_CONCAT of several expressions")
    if distinct and delimiter is not None and rules.distinct_takes_one:
        raise Unsupported(f"DISTINCT aggregate of several arguments in {context.dialect.name}")
    value = settle_alone(as_value(bound[0], context), context)
    if value.type.kind is Kind.BYTES:
        raise Unsupported("string_agg of bytes")
    if rules.joins_texts_only and (value.type.kind is not Kind.TEXT or delimiter is None):
        raise SqlError("42883", f"function string_agg({value.type}) does not exist")
    separator = Const(",", TEXT) if delimiter is None else settle(inner.value(delimiter), TEXT, context)
    if not isinstance(separator, (Const, Param, Variable)) or separator.type.kind is not Kind.TEXT:
        raise Unsupported("string_agg with a delimiter that is not a constant")
    if isinstance(separator, Const) and separator.value is None and not rules.null_delimiters:
        raise Unsupported("string_agg with a NULL delimiter")
    joined = with_collation(Function("concat", (as_text(value),), TEXT), context.dialect).type
    return Aggregate("string_agg", (as_text(value), separator), distinct, joined, condition, order)


def _ordered_set(node: Node, condition: Expr | None, inner: Binder) -> Aggregate:
    """``percentile_disc(fraction) WITHIN GROUP (ORDER BY value)`` and its kin. Raises Unsupported for several values,
    or fractions that are no constant."""
    only(node, "this", "expression")
    function, context = _ORDERED_SETS[type(node.this)], inner.context
    only(node.this, *(() if function == "mode" else ("this",)))
    order = node.expression
    if not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise unsupported(node)
    only(order, "expressions")
    key = _order_key(order.expressions[0], inner)
    assert key.expression is not None
    value = settle_alone(key.expression, context)
    check_identity([value], context, "ordering")
    refuse_unmodelled((value.type,))
    if function == "percentile_cont":
        if value.type.kind not in NUMBER_KINDS:
            raise Unsupported(f"percentile_cont() of {value.type}")
        value = cast(value, DOUBLE)
    key = replace(key, expression=value)
    if function == "mode":
        return Aggregate(function, (value,), False, value.type, condition, (key,))
    fraction = settle(inner.value(node.this.this), DOUBLE, context)
    if not isinstance(fraction, Const | Param) or fraction.type.kind not in NUMBER_KINDS:
        raise Unsupported(f"{function}() of another fraction than a constant")
    return Aggregate(function, (value, cast(fraction, DOUBLE)), False, value.type, condition, (key,))


def _listed(
    function: str,
    bound: list[Expr],
    distinct: bool,
    condition: Expr | None,
    order: tuple[OrderKey, ...],
    inner: Binder,
) -> Aggregate:
    context = inner.context
    pairs = function in ("json_object_agg", "jsonb_object_agg")
    if not context.dialect.rules.expressions.lists_values or len(bound) != 1 + pairs or (pairs and distinct):
        raise Unsupported(f"function {function}()")
    if function == "array_agg":
        value = settle_alone(bound[0], context)
        refuse_unmodelled((value.type,))
        return Aggregate("array_agg", (value,), distinct, array_of(value.type), condition, order)
    values = tuple(shown(inner, value) for value in bound)
    if pairs:
        key_of(values[0].type, context.dialect)
    return Aggregate(function, values, distinct, JSONB if function.startswith("jsonb") else JSON, condition, order)


def _grouping(binder: Binder, node: Node) -> Expr:
    """GROUPING: which of its arguments a row is not grouped by (PostgreSQL manual 9.21)."""
    only(node, "expressions")
    context = binder.context
    rules = context.dialect.rules.expressions
    if not rules.has_grouping:
        raise Unsupported("function grouping()")
    if binder.aggregates is None or binder.inside_aggregate:
        raise mismatch(f"grouping operations are not allowed in {binder.clause}", context.dialect, "42803")
    inner = binder.within("GROUPING")
    arguments = tuple(inner.typed(item) for item in node.expressions)
    bound = Aggregate("grouping", arguments, False, INT if rules.small_ordinals else BIGINT)
    return _placed(bound, binder.aggregates)


def _statistic(binder: Binder, node: Node) -> Expr:
    if not _is_statistic(node, binder):
        raise unsupported(node)
    return aggregate(binder, node)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Filter: aggregate,
    exp.Grouping: _grouping,
    exp.WithinGroup: _statistic,
    **dict.fromkeys((*_SPREADS, *_BITS), _statistic),
    **dict.fromkeys(FUNCTIONS, aggregate),
}
