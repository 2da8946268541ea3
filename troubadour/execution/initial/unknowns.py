"""Values of which only the column that holds them is known. Does not know the rows."""

from __future__ import annotations

from decimal import Decimal

from sql_semantics.errors import Unsupported
from sql_semantics.terms import (
    Scalar,
    atom,
    choose,
    neg,
    unknown,
)
from sql_semantics.values.types import INTEGER_RANGE, Kind, SqlType


def unknown_value(name: tuple[object, ...], column_type: SqlType, not_null: bool) -> Scalar:
    """Any value that a column can hold. Raises Unsupported for numbers without a fixed scale."""
    low: int | Decimal | None = None
    high: int | Decimal | None = None
    scale = 0
    if column_type.kind in INTEGER_RANGE:
        low, high = INTEGER_RANGE[column_type.kind]
    elif column_type.kind is Kind.NUMERIC:
        if column_type.precision is None:
            raise Unsupported("an unknown value of unconstrained numeric type")
        scale = column_type.scale or 0
        high = Decimal(10) ** (column_type.precision - scale)
        low = -high
    value = unknown(("value", *name), column_type.kind, scale, low, high)
    if not_null:
        return value
    null = atom(("null", *name))
    return choose(((null, None), (neg(null), value)))
