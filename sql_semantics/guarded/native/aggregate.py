"""GROUP BY and aggregate functions over guarded rows. Does not know HAVING.

A row whose key has cases is split, one guarded row per case; a group exists where any of its members does. An
aggregate is computed by dynamic programming over its members: states reached so far, each under its guard, equal ones
merged. Exact sums that outgrow the cases become arithmetic terms.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows
from sql_semantics.guarded.lifting import attempt, on_terms, split, too_many, under, unknown_operand
from sql_semantics.guarded.native.counting import count
from sql_semantics.guarded.native.expressions import compile_scalar
from sql_semantics.guarded.native.terms import better, checked
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Aggregate
from sql_semantics.run.queries.aggregates.folds import compile_fold, sum_range
from sql_semantics.run.queries.order import require_comparable, require_shown_digits
from sql_semantics.terms import (
    FALSE,
    TRUE,
    Guard,
    Leaf,
    Scalar,
    Term,
    add,
    choose,
    conj,
    disj,
    if_then_else,
    items_of,
    neg,
)
from sql_semantics.terms.numbers import is_number, leaf_key, scale_of
from sql_semantics.terms.scalars import CASE_LIMIT
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.number import EXACT
from sql_semantics.values.text import require_groupable, rule_of, text_rule
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value

SUM_LIMIT = 64
"""Partial sums up to which a sum becomes cases (their guards grow with rows times sums), beyond it a linear term."""

Groups = Callable[[GuardedRows, Execution], GuardedRows]
Member = tuple[Guard, tuple[tuple[Guard, Leaf], ...]]
"""One row's contribution: where the row is, and the non-null cases of the argument in it, their guards containing
the row's."""

Fold = Callable[[Guard, list[Member]], Scalar]
"""f(context, members) -> the aggregate wherever the context holds."""


def compile_groups(groups: tuple[Expr, ...], aggregates: tuple[Aggregate, ...], dialect: Dialect) -> Groups:
    """f(rows, execution) -> one guarded environment row per group; for () exactly one, also over no rows."""
    rule = text_rule(dialect)
    keys = [compile_scalar(group, dialect) for group in groups]
    types = [group.type for group in groups]
    arguments = [None if a.argument is None else compile_scalar(a.argument, dialect) for a in aggregates]
    folds = [_compile_fold(aggregate, dialect) for aggregate in aggregates]
    hides_digits = dialect.rules.values.hides_digits

    def fold_all(key: tuple[Value, ...], exists: Guard, rows: GuardedRows, execution: Execution) -> tuple[Scalar, ...]:
        context = conj(execution.path, exists)
        values: list[Scalar] = []
        for fold, argument in zip(folds, arguments, strict=True):
            members: list[Member] = []
            for guard, row in rows:
                value: Scalar = 1
                if argument is not None:
                    scalar = argument(row, execution.arguments, execution.frame)
                    (value,) = execution.narrowed(guard, (execution.settle(guard, scalar),))
                members.append(_member(context, guard, value))
            values.append(execution.settle(exists, fold(context, members)))
        return (*key, *values)

    def group_rows(rows: GuardedRows, execution: Execution) -> GuardedRows:
        if not groups:
            return [(TRUE, fold_all((), TRUE, rows, execution))]
        found: dict[tuple[Value, ...], GuardedRows] = {}
        for guard, row in rows:
            scalars = [key(row, execution.arguments, execution.frame) for key in keys]
            settled, _ = execution.settled(guard, scalars)
            for case, leaves in split("GROUP BY", guard, settled):
                if conj(execution.path, case) is not FALSE:
                    found.setdefault(leaves, []).append((case, row))
        require_comparable(list(found), types, rule)
        if hides_digits:
            require_shown_digits(list(found), types)
        grouped: GuardedRows = []
        for key, members in found.items():
            exists = disj(*(guard for guard, _ in members))
            grouped.append((exists, fold_all(key, exists, members, execution)))
        return grouped

    return group_rows


def _member(context: Guard, guard: Guard, value: Scalar) -> Member:
    if conj(context, guard) is context:
        guard = TRUE
    cases = []
    for case, leaf in items_of(value):
        both = conj(guard, case)
        if leaf is not None and conj(context, both) is not FALSE:
            cases.append((TRUE if conj(context, both) is context else both, leaf))
    return guard, tuple(cases)


