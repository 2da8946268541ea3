"""SELECT: one query block, clause after clause (paper §3.1). Does not know what becomes of the rows.

Rows come back before LIMIT and OFFSET, with their sort keys, as `ResultSet` says. Errors of the select list of a
query with LIMIT are `may`: the DBMS need not evaluate it for rows that are cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column, Const, Expr, Free
from sql_semantics.ir.queries import BaseTable, Select, order_expression
from sql_semantics.ir.walks.digits import Digits
from sql_semantics.ir.walks.traverse import char_lengths, columns_read, outer_reads, walk
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Emitter,
    EvaluateRow,
    Frame,
    Row,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.expressions.loops import compile_projection
from sql_semantics.run.queries.aggregates.aggregate import compile_groups
from sql_semantics.run.queries.aggregates.averages import planned_aggregates
from sql_semantics.run.queries.aggregates.window import compile_windows
from sql_semantics.run.queries.join import Rows, compile_single, compile_sources
from sql_semantics.run.queries.locking import compile_locked, is_of_one_table, locks_sorted_rows
from sql_semantics.run.queries.order import (
    distinct_rows,
    first_rows,
    limit_value,
    limit_with_ties,
    require_shown_digits,
    sort_rows,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.floating import to_real
from sql_semantics.values.numbers.number import round_scale, scale_of
from sql_semantics.values.numbers.rounded import Rounded
from sql_semantics.values.text import padded_length, text_rule
from sql_semantics.values.types import Kind, SqlType, Value
from sql_semantics.view import View

_PLAIN = Select((), None, None, (), None, ())
_PLAIN_PARTS = ("sources", "where", "outputs", "limit", "offset", "locks", "skip_locked")

Execute = Callable[[View, Arguments, Frame], ResultSet[Value]]


def compile_select(
    select: Select,
    dialect: Dialect,
    *,
    inner: bool = False,
    may: bool = False,
    rounds: bool = False,
    digits: Digits = "checked",
) -> Execute:
    """f(view, args, frame) -> the query's rows; does not call `view.begin`.

    `inner`: the rows stay within the statement, as values are held there. `may` marks every error. `rounds`: sums of
    doubles that are only shown may be `Rounded`. `digits`: see `inner_output`.
    """
    if select.limit is not None and any(
        isinstance(part, Free) and part.source == "nextval"
        for output in select.outputs
        for part in walk(output.expression)
    ):
        raise Unsupported("nextval() in a query with LIMIT, which may number more rows than it returns")
    grouped = [*(select.groups or ()), *(a.argument for a in select.aggregates)]
    if grouped:
        grouped += [window.arguments[0] if window.arguments else None for window in select.windows]
    types = output_types([output.expression for output in select.outputs], dialect, grouped)
    finish = inner_output(types, dialect, digits) if inner else compile_output(types, dialect)
    freely = may
    may = may or select.limit is not None
    partial = may or _reads_one_row(select)
    bounds = _compile_bounds(select, dialect)
    plain = select == replace(_PLAIN, **{name: getattr(select, name) for name in _PLAIN_PARTS})
    first = select.sources[0].relation if len(select.sources) == 1 else None
    if plain and isinstance(first, BaseTable):
        expressions = tuple(output.expression for output in select.outputs)
        whole = finish is None and _is_whole_row(expressions, select.sources[0].width)
        produce = compile_single(
            first.name,
            select.where,
            None if whole else expressions,
            dialect,
            may,
            partial,
        )
        execute = _finished(produce, finish, types, bounds, select.skip_locked)
        execute = _locking(select, execute, finish, types, bounds, dialect, may) if select.locking else execute
        return _unless_empty(select, _answered(select, execute, dialect), types, bounds, dialect)
    produce = compile_sources(select.sources, select.where, dialect, may=partial)
    if dialect.rules.running.having_alone_reads_nothing and select.groups == () and not select.aggregates:
        produce = _no_rows  # HAVING alone: one row whatever the tables hold, and PostgreSQL does not read them
    shown = _only_shown(select) if rounds else frozenset[int]()
    row_by_row = _answers_row_by_row(select)
    if select.locking and not row_by_row:
        produce = _as_locked(select, produce, dialect)
    execute = _general(select, produce, finish, types, bounds, dialect, may, shown, freely)
    if select.locking and row_by_row:
        execute = _locking(select, execute, finish, types, bounds, dialect, may)
    return _unless_empty(select, _answered(select, execute, dialect), types, bounds, dialect)


def _answered(select: Select, execute: Execute, dialect: Dialect) -> Execute:
    """The same query where rows that it locks may have changed since it sorted them: answered in any order."""
    if not locks_sorted_rows(select, dialect):
        return execute

    def query(view: View, args: Arguments, frame: Frame) -> ResultSet[Value]:
        found = execute(view, args, frame)
        return replace(found, keys=None) if view.apart else found

    return query


def _unless_empty(
    select: Select, execute: Execute, types: tuple[SqlType, ...], bounds: Bounds | None, dialect: Dialect
) -> Execute:
    """The same query where LIMIT may be 0: PostgreSQL then runs nothing below it (nodeLimit.c), the other products need
    not."""
    if bounds is None or (isinstance(select.limit, Const) and select.limit.value != 0):
        return execute
    runs_nothing = dialect.rules.running.limit_zero_runs_nothing

    def query(view: View, args: Arguments, frame: Frame) -> ResultSet[Value]:
        offset, limit = bounds(args, frame)
        if limit != 0:
            return execute(view, args, frame)
        if runs_nothing:
            return ResultSet(types, [], [] if select.order else None, offset, limit, select.skip_locked)
        try:
            return execute(view, args, frame)
        except SqlError as error:
            raise SqlError(error.sqlstate, error.message, may=True, number=error.number) from error

    return query


def _no_rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
    return []


def _reads_one_row(select: Select) -> bool:
    """Whether PostgreSQL may answer by looking for one row only: MIN and MAX (and those of truth values) over an index
    or a constant, DISTINCT where all keys are constant."""
    if select.distinct or select.distinct_on:
        return True
    return (
        select.groups == ()
        and bool(select.aggregates)
        and all(aggregate.function in ("min", "max", "bool_and", "bool_or") for aggregate in select.aggregates)
    )


def _is_whole_row(expressions: Sequence[Expr], width: int) -> bool:
    """Whether the select list is the table's row as it is (CHAR(n) is stripped on the way)."""
    if any(e.type.padded for e in expressions):
        return False
    return [e.index if isinstance(e, Column) else -1 for e in expressions] == list(range(width))


