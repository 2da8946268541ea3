"""A row on its way into a table: generated columns, then NOT NULL and CHECK (PostgreSQL 5.4, 5.5).

Does not know keys and foreign keys, which hang on other rows.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Table
from sql_semantics.run.expressions.expressions import Evaluate, Row, compile_expression
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind


def open_key_columns(table: Table, dialect: Dialect) -> list[int]:
    """Columns of a primary key in which NULL is not modelled: SQLite stores it, or where the key is the row's number
    takes the next one instead."""
    if not dialect.rules.running.nulls_in_primary_keys:
        return []
    return [p for key in table.keys if key.primary for p in key.columns if not table.columns[p].not_null]


def compile_generated(table: Table, dialect: Dialect) -> Callable[[Row], Row] | None:
    """f(row) -> the same with the values of its generated columns; None without any."""
    generated = [
        (place, compile_expression(column.generated, dialect.in_write("value")))
        for place, column in enumerate(table.columns)
        if column.generated is not None
    ]
    if not generated:
        return None

    def complete(row: Row) -> Row:
        for place, evaluate in generated:
            row = (*row[:place], evaluate(row, (), []), *row[place + 1 :])
        return row

    return complete


def compile_stored(table: Table, dialect: Dialect) -> Callable[[Row], Row]:
    """f(new row) -> the same with its generated columns. Raises SqlError for NULL in a NOT NULL column (23502) or a
    false CHECK (23514); MariaDB: 23000."""
    rules = dialect.rules.running
    complete = compile_generated(table, dialect)
    required = [(i, column.name) for i, column in enumerate(table.columns) if column.refuses_null]
    instants = {i for i, column in enumerate(table.columns) if column.type.kind is Kind.TIMESTAMPTZ}
    stamped = instants if rules.stamps_nulls else set[int]()
    first = [(check.name, compile_expression(check.condition, dialect)) for check in table.checks if check.first]
    checks = [(check.name, compile_expression(check.condition, dialect)) for check in table.checks if not check.first]
    null_state = rules.null_state
    check_state, check_number = dialect.check_error
    open_keys = open_key_columns(table, dialect)

    def test(row: Row, of_kind: list[tuple[str, Evaluate]]) -> None:
        for name, condition in of_kind:
            if condition(row, (), []) is False:
                text = f"new row of {table.name!r} violates check constraint {name!r}"
                raise SqlError(check_state, text, number=check_number)

    def stored(row: Row) -> Row:
        if first:
            test(row, first)
        if complete is not None:
            row = complete(row)
        for position, name in required:
            if row[position] is None:
                if position in stamped:
                    raise Unsupported("NULL in a TIMESTAMP NOT NULL column of mysql")  # perhaps the time of day
                raise SqlError(null_state, f"null value in column {name!r} of {table.name!r}")
        for position in open_keys:
            if row[position] is None:
                raise Unsupported("NULL in a primary key in sqlite")
        test(row, checks)
        return row

    return stored
