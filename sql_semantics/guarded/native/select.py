"""SELECT over guarded rows: one query block, clause after clause. Does not know what becomes of the rows.

Rows keep their guards to the end; where a clause needs concrete values (grouping, DISTINCT, sort keys) a row is split
into one guarded row per case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows
from sql_semantics.guarded.lifting import Failure, lifted, split
from sql_semantics.guarded.native.aggregate import compile_groups
from sql_semantics.guarded.native.expressions import Evaluate, compile_scalar, compile_test
from sql_semantics.guarded.native.join import compile_sources
from sql_semantics.guarded.native.setops import compile_set_operation
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import OrderKey, OutputColumn, Select, SetOperation, order_expression
from sql_semantics.ir.queries import Query as IrQuery
from sql_semantics.ir.walks.digits import Digits
from sql_semantics.outcome import Arranged, GuardedResult, ResultSet
from sql_semantics.records import dataclass
from sql_semantics.run.queries.aggregates.averages import planned_aggregates
from sql_semantics.run.queries.locking import locks_sorted_rows
from sql_semantics.run.queries.order import limit_value, require_comparable, require_shown_digits, sort_rows
from sql_semantics.run.queries.select import (
    _reads_one_row,
    compile_output,
    inner_output,
    output_types,
)
from sql_semantics.run.queries.ties import cut
from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Scalar, Term, TermLeaf, conj, disj
from sql_semantics.terms.numbers import is_number, scale_of
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import EXACT_KINDS, Kind, SqlType, Value


@dataclass(slots=True)
class Selected:
    """A query's rows before LIMIT and OFFSET, under their guards; `keys` and `arranged` as in `GuardedResult`."""

    types: tuple[SqlType, ...]
    rows: GuardedRows
    keys: list[tuple[Value, ...]] | None
    offset: int
    limit: int | None
    arranged: Arranged | None = None


NOTHING_SELECTED = Selected((), [], None, 0, None)

Query = Callable[[Execution], Selected]
Keyed = list[tuple[Guard, tuple[Scalar, ...], tuple[Value, ...]]]


def compile_query(
    select: IrQuery, dialect: Dialect, *, inner: bool = False, answered: bool = False, digits: Digits = "checked"
) -> Query:
    """f(execution) -> the query's rows; does not call `view.begin`. Raises Unsupported, also when it runs.

    `inner`: the rows stay within the statement, as values are held there, with such `digits`. `answered`: they are an
    answer, so where a sort key is a term their order is left to what the answer shows (`arranged`).
    """
    if isinstance(select, SetOperation):
        return _set_operation(select, dialect, inner)
    if not isinstance(select, Select):
        raise Unsupported("VALUES or a series on symbolic rows")
    if select.windows or select.qualify is not None or select.distinct_on or select.with_ties:
        raise Unsupported("window functions, DISTINCT ON or WITH TIES on symbolic rows")
    if select.grouping_sets is not None or select.skip_locked:
        raise Unsupported("GROUPING SETS or SKIP LOCKED on symbolic rows")
    below = [*(select.groups or ()), *(aggregate.argument for aggregate in select.aggregates)]
    types = output_types([output.expression for output in select.outputs], dialect, below)
    rule = text_rule(dialect)
    may = select.limit is not None
    produce = compile_sources(select.sources, select.where, dialect, may=may or _reads_one_row(select))
    running, hides_digits = dialect.rules.running, dialect.rules.values.hides_digits
    if running.having_alone_reads_nothing and select.groups == () and not select.aggregates:
        produce = _no_rows  # HAVING alone: one row whatever the tables hold, and PostgreSQL does not read them
    aggregates = planned_aggregates(select, dialect)
    group = None if select.groups is None else compile_groups(select.groups, aggregates, dialect)
    having = None if select.having is None else compile_test(select.having, dialect)
    outputs = [compile_scalar(output.expression, dialect, may=may) for output in select.outputs]
    order = [order_expression(key, select.outputs) for key in select.order]
    order_keys = [compile_scalar(expression, dialect) for expression in order]
    order_types = [expression.type for expression in order]
    # which rows are locked in which version is left open here
    in_order = bool(order) and not locks_sorted_rows(select, dialect)
    arranged = _shown_order(select, order, dialect) if answered and in_order and not select.distinct else None
    finish = compile_finish(types, dialect, partial(inner_output, digits=digits) if inner else compile_output)
    bounds = _compile_bounds(select, dialect)
    runs_nothing = running.limit_zero_runs_nothing

    def query(execution: Execution) -> Selected:
        args, frame = execution.arguments, execution.frame
        offset, limit = bounds(execution)
        if limit == 0 and runs_nothing:  # it runs nothing below
            return Selected(types, [], [] if order else None, offset, limit)
        rows = produce(execution)
        if group is not None:
            rows = group(rows, execution)
        if having is not None:
            narrowed = ((execution.holds(guard, having(row, args, frame)), row) for guard, row in rows)
            rows = [(guard, row) for guard, row in narrowed if guard is not FALSE]
        unsorted: list[tuple[Guard, tuple[Scalar, ...], tuple[Scalar, ...]]] = []
        for guard, row in rows:
            values = execution.narrowed(guard, project(execution, outputs, guard, row))
            keys = execution.narrowed(guard, project(execution, order_keys, guard, row)) if order else ()
            unsorted.append((guard, values, keys))
        if arranged is not None and any(_is_open(key) for _, _, keys in unsorted for key in keys):
            shown: GuardedRows = [(guard, finish(values)) for guard, values, _ in unsorted]
            return Selected(types, shown, None, offset, limit, arranged)
        projected: Keyed = []
        for guard, values, keys in unsorted:
            projected += _keyed(execution, guard, values, keys)
        if select.distinct:
            projected = _distinct(projected)
            different = [cast("tuple[Value, ...]", row) for _, row, _ in projected]
            require_comparable(different, types, rule)
            if hides_digits:
                require_shown_digits(different, types)
        if order:
            projected = _sorted(projected, select.order, order_types, dialect)
        found: GuardedRows = [(guard, finish(values)) for guard, values, _ in projected]
        return Selected(types, found, [keys for _, _, keys in projected] if in_order else None, offset, limit)

    return query