def _compile_fold(aggregate: Aggregate, dialect: Dialect) -> Fold:
    """The aggregate's fold; its value may be a failure. Raises Unsupported for one that is not modelled."""
    known = ("count_star", "count", "sum", "min", "max", "avg", "avg_in_steps", "avg_at_once")
    if aggregate.function not in known or aggregate.filter is not None or aggregate.order:
        raise Unsupported(f"{aggregate.function} with FILTER or ORDER BY on symbolic rows")
    if len(aggregate.arguments) > 1:
        raise Unsupported(f"{aggregate.function} of several arguments on symbolic rows")
    concrete = compile_fold(aggregate, dialect)
    function = aggregate.function
    if function == "count_star":
        return lambda context, members: count(context, (guard for guard, _ in members))
    fold: Fold
    argument = aggregate.type if aggregate.argument is None else aggregate.argument.type
    if function == "count":
        fold = _count
    elif function in ("min", "max"):
        fold = partial(_extreme, function, argument.kind, concrete)
    elif Kind.DOUBLE in (argument.kind, aggregate.type.kind) and argument.kind is Kind.DOUBLE:
        fold = partial(_ordered, function, concrete)
    elif function == "sum":
        fold = partial(_sum, aggregate, concrete, dialect)
    else:
        fold = partial(_average, concrete)
    if not aggregate.distinct or function in ("min", "max"):
        return fold
    rule = rule_of(argument, text_rule(dialect))

    def fold_distinct(context: Guard, members: list[Member]) -> Scalar:
        guards: dict[Value, list[Guard]] = {}
        for _, cases in members:
            for case, leaf in cases:
                if isinstance(leaf, Term):
                    raise unknown_operand(f"{function}(DISTINCT)")
                guards.setdefault(leaf, []).append(case)
        if argument.kind is Kind.TEXT:
            require_groupable((str(value) for value in guards), rule)
        distinct: list[Member] = []
        for value, cases_of in guards.items():
            where = disj(*cases_of)
            distinct.append((where, ((where, value),)))
        return fold(context, distinct)

    return fold_distinct


def _count(context: Guard, members: list[Member]) -> Scalar:
    return count(context, (disj(*(case for case, _ in cases)) for _, cases in members))


def _states(
    limit: int, members: Sequence[Member], step: Callable[[Any, Leaf], Any], key: Callable[[Any], Hashable]
) -> list[tuple[Guard, Any]] | None:
    """The states reachable from None, one step per member that contributes; None beyond the limit."""
    reached: list[tuple[Guard, Any]] = [(TRUE, None)]
    for _, cases in members:
        none = neg(disj(*(case for case, _ in cases)))
        merged: dict[Hashable, tuple[list[Guard], Any]] = {}
        for so_far, state in reached:
            stays = conj(so_far, none)
            if stays is not FALSE:
                merged.setdefault(key(state), ([], state))[0].append(stays)
            for case, leaf in cases:
                both = conj(so_far, case)
                if both is not FALSE:
                    following = step(state, leaf)
                    merged.setdefault(key(following), ([], following))[0].append(both)
        if len(merged) > limit:
            return None
        reached = [(disj(*guards), state) for guards, state in merged.values()]
    return reached


def _any_term(members: Sequence[Member]) -> bool:
    return any(isinstance(leaf, Term) for _, cases in members for _, leaf in cases)


def _finished(context: Guard, states: list[tuple[Guard, Any]], final: Callable[[Any], Any]) -> Scalar:
    return under(context, choose((guard, attempt(final, state)) for guard, state in states))


