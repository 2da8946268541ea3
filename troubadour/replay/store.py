"""The states 0..n that an order of transactions makes, row by row (paper §3.2 *State maps*, §5.3).

State i is state i-1 overwritten by the whole rows that transaction i wrote. Only states at which a row was written
are kept for it. Does not know who reads which state, nor why.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Table
from sql_semantics.library import SqlLibrary
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import Value
from sql_semantics.view import Row

RowName = str
"""A row's identity text, as in a witness."""
Writes = Mapping[str, Mapping[RowName, Row | None]]
"""Per table, the whole rows that a transaction wrote; None for deleted."""
Columns = tuple[int, ...]


class Versions:
    """One row: `values[n]` (None: it does not exist) holds from state `states[n]` until the next of `states`."""

    __slots__ = ("states", "values")

    def __init__(self, states: list[int], values: list[Row | None]) -> None:
        self.states = states
        self.values = values

    def at(self, state: int) -> Row | None:
        """The row in a state; None where it does not exist."""
        states = self.states
        if states[-1] <= state:
            return self.values[-1]
        place = bisect_right(states, state)
        return self.values[place - 1] if place else None

    def skipping(self, state: int, skipped: Collection[int]) -> Row | None:
        """As `at`, but a version made by one of the `skipped` states gives way to the next older one."""
        place = bisect_right(self.states, state)
        while place and self.states[place - 1] in skipped:
            place -= 1
        return self.values[place - 1] if place else None

    def made_at(self, state: int) -> int | None:
        """Which state made the version that `state` has; None where the row did not exist yet."""
        place = bisect_right(self.states, state)
        return self.states[place - 1] if place else None


class StoredTable:
    """All rows that a table ever had, and those of the newest state.

    `holders` gives, per key (PRIMARY KEY or UNIQUE), the row that holds each value in the newest state; `_indexes`
    the rows that ever had given values in given columns. With `folded`, texts that differ may be equal keys.
    """

    __slots__ = ("_indexes", "folded", "holders", "newest", "rows", "schema")

    def __init__(self, schema: Table, folded: bool) -> None:
        self.schema = schema
        self.folded = folded
        self.rows: dict[RowName, Versions] = {}
        self.newest: dict[RowName, Row] = {}
        self.holders: list[tuple[Columns, dict[Row, RowName]]] = [(key.columns, {}) for key in schema.keys]
        self._indexes: dict[Columns, dict[Row, dict[RowName, Versions]]] = {}

    def matching(self, columns: Columns, key: Row) -> Mapping[RowName, Versions]:
        """The rows that had these values in these columns in one state or another."""
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = {}
            for name, versions in self.rows.items():
                for values in versions.values:
                    if values is not None:
                        _enter(index, columns, values, name, versions)
        return index.get(key, _NO_VERSIONS)

    def write(self, state: int, name: RowName, values: Row | None) -> None:
        """Let `state` have this row; states come in ascending order."""
        versions = self.rows.get(name)
        if versions is None:
            versions = self.rows[name] = Versions([state], [values])
        else:
            versions.states.append(state)
            versions.values.append(values)
        if values is None:
            self.newest.pop(name, None)
            return
        self.newest[name] = values
        for columns, index in self._indexes.items():
            _enter(index, columns, values, name, versions)

    def rekey(self, writes: Mapping[RowName, Row | None]) -> tuple[str, Row, RowName, RowName] | None:
        """Move the keys of the rows about to be written. Returns (key, value, row, other row) where two rows would
        share one; call it before `write`. Raises Unsupported where that hangs on an unknown collation."""
        for number, (columns, holders) in enumerate(self.holders):
            for name in writes:
                old = self.newest.get(name)
                if old is not None:
                    value = self._key(columns, old)
                    if holders.get(value) == name:
                        del holders[value]
            for name, values in writes.items():
                if values is None:
                    continue
                value = self._key(columns, values)
                if None in value:
                    continue
                other = holders.setdefault(value, name)
                if other != name:
                    if self.folded and not self._same(columns, values, other, writes):
                        raise Unsupported("two keys that differ, but may be equal under the collation")
                    return self.schema.keys[number].name, value, name, other
        return None

    def _key(self, columns: Columns, values: Row) -> Row:
        key = tuple([values[column] for column in columns])
        return tuple(map(_fold, key)) if self.folded else key

    def _same(self, columns: Columns, values: Row, other: RowName, writes: Mapping[RowName, Row | None]) -> bool:
        theirs = writes[other] if other in writes else self.newest[other]
        return theirs is not None and all(values[column] == theirs[column] for column in columns)

    def copy(self) -> StoredTable:
        """An independent copy, without the indexes."""
        twin = StoredTable(self.schema, self.folded)
        twin.rows = {name: Versions(v.states.copy(), v.values.copy()) for name, v in self.rows.items()}
        twin.newest = self.newest.copy()
        twin.holders = [(columns, holders.copy()) for columns, holders in self.holders]
        return twin


_NO_VERSIONS: Mapping[RowName, Versions] = {}


def _fold(value: Value) -> Value:
    """What is left of a text without case, accents and trailing blanks: equal wherever a collation finds two equal."""
    if not isinstance(value, str):
        return value
    decomposed = unicodedata.normalize("NFKD", value).casefold()
    return "".join(c for c in decomposed if not unicodedata.combining(c)).rstrip()


def _enter(
    index: dict[Row, dict[RowName, Versions]], columns: Columns, values: Row, name: RowName, versions: Versions
) -> None:
    key: tuple[Value, ...] = tuple([values[column] for column in columns])
    found = index.get(key)
    if found is None:
        index[key] = {name: versions}
    else:
        found[name] = versions


class Store:
    """States 0..`newest` of all tables."""

    __slots__ = ("newest", "tables")

    def __init__(self, library: SqlLibrary, initial: Mapping[str, Sequence[Row]]) -> None:
        folded = not equal_by_code_points(text_rule(library.dialect))
        self.tables = {name: StoredTable(table, folded) for name, table in library.catalog.tables.items()}
        self.newest = 0
        for table, rows in initial.items():
            named: dict[RowName, Row | None] = {f"{table}:-:{n}": row for n, row in enumerate(rows)}
            self.tables[table].rekey(named)
            for name, values in named.items():
                self.tables[table].write(0, name, values)

    def append(self, writes: Writes) -> tuple[str, str, Row, RowName, RowName] | None:
        """Make the next state. Returns (table, key, value, row, other row) where two of its rows would share a key;
        the store is then of no further use."""
        self.newest += 1
        for table, rows in writes.items():
            stored = self.tables[table]
            clash = stored.rekey(rows)
            if clash is not None:
                return table, *clash
            for name, values in rows.items():
                if values is not None or name in stored.rows:
                    stored.write(self.newest, name, values)
        return None

    def copy(self) -> Store:
        """An independent copy."""
        twin = Store.__new__(Store)
        twin.tables = {name: table.copy() for name, table in self.tables.items()}
        twin.newest = self.newest
        return twin


def rows_of(writes: Writes) -> Iterable[tuple[str, RowName, Row | None]]:
    """Every row written, with its table."""
    for table, rows in writes.items():
        for name, values in rows.items():
            yield table, name, values
