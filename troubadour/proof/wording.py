"""Values and rows in the words of explanations. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from sql_semantics.ir.schema import Table
from sql_semantics.terms import Scalar


def value_text(value: Scalar) -> str:
    """A value as SQL would show it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    return f"'{value}'" if isinstance(value, str) else str(value)


def key_text(table: Table, columns: Iterable[int], values: Iterable[Scalar]) -> str:
    """A row by the values of some columns, mostly of its key: ``accounts(id=2)``."""
    named = zip(columns, values, strict=True)
    return f"{table.name}({', '.join(f'{table.columns[column].name}={value_text(value)}' for column, value in named)})"
