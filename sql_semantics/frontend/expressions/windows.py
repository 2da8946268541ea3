"""Window functions: named windows, frames, argument and result types (PostgreSQL manual 4.2.8, 7.2.5 and 9.22; MySQL
manual 14.20; SQLite "Window Functions"; DuckDB "Window Functions"). Does not know how partitions are evaluated.

A bound window function stands in its expression as a `Column` with an index from `grouping.WINDOWS` downwards;
`grouping` puts it in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions import aggregates
from sql_semantics.frontend.expressions.directions import direction
from sql_semantics.frontend.queries.grouping import WINDOWS, columns_of
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import cast, is_loose, settle, settle_alone, unify
from sql_semantics.frontend.types.comparison import check_identity, sorted_digits
from sql_semantics.ir.expressions import Column, Const, Expr
from sql_semantics.ir.queries import Bound, Frame, OrderKey, Window
from sql_semantics.records import dataclass, field
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BIGINT, DOUBLE, INT, INTEGER_KINDS, NULL, NUMERIC, Kind, SqlType

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder


@dataclass(slots=True)
class WindowScope:
    """The window functions of a query so far, and the definitions of its WINDOW clause by name."""

    found: list[Window] = field(default_factory=list)
    named: Mapping[str, Node] = field(default_factory=dict)


def window_scope(clause: list[Node] | None, dialect: Dialect) -> WindowScope:
    """The scope of a query with this WINDOW clause."""
    named: dict[str, Node] = {}
    for definition in clause or ():
        only(definition, "this", "partition_by", "order", "spec", "alias")
        name = fold_column(definition.this, dialect)
        if name in named:
            raise _misuse(f"window {name!r} is already defined", dialect)
        named[name] = definition
    return WindowScope([], named)


def _misuse(message: str, dialect: Dialect, state: str = "42P20") -> SqlError | Unsupported:
    return SqlError(state, message) if dialect.rules.expressions.misuse_is_error else Unsupported(message)


def _window(binder: Binder, node: Node) -> Expr:
    only(node, "this", "partition_by", "order", "spec", "alias", "over")
    context = binder.context
    if binder.windows is None:
        state = "42803" if binder.inside_aggregate else "42P20"
        raise _misuse(f"window functions are not allowed in {binder.clause}", context.dialect, state)
    if str(node.args.get("over") or "OVER").upper() != "OVER":
        raise Unsupported(f"{node.args['over']} of a window function")
    inner = binder.inside_window()
    partition_nodes, order_nodes, spec = _definition(node, binder.windows, context.dialect)
    try:
        partition = tuple(sorted_digits(inner.typed(item), context) for item in partition_nodes)
        order = tuple(_order_key(item, inner) for item in order_nodes)
    except SqlError as error:
        rules = context.dialect.rules
        if rules.expressions.windows_see_aliases and error.sqlstate == rules.text.unknown_column_error:
            raise Unsupported(f"an alias in a window in {context.dialect.name}") from error  # MariaDB has it there
        raise
    check_identity(partition, inner.context)
    check_identity([key.expression for key in order if key.expression is not None], inner.context, "ordering")
    frame = Frame() if spec is None else _frame(spec, order, inner)
    bound = _call(node.this, inner, partition, order, frame)
    found = binder.windows.found
    if bound not in found:
        found.append(bound)
    return Column(WINDOWS - found.index(bound), bound.type, bound.function, affine=False)


def _definition(node: Node, scope: WindowScope, dialect: Dialect) -> tuple[list[Node], list[Node], Node | None]:
    """PARTITION BY, ORDER BY and the frame clause, a named window's own included."""
    partition = list(node.args.get("partition_by") or ())
    order: list[Node] = []
    if node.args.get("order") is not None:
        only(node.args["order"], "expressions")
        order = list(node.args["order"].expressions)
    spec = node.args.get("spec")
    base = node.args.get("alias")
    if base is None:
        return partition, order, spec
    name = fold_column(base, dialect)
    if name not in scope.named:
        raise _misuse(f"window {name!r} does not exist", dialect, "42704")
    if isinstance(node.this, exp.Identifier):  # a definition: it may build on earlier ones
        names = list(scope.named)
        if names.index(name) >= names.index(fold_column(node.this, dialect)):
            raise _misuse(f"window {name!r} does not exist", dialect, "42704")
    inherited, ordered, framed = _definition(scope.named[name], scope, dialect)
    if partition or (order and ordered) or (framed is not None and (order or spec is not None)):
        raise _misuse(f"cannot override a clause of window {name!r}", dialect)
    return inherited, order or ordered, spec if framed is None else framed