def _is_open(key: Scalar) -> bool:
    """Whether a sort key is a term, in some case."""
    return isinstance(key, Term) or (isinstance(key, Cases) and any(isinstance(leaf, Term) for _, leaf in key.items))


def _shown_order(select: Select, order: Sequence[Expr], dialect: Dialect) -> Arranged:
    """Whether rows of an answer stand in the order of the first sort keys that it shows as they are compared."""
    places: list[int] = []
    for expression in order:
        place = next((n for n, output in enumerate(select.outputs) if output.expression == expression), None)
        kept_as_it_is = expression.type.kind in EXACT_KINDS and compile_output((expression.type,), dialect) is None
        if place is None or not kept_as_it_is:
            break
        places.append(place)
    types = [order[n].type for n in range(len(places))]
    rule = text_rule(dialect)

    def arranged(rows: Sequence[tuple[Any, ...]]) -> bool:
        shown = [tuple(row[place] for place in places) for row in rows]
        return sort_rows(shown, shown, select.order[: len(places)], types, rule)[0] == shown

    return arranged


def _set_operation(query: SetOperation, dialect: Dialect, inner: bool) -> Query:
    types = output_types([output.expression for output in query.outputs], dialect)
    produce = compile_set_operation(query, types, dialect)
    finish = compile_finish(types, dialect, inner_output if inner else compile_output)

    def run(execution: Execution) -> Selected:
        return Selected(types, [(guard, finish(values)) for guard, values in produce(execution)], None, 0, None)

    return run


def _no_rows(execution: Execution) -> GuardedRows:
    return []


def project(
    execution: Execution, outputs: Sequence[Evaluate], guard: Guard, row: Sequence[Scalar]
) -> tuple[Scalar, ...]:
    """The outputs over one row; failures become errors under its guard."""
    args, frame = execution.arguments, execution.frame
    return execution.settled(guard, [output(row, args, frame) for output in outputs])[0]


def _keyed(execution: Execution, guard: Guard, values: tuple[Scalar, ...], keys: tuple[Scalar, ...]) -> Keyed:
    """One row per case of its sort keys."""
    if not any(isinstance(key, Cases | Term) for key in keys):
        return [(guard, values, cast("tuple[Value, ...]", keys))]
    return [
        (case, execution.narrowed(case, values), leaves)
        for case, leaves in split("ORDER BY", guard, keys)
        if conj(execution.path, case) is not FALSE
    ]


def _distinct(rows: Keyed) -> Keyed:
    """One row per possible value, present where any of its duplicates is."""
    guards: dict[tuple[Value, ...], list[Guard]] = {}
    keys: dict[tuple[Value, ...], tuple[Value, ...]] = {}
    for guard, values, key in rows:
        for case, leaves in split("DISTINCT", guard, values):
            guards.setdefault(leaves, []).append(case)
            if keys.setdefault(leaves, key) != key:
                raise Unsupported("DISTINCT ordered by what is not selected")
    return [(disj(*cases), values, keys[values]) for values, cases in guards.items()]


def _sorted(rows: Keyed, order: Sequence[OrderKey], types: Sequence[SqlType], dialect: Dialect) -> Keyed:
    places = cast("list[tuple[Value, ...]]", [(place,) for place in range(len(rows))])
    ranked, keys = sort_rows(places, [key for _, _, key in rows], order, types, text_rule(dialect))
    found: Keyed = []
    for (place,), key in zip(ranked, keys, strict=True):
        guard, values, _ = rows[cast(int, place)]
        found.append((guard, values, key))
    return found


