"""What InnoDB may show of rows of one view that have the same unique key.

A transaction sees rows that it changed beside those of its snapshot, so that it may see two of one unique key that is
not the clustered one. A look-up by the whole of such a key ends at the first row seen, in the order of the clustered
key; a scan shows all. Which it is hangs on the plan. Tried on MariaDB 10.11. Does not know which rows are seen.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from sql_semantics.ir.schema import Table
from sql_semantics.values.types import Value
from sql_semantics.view import Row, View

R = TypeVar("R", bound=Hashable)

Sought = tuple[Sequence[int], Sequence[Value]] | None
"""The columns and values by which rows are looked for; None for all rows."""
ONE_OF_TWO = "a row of a unique key of which its view has two"


def shown_of_each_key(
    view: View, table: Table, rows: list[tuple[R, Row]], sought: Sought, *, loose: bool
) -> list[tuple[R, Row]]:
    """The rows that the DBMS came by, of those that are seen; the view says which way it went where there are several.
    `loose`: it may have left out some in other ways, too."""
    if sought is not None:
        # what else was found is looked for by itself; texts may be equal that are not the same
        columns, values = sought
        pairs = [(column, value) for column, value in zip(columns, values, strict=True) if not isinstance(value, str)]
        rows = [one for one in rows if all(one[1][column] == value for column, value in pairs)]
    groups: list[list[list[tuple[R, Row]]]] = []
    for key in table.keys:
        alike = _alike(rows, key.columns) if key.plain and key.columns != table.clustered else []
        if alike:
            groups.append(alike)
    if not groups:
        return rows
    if loose or any(_in_turn(row, table.clustered) is None for alike in groups for group in alike for _, row in group):
        view.arbitrary(ONE_OF_TWO)
        return rows
    way = view.choose(1 + len(groups), ONE_OF_TWO)
    if way == 0:
        return rows
    hidden: set[tuple[R, Row]] = set()
    for group in groups[way - 1]:
        # one identity may be seen in both: a row that was replaced, and what came in its place
        hidden |= {*group} - {min(group, key=lambda one: _in_turn(one[1], table.clustered) or ())}
    return [one for one in rows if one not in hidden]


def by_one_key(table: Table, columns: Sequence[int], values: Sequence[Value]) -> tuple[Sequence[int], Sequence[Value]]:
    """What rows are looked for by, as far as that is one unique key: what else is asked is asked of what that finds."""
    for key in table.keys:
        if key.plain and key.columns != table.clustered and set(key.columns) < set(columns):
            return key.columns, [values[columns.index(column)] for column in key.columns]
    return columns, values


def _alike(rows: Sequence[tuple[R, Row]], key: Sequence[int]) -> list[list[tuple[R, Row]]]:
    """The rows that have a key together."""
    found: dict[Row, list[tuple[R, Row]]] = {}
    for one in rows:
        found.setdefault(tuple([one[1][column] for column in key]), []).append(one)
    return [group for values, group in found.items() if len(group) > 1 and None not in values]


def _in_turn(row: Row, clustered: Sequence[int]) -> tuple[int, ...] | None:
    """By what rows of one key are sorted in its index; None where that is not known."""
    values = [row[column] for column in clustered]
    numbers = tuple([value for value in values if isinstance(value, int)])
    return numbers if values and len(numbers) == len(values) else None
