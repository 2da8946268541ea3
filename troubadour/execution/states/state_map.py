"""The versioned state map *d* as one structure (paper §3.2 *State maps*, §5.3): states 0..n, placed and taken back.

Does not know who reads which state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence

from sql_semantics.ir.schema import Table
from sql_semantics.values.types import Kind
from sql_semantics.view import Row
from troubadour.execution.states.history import (
    Guarded,
    Present,
    RowHistory,
    TableHistory,
    Undiscovered,
    Version,
    WriteMap,
)


class StateMap:
    """The states 0..n as one structure; `length` is n. Placing is undone in reverse order by `truncate`. States before
    `floor` are forgotten."""

    __slots__ = ("_folds_text", "_indexable", "_journal", "_keys_only", "_present", "floor", "length", "tables")

    def __init__(
        self,
        schema: Mapping[str, Table],
        initial: Mapping[str, Sequence[Row | None]],
        *,
        folds_text: bool = False,
        undiscovered: tuple[Undiscovered, Collection[str]] | None = None,
    ) -> None:
        """`initial` are the rows by their number (None: no such row). `undiscovered`: what is known of the initial rows
        of these tables, of which `initial` has none."""
        self._folds_text = folds_text
        self._indexable: dict[tuple[str, tuple[int, ...]], bool] = {}
        self._keys_only = False
        found, unknown = undiscovered or (None, ())
        self.tables = {name: TableHistory(table, found if name in unknown else None) for name, table in schema.items()}
        self.length = self.floor = 0
        self._present: dict[str, Present] = {}
        self._journal: list[tuple[RowHistory, ...]] = []
        for name, rows in initial.items():
            table = self.tables[name]
            for ordinal, values in enumerate(rows):
                if values is None:
                    continue
                row = RowHistory(name, None, ordinal)
                row.positions.append(0)
                row.versions.append(values)
                table.rows.append(row)
        for name in unknown:
            self.tables[name].take_discovered()

    def place(self, writes: WriteMap) -> None:
        """Append state n+1, which is state n overwritten by `writes`. Versions that write nowhere are left out."""
        self.length += 1
        position = self.length
        touched: list[RowHistory] = []
        for row, version in writes.items():
            table = self.tables[row.table]
            if not row.positions:
                table.rows.append(row)
            row.positions.append(position)
            row.versions.append(version)
            table.note(row, version)
            if not table.changes or table.changes[-1] != position:
                table.changes.append(position)
            touched.append(row)
        self._journal.append(tuple(touched))

    def replace(self, row: RowHistory, position: int, version: Version) -> None:
        """Put a simpler, equivalent version in place of one (H3)."""
        row.versions[row.positions.index(position)] = version
        self.tables[row.table].contents.forget()
        present = self._present.get(row.table)
        if present is not None:
            present.renew(row, present.position)
        self.tables[row.table].note(row, version)

    def truncate(self, length: int) -> None:
        """Take back the states after `length`."""
        while self.length > length:
            position = self.length
            for row in reversed(self._journal.pop()):
                row.positions.pop()
                version = row.versions.pop()
                table = self.tables[row.table]
                present = self._present.get(row.table)
                if isinstance(version, Guarded) and row.positions:
                    table.forget_symbolic(row)
                if not row.positions:
                    table.forget_row(row, version)
                    if present is not None:
                        present.forget(row)
                elif present is not None and present.position == position:
                    present.renew(row, position)
                if table.changes and table.changes[-1] == position:
                    table.changes.pop()
                    table.contents.forget(len(table.changes))
            for name, present in self._present.items():
                if present.position == position:
                    changes = self.tables[name].changes
                    present.position = changes[-1] if changes else 0
            self.length -= 1
        for table in self.tables.values():
            table.forget_floors(length)

    def move(self, position: int, place: int) -> None:
        """Put the one at a position, which wrote nothing, right after state `place`."""
        assert not self._journal[position - 1]
        for before in range(position - 1, place, -1):
            for row in self._journal[before - 1]:
                row.shift(before)
        for name, table in self.tables.items():
            changes = table.changes
            for index in range(bisect_right(changes, place), bisect_left(changes, position)):
                changes[index] += 1
            table.forget_floors(place)
            present = self._present.get(name)
            if present is not None and place < present.position < position:
                present.position += 1
        self._journal.insert(place, self._journal.pop(position - 1))

    def forget(self, floor: int) -> None:
        """Forget the states before `floor`: what is no part of a later one goes, and nothing up to `floor` can be taken
        back any more. Symbolic versions are not forgotten."""
        changed: dict[str, dict[RowHistory, None]] = {}
        for position in range(self.floor + 1, floor + 1):
            for row in self._journal[position - 1]:
                changed.setdefault(row.table, {})[row] = None
            self._journal[position - 1] = ()
        for name, rows in changed.items():
            self.tables[name].forget(rows, floor)
            present = self._present.get(name)
            if present is not None and present.position < floor:
                del self._present[name]
        self.floor = max(self.floor, floor)

    def rows_at(self, name: str, state: int) -> list[tuple[RowHistory, Row]] | None:
        """All rows of a table in a state, in the order in which they were first placed; the list is not to be changed.
        None where a row is symbolic there."""
        table = self.tables[name]
        number = bisect_right(table.changes, state)
        target = table.changes[number - 1] if number else 0
        present = self._present.get(name)
        if present is None or (table.undiscovered is not None and present.size != len(table.rows)):
            present = self._present[name] = Present(table.rows, target)
        elif present.position != target:
            before = bisect_right(table.changes, present.position)
            for position in table.changes[min(before, number) : max(before, number)]:
                for row in self._journal[position - 1]:
                    if row.table == name:
                        present.renew(row, target)
            present.position = target
        return present.rows()

    def contents_at(self, name: str, state: int) -> int | None:
        """A digest of the rows that a table holds in a state; None where it is not known."""
        table = self.tables[name]
        return None if table.undiscovered is not None else table.contents.at(state, table.rows, self._journal)

    def written_at(self, position: int) -> tuple[RowHistory, ...]:
        """The rows written at a position (>= 1)."""
        return self._journal[position - 1]

    def find_by_keys_only(self, *, only: bool) -> None:
        """Find rows by values of their keys alone, where not all versions are placed; or by any again."""
        self._keys_only = only
        self._indexable.clear()

    def is_indexable(self, table: str, columns: tuple[int, ...]) -> bool:
        """Whether equality of these columns in SQL is equality of Python values: not for padded text, nor for text
        under MySQL's case-insensitive collations."""
        known = self._indexable.get((table, columns))
        if known is None:
            types = [self.tables[table].schema.columns[column].type for column in columns]
            known = not any(
                item.kind is Kind.TEXT and (item.padded or item.collation or self._folds_text) for item in types
            )
            if self._keys_only:
                keys = {column for key in self.tables[table].schema.keys for column in key.columns}
                known = known and keys.issuperset(columns)
            self._indexable[table, columns] = known
        return known
