"""GROUP BY and aggregates over concrete rows (DESIGN §3). Does not know HAVING or the select list.

Above it, an environment row is the group keys followed by the aggregates. The rows of a group come in no order that a
DBMS would promise: what hangs on it, as string_agg does without a total ORDER BY of its own, is Unsupported when it
runs and makes a difference.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Aggregate
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Frame,
    Row,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.expressions.loops import compile_values
from sql_semantics.run.queries.folds import compile_fold, distinct_values, over_integers
from sql_semantics.run.queries.order import require_comparable, require_shown_digits, sort_rows
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Kind, Value

Group = Callable[[list[Row], Arguments, Frame], list[Row]]
OverRows = Callable[[list[Row], Arguments, Frame], Value]

_GROUP_CONCAT_LENGTH = 1024
"""MySQL's default group_concat_max_len, in bytes; longer results are cut there (14.19.1)."""


def compile_groups(
    groups: tuple[Expr, ...],
    aggregates: tuple[Aggregate, ...],
    dialect: Dialect,
    *,
    sets: tuple[tuple[int, ...], ...] | None = None,
    may: bool = False,
    rounds: frozenset[int] = frozenset(),
) -> Group:
    """f(rows, args, frame) -> one environment row per group; for () exactly one, also over no rows.

    `rounds`: the aggregates, by place, whose sums of doubles may be `Rounded`.

    `sets`: the rows are grouped once by each set of positions in `groups`; keys that are not in a set are NULL.
    """
    rule = text_rule(dialect)
    chosen = [tuple(range(len(groups)))] if sets is None else list(sets)
    folds = [
        [
            _compile_above(aggregate, groups, members, dialect, may, place in rounds)
            for place, aggregate in enumerate(aggregates)
        ]
        for members in chosen
    ]
    key_of = compile_row(groups, dialect, may=may)
    types = [group.type for group in groups]
    doubles = any(type_.kind is Kind.DOUBLE for type_ in types)
    if not groups and sets is None:
        (whole,) = folds
        return lambda rows, args, frame: [tuple([fold(rows, args, frame) for fold in whole])]

    def group_rows(rows: list[Row], args: Arguments, frame: Frame) -> list[Row]:
        found: list[Row] = []
        keys = [key_of(row, args, frame) for row in rows] if groups else [()] * len(rows)
        if doubles:
            keys = [one_nan(key) for key in keys]
        for positions, above in zip(chosen, folds, strict=True):
            members: dict[Row, list[Row]] = {} if positions else {(None,) * len(groups): []}
            for key, row in zip(keys, rows, strict=True):
                if len(positions) < len(groups):
                    key = tuple([value if i in positions else None for i, value in enumerate(key)])
                members.setdefault(key, []).append(row)
            require_comparable(list(members), types, rule)
            if dialect.name == "mysql":
                require_shown_digits(list(members), types)
            found += [(*key, *[fold(group, args, frame) for fold in above]) for key, group in members.items()]
        return found

    return group_rows


def _compile_above(
    aggregate: Aggregate, groups: tuple[Expr, ...], members: tuple[int, ...], dialect: Dialect, may: bool, rounds: bool
) -> OverRows:
    """An aggregate, or GROUPING: a bit for each argument, set where the group is not grouped by it."""
    if aggregate.function != "grouping":
        return compile_aggregate(aggregate, dialect, may=may, rounds=rounds)
    bits = 0
    for argument in aggregate.arguments:
        bits = 2 * bits + (groups.index(argument) not in members)
    return lambda rows, args, frame: bits


def one_nan(key: Row) -> Row:
    """A key with every NaN the same object, and thus equal to itself."""
    return tuple([math.nan if value != value else value for value in key])


def compile_aggregate(
    aggregate: Aggregate, dialect: Dialect, *, may: bool = False, ordered: bool = False, rounds: bool = False
) -> OverRows:
    """f(rows, args, frame) -> the aggregate over these rows. Raises Unsupported for one that is not modelled.

    `ordered`: the rows come in an order that is determined, and the aggregate has none of its own (a window).
    """
    over = _over_rows(over_integers(aggregate), dialect, may, ordered, rounds)
    if aggregate.filter is None:
        return over
    test = compile_predicate(aggregate.filter, dialect, may=may)
    return lambda rows, args, frame: over([row for row in rows if test(row, args, frame)], args, frame)


def _over_rows(aggregate: Aggregate, dialect: Dialect, may: bool, ordered: bool, rounds: bool) -> OverRows:
    if not aggregate.arguments:
        return lambda rows, args, frame: len(rows)
    if aggregate.function.startswith("bare"):
        return _bare(aggregate, dialect, may)
    if aggregate.function == "string_agg":
        return _string_agg(aggregate, dialect, may, ordered)
    if aggregate.function == "array_agg":
        return _array_agg(aggregate, dialect, may, ordered)
    if len(aggregate.arguments) > 1:
        return _count_rows(aggregate, dialect, may)
    fold = compile_fold(aggregate, dialect, rounds=rounds)
    values = compile_values(aggregate.arguments[0], dialect, may=may)
    return lambda rows, args, frame: fold(values(rows, args, frame))


