"""Aggregate functions over the non-null values of one argument. Does not know rows, groups or clauses.

What hangs on the order of the values, which a DBMS is free to choose, is Unsupported where it makes a difference:
sums of doubles that round, integer sums that overflow on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Cast
from sql_semantics.ir.queries import Aggregate
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.number import (
    EXACT,
    divide_postgres,
    double_key,
    mysql_division,
    platform_free_ratio,
    power_of_ten,
    root_at_scale,
    scale_of,
    sums_exactly,
)
from sql_semantics.values.numbers.rounded import rounded_sum
from sql_semantics.values.text import TextRule, order_key, require_groupable, require_orderable, rule_of, text_rule
from sql_semantics.values.types import FLOAT_KINDS, INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType, Value

Fold = Callable[[list[Value]], Value]


def over_integers(aggregate: Aggregate) -> Aggregate:
    """Sum integers as integers: the conversion to NUMERIC is left to the total."""
    argument = aggregate.argument
    if aggregate.function not in ("sum", "avg") or not isinstance(argument, Cast):
        return aggregate
    whole = argument.type.kind is Kind.NUMERIC and argument.type.precision is None
    if not whole or argument.operand.type.kind not in INTEGER_KINDS:
        return aggregate
    return replace(aggregate, arguments=(argument.operand,))


def compile_fold(aggregate: Aggregate, dialect: Dialect, *, rounds: bool = False) -> Fold:
    """The aggregate over the non-null values of its argument (count_star: over anything, one value per row).

    `rounds`: a sum of doubles that hangs on their order may be a `Rounded`, which is no Value.

    Raises Unsupported for one that takes more than values; the function raises SqlError 22003 on overflow.
    """
    argument = aggregate.argument.type if aggregate.argument is not None else aggregate.type
    rule = rule_of(argument, text_rule(dialect))
    fold = _fold(aggregate.function, argument, aggregate.type, dialect, rule)
    if rounds and argument.kind is Kind.DOUBLE and aggregate.function in ("sum", "avg", "total"):
        fold = _rounding(fold, aggregate.function == "avg", dialect.types_by_value)
    if not aggregate.distinct:
        return fold
    return lambda values: fold(distinct_values(values, argument, rule))


def _rounding(fold: Fold, average: bool, by_value: bool) -> Fold:
    def total(values: list[Any]) -> Any:
        if sums_exactly(values) or (by_value and not average and _whole(values)):
            return fold(values)
        return rounded_sum(values, average=average)

    return total


def distinct_values(values: list[Value], type_: SqlType, rule: TextRule) -> list[Value]:
    """The values without repetitions. Raises Unsupported where it is not known which texts are equal."""
    if type_.kind is Kind.TEXT:
        require_groupable((str(value) for value in values), rule)
    if type_.kind in FLOAT_KINDS:
        return list({double_key(value): value for value in values}.values())  # type: ignore[arg-type]
    return list(dict.fromkeys(values))


def _fold(function: str, argument: SqlType, result: SqlType, dialect: Dialect, rule: TextRule) -> Fold:
    if function in ("count", "count_star"):
        return len
    if function in ("min", "max"):
        return _extreme(function, argument, rule)
    if function in ("bool_and", "bool_or"):
        decide: Callable[..., bool] = all if function == "bool_and" else any
        return lambda values: decide(values) if values else None
    if function == "total":
        total = _sum(SqlType(Kind.DOUBLE), result, dialect)
        return lambda values: total([float(value) for value in values])  # type: ignore[arg-type]
    if function == "sum":
        add = _sum(argument, result, dialect)
        return lambda values: add(values) if values else None
    if function == "median":
        return _median
    if function in ("avg", "avg_in_steps", "avg_at_once"):
        mean = _average(argument, result, dialect, function)
        return lambda values: mean(values) if values else None
    if function in _BITS:
        return _BITS[function]
    if function in SPREADS and result.scale is not None:
        return _shown_spread(function, result.scale)
    if function in SPREADS:
        return _spread(function)
    raise Unsupported(f"aggregate {function}")


_ALL_BITS = 2**64 - 1
_BITS: dict[str, Fold] = {
    "bit_and": lambda values: reduce(and_, map(_bits, values), _ALL_BITS),
    "bit_or": lambda values: reduce(or_, map(_bits, values), 0),
    "bit_xor": lambda values: reduce(xor, map(_bits, values), 0),
}


def _bits(value: Any) -> int:
    """An integer as 64 bits."""
    return int(value) & _ALL_BITS


SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})


def _spread(function: str) -> Fold:
    """Variance and standard deviation of exact numbers, by the sums of the values and of their squares
    (numeric_stddev_internal); the root has the digits of the variance."""
    sample, deviation = function.endswith("samp"), function.startswith("stddev")

    def spread(values: list[Any]) -> Value:
        count = len(values)
        if count <= sample:
            return None
        total = exact_sum(values)
        squares = exact_sum(EXACT.multiply(value, value) for value in map(Decimal, values))
        above = EXACT.subtract(EXACT.multiply(Decimal(count), squares), EXACT.multiply(total, total))
        if not above:
            return Decimal(0)
        variance = divide_postgres(above, Decimal(count * (count - sample)))
        if not deviation:
            return variance
        return root_at_scale(variance, scale_of(variance))

    return spread


def _shown_spread(function: str, digits: int) -> Fold:
    """Variance and standard deviation as MySQL shows them, with so many `digits`. It adds up doubles row by row
    (Item_sum_variance); raises Unsupported where the order of the rows, or another way to add, may show."""
    sample, deviation = function.endswith("samp"), function.startswith("stddev")

    def spread(values: list[Any]) -> Value:
        count = len(values)
        if count <= sample:
            return None
        exact = [Fraction(value) for value in values]
        mean = sum(exact, Fraction(0)) / count
        variance = sum(((value - mean) ** 2 for value in exact), Fraction(0)) / (count - sample)
        if not variance:
            return 0.0
        square = variance + mean * mean
        error = count * _UNIT * (variance + square * _UNIT + Fraction(math.sqrt(variance * square)))
        low, high = max(variance - error, Fraction(0)), variance + error
        return _shown(low, high, deviation, digits)

    return spread


_UNIT = Fraction(1, 2**49)
"""More than what one step of the sum may lose, of what it has."""


def _shown(low: Fraction, high: Fraction, deviation: bool, digits: int) -> float:
    """What both are as numbers of so many digits, or both roots."""
    scale: int = 10**digits

    def nearest(value: Fraction) -> int:
        if deviation:
            return (math.isqrt(math.floor(4 * value * scale * scale)) + 1) // 2
        return math.floor(value * scale + Fraction(1, 2))

    found = nearest(low)
    if found != nearest(high):
        raise Unsupported("a variance or a standard deviation whose last digits hang on the order of the rows")
    return found / scale


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
    if argument.kind in FLOAT_KINDS:
        return lambda values: pick(values, key=double_key, default=None)
    return lambda values: pick(values, default=None)


def _median(values: list[Any]) -> float | None:
    """The value in the middle, or halfway between both. Raises Unsupported where rounding shows how that is found."""
    if not values:
        return None
    if any(value != value or abs(value) > 2**52 for value in values):
        raise Unsupported("median() of large numbers, or of NaN")
    ranked = sorted(map(float, values))
    low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    found = low + (high - low) * 0.5
    if found != low * 0.5 + high * 0.5:
        raise Unsupported("median() of two numbers whose mean is rounded")
    return found


def exact_sum(values: Iterable[Any]) -> Decimal:
    """The sum of integers or Decimals, with the largest scale."""
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, Decimal(value))
    return total


def sum_range(result: SqlType, dialect: Dialect) -> tuple[int, int]:
    """What an integer sum must stay within; SQLite's integers are all of one size."""
    return INTEGER_RANGE[result.kind if dialect.rules.values.narrow_arithmetic else Kind.BIGINT]


