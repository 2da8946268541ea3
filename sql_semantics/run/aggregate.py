"""GROUP BY and aggregate functions over concrete rows (DESIGN §3).

Above it, an environment row is the group keys followed by the aggregates. Sums of doubles are taken in the order of
the rows, which a DBMS is free to change. Does not know HAVING or the select list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Cast, Expr
from sql_semantics.ir.statements import Aggregate
from sql_semantics.run.expressions import (
    Arguments,
    Frame,
    Row,
    compile_expression,
    compile_row,
)
from sql_semantics.run.order import require_comparable
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.number import EXACT, divide_mysql, divide_postgres, double_key
from sql_semantics.values.text import (
    TextRule,
    order_key,
    require_groupable,
    require_orderable,
    text_rule,
)
from sql_semantics.values.types import (
    INTEGER_KINDS,
    INTEGER_RANGE,
    Kind,
    SqlType,
    Value,
)

Group = Callable[[list[Row], Arguments, Frame], list[Row]]
Fold = Callable[[list[Value]], Value]


def compile_groups(
    groups: tuple[Expr, ...],
    aggregates: tuple[Aggregate, ...],
    dialect: Dialect,
    *,
    may: bool = False,
) -> Group:
    """f(rows, args, frame) -> one environment row per group; for () exactly one, also over no rows."""
    rule = text_rule(dialect)
    aggregates = tuple(_over_integers(aggregate) for aggregate in aggregates)
    folds = [compile_aggregate(aggregate, dialect) for aggregate in aggregates]
    arguments = [None if a.argument is None else compile_expression(a.argument, dialect, may=may) for a in aggregates]
    key_of = compile_row(groups, dialect, may=may)
    types = [group.type for group in groups]

    def fold_all(key: Row, rows: list[Row], args: Arguments, frame: Frame) -> Row:
        values: list[Value] = []
        for fold, argument in zip(folds, arguments, strict=True):
            if argument is None:
                values.append(len(rows))
            else:
                values.append(fold([v for row in rows if (v := argument(row, args, frame)) is not None]))
        return (*key, *values)

    def group_rows(rows: list[Row], args: Arguments, frame: Frame) -> list[Row]:
        if not groups:
            return [fold_all((), rows, args, frame)]
        members: dict[Row, list[Row]] = {}
        for row in rows:
            members.setdefault(key_of(row, args, frame), []).append(row)
        require_comparable(list(members), types, rule)
        return [fold_all(key, group, args, frame) for key, group in members.items()]

    return group_rows


def _over_integers(aggregate: Aggregate) -> Aggregate:
    """Sum integers as integers: the conversion to NUMERIC is left to the total."""
    argument = aggregate.argument
    if aggregate.function not in ("sum", "avg") or not isinstance(argument, Cast):
        return aggregate
    whole = argument.type.kind is Kind.NUMERIC and argument.type.precision is None
    if not whole or argument.operand.type.kind not in INTEGER_KINDS:
        return aggregate
    return replace(aggregate, argument=argument.operand)


def compile_aggregate(aggregate: Aggregate, dialect: Dialect) -> Fold:
    """The aggregate over the non-null values of its argument (count_star: over anything, one value per row).

    Raises Unsupported for one that is not modelled; the function raises SqlError 22003 on overflow.
    """
    rule = text_rule(dialect)
    argument = aggregate.argument.type if aggregate.argument is not None else aggregate.type
    fold = _fold(aggregate.function, argument, aggregate.type, dialect, rule)
    if not aggregate.distinct:
        return fold
    is_text = argument.kind is Kind.TEXT

    def fold_distinct(values: list[Value]) -> Value:
        if is_text:
            require_groupable((str(value) for value in values), rule)
        return fold(list(dict.fromkeys(values)))

    return fold_distinct


def _fold(function: str, argument: SqlType, result: SqlType, dialect: Dialect, rule: TextRule) -> Fold:
    if function in ("count", "count_star"):
        return len
    if function in ("min", "max"):
        return _extreme(function, argument, rule)
    if function == "sum":
        total = _sum(argument, result, dialect)
        return lambda values: total(values) if values else None
    if function == "avg":
        mean = _average(argument, result, dialect)
        return lambda values: mean(values) if values else None
    raise Unsupported(f"aggregate {function}")


def _extreme(function: str, argument: SqlType, rule: TextRule) -> Fold:
    pick: Callable[..., Any] = min if function == "min" else max
    if argument.kind is Kind.TEXT:

        def extreme_text(values: list[Value]) -> Value:
            require_orderable((str(value) for value in values), rule)
            if rule is TextRule.IGNORE_CASE:
                require_groupable((str(value) for value in values), rule)
                return pick(values, key=lambda v: order_key(v, rule), default=None)  # type: ignore[no-any-return]
            return pick(values, default=None)  # type: ignore[no-any-return]

        return extreme_text
    if argument.kind is Kind.DOUBLE:
        return lambda values: pick(values, key=double_key, default=None)
    return lambda values: pick(values, default=None)


def exact_sum(values: Iterable[Any]) -> Decimal:
    """The sum of integers or Decimals, with the largest scale."""
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, Decimal(value))
    return total


def _sum(argument: SqlType, result: SqlType, dialect: Dialect) -> Callable[[list[Any]], Value]:
    if result.kind in INTEGER_KINDS:
        low, high = INTEGER_RANGE[Kind.BIGINT if dialect.name != "postgres" else result.kind]

        def sum_integers(values: list[Any]) -> Value:
            total = sum(values)
            if not low <= total <= high:
                raise SqlError("22003", "bigint out of range", may=True)
            return int(total)

        return sum_integers
    if result.kind is Kind.NUMERIC:
        if argument.kind in INTEGER_KINDS or argument.kind is Kind.BOOLEAN:
            return lambda values: Decimal(sum(values))
        return exact_sum
    return _sum_doubles


def _sum_doubles(values: list[Any]) -> float:
    total = 0.0
    for value in values:
        total += float(value)
    if total in (float("inf"), float("-inf")) and all(abs(v) != float("inf") for v in values):
        raise SqlError("22003", "value out of range: overflow", may=True)
    return total


def _integer_total(values: list[Any]) -> Decimal:
    return Decimal(sum(values))


def _average(argument: SqlType, result: SqlType, dialect: Dialect) -> Callable[[list[Any]], Value]:
    if result.kind is Kind.DOUBLE:
        if argument.kind is Kind.DOUBLE:
            return lambda values: _sum_doubles(values) / len(values)
        return lambda values: float(exact_sum(values)) / len(values)
    if result.kind is not Kind.NUMERIC or dialect.name not in ("postgres", "mysql"):
        raise Unsupported(f"avg({argument}) in {dialect.name}")
    total: Callable[[list[Any]], Decimal] = exact_sum
    if argument.kind in INTEGER_KINDS:
        total = _integer_total
    divide = divide_postgres if dialect.name == "postgres" else divide_mysql
    return lambda values: divide(total(values), Decimal(len(values)))