def _order_key(item: Node, inner: Binder) -> OrderKey:
    only(item, "this", "desc", "nulls_first")
    expression = inner.typed(item.this)
    if isinstance(expression, Const):
        raise Unsupported("constant in the ORDER BY of a window")
    expression = sorted_digits(expression, inner.context)
    return OrderKey(expression, None, *direction(item, inner.context.dialect))


# --- frames ---------------------------------------------------------------------------------------------------------


def _frame(spec: Node, order: tuple[OrderKey, ...], inner: Binder) -> Frame:
    only(spec, "kind", "start", "start_side", "end", "end_side", "exclude")
    dialect = inner.context.dialect
    unit = str(spec.args["kind"]).lower()
    key = order[0].expression if len(order) == 1 else None
    start = _bound(spec.args.get("start"), spec.args.get("start_side"), unit, key, inner)
    end = Bound(0)
    if spec.args.get("end") is not None:
        end = _bound(spec.args["end"], spec.args.get("end_side"), unit, key, inner)
    backwards = start.direction > end.direction
    if backwards or (start.direction > 0 and start.offset is None) or (end.direction < 0 and end.offset is None):
        raise _misuse("frame that ends before it starts", dialect)
    exclude = spec.args.get("exclude")
    excluded = (
        "no others" if exclude is None else str(exclude.this if isinstance(exclude, exp.Var) else exclude).lower()
    )
    if unit not in ("rows", "range", "groups") or excluded not in ("no others", "current row", "group", "ties"):
        raise Unsupported(f"frame {unit} with EXCLUDE {excluded}")
    if unit == "groups" and not order:
        raise _misuse("GROUPS requires an ORDER BY clause", dialect)
    if not dialect.rules.expressions.frames_exclude and (unit == "groups" or exclude is not None):
        raise Unsupported(f"GROUPS or EXCLUDE in a window frame in {dialect.name}")
    return Frame(unit, start, end, excluded)


def _bound(value: object, side: object, unit: str, key: Expr | None, inner: Binder) -> Bound:
    if value == "CURRENT ROW":
        return Bound(0)
    direction = {"PRECEDING": -1, "FOLLOWING": 1}.get(str(side).upper())
    if direction is None:
        raise Unsupported(f"frame bound {side}")
    if value == "UNBOUNDED":
        return Bound(direction)
    dialect = inner.context.dialect
    if not isinstance(value, exp.Expr):
        raise Unsupported(f"frame bound {value}")
    if unit != "range":
        return Bound(direction, _closed(inner, value, BIGINT, f"the {unit.upper()} of a frame"))
    if key is None:
        raise _misuse("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column", dialect)
    kind = key.type.kind
    target = {Kind.NUMERIC: NUMERIC, Kind.DOUBLE: DOUBLE}.get(kind, BIGINT if kind in INTEGER_KINDS else None)
    if target is None:
        raise Unsupported(f"RANGE with an offset over {key.type}")
    offset = _closed(inner, value, target, "the RANGE of a frame", exact=target is BIGINT)
    return Bound(direction, cast(offset, target))


def _closed(inner: Binder, node: Node, target: SqlType, what: str, *, exact: bool = True) -> Expr:
    """An expression that reads no row. `exact`: it must be an integer."""
    bound = settle(inner.value(node), target, inner.context)
    if columns_of(bound):
        raise _misuse(f"argument of {what} must not contain variables", inner.context.dialect, "42P10")
    if exact and bound.type.kind not in INTEGER_KINDS:
        raise Unsupported(f"{what} of type {bound.type}")
    if bound.type.kind is Kind.DOUBLE and target is not DOUBLE:
        raise Unsupported(f"{what} of type {bound.type}")
    return bound


def _distance(inner: Binder, node: Node, what: str) -> Expr:
    """How far a function looks: an integer, which some products compute for each row."""
    bound = settle(inner.value(node), INT, inner.context)
    if bound.type.kind not in INTEGER_KINDS:
        raise Unsupported(f"{what} by a distance of type {bound.type}")
    if columns_of(bound) and not inner.context.dialect.rules.expressions.distances_by_row:
        raise Unsupported(f"{what} by a distance that differs from row to row")
    return bound


# --- functions ------------------------------------------------------------------------------------------------------

_RANKINGS: Mapping[type[Node], tuple[str, SqlType]] = {
    exp.RowNumber: ("row_number", BIGINT), exp.Rank: ("rank", BIGINT), exp.DenseRank: ("dense_rank", BIGINT),
    exp.PercentRank: ("percent_rank", DOUBLE), exp.CumeDist: ("cume_dist", DOUBLE),
}  # fmt: skip
_PICKS: Mapping[type[Node], str] = {
    exp.FirstValue: "first_value", exp.LastValue: "last_value", exp.NthValue: "nth_value",
}  # fmt: skip


_NEED_ORDER = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead)