def _sum(argument: SqlType, result: SqlType, dialect: Dialect) -> Callable[[list[Any]], Value]:
    if result.kind in INTEGER_KINDS:
        low, high = sum_range(result, dialect)

        def sum_integers(values: list[Any]) -> Value:
            total = sum(values)
            if not low <= total <= high:
                raise SqlError("22003", "bigint out of range", may=True)
            _require_no_overflow(values, low, high)
            return int(total)

        return sum_integers
    if result.kind is Kind.NUMERIC:
        total_of = _integer_total if argument.kind in INTEGER_KINDS or argument.kind is Kind.BOOLEAN else exact_sum
        digits = dialect.rules.running.sum_digits
        if digits is None:
            return total_of
        most = digits

        def sum_bounded(values: list[Any]) -> Value:
            total = total_of(values)
            limit = power_of_ten(most - (result.scale or 0))
            if not -limit < total < limit:
                raise SqlError("22003", "sum out of range", may=True)
            return total

        return sum_bounded
    if dialect.types_by_value:
        whole = _sum(argument, SqlType(Kind.BIGINT), dialect)
        return lambda values: whole(values) if _whole(values) else _sum_doubles(values)
    return _sum_doubles


def _whole(values: list[Any]) -> bool:
    """Whether there are but integers, of which SQLite makes an integer, whatever type they are declared of."""
    return bool(values) and all(type(value) is int for value in values)


