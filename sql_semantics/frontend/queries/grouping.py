"""From expressions over rows to expressions over groups (SQL GROUP BY; paper §3.1). Does not know the parse tree.

Above GROUP BY the environment row is the group keys followed by the aggregates. An expression is moved there by
replacing, top down, every part that equals a key, and every aggregate; a column that is left over is not grouped.
The values of window functions follow whatever the environment row is otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import (
    Column,
    Const,
    Expr,
    Outer,
    Param,
    Variable,
)
from sql_semantics.ir.queries import OrderKey, Window
from sql_semantics.ir.walks.affinity import affine
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.values.dialect import Dialect

WINDOWS = -1_000_000
"""The index of the first window function's placeholder; aggregates have those from -1 downwards."""


def has_aggregate(expr: Expr) -> bool:
    """Whether an aggregate stands in the expression."""
    return any(WINDOWS < column.index < 0 for column in _all_columns(expr))


def has_window(expr: Expr) -> bool:
    """Whether a window function stands in the expression."""
    return any(column.index <= WINDOWS for column in _all_columns(expr))


def _all_columns(expr: Expr) -> list[Column]:
    found: list[Column] = []

    def look(part: Expr) -> Expr:
        if isinstance(part, Column):
            found.append(part)
        return rebuild(part, look)

    look(expr)
    return found


def has_outer(expr: Expr) -> bool:
    """Whether the expression itself reads a row of a query further out."""
    found = False

    def look(part: Expr) -> Expr:
        nonlocal found
        found = found or isinstance(part, Outer)
        return rebuild(part, look)

    look(expr)
    return found


def columns_of(expr: Expr) -> list[Column]:
    """The columns that the expression reads, aggregates and window functions left out."""
    return [column for column in _all_columns(expr) if column.index >= 0]


def ungrouped(expr: Expr, keys: Sequence[Expr]) -> list[Column]:
    """The columns of an expression that stand neither in a key nor in an aggregate."""
    found: list[Column] = []

    def look(part: Expr) -> Expr:
        if part in keys:
            return part
        if isinstance(part, Column) and part.index >= 0:
            found.append(part)
        return rebuild(part, look)

    look(expr)
    return found


def regroup(expr: Expr, keys: Sequence[Expr], dialect: Dialect, bare: Mapping[Expr, Column] | None = None) -> Expr:
    """The expression over the grouped environment. `bare`: what stands for columns that are not grouped by (SQLite).

    Raises SqlError 42803 (PostgreSQL), Unsupported elsewhere.
    """
    state = dialect.rules.queries.grouping_error

    def move(part: Expr) -> Expr:
        if isinstance(part, Column) and part.index <= WINDOWS:
            return part
        if isinstance(part, Column) and part.index < 0:
            return replace(part, index=len(keys) - 1 - part.index)
        if not isinstance(part, (Const, Param, Variable)) and part in keys:
            place = keys.index(part)
            name = part.name if isinstance(part, Column) else f"group key {place + 1}"
            return Column(place, part.type, name, affine=affine(part))
        if isinstance(part, Column) and bare is not None and part in bare:
            return move(bare[part])
        if isinstance(part, Column):
            if state is not None:
                raise SqlError(state, f"column {part.name!r} must appear in GROUP BY or in an aggregate function")
            raise Unsupported(f"column {part.name} that is not in GROUP BY")
        return rebuild(part, move)

    return move(expr)


def place_windows(expr: Expr, width: int) -> Expr:
    """The expression with window functions read behind an environment row of this width."""

    def move(part: Expr) -> Expr:
        if isinstance(part, Column) and part.index <= WINDOWS:
            return replace(part, index=width + WINDOWS - part.index)
        return rebuild(part, move)

    return move(expr)


def change_key(key: OrderKey, change: Callable[[Expr], Expr]) -> OrderKey:
    """An ORDER BY key with its expression changed."""
    return key if key.expression is None else replace(key, expression=change(key.expression))


def change_window(window: Window, change: Callable[[Expr], Expr]) -> Window:
    """A window function with everything that it reads of rows changed."""
    aggregate = window.aggregate
    if aggregate is not None:
        aggregate = replace(
            aggregate,
            arguments=tuple(map(change, aggregate.arguments)),
            filter=None if aggregate.filter is None else change(aggregate.filter),
        )
    return replace(
        window,
        arguments=tuple(map(change, window.arguments)),
        aggregate=aggregate,
        partition=tuple(map(change, window.partition)),
        order=tuple(change_key(key, change) for key in window.order),
    )
