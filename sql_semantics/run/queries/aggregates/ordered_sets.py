"""Aggregates of the values of a group in their order (PostgreSQL 9.21, "Ordered-Set Aggregate Functions").

Does not know groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import Aggregate
from sql_semantics.run.expressions.expressions import Arguments, Frame, Row, compile_row
from sql_semantics.run.queries.order import one_nan, sort_rows
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Value

OverRows = Callable[[list[Row], Arguments, Frame], Value]


def compile_ordered_set(aggregate: Aggregate, dialect: Dialect, *, may: bool) -> OverRows:
    """f(rows, args, frame) -> the aggregate; its fraction, if it has one, is its second argument."""
    rule = text_rule(dialect)
    values_of = compile_row(aggregate.arguments[:1], dialect, may=may)
    fraction_of = compile_row(aggregate.arguments[1:], dialect, may=may)
    types = [aggregate.arguments[0].type]
    name = aggregate.function

    def over(rows: list[Row], args: Arguments, frame: Frame) -> Value:
        values = [value for row in rows if (value := values_of(row, args, frame))[0] is not None]
        fraction: Any = 0.0
        if aggregate.arguments[1:]:
            (fraction,) = fraction_of(rows[0] if rows else (), args, frame)
            if fraction is None:
                return None
            if not 0 <= fraction <= 1:
                raise SqlError("22003", f"percentile value {fraction} is not between 0 and 1", may=may)
        if not values:
            return None
        ordered, _ = sort_rows(values, list(values), aggregate.order, types, rule)
        found: list[Any] = [value for (value,) in ordered]
        if name == "percentile_cont":
            return _between(found, fraction)
        if len({one_nan((value,)) for value in found}) < len(set(map(repr, found))):
            raise Unsupported(f"{name}() of equal values that are written otherwise")
        if name == "mode":
            return _commonest(found)
        one: Value = found[max(math.ceil(fraction * len(found)), 1) - 1]
        return one

    return over


def _between(values: list[Any], fraction: float) -> float:
    """Between the two values beside a place, as far as it is between theirs."""
    place = fraction * (len(values) - 1)
    low, high = math.floor(place), math.ceil(place)
    if low == high:
        return float(values[low])
    return float(values[low] + (place - low) * (values[high] - values[low]))


def _commonest(values: list[Value]) -> Value:
    """The first of those that there are most of."""
    best, most = values[0], 0
    for value, equal in groupby(values, key=lambda item: one_nan((item,))[0]):
        count = sum(1 for _ in equal)
        if count > most:
            best, most = value, count
    return best