Bounds = Callable[[Arguments, Frame], tuple[int, int | None]]


def _finished(
    produce: Rows,
    finish: Callable[[Row], Row] | None,
    types: tuple[SqlType, ...],
    bounds: Bounds | None,
    subset: bool,
) -> Execute:
    def query(view: View, args: Arguments, frame: Frame) -> ResultSet[Value]:
        offset, limit = (0, None) if bounds is None else bounds(args, frame)
        rows = produce(view, args, frame)
        if finish is not None:
            rows = [finish(row) for row in rows]
        return ResultSet(types, rows, None, offset, limit, subset)

    return query


def _general(
    select: Select,
    produce: Rows,
    finish: Callable[[Row], Row] | None,
    types: tuple[SqlType, ...],
    bounds: Bounds | None,
    dialect: Dialect,
    may: bool,
    rounds: frozenset[int],
    freely: bool,
) -> Execute:
    rule = text_rule(dialect)
    early = freely or (may and select.groups != ())  # groups come one by one where rows come in their order
    group = (
        None
        if select.groups is None
        else compile_groups(
            select.groups,
            planned_aggregates(select, dialect),
            dialect,
            sets=select.grouping_sets,
            may=early,
            rounds=rounds,
            chooses=not outer_reads(select),
        )
    )
    having = None if select.having is None else compile_predicate(select.having, dialect, may=early)
    project = compile_projection([output.expression for output in select.outputs], dialect, may=may)
    keys_of = compile_projection([order_expression(key, select.outputs) for key in select.order], dialect)
    key_types = [order_expression(key, select.outputs).type for key in select.order]
    extend = compile_windows(select.windows, _read_later(select), dialect, may=may) if select.windows else None
    qualify = None if select.qualify is None else compile_predicate(select.qualify, dialect)
    on_of = compile_row(select.distinct_on, dialect)
    on_types = [expression.type for expression in select.distinct_on]
    hides_digits = dialect.rules.values.hides_digits
    correlated = bool(select.distinct_on) and bool(outer_reads(select))

    def query(view: View, args: Arguments, frame: Frame) -> ResultSet[Value]:
        offset, limit = (0, None) if bounds is None else bounds(args, frame)
        source = produce(view, args, frame)
        if group is not None:
            source = group(source, args, frame)
        if having is not None:
            source = [row for row in source if having(row, args, frame)]
        if extend is not None:
            source = extend(source, args, frame)
        if qualify is not None:
            source = [row for row in source if qualify(row, args, frame)]
        rows = project(source, args, frame)
        keys = keys_of(source, args, frame) if select.order else None
        if select.distinct_on:
            rows = [row + on_of(behind, args, frame) for row, behind in zip(rows, source, strict=True)]
        if select.distinct:
            if hides_digits:
                require_shown_digits(rows, types)
            rows, keys = distinct_rows(rows, keys, types, rule)
        if keys is not None:
            rows, keys = sort_rows(rows, keys, select.order, key_types, rule)
        if select.distinct_on:
            rows, keys = first_rows(rows, keys, len(types), on_types, rule, None if correlated else view.choose)
        if select.with_ties and limit is not None and keys is not None:
            limit = limit_with_ties(keys, offset, limit)
        if finish is not None:
            rows = [finish(row) for row in rows]
        rounded = bool(rounds) and any(isinstance(value, Rounded) for row in rows for value in row)
        return ResultSet(types, rows, keys, offset, limit, select.skip_locked, rounded=rounded)

    return query


