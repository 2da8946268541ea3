"""Answers that no rows give: one group shown twice, an equal row of a DISTINCT query twice, rows out of their order,
several rows changed that have one key.

What the answer of one statement says of itself, whatever the tables hold and whatever the order. Does not know which
rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise

from sql_semantics.ir.expressions import Binary, Cast, Column, Expr, Invoke, Outer
from sql_semantics.ir.queries import Select, order_expression
from sql_semantics.ir.schema import Table
from sql_semantics.ir.statements import Delete, Update
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.ir.walks.traverse import columns_read, conjuncts, has_free
from sql_semantics.library import Program
from sql_semantics.values.types import INTEGER_KINDS
from troubadour.execution.prepared import PreparedStatement

Answered = Sequence[object]
"""A row of an answer."""

_COMPARED = (int, Decimal, date)
"""What is ordered in SQL as it is here: numbers, days, moments; texts are not, whose order is that of a collation."""

_EXACT = (int, str, Decimal, date)
"""What is shown as it is, so that two that are shown alike are equal."""


def contradicts_itself(statement: PreparedStatement) -> str | None:
    """What is wrong with a query's answer, in words; None where nothing is to be seen of it alone."""
    program, results = statement.program, statement.observation.results
    query = None if program is None else program.statement
    if not isinstance(query, Select) or results is None or len(results) != 1 or not results[0].plain:
        return None
    rows = results[0].rows
    if rows is None:
        return None
    if len(rows) > 1 and query.groups == () and query.grouping_sets is None:
        return f"it shows {len(rows)} rows, and aggregates of all rows are one"
    if _shows_a_group_twice(query, rows):
        return "it shows one group twice"
    if query.distinct and _repeats(rows, range(len(query.outputs))):
        return "it shows a row twice that it may show once"
    if not query.locking and not _is_in_order(query, rows):
        return "its rows are not in the order that it asks for"
    return None


def changes_too_many(statement: PreparedStatement) -> str | None:
    """What is wrong with the count of a write whose transaction wrote nothing to the table before: rows of its own it
    may meet beside those that its view has."""
    program, affected = statement.program, statement.statement.affected
    if program is None or affected is None or affected < 2:
        return None
    if not program.remember("changes one key", lambda: _asks_for_one_key(program)):
        return None
    return f"it changes {affected} rows, and one at most has the key that it asks for"


def _asks_for_one_key(program: Program) -> bool:
    statement = program.statement
    if not isinstance(statement, Update | Delete):
        return False
    table = program.catalog.tables[statement.table]
    given = {column for part in conjuncts(statement.where) if (column := _given(part, table)) is not None}
    return any(key.plain and given.issuperset(key.columns) for key in table.keys)


def _given(condition: Expr, table: Table) -> int | None:
    """The column of a whole number that a condition sets equal to one value, the same for every row."""
    if not isinstance(condition, Binary) or condition.op != "=":
        return None
    for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
        while isinstance(side, Cast) and side.type.kind in INTEGER_KINDS:
            side = side.operand
        if not isinstance(side, Column) or table.columns[side.index].type.kind not in INTEGER_KINDS:
            continue
        parts = list(walk_parts(other))
        if columns_read(other) or has_free(other) or any(isinstance(part, Outer | Invoke) for part in parts):
            continue
        return side.index
    return None


def _shows_a_group_twice(query: Select, rows: Sequence[Answered]) -> bool:
    if not query.groups or query.grouping_sets is not None or query.windows:
        return False
    places = {
        output.expression.index: place
        for place, output in enumerate(query.outputs)
        if isinstance(output.expression, Column)
    }
    if any(number not in places for number in range(len(query.groups))):
        return False
    return _repeats(rows, [places[number] for number in range(len(query.groups))])


def _repeats(rows: Sequence[Answered], places: Sequence[int]) -> bool:
    seen = set[tuple[object, ...]]()
    for row in rows:
        shown = tuple([row[place] for place in places])
        if not all(value is None or isinstance(value, _EXACT) for value in shown):
            continue
        if shown in seen:
            return True
        seen.add(shown)
    return False


def _is_in_order(query: Select, rows: Sequence[Answered]) -> bool:
    keys = list(shown_order(query))
    return all(_compared(one, other, keys) is not False for one, other in pairwise(rows))


def shown_order(query: Select) -> Iterator[tuple[int, bool]]:
    """The first ORDER BY keys that are shown: their output column, and whether they descend."""
    for key in query.order:
        wanted = order_expression(key, query.outputs)
        place = key.output
        if place is None:
            shown = [n for n, output in enumerate(query.outputs) if output.expression == wanted]
            place = shown[0] if shown else None
        if place is None:
            return
        yield place, key.descending


def is_before(one: Answered, other: Answered, keys: Sequence[tuple[int, bool]]) -> bool:
    """Whether a row surely stands before another one, by `shown_order`."""
    return _compared(one, other, keys) is True


def _compared(one: Answered, other: Answered, keys: Sequence[tuple[int, bool]]) -> bool | None:
    """Whether a row stands before another one, by `shown_order`; None where that is open."""
    for place, descends in keys:
        first, second = one[place], other[place]
        if not isinstance(first, _COMPARED) or not isinstance(second, _COMPARED):
            return None
        if first != second:
            return (first > second) == descends  # type: ignore[operator]  # values of one column
    return None