def _sum(
    aggregate: Aggregate,
    concrete: Callable[[list[Value]], Value],
    dialect: Dialect,
    context: Guard,
    members: list[Member],
) -> Scalar:
    """Exact sums. The concrete fold of the one exact total checks the range and gives the type."""
    if not _any_term(members):
        states = _states(SUM_LIMIT, members, _plus, _number_key)
        if states is not None:
            return _finished(context, states, lambda total: concrete([] if total is None else [total]))
    total: Leaf = 0
    some: list[Guard] = []
    for _, cases in members:
        share: Leaf = 0
        for case, leaf in cases:
            if not is_number(leaf):
                raise unknown_operand("the aggregate sum")
            share = if_then_else(case, leaf, share)
            some.append(case)
        total = add(total, share)
    exists = disj(*some)
    result: Scalar = total
    if aggregate.type.kind in INTEGER_KINDS:
        low, high = sum_range(aggregate.type, dialect)
        error = SqlError("22003", "bigint out of range", may=True)
        result = checked(total, low, high, error)
    elif aggregate.type.kind is not Kind.NUMERIC:
        raise unknown_operand("the aggregate sum")
    return under(context, choose(((exists, result), (neg(exists), None))))


def _plus(total: Any, leaf: Any) -> Any:
    if total is None:
        return leaf if isinstance(leaf, Decimal) else int(leaf)
    if isinstance(total, Decimal) or isinstance(leaf, Decimal):
        return EXACT.add(Decimal(total), Decimal(leaf))
    return total + leaf


def _number_key(number: Any) -> Hashable:
    """Equal numbers of different scales stay apart: the scale of a sum decides that of an average."""
    return (number, scale_of(number))


def _average(concrete: Callable[[list[Value]], Value], context: Guard, members: list[Member]) -> Scalar:
    """Averages of exact numbers: state (total, count)."""
    if _any_term(members):
        raise unknown_operand("the aggregate avg")

    def step(state: Any, leaf: Leaf) -> Any:
        return (leaf, 1) if state is None else (_plus(state[0], leaf), state[1] + 1)

    def key(state: Any) -> Hashable:
        return None if state is None else (_number_key(state[0]), state[1])

    def final(state: Any) -> Value:
        # zeros leave the total and its scale as they are, and make the count right
        if state is None:
            return concrete([])
        padding: list[Value] = [0] * (state[1] - 1)
        return concrete([state[0], *padding])

    states = _states(CASE_LIMIT, members, step, key)
    if states is None:
        raise too_many("the aggregate avg")
    return _finished(context, states, final)


def _ordered(function: str, concrete: Callable[[list[Value]], Value], context: Guard, members: list[Member]) -> Scalar:
    """Aggregates of doubles hang on the order of the rows: state is the values so far."""
    if _any_term(members):
        raise unknown_operand(f"the aggregate {function}")

    def step(state: Any, leaf: Leaf) -> Any:
        return (*(state or ()), leaf)

    states = _states(CASE_LIMIT, members, step, lambda state: repr(state))
    if states is None:
        raise too_many(f"the aggregate {function}")
    return _finished(context, states, lambda state: concrete(list(state or ())))


def _extreme(
    function: str, kind: Kind, concrete: Callable[[list[Value]], Value], context: Guard, members: list[Member]
) -> Scalar:
    """MIN and MAX: state is the best so far."""
    if _any_term(members):
        return _extreme_of_terms(function, kind, context, members)
    states = _states(
        CASE_LIMIT * 4,
        members,
        lambda state, leaf: concrete([leaf] if state is None else [state, leaf]),  # type: ignore[list-item]
        leaf_key,
    )
    if states is None:
        raise too_many(f"the aggregate {function}")
    return _finished(context, states, lambda state: state)


def _extreme_of_terms(function: str, kind: Kind, context: Guard, members: list[Member]) -> Scalar:
    if kind not in INTEGER_KINDS | {Kind.NUMERIC}:
        raise unknown_operand(f"the aggregate {function}")
    op = "<" if function == "min" else ">"
    best: Scalar = None
    for _, cases in members:
        options: list[tuple[Guard, Scalar]] = [(neg(disj(*(case for case, _ in cases))), best)]
        for case, leaf in cases:
            for so_far, current in items_of(best):
                both = conj(case, so_far)
                better_one = leaf if current is None else on_terms(function, partial(better, op), (current, leaf))
                options.append((both, better_one))
        best = choose(options)
        if len(items_of(best)) > CASE_LIMIT:
            raise too_many(f"the aggregate {function}")
    return under(context, best)