def _call(
    node: Node, inner: Binder, partition: tuple[Expr, ...], order: tuple[OrderKey, ...], frame: Frame
) -> Window:  # fmt: skip
    dialect, rules = inner.context.dialect, inner.context.dialect.rules.expressions

    def made(function: str, arguments: tuple[Expr, ...], type_: SqlType) -> Window:
        return Window(function, arguments, None, partition, order, frame, type_)

    if aggregates.is_aggregate(node, inner):
        aggregate = aggregates.bind_aggregate(inner, node)
        if (aggregate.distinct and not rules.windows_distinct) or aggregate.order:
            raise _misuse("DISTINCT or ORDER BY in an aggregate over a window", dialect, "0A000")
        if aggregate.function == "string_agg" and not rules.windows_join_texts:
            raise Unsupported("GROUP_CONCAT over a window")
        if rules.spreads_are_shown and aggregates.shows_otherwise(node):
            # variances may be computed with; and MariaDB 10.11 sets the high bits of a window by shifting an int
            raise Unsupported(f"{aggregate.function}() over a window")
        if aggregate.filter is not None and aggregate.function in ("min", "max") and _forgets_filter(frame, dialect):
            raise Unsupported(f"MIN or MAX with FILTER over a frame that moves, in {dialect.name}")
        return Window("aggregate", (), aggregate, partition, order, frame, aggregate.type)
    if not rules.ranks_without_order and not order and isinstance(node, _NEED_ORDER):
        # MySQL takes every row for a peer, MariaDB fails.
        raise Unsupported(f"a window function without ORDER BY in {dialect.name}")
    if type(node) in _RANKINGS:
        only(node)
        if not rules.rankings_take_frames and frame != Frame():
            raise Unsupported(f"a frame of a ranking function in {dialect.name}, which MariaDB refuses")
        if not rules.exact_ranks and _RANKINGS[type(node)][1] is DOUBLE:
            raise Unsupported(f"{_RANKINGS[type(node)][0]}() in {dialect.name}, which MariaDB rounds")
        return made(_RANKINGS[type(node)][0], (), _RANKINGS[type(node)][1])
    if isinstance(node, exp.Ntile):
        only(node, "this")
        if node.this is None:
            raise unsupported(node)
        buckets = _distance(inner, node.this, "ntile()")
        if columns_of(buckets):
            raise Unsupported("ntile() of a number that differs from row to row")
        return made("ntile", (buckets,), INT if rules.small_ordinals else BIGINT)
    if isinstance(node, (exp.Lag, exp.Lead)):
        return made(*_neighbour(node, inner))
    if type(node) in _PICKS:
        only(node, "this", "offset")
        value = _typed(inner.value(node.this), inner)
        more: tuple[Expr, ...] = ()
        if isinstance(node, exp.NthValue):
            if node.args.get("offset") is None:
                raise unsupported(node)
            more = (_distance(inner, node.args["offset"], "nth_value()"),)
        return made(_PICKS[type(node)], (value, *more), value.type)
    raise unsupported(node, "the place of a window function")


def _forgets_filter(frame: Frame, dialect: Dialect) -> bool:
    """Whether the least and the greatest are looked up among all rows of the frame, whatever FILTER says."""
    forgets = dialect.rules.expressions.frames_forget_filters
    return forgets and frame.start != Bound(-1) and frame.exclude == "no others"


def _neighbour(node: Node, inner: Binder) -> tuple[str, tuple[Expr, ...], SqlType]:
    only(node, "this", "offset", "default")
    offset = node.args.get("offset")
    distance: Expr = Const(1, INT) if offset is None else _distance(inner, offset, f"{node.key}()")
    value: Expr = inner.value(node.this)
    default: Expr = Const(None, NULL)
    dialect = inner.context.dialect
    if node.args.get("default") is not None and not dialect.rules.expressions.neighbours_have_defaults:
        raise Unsupported(f"{node.key}() with a default in {dialect.name}, which MariaDB does not know")
    if node.args.get("default") is None:
        value = _typed(value, inner)
        default = Const(None, value.type)
    else:
        default = inner.value(node.args["default"])
        kinds = {value.type.kind, default.type.kind}
        by_class = dialect.rules.types.values_have_classes
        if by_class and len(kinds) > 1 and not (kinds <= INTEGER_KINDS or is_loose(default)):
            raise Unsupported(f"{node.key}() of {value.type} with a default of {default.type}")
        try:
            (value, default), _ = unify([value, default], inner.context, node.key.upper())
        except SqlError as error:
            message = f"function {node.key}({value.type}, integer, {default.type}) does not exist"
            raise SqlError("42883", message) if error.sqlstate == "42804" else error from error
    return node.key, (value, distance, default), value.type


def _typed(bound: Expr, inner: Binder) -> Expr:
    return settle_alone(bound, inner.context) if is_loose(bound) else bound


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {exp.Window: _window}