def _count_rows(aggregate: Aggregate, dialect: Dialect, may: bool) -> OverRows:
    """COUNT(DISTINCT a, b): how many combinations without a NULL (MySQL 14.19.1)."""
    if aggregate.function != "count" or not aggregate.distinct:
        raise Unsupported(f"{aggregate.function} of several arguments")
    combination = compile_row(aggregate.arguments, dialect, may=may)
    types = [argument.type for argument in aggregate.arguments]
    rule = text_rule(dialect)

    def count(rows: list[Row], args: Arguments, frame: Frame) -> Value:
        found = {one_nan(key) for row in rows if None not in (key := combination(row, args, frame))}
        require_comparable(list(found), types, rule)
        return len(found)

    return count


def _bare(aggregate: Aggregate, dialect: Dialect, may: bool) -> OverRows:
    """SQLite's bare column: the value that all rows share, or all rows where the MIN or MAX beside it is reached; where
    they differ, SQLite's choice: Unsupported."""
    values = compile_row(aggregate.arguments, dialect, may=may)
    extreme: Callable[[list[Value]], Value] | None = None
    if len(aggregate.arguments) > 1:
        function = aggregate.function.removeprefix("bare_")
        extreme = compile_fold(replace(aggregate, function=function, arguments=aggregate.arguments[1:]), dialect)

    def bare(rows: list[Row], args: Arguments, frame: Frame) -> Value:
        found = [values(row, args, frame) for row in rows]
        if extreme is not None:
            best = extreme([row[1] for row in found if row[1] is not None])
            found = [row for row in found if row[1] == best]
        if any(row[0] != found[0][0] for row in found):
            raise Unsupported("a column that is not in GROUP BY and differs within a group")
        return found[0][0] if found else None

    return bare


def _string_agg(aggregate: Aggregate, dialect: Dialect, may: bool, ordered: bool) -> OverRows:
    """The values in the order of the aggregate's own ORDER BY; where ties or its absence leave a choice that shows,
    Unsupported. The delimiter stands before each value but the first."""
    rule = text_rule(dialect)
    value_and_delimiter = compile_row(aggregate.arguments, dialect, may=may)
    keys = [key.expression for key in aggregate.order if key.expression is not None]
    key_of = compile_row(keys, dialect, may=may)
    types = [key.type for key in keys]
    text_type = aggregate.arguments[0].type

    def string_agg(rows: list[Row], args: Arguments, frame: Frame) -> Value:
        pairs = [(value_and_delimiter(row, args, frame), row) for row in rows]
        pairs = [(pair, row) for pair, row in pairs if pair[0] is not None]
        if aggregate.distinct:
            kept = distinct_values([pair[0] for pair, _ in pairs], text_type, rule)
            first: dict[Value, tuple[Row, Row]] = {}
            for pair, row in pairs:
                first.setdefault(pair[0], (pair, row))
            pairs = [first[value] for value in kept]
        if not pairs:
            return None
        order = [key_of(row, args, frame) for _, row in pairs]
        values, order = sort_rows([pair for pair, _ in pairs], order, aggregate.order, types, rule)
        for (one, one_key), (other, other_key) in itertools.pairwise(zip(values, order, strict=True)):
            if not ordered and one_key == other_key and one != other:
                raise Unsupported(f"{name} of values whose order is not determined")
        text = str(values[0][0]) + "".join(f"{delimiter or ''}{value!s}" for value, delimiter in values[1:])  # type: ignore[str-bytes-safe]
        if dialect.name == "mysql" and len(text.encode()) > _GROUP_CONCAT_LENGTH:
            raise Unsupported("GROUP_CONCAT beyond group_concat_max_len")
        return text

    name = "GROUP_CONCAT" if dialect.name == "mysql" else "string_agg"
    return string_agg


def _array_agg(aggregate: Aggregate, dialect: Dialect, may: bool, ordered: bool) -> OverRows:
    """The values, NULL among them, in the order of the aggregate's own ORDER BY; without rows NULL (PostgreSQL 9.21).
    Where the order is the DBMS's choice and shows, Unsupported."""
    rule = text_rule(dialect)
    value_of = compile_row(aggregate.arguments, dialect, may=may)
    keys = [key.expression for key in aggregate.order if key.expression is not None]
    key_of = compile_row(keys, dialect, may=may)
    types = [key.type for key in keys]

    def array_agg(rows: list[Row], args: Arguments, frame: Frame) -> Value:
        if not rows:
            return None
        values = [value_of(row, args, frame) for row in rows]
        order = [key_of(row, args, frame) for row in rows]
        if aggregate.distinct:
            first = dict(zip(reversed(values), reversed(order), strict=True))
            require_comparable(list(first), [aggregate.arguments[0].type], rule)
            values, order = list(first), list(first.values())
        values, order = sort_rows(values, order, aggregate.order, types, rule)
        for (one, one_key), (other, other_key) in itertools.pairwise(zip(values, order, strict=True)):
            if not ordered and one_key == other_key and one != other:
                raise Unsupported("array_agg of values whose order is not determined")
        return Array(tuple(value[0] for value in values))

    return array_agg
