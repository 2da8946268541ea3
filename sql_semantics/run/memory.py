"""A database in memory: the simplest View.

Rows live in dictionaries by identity; indexes on column sets are built on the first lookup and maintained by writes.
Enforces no constraint and knows no transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.run.writes.rows.chosen import Chosen, last_rowid
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId

Choose = Callable[[str, str, SqlType], Value]
"""f(source, name, type), as in `View.free`."""
Index = dict[tuple[Value, ...], dict[RowId, Row]]


class MemoryView:
    """Tables as dictionaries from row identity (a counter) to row."""

    rechecks = False
    locks = False
    apart = False
    __slots__ = (
        "_choose",
        "_chosen",
        "_drawn",
        "_indexes",
        "_journal",
        "_last_inserted",
        "_next",
        "_scans",
        "choices",
        "picking",
        "savepoints",
        "statements",
        "tables",
    )

    def __init__(self, tables: Mapping[str, Iterable[Row]], choose: Choose | None = None) -> None:
        """`tables`: initial rows per table; tables named nowhere else start empty on their first use. `choose` gives
        the values that a DBMS chooses, by default 1, 2, 3 for sequences and nothing else."""
        self.tables: dict[str, dict[RowId, Row]] = {}
        self.statements = 0
        self.choices: set[str] = set()
        self.picking: Callable[[int], int] = lambda count: 0
        self.savepoints: list[tuple[str, Mark]] = []
        self._next = 0
        self._chosen = Chosen()
        self._last_inserted: tuple[str, Sequence[Value]] | None = None
        self._choose = choose or self._count
        self._drawn: dict[str, int] = {}
        self._journal: list[tuple[str, RowId, Row | None]] | None = None
        self._indexes: dict[str, dict[tuple[int, ...], Index]] = {}
        self._scans: dict[str, list[tuple[RowId, Row]]] = {}
        for table, rows in tables.items():
            self.tables[table] = {}
            for row in rows:
                self.insert(table, tuple(row))
        self._last_inserted = None

    def begin(self, acting: Acting = "reads") -> None:
        """Count statement executions; every one reads the same tables."""
        self.statements += 1

    def suspend(self) -> Mark:
        """See `View`: every execution reads the same."""
        return None

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`: there is one version."""
        return values

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

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `lookup`: there is one state only."""
        return self.lookup(table, tuple(columns), key) if columns else self.scan(table)

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row: there is one transaction only."""
        return self.scan(table)

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `rivals`."""
        return self.rivals(table, columns, key)

    def _build(self, table: str, columns: tuple[int, ...]) -> Index:
        index: Index = {}
        for identity, row in self.tables.get(table, {}).items():
            index.setdefault(tuple([row[c] for c in columns]), {})[identity] = row
        self._indexes.setdefault(table, {})[columns] = index
        return index

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row."""
        self._put(table, row, values)

    def delete(self, table: str, row: RowId) -> None:
        """Remove a row."""
        self._put(table, row, None)

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row."""
        identity = self._next
        self._next += 1
        self._put(table, identity, values)
        self._last_inserted = (table, values)
        return identity

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """What `choose` gives; every statement execution is one of its own."""
        told = last_rowid(name, self._last_inserted) if source == "last_insert_rowid" else None
        if told is not None:
            return told
        return self._chosen.value(source, name, type, (self.statements, 0), lambda: self._choose(source, name, type))

    def _count(self, source: str, name: str, type: SqlType) -> Value:
        if source not in ("nextval", "auto"):
            raise Unsupported(f"a value that the DBMS chooses ({source})")
        self._drawn[name] = self._drawn.get(name, 0) + 1
        return self._drawn[name]

    def choose(self, count: int, what: str) -> int:
        """The first way, or what `picking` says; noted in `choices`."""
        self.choices.add(what)
        return self.picking(count)

    def arbitrary(self, what: str) -> None:
        """Kept in `choices`."""
        self.choices.add(what)

    def savepoint(self) -> Mark:
        """The length of the journal, which is kept from the first savepoint on."""
        if self._journal is None:
            self._journal = []
        return len(self._journal)

    def aside(self) -> MemoryView:
        """Itself."""
        return self

    def attempting(self, step: int) -> None:
        """See `View`."""

    def rollback(self, mark: Mark) -> None:
        """Undo what the journal has after the mark, the last first."""
        journal = self._journal
        assert journal is not None
        while len(journal) > mark:
            table, row, before = journal.pop()
            self._put(table, row, before)
            journal.pop()

    def _put(self, table: str, row: RowId, values: Row | None) -> None:
        rows = self.tables.setdefault(table, {})
        old = rows.get(row)
        if self._journal is not None:
            self._journal.append((table, row, old))
        if values is None:
            del rows[row]
        else:
            rows[row] = values
        self._scans.pop(table, None)
        for columns, index in self._indexes.get(table, {}).items():
            before = None if old is None else tuple([old[c] for c in columns])
            after = None if values is None else tuple([values[c] for c in columns])
            if before is not None and before != after:
                del index[before][row]
            if values is not None and after is not None:
                index.setdefault(after, {})[row] = values
