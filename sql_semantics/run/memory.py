"""A database in memory: the simplest View (DESIGN §2, "reads are inverted").

Rows live in dictionaries by identity; indexes on column sets are built on the first lookup and maintained by writes.
Enforces no constraint and knows no transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sql_semantics.values.types import Value
from sql_semantics.view import Row, RowId

Index = dict[tuple[Value, ...], dict[RowId, Row]]


class MemoryView:
    """Tables as dictionaries from row identity (a counter) to row."""

    __slots__ = ("_indexes", "_next", "_scans", "statements", "tables")

    def __init__(self, tables: Mapping[str, Iterable[Row]]) -> None:
        """`tables`: initial rows per table; tables named nowhere else start empty on their first use."""
        self.tables: dict[str, dict[RowId, Row]] = {}
        self.statements = 0
        self._next = 0
        self._indexes: dict[str, dict[tuple[int, ...], Index]] = {}
        self._scans: dict[str, list[tuple[RowId, Row]]] = {}
        for table, rows in tables.items():
            self.tables[table] = {}
            for row in rows:
                self.insert(table, tuple(row))

    def begin(self) -> None:
        """Count statement executions; every one reads the same tables."""
        self.statements += 1

    def rows(self, table: str) -> list[Row]:
        """The table's rows, in insertion order."""
        return list(self.tables.get(table, {}).values())

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row; the list is kept until the next write."""
        found = self._scans.get(table)
        if found is None:
            found = self._scans[table] = list(self.tables.get(table, {}).items())
        return found

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Exactly the rows whose `columns` equal `key`."""
        try:
            index = self._indexes[table][columns]  # type: ignore[index]
        except KeyError:
            index = self._build(table, tuple(columns))
        found = index.get(key)  # type: ignore[call-overload]
        return [*found.items()] if found else ()

    def _build(self, table: str, columns: tuple[int, ...]) -> Index:
        index: Index = {}
        for identity, row in self.tables.get(table, {}).items():
            index.setdefault(tuple([row[c] for c in columns]), {})[identity] = row
        self._indexes.setdefault(table, {})[columns] = index
        return index

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row."""
        old = self.tables[table][row]
        self.tables[table][row] = values
        self._scans.pop(table, None)
        for columns, index in self._indexes.get(table, {}).items():
            before = tuple([old[c] for c in columns])
            after = tuple([values[c] for c in columns])
            if before != after:
                del index[before][row]
            index.setdefault(after, {})[row] = values

    def delete(self, table: str, row: RowId) -> None:
        """Remove a row."""
        old = self.tables[table].pop(row)
        self._scans.pop(table, None)
        for columns, index in self._indexes.get(table, {}).items():
            del index[tuple([old[c] for c in columns])][row]

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row."""
        identity = self._next
        self._next += 1
        self.tables.setdefault(table, {})[identity] = values
        self._scans.pop(table, None)
        for columns, index in self._indexes.get(table, {}).items():
            index.setdefault(tuple([values[c] for c in columns]), {})[identity] = values
        return identity