def _require_no_overflow(values: list[Any], low: int, high: int) -> None:
    """Raises Unsupported where some order of the values leaves the range on the way."""
    if max(values, default=0) * len(values) <= high and min(values, default=0) * len(values) >= low:
        return
    if sum(value for value in values if value > 0) > high or sum(value for value in values if value < 0) < low:
        raise Unsupported("an integer sum that overflows in some order of the rows")


def _sum_doubles(values: list[Any]) -> float:
    if not sums_exactly(values):
        raise Unsupported("sum of floating-point numbers that depends on the order of the rows")
    total = 0.0
    for value in values:
        total += float(value)
    if total in (float("inf"), float("-inf")) and all(abs(v) != float("inf") for v in values):
        raise SqlError("22003", "value out of range: overflow", may=True)
    return total


def _integer_total(values: list[Any]) -> Decimal:
    return Decimal(sum(values))


def _average(argument: SqlType, result: SqlType, dialect: Dialect, function: str) -> Callable[[list[Any]], Value]:
    rules = dialect.rules.values
    division = rules.decimal_division
    if result.kind is Kind.DOUBLE:
        if argument.kind is Kind.DOUBLE:
            return lambda values: _sum_doubles(values) / len(values)
        return _average_sqlite if rules.affinities else _averager_duckdb(argument, dialect, function)
    if result.kind is not Kind.NUMERIC or division is None:
        raise Unsupported(f"avg({argument}) in {dialect.name}")
    total: Callable[[list[Any]], Decimal] = exact_sum
    if argument.kind in INTEGER_KINDS:
        total = _integer_total
    divide = divide_postgres if division == "significant" else mysql_division(dialect.quotient_digits)
    return lambda values: divide(total(values), Decimal(len(values)))


def _average_sqlite(values: list[Any]) -> float:
    """The sum as an integer, unless it overflows, over the number of rows, both as doubles (func.c, avgFinalize)."""
    _require_no_overflow(values, -(2**53), 2**53)  # before 3.43 the sum was one of doubles
    return float(sum(values)) / len(values)


def _averager_duckdb(argument: SqlType, dialect: Dialect, function: str) -> Callable[[list[Any]], float]:
    """The sum of the integers that stand for the values, over the power of ten and over the number of values; raises
    Unsupported where one division and two give other digits, and the DBMS may have done either."""
    once = function == "avg_at_once" or dialect.averages_at_once

    def average(values: list[Any]) -> float:
        total = exact_sum(values)
        scale = max(scale_of(total), argument.scale or 0)
        unscaled = int(EXACT.scaleb(total, scale))
        in_steps = None
        if abs(unscaled) < 2**53 and scale <= _EXACT_POWER:
            in_steps = unscaled / float(power_of_ten(scale)) / len(values)
            if function == "avg_in_steps":
                return in_steps
        at_once = platform_free_ratio(unscaled, len(values) * power_of_ten(scale))
        if once or at_once == in_steps:
            return at_once
        raise Unsupported("an average whose last digits hang on the plan or the version of duckdb")

    return average


_EXACT_POWER = 22
"""The largest power of ten that is a double."""
