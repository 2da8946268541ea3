"""The newest state as a `sql_semantics.view.View`: rows in place, found by indexes, with what undoes a transaction.

Whatever a DBMS may choose is left to others. Does not know any state before, nor which transaction runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sql_semantics.ir.schema import Catalog
from sql_semantics.run.writes.rows.keys import Key
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId
from troubadour.replay.newest.kept import KeptTable, Written, kept, made

Columns = tuple[int, ...]
Index = dict[Row, dict[RowId, Row]]
Look = tuple[int, str, Columns | None, Row]
"""A statement, by its index, that looked in a table for rows with these values in these columns (None: for all)."""

_NONE: Mapping[RowId, Row] = {}


class NotPlain(Exception):
    """The log is left to what knows more of levels: `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NewestRows:
    """All rows of the newest state, and the writes of the transaction under way in `journal`, oldest first. `looks`:
    what its statements looked for, as far as that is asked for; `statement`: the index of the one that runs."""

    rechecks = False
    locks = False
    apart = False
    __slots__ = ("_indexes", "_next", "_rows", "journal", "looks", "savepoints", "statement")

    def __init__(self, initial: Mapping[str, Sequence[Row]]) -> None:
        self._rows: dict[str, dict[RowId, Row]] = {}
        self._indexes: dict[str, dict[Columns, Index]] = {}
        self._next = 0
        self.savepoints: list[tuple[str, Mark]] = []
        self.journal: list[Written] = []
        self.looks: list[Look] | None = None
        self.statement = 0
        for table, rows in initial.items():
            self._rows[table] = dict(enumerate(rows, self._next))
            self._next += len(rows)
            self._indexes[table] = {}

    def kept(self) -> tuple[tuple[KeptTable, ...], int]:
        """All rows, between two transactions, and the number of the next one. Raises Unkept."""
        tables = self._rows.items()
        return tuple(KeptTable(name, tuple(rows), tuple(map(kept, rows.values()))) for name, rows in tables), self._next

    def restore(self, tables: Sequence[KeptTable], following: int) -> None:
        """Have the rows that were kept, in place of all others. Raises ValueError and its kin where they are none of
        these tables."""
        if [table.name for table in tables] != list(self._rows):
            raise ValueError("other tables")
        for table in tables:
            self._rows[table.name] = dict(zip(table.ids, map(made, table.rows), strict=True))
            self._indexes[table.name] = {}
        self._next = following

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`: every execution reads the same."""

    def suspend(self) -> Mark:
        """See `View`."""
        return None

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def aside(self) -> NewestRows:
        """Itself."""
        return self

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`: there is one version."""
        return values

    @property
    def tables(self) -> Iterable[str]:
        """The names of all tables."""
        return self._rows.keys()

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row."""
        if self.looks is not None:
            self.looks.append((self.statement, table, None, ()))
        return list(self._rows[table].items())

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Exactly the rows whose `columns` equal `key`."""
        columns, key = tuple(columns), tuple(key)
        if self.looks is not None:
            self.looks.append((self.statement, table, columns, key))
        found = self.holding(table, columns, key)
        return list(found.items()) if found else ()

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `lookup`: there is one state only."""
        return self.lookup(table, columns, key) if columns else self.scan(table)

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `rivals`."""
        return self.rivals(table, columns, key)

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """The rows that this transaction wrote, as they are now."""
        rows = self._rows[table]
        written = dict.fromkeys(row for name, row, _, _ in self.journal if name == table)
        return [(row, rows[row]) for row in written if row in rows]

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row."""
        rows = self._rows[table]
        old = rows[row]
        self.journal.append((table, row, old, values))
        rows[row] = values
        for columns, index in self._indexes[table].items():
            before, after = _of(old, columns), _of(values, columns)
            if before == after:
                index[before][row] = values
            else:
                _leave(index, before, row)
                index.setdefault(after, {})[row] = values

    def delete(self, table: str, row: RowId) -> None:
        """Remove a row."""
        self.journal.append((table, row, self._rows[table][row], None))
        self._put(table, row, None)

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row."""
        identity = self._next
        self._next += 1
        self.journal.append((table, identity, None, values))
        self._put(table, identity, values)
        return identity

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """Whatever is chosen is left to others."""
        raise NotPlain("values that the DBMS chooses")

    def choose(self, count: int, what: str) -> int:
        """As `free`."""
        raise NotPlain(what)

    def arbitrary(self, what: str) -> None:
        """As `free`."""
        raise NotPlain(what)

    def attempting(self, step: int) -> None:
        """See `View`."""

    def savepoint(self) -> Mark:
        """The length of the journal."""
        return len(self.journal)

    def rollback(self, mark: Mark) -> None:
        """Undo what the journal has after the mark, the last first."""
        while len(self.journal) > mark:
            table, row, before, _ = self.journal.pop()
            self._put(table, row, before)

    def _put(self, table: str, row: RowId, values: Row | None) -> None:
        rows = self._rows[table]
        old = rows.get(row)
        if values is None:
            del rows[row]
        else:
            rows[row] = values
        for columns, index in self._indexes[table].items():
            if old is not None:
                _leave(index, _of(old, columns), row)
            if values is not None:
                index.setdefault(_of(values, columns), {})[row] = values

    def _index(self, table: str, columns: Columns) -> Index:
        index: Index = {}
        for row, values in self._rows[table].items():
            index.setdefault(_of(values, columns), {})[row] = values
        self._indexes[table][columns] = index
        return index

    def holding(self, table: str, columns: Columns, key: Row) -> Mapping[RowId, Row]:
        """The rows whose `columns` equal `key`, which no statement looks for."""
        index = self._indexes[table].get(columns)
        return (self._index(table, columns) if index is None else index).get(key, _NONE)

    def found(self, table: str, columns: Columns | None, key: Row) -> Iterable[tuple[RowId, Row]]:
        """What a look finds (`columns` None: every row), which is not noted as one."""
        return list((self._rows[table] if columns is None else self.holding(table, columns, key)).items())

    def put_back(self, table: str, row: RowId, values: Row | None) -> None:
        """Let a row be as it was (None: not there), as nothing that the journal knows of."""
        if values is not None or row in self._rows[table]:
            self._put(table, row, values)

    def broken(self, keys: Mapping[str, Sequence[Key]], catalog: Catalog, *, references: bool) -> str | None:
        """What is wrong with the rows that the journal wrote, as they are now: two that share a key, or one that refers
        to none. Raises NotPlain for a key that rows cannot be found by."""
        for table, row, before, _ in self.journal:
            now = self._rows[table].get(row)
            for key in keys[table]:
                mine = None if now is None else key.value(now)
                if mine is None or (before is not None and key.value(before) == mine):
                    continue
                if not key.columns or not key.unique.plain:
                    raise NotPlain("a key of another kind")
                if len(self.holding(table, key.columns, mine)) > 1:
                    return f"two rows of {table} share a key"
        return self._dangling(catalog) if references else None

    def _dangling(self, catalog: Catalog) -> str | None:
        for table, row, before, _ in self.journal:
            now = self._rows[table].get(row)
            for reference in catalog.tables[table].foreign_keys:
                wanted = None if now is None else _of(now, reference.columns)
                if wanted is None or None in wanted:
                    continue
                if not self.holding(reference.parent, reference.parent_columns, wanted):
                    return f"a row of {table} refers to none"
            if before is None:
                continue
            for child, reference in catalog.references_to(table):
                gone = _of(before, reference.parent_columns)
                if None in gone or self.holding(table, reference.parent_columns, gone):
                    continue
                if self.holding(child.name, reference.columns, gone):
                    return f"a row of {child.name} refers to none"
        return None


def _of(row: Row, columns: Columns) -> Row:
    return (row[columns[0]],) if len(columns) == 1 else tuple([row[column] for column in columns])


def _leave(index: Index, key: Row, row: RowId) -> None:
    found = index[key]
    del found[row]
    if not found:
        del index[key]
