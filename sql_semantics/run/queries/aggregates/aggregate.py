"""GROUP BY and aggregates over concrete rows. Does not know HAVING or the select list.

Above it, an environment row is the group keys followed by the aggregates. The rows of a group come in no order that a
DBMS would promise: what hangs on it, as string_agg does without a total ORDER BY of its own, is Unsupported when it
runs and makes a difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Aggregate
from sql_semantics.ir.walks.traverse import CHOOSING, LISTS, ORDERED_SETS
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Frame,
    Row,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.expressions.frames import query_frame
from sql_semantics.run.expressions.loops import compile_projection, compile_values
from sql_semantics.run.queries.aggregates.folds import compile_fold, over_integers
from sql_semantics.run.queries.aggregates.ordered_sets import compile_ordered_set
from sql_semantics.run.queries.listing import compile_listing
from sql_semantics.run.queries.order import MAY_BE_NAN, one_nan, require_comparable, require_shown_digits
from sql_semantics.run.queries.ties import canonical, differ, one_of
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Value

Group = Callable[[list[Row], Arguments, Frame], list[Row]]
OverRows = Callable[[list[Row], Arguments, Frame], Value]


def compile_groups(
    groups: tuple[Expr, ...],
    aggregates: tuple[Aggregate, ...],
    dialect: Dialect,
    *,
    sets: tuple[tuple[int, ...], ...] | None = None,
    may: bool = False,
    rounds: frozenset[int] = frozenset(),
    chooses: bool = False,
) -> Group:
    """f(rows, args, frame) -> one environment row per group; for () exactly one, also over no rows.

    `rounds`: the aggregates, by place, whose sums of doubles may be `Rounded`. `chooses` as in `compile_listing`.

    `sets`: the rows are grouped once by each set of positions in `groups`; keys that are not in a set are NULL.
    """
    rule = text_rule(dialect)
    chosen = [tuple(range(len(groups)))] if sets is None else list(sets)
    folds = [
        [
            _compile_above(aggregate, groups, members, dialect, may, place in rounds, chooses)
            for place, aggregate in enumerate(aggregates)
        ]
        for members in chosen
    ]
    keys_of = compile_projection(groups, dialect, may=may)
    types = [group.type for group in groups]
    doubles, hides_digits = any(type_.kind in MAY_BE_NAN for type_ in types), dialect.rules.values.hides_digits
    lists = any(aggregate.function in CHOOSING for aggregate in aggregates)  # choices come group by group
    if not groups and sets is None:
        (whole,) = folds
        return lambda rows, args, frame: [tuple([fold(rows, args, frame) for fold in whole])]

    def group_rows(rows: list[Row], args: Arguments, frame: Frame) -> list[Row]:
        found: list[Row] = []
        keys = keys_of(rows, args, frame)
        if doubles:
            keys = [one_nan(key) for key in keys]
        for positions, above in zip(chosen, folds, strict=True):
            members: defaultdict[Row, list[Row]] = defaultdict(list)
            if not positions:
                members[(None,) * len(groups)] = []
            wanted = keys
            if len(positions) < len(groups):
                wanted = [tuple([value if i in positions else None for i, value in enumerate(key)]) for key in keys]
            for key, row in zip(wanted, rows, strict=True):
                members[key].append(row)
            require_comparable(list(members), types, rule)
            if hides_digits:
                require_shown_digits(list(members), types)
            of_groups = sorted(members.items(), key=_of_key) if lists else members.items()
            found += [(*key, *[fold(group, args, frame) for fold in above]) for key, group in of_groups]
        return found

    return group_rows


def _of_key(group: tuple[Row, list[Row]]) -> tuple[tuple[int, Any], ...]:
    """By which groups are sorted, whatever order the view has its rows in."""
    return canonical(group[0])


def _compile_above(
    aggregate: Aggregate,
    groups: tuple[Expr, ...],
    members: tuple[int, ...],
    dialect: Dialect,
    may: bool,
    rounds: bool,
    chooses: bool,
) -> OverRows:
    """An aggregate, or GROUPING: a bit for each argument, set where the group is not grouped by it."""
    if aggregate.function != "grouping":
        return compile_aggregate(aggregate, dialect, may=may, rounds=rounds, chooses=chooses)
    bits = 0
    for argument in aggregate.arguments:
        bits = 2 * bits + (groups.index(argument) not in members)
    return lambda rows, args, frame: bits


def compile_aggregate(
    aggregate: Aggregate,
    dialect: Dialect,
    *,
    may: bool = False,
    ordered: bool = False,
    rounds: bool = False,
    chooses: bool = False,
) -> OverRows:
    """f(rows, args, frame) -> the aggregate over these rows. Raises Unsupported for one that is not modelled.

    `ordered`: the rows come in an order that is determined, and the aggregate has none of its own (a window). `chooses`
    as in `compile_listing`.
    """
    over = _over_rows(over_integers(aggregate), dialect, may, ordered, rounds, chooses)
    if aggregate.filter is None:
        return over
    test = compile_predicate(aggregate.filter, dialect, may=may)
    return lambda rows, args, frame: over([row for row in rows if test(row, args, frame)], args, frame)


def _over_rows(
    aggregate: Aggregate, dialect: Dialect, may: bool, ordered: bool, rounds: bool, chooses: bool
) -> OverRows:
    if not aggregate.arguments:
        return lambda rows, args, frame: len(rows)
    if aggregate.function.startswith("bare"):
        return _bare(aggregate, dialect, may, chooses)
    if aggregate.function in LISTS:
        return compile_listing(aggregate, dialect, may=may, ordered=ordered, chooses=chooses)
    if aggregate.function in ORDERED_SETS:
        return compile_ordered_set(aggregate, dialect, may=may)
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


_UNGROUPED = "a column that is not in GROUP BY and differs within a group"


def _bare(aggregate: Aggregate, dialect: Dialect, may: bool, once: bool) -> OverRows:
    """A column that is not grouped by: the value of one of the rows, in SQLite of those where the MIN or MAX beside it
    is reached (lang_select 2.5; MySQL 14.19.3); each column's choice is its own. `once` as `chooses` in
    `compile_listing`."""
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
        if not differ(found):
            return found[0][0] if found else None
        view = query_frame(frame).view
        if not once:
            view.arbitrary(_UNGROUPED)
        return one_of([(row[0],) for row in found], view.choose, _UNGROUPED)[0]

    return bare