def _only_shown(select: Select) -> frozenset[int]:
    """The sums and averages of doubles, by their place among the aggregates, that nothing but the select list reads,
    and that as they are."""
    if select.groups is None or select.distinct or select.distinct_on or select.windows or select.qualify is not None:
        return frozenset()
    read: list[Expr] = [output.expression for output in select.outputs if not isinstance(output.expression, Column)]
    read += [order_expression(key, select.outputs) for key in select.order]
    read += [] if select.having is None else [select.having]
    used = {index for expression in read for index in columns_read(expression)}
    return frozenset(
        place
        for place, aggregate in enumerate(select.aggregates)
        if aggregate.type.kind is Kind.DOUBLE and len(select.groups) + place not in used
    )


def _answers_row_by_row(select: Select) -> bool:
    """Whether each row that is read is answered by itself: not grouped, made distinct or looked at through a window."""
    together = (select.groups, select.having, select.qualify)
    return not (select.distinct or select.distinct_on or select.windows or any(part is not None for part in together))


def _meets_newer(select: Select, dialect: Dialect) -> Callable[[View], bool]:
    """f(view) -> whether a query that locks its rows may meet some that are newer than those that it reads."""
    single = is_of_one_table(select)
    running = dialect.rules.running
    # there no row is found in another version than it is locked in
    reads_newest = running.locked_joins_read_newest and not single
    shared = running.shares_rows_by_index and any(lock.shared for lock in select.locks)
    told = not select.with_ties and not shared

    def meets_newer(view: View) -> bool:
        return (view.rechecks and not reads_newest) or (view.locks and told)

    return meets_newer


def _as_locked(select: Select, produce: Rows, dialect: Dialect) -> Rows:
    """The rows that a query reads, as they are when it locks them."""
    locked = compile_locked(select, dialect)
    meets_newer = _meets_newer(select, dialect)

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        if not meets_newer(view):
            return produce(view, args, frame)
        return [now for _, now, _ in locked(view, args, frame)]

    return rows


def _locking(
    select: Select,
    execute: Execute,
    finish: Callable[[Row], Row] | None,
    types: tuple[SqlType, ...],
    bounds: Bounds | None,
    dialect: Dialect,
    may: bool,
) -> Execute:
    """The same query where the rows that it locks may be newer than those that it reads: they are sorted as they were
    found, and answered as they are."""
    locked = compile_locked(select, dialect)
    project = compile_projection([output.expression for output in select.outputs], dialect, may=may)
    expressions = [order_expression(key, select.outputs) for key in select.order]
    key_of, key_types = compile_row(expressions, dialect), [expression.type for expression in expressions]
    rule = text_rule(dialect)
    meets_newer = _meets_newer(select, dialect)

    def query(view: View, args: Arguments, frame: Frame) -> ResultSet[Value]:
        if not meets_newer(view):
            return execute(view, args, frame)
        offset, limit = (0, None) if bounds is None else bounds(args, frame)
        met = locked(view, args, frame)
        rows = project([now for _, now, _ in met], args, frame)
        held = [locks for _, _, locks in met]
        keys = [key_of(found, args, frame) for found, _, _ in met] if select.order else None
        if keys is not None:
            places, keys = sort_rows(list(range(len(rows))), keys, select.order, key_types, rule)
            rows, held = [rows[place] for place in places], [held[place] for place in places]
        if select.with_ties:
            raise Unsupported("FOR UPDATE with WITH TIES where rows may be newer than the snapshot")
        if finish is not None:
            rows = [finish(row) for row in rows]
        return ResultSet(types, rows, keys, offset, limit, select.skip_locked, locked=held if any(held) else None)

    return query


def _read_later(select: Select) -> frozenset[int]:
    """The positions of the environment row below the windows' values that anything after HAVING reads."""
    later = [output.expression for output in select.outputs]
    later += [key.expression for key in select.order if key.expression is not None]
    later += [*select.distinct_on, *(() if select.qualify is None else (select.qualify,))]
    later += [expression for window in select.windows for expression in window.expressions()]
    width = sum(source.width for source in select.sources)
    if select.groups is not None:
        width = len(select.groups) + len(select.aggregates)
    return frozenset(index for expression in later for index in columns_read(expression) if index < width)


