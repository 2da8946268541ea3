"""Was a row seen as it can never have been? Asked of queries that give a table's columns as they stand, without a run.

Each row of such an answer is a version of a row with that key; where a number in it is none that this row's column can
have had (`reachable_numbers`), no order explains it, at any level that reads what was committed. Costs a look-up for
each row that was seen, so that whole logs can be asked. Does not know predicates, nor which rows an answer lacks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sql_semantics.ir.expressions import Column as Expression
from sql_semantics.ir.queries import BaseTable, Select
from sql_semantics.records import dataclass
from sql_semantics.terms.numbers import is_number
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value
from sql_semantics.view import Row
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.prepared import PreparedStatement
from troubadour.execution.states.history import RowHistory
from troubadour.facts.sql.observations import may_write
from troubadour.problem.problem import Problem
from troubadour.search.inference.values.reachable_numbers import ReachableNumbers
from troubadour.search.inference.values.reaches import Reach, scaled

COUNTED = INTEGER_KINDS | {Kind.NUMERIC}
"""Kinds of which it is known what they can be."""

Key = tuple[Value, ...]
Seen = dict[int, tuple[int, Value]]


@dataclass(frozen=True, slots=True)
class Unreachable:
    """What `item` saw in a column of a row of `table` and no version has; `rows` are those with that key, and all that
    something in the column may have been copied from. `hull`: between which numbers it can have been. `place` is the
    column's, and `cell` where the value was seen: the statement, the row of its answer, and the column of that."""

    item: int
    table: str
    column: str
    place: int
    key: Key
    value: Value
    cell: tuple[int, int, int]
    rows: frozenset[RowHistory]
    hull: tuple[Value, Value] | None

    def is_row(self, values: Row, columns: Sequence[int]) -> bool:
        """Whether a version is of the row, by the columns of its key."""
        return tuple([values[column] for column in columns]) == self.key

    def told(self) -> str:
        """In words."""
        name = f"{self.table}({', '.join(f'{value!s}' for value in self.key)}).{self.column}"
        range_ = "" if self.hull is None else f", which is from {self.hull[0]!s} to {self.hull[1]!s} in any order"
        return f"it saw {self.value!s} as {name}: nothing that was set, added or copied comes to that{range_}"


class RowsByKey:
    """The rows that some transactions write, by their keys."""

    def __init__(self, numbers: ReachableNumbers) -> None:
        self.numbers = numbers
        self._rows: dict[tuple[str, Key], list[RowHistory]] = defaultdict(list)
        self._keys: dict[str, tuple[int, ...]] = {}
        for name, table in numbers.trace.states.tables.items():
            keys = [key.columns for key in table.schema.keys if key.plain]
            if keys:
                self._keys[name] = keys[0]
        for row, reaches in numbers.reaches.items():
            if row.table in self._keys:
                key = [list(reaches[place].values.values()) for place in self._keys[row.table]]
                if all(len(values) == 1 for values in key):
                    self._rows[row.table, tuple([values[0] for values in key])].append(row)  # type: ignore[misc]
                else:
                    del self._keys[row.table]

    def only_writer(self, shown: Unreachable) -> int | None:
        """The only transaction that can have written the row, which was not there at first; None where it may have
        several versions."""
        rows = self._rows.get((shown.table, shown.key), [])
        writers = self.numbers.writers.get(rows[0], set()) if len(rows) == 1 else set()
        return next(iter(writers)) if len(writers) == 1 and rows[0].author is not None else None

    def saw_otherwise(self, problem: Problem, shown: Unreachable) -> int | None:
        """The last one before the reader that saw another number there; None where none did."""
        for item in reversed([item for item in problem.committed if item < shown.item]):
            statements = problem.prepared(item).statements
            if any(map(may_write, statements)):
                continue
            for statement in statements:
                for table, seen in rows_seen(statement):
                    columns = self._keys.get(table, ())
                    if table != shown.table or not seen.keys() >= {shown.place, *columns}:
                        continue
                    if not columns or tuple([seen[place][1] for place in columns]) != shown.key:
                        continue
                    value = seen[shown.place][1]
                    if is_number(value) and is_number(shown.value) and value != shown.value:
                        return item
        return None

    def unreachable(self, problem: Problem, item: int) -> Unreachable | None:
        """What an item saw of a row that was never so; None where that is not shown."""
        statements = problem.prepared(item).statements
        if any(map(may_write, statements)):
            # it may have seen what it wrote itself
            return None
        for statement in statements:
            for number, (table, seen) in enumerate(rows_seen(statement)):
                found = self._never_so(item, table, seen, (statement.index, number))
                if found is not None:
                    return found
        return None

    def _never_so(self, item: int, table: str, seen: Seen, at: tuple[int, int]) -> Unreachable | None:
        columns = self._keys.get(table)
        if columns is None or not seen.keys() >= set(columns):
            return None
        key = tuple([seen[place][1] for place in columns])
        rows = self._rows.get((table, key), ())
        found = self.numbers.found
        schema = self.numbers.trace.states.tables[table].schema
        for place, (output, value) in seen.items():
            reaches = [found.reach((row, place)) for row in rows]
            if not reaches or schema.columns[place].type.kind not in COUNTED or place in columns:
                continue
            if any(_may_be(reach, value) for reach in reaches):
                continue
            origins = frozenset(origin for row in rows for origin, _ in found.origins((row, place)))
            hull = reaches[0].hull() if len(reaches) == 1 and reaches[0].bases else None
            return Unreachable(item, table, schema.columns[place].name, place, key, value, (*at, output), origins, hull)
        return None


def _may_be(reach: Reach, value: Value) -> bool:
    if reach.open or not (value is None or is_number(value)):
        return True
    if value is None:
        return None in reach.values.values()
    if isinstance(value, float) or scaled(value, reach.scale + 20) % 10**20:
        return True
    return reach.has(scaled(value, reach.scale))


def rows_seen(statement: PreparedStatement) -> Iterator[tuple[str, Seen]]:
    """The tables of rows that a statement gave as they stand, with the columns seen of each, and as which of the
    answer's."""
    program = statement.program
    results = statement.observation.results
    if program is None or statement.judged.fate is not Fate.RUN or results is None or len(results) != 1:
        return
    query = program.statement
    if not isinstance(query, Select) or len(query.sources) != 1 or query.groups is not None or query.aggregates:
        return
    source = query.sources[0]
    if not isinstance(source.relation, BaseTable) or not results[0].plain or results[0].rows is None:
        return
    places = {
        output: one.expression.index - source.offset
        for output, one in enumerate(query.outputs)
        if isinstance(one.expression, Expression) and 0 <= one.expression.index - source.offset < source.width
    }
    for row in results[0].rows:
        yield source.relation.name, {place: (output, row[output]) for output, place in places.items()}  # type: ignore[misc]