def _compile_bounds(select: Select, dialect: Dialect) -> Callable[[Execution], tuple[int, int | None]]:
    """OFFSET and LIMIT as the concrete runtime takes them; a value with cases raises Unsupported."""

    def compile_bound(expr: Expr | None, sqlstate: str, what: str) -> Callable[[Execution], int | None]:
        if expr is None:
            return lambda execution: None
        evaluate, type_ = compile_scalar(expr, dialect), expr.type

        def bound(execution: Execution) -> int | None:
            scalar = evaluate((), execution.arguments, execution.frame)
            (value,) = execution.narrowed(TRUE, (execution.settle(TRUE, scalar),))
            if isinstance(value, Cases | Term):
                raise Unsupported(f"{what} that depends on what was read")
            try:
                return limit_value(value, type_, sqlstate, what, dialect)
            except SqlError as error:
                execution.fail(TRUE, Failure(error.sqlstate, error.message, error.may))
                return None

        return bound

    of_limit, of_offset = dialect.rules.running.negative_limit_errors
    limit = compile_bound(select.limit, of_limit, "LIMIT")
    offset = compile_bound(select.offset, of_offset, "OFFSET")

    def bounds(execution: Execution) -> tuple[int, int | None]:
        count = limit(execution)
        return offset(execution) or 0, count

    return bounds


def compile_finish(
    types: Sequence[SqlType], dialect: Dialect, output: Callable[..., Any] = compile_output
) -> Callable[[tuple[Scalar, ...]], tuple[Scalar, ...]]:
    """What happens to values on their way out, column by column."""
    converters: dict[int, tuple[Callable[..., Any], Callable[..., Scalar]]] = {}
    for position, type_ in enumerate(types):
        convert = output((type_,), dialect)
        if convert is not None:
            converters[position] = (_single(convert), _unrounded(type_))

    def finish(row: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        if not converters:
            return row
        values = list(row)
        for position, (concrete, symbolic) in converters.items():
            values[position] = lifted("the output", concrete, symbolic, (values[position],))
        return tuple(values)

    return finish


def _single(convert: Callable[[tuple[Value, ...]], tuple[Value, ...]]) -> Callable[[Value], Value]:
    return lambda value: convert((value,))[0]


def _unrounded(type_: SqlType) -> Callable[..., Scalar]:
    def keep(leaf: Scalar) -> Scalar:
        if type_.kind is not Kind.NUMERIC or not isinstance(leaf, Term):
            raise TermLeaf(repr(leaf))
        if not is_number(leaf) or scale_of(leaf) > (type_.scale or 0):
            raise TermLeaf(repr(leaf))
        return leaf

    return keep


def feed(execution: Execution, selected: Selected) -> GuardedRows:
    """The rows that LIMIT and OFFSET leave for a write or a variable.

    Raises Unsupported where that hangs on guards that are not certain, or on ties.
    """
    rows = selected.rows
    if selected.offset == 0 and (selected.limit is None or selected.limit >= len(rows)):
        return rows
    if not all(execution.certain(guard) for guard, _ in rows):
        raise Unsupported("LIMIT that feeds a write on symbolic rows")
    certain = cast("list[tuple[Value, ...]]", [values for _, values in rows])
    kept = cut(ResultSet(selected.types, certain, selected.keys, selected.offset, selected.limit), None)
    return [(TRUE, values) for values in cast("list[tuple[Scalar, ...]]", kept)]


def result_set(execution: Execution, selected: Selected) -> GuardedResult:
    """The result set as it leaves the statement: guards contain the path."""
    path = execution.path
    rows: list[tuple[Scalar, ...]] = []
    guards: list[Guard] = []
    keys: list[tuple[Value, ...]] | None = None if selected.keys is None else []
    for place, (guard, values) in enumerate(selected.rows):
        full = conj(path, guard)
        if full is FALSE:
            continue
        rows.append(values)
        guards.append(full)
        if keys is not None and selected.keys is not None:
            keys.append(selected.keys[place])
    return GuardedResult(
        selected.types, rows, guards, path, keys, selected.offset, selected.limit, arranged=selected.arranged
    )


def compile_returning(
    returning: tuple[OutputColumn, ...] | None, dialect: Dialect
) -> Callable[[Execution, GuardedRows], GuardedResult] | None:
    """f(execution, written rows) -> the rows of RETURNING; None without it."""
    if returning is None:
        return None
    outputs = [compile_scalar(output.expression, dialect) for output in returning]
    types = output_types([output.expression for output in returning], dialect)
    finish = compile_finish(types, dialect)

    def result(execution: Execution, written: GuardedRows) -> GuardedResult:
        rows: GuardedRows = []
        for guard, row in written:
            values = execution.narrowed(guard, project(execution, outputs, guard, row))
            rows.append((guard, finish(values)))
        return result_set(execution, Selected(types, rows, None, 0, None))

    return result