def _compile_bounds(select: Select, dialect: Dialect) -> Bounds | None:
    """OFFSET (NULL: 0) and LIMIT (NULL: none); negative ones raise 2201X and 2201W."""
    if select.limit is None and select.offset is None:
        return None
    parts: list[tuple[EvaluateRow | None, SqlType | None]] = []
    for expr in (select.offset, select.limit):
        parts.append((None, None) if expr is None else (compile_row([expr], dialect), expr.type))
    (offset, offset_type), (limit, limit_type) = parts
    of_limit, of_offset = dialect.rules.running.negative_limit_errors

    def bounds(args: Arguments, frame: Frame) -> tuple[int, int | None]:
        first: int | None = None
        count: int | None = None
        if limit is not None and limit_type is not None:
            count = limit_value(limit((), args, frame)[0], limit_type, of_limit, "LIMIT", dialect)
        if offset is not None and offset_type is not None:
            first = limit_value(
                offset((), args, frame)[0],
                offset_type,
                of_offset,
                "OFFSET",
                dialect,
            )
        return first or 0, count

    return bounds


def output_types(
    expressions: Sequence[Expr], dialect: Dialect, inner: Sequence[Expr | None] = ()
) -> tuple[SqlType, ...]:
    """The types of the select list, with the length that a CHAR is padded to in PostgreSQL.

    `inner`: above GROUP BY, what the columns of the environment row stand for.
    """
    types, pads = [], dialect.rules.running.shows_padding
    for expr in expressions:
        type_ = expr.type
        if type_.padded and pads:
            lengths = char_lengths(expr, inner)
            if len(lengths) == 1:
                type_ = replace(type_, length=next(iter(lengths)))
        types.append(type_)
    return tuple(types)


def compile_output(types: Sequence[SqlType], dialect: Dialect) -> Callable[[Row], Row] | None:
    """What happens to values on their way out; None for nothing.

    PostgreSQL returns CHAR(n) padded (Unsupported where its length is not known); MySQL rounds a DECIMAL that it held
    with more digits to its declared scale, and shows six digits of a FLOAT: more are Unsupported.
    """
    emitter = Emitter(dialect)
    running, hides_digits = dialect.rules.running, dialect.rules.values.hides_digits
    parts = []
    changed = False
    for position, type_ in enumerate(types):
        source = f"row[{position}]"
        if type_.padded and running.shows_padding:
            if type_.length is None:
                raise Unsupported("a CHAR value of unknown length")
            source, changed = f"(None if {source} is None else {source}.ljust({padded_length(type_.length)}))", True
        elif type_.kind is Kind.NUMERIC and type_.scale is not None and hides_digits:
            rounded = emitter.name(_rounder(type_.scale))
            source, changed = f"(None if {source} is None else {rounded}({source}))", True
        elif type_.kind is Kind.REAL and running.shows_six_digits:
            source, changed = f"{emitter.name(_six_digits)}({source})", True
        parts.append(f"{source}, ")
    return emitter.function("row", f"({''.join(parts)})") if changed else None


def _six_digits(value: Value) -> Value:
    if isinstance(value, float) and to_real(float(f"{value:.6g}")) != value:
        raise Unsupported("a FLOAT of more than six digits, which a MySQL server shows rounded or not")
    return value


def _rounder(scale: int) -> Callable[[Value], Value]:
    def rounded(value: Value) -> Value:
        return value if scale_of(value) <= scale else round_scale(value, scale)  # type: ignore[arg-type]

    return rounded


def inner_output(types: Sequence[SqlType], dialect: Dialect, digits: Digits = "checked") -> Callable[[Row], Row] | None:
    """What happens to rows that stay within the statement; None for nothing.

    MySQL keeps the digits of a quotient that its declared scale has no room for where it holds the one row of a scalar
    subquery (`whole`), and loses them in a temporary table, as of a derived table with aggregates (`declared`; both
    tried on MariaDB 10.11). Elsewhere it may do either: Unsupported.
    """
    if not dialect.rules.values.hides_digits or digits == "whole":
        return None
    scaled = [(i, t.scale) for i, t in enumerate(types) if t.kind is Kind.NUMERIC and t.scale is not None]
    if not scaled:
        return None

    if digits == "declared":
        rounders = [(position, _rounder(scale)) for position, scale in scaled]

        def declared(row: Row) -> Row:
            values = list(row)
            for position, rounded in rounders:
                value = values[position]
                values[position] = None if value is None else rounded(value)
            return tuple(values)

        return declared

    def check(row: Row) -> Row:
        for position, scale in scaled:
            value = row[position]
            if value is not None and scale_of(value) > scale:  # type: ignore[arg-type]
                raise Unsupported("a DECIMAL with more digits than its type inside a statement")
        return row

    return check
