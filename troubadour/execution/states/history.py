"""The versioned state map *d* (paper §3.2 *State maps*, §5.3): per row, only the transactions that wrote it.

Positions number the placed transactions from 1; position 0 is the initial state. A row is identified by the
transaction that inserted it and an ordinal, not by its key. Does not know who reads which position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from sql_semantics.ir.schema import Table
from sql_semantics.records import dataclass
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, disj, is_concrete
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.execution.states.contents import Contents
from troubadour.execution.states.index import LATELY, Bucket
from troubadour.model.log import TransactionId

SymbolicRow = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A version that is symbolic: exclusive alternatives (guard, row or None for deleted). Where none of the guards
    holds, the transaction did not write the row and the next older version stands."""

    alternatives: tuple[tuple[Guard, SymbolicRow | None], ...]

    @property
    def written(self) -> Guard:
        """Where the row was written at all."""
        return disj(*(guard for guard, _ in self.alternatives))


Version = Row | Guarded | None
"""A concrete row, a symbolic version, or None: deleted."""


class RowHistory:
    """One row's versions, oldest first: `versions[n]` was written at `positions[n]`.

    `author` inserted the row (None: it is initial), as its `ordinal`-th row of that table.
    """

    __slots__ = ("author", "ordinal", "positions", "table", "versions")

    def __init__(self, table: str, author: TransactionId | None, ordinal: int) -> None:
        self.table = table
        self.author = author
        self.ordinal = ordinal
        self.positions: list[int] = []
        self.versions: list[Version] = []

    def __repr__(self) -> str:
        return self.address

    def forget(self, state: int) -> list[Version]:
        """Keep no version that only states before this one have; what is gone."""
        count = bisect_right(self.positions, state) - 1
        if count <= 0:
            return []
        gone = self.versions[:count]
        del self.versions[:count], self.positions[:count]
        return gone

    def shift(self, position: int) -> None:
        """What was written at a position is written at the next one, which wrote nothing to it."""
        positions = self.positions
        if positions[-1] == position:
            positions[-1] += 1
        else:
            positions[bisect_right(positions, position) - 1] += 1

    @property
    def address(self) -> str:
        """The row's identity text in a witness."""
        author = "-" if self.author is None else msgspec.json.encode(self.author).decode()
        return f"{self.table}:{author}:{self.ordinal}"

    def at(self, state: int) -> Version:
        """The version that state `state` has; None where the row does not exist there."""
        positions = self.positions
        if not positions or positions[0] > state:
            return None
        if positions[-1] <= state:
            return self.versions[-1]
        return self.versions[bisect_right(positions, state) - 1]

    def changed_at(self, state: int) -> int:
        """The newest position <= `state` at which the row was written; -1 for none."""
        positions = self.positions
        if not positions or positions[0] > state:
            return -1
        if positions[-1] <= state:
            return positions[-1]
        return positions[bisect_right(positions, state) - 1]


Key = tuple[Value, ...]


def sought(table: str, columns: tuple[int, ...], key: Key) -> int:
    """What stands for rows being looked for by these values."""
    return hash((table, columns, key))


class Undiscovered(Protocol):
    """Tables whose initial rows are not known (see `execution.initial.discovery`)."""

    def find(self, table: str, columns: Sequence[int], values: Sequence[Value]) -> None:
        """A row with these values was asked for."""

    def covers(self, table: str, columns: Collection[int]) -> bool:
        """Whether values of these columns identify a row."""

    def count(self, table: str) -> int:
        """How many rows of a table may have been there, as far as is known."""

    def version(self, table: str, number: int) -> Guarded:
        """What a row may have been."""


_Index = tuple[dict[Key, Bucket], list["RowHistory"]]
"""Rows by their values; those aside that belong to every key."""


class TableHistory:
    """All rows that a table ever had, with an index (H1) from column values to the rows that ever had them.

    Index entries are never removed, so a lookup yields a superset; rows with a symbolic value in an indexed column
    are kept aside and belong to every key. With `undiscovered` the initial rows are not known: a row that is looked up
    by its key may be one of them.
    """

    __slots__ = ("_all", "_discovered", "_floor", "_indexes", "changes", "contents", "rows", "schema", "undiscovered")

    def __init__(self, schema: Table, undiscovered: Undiscovered | None = None) -> None:
        self.schema = schema
        self.undiscovered = undiscovered
        self._discovered = 0
        self.rows: list[RowHistory] = []
        self.changes: list[int] = []
        self.contents = Contents(schema.name, self.changes)
        self._all: Bucket | None = None
        self._floor = 0
        self._indexes: dict[tuple[int, ...], _Index] = {}

    def bucket(self, columns: tuple[int, ...], key: Key) -> Collection[RowHistory]:
        """At least all rows that ever had these values in these columns."""
        if self.undiscovered is not None:
            self.undiscovered.find(self.schema.name, columns, key)
            self.take_discovered()
        index = self._indexes.get(columns) or self._build(columns)
        found = index[0].get(key)
        if not index[1]:
            return found.rows if found is not None else ()
        # a row may have had the key in one version and a symbolic value in another
        return dict.fromkeys([*(() if found is None else found.rows), *index[1]])

    def lately(
        self, columns: tuple[int, ...], key: Key, state: int, newest: int
    ) -> tuple[Collection[RowHistory], RowHistory | None]:
        """At least all rows that have these values in these columns in `state` or later ones, and what stands in a
        footprint for those that had them before (None: nothing)."""
        if self.undiscovered is not None:
            return self.bucket(columns, key), None
        index = self._indexes.get(columns) or self._build(columns)
        found = index[0].get(key)
        if index[1]:
            return self.bucket(columns, key), None
        if found is None:
            return (), None

        def has_it(row: RowHistory) -> bool:
            last = row.versions[-1]
            return last is not None and (
                not isinstance(last, tuple) or tuple([last[column] for column in columns]) == key
            )

        return self._of(found, has_it, state, newest)

    def all_lately(self, state: int, newest: int) -> Collection[RowHistory]:
        """At least all rows that are there in `state` or later ones."""
        if self.undiscovered is not None:
            return self.rows
        if self._all is None:
            self._all = Bucket()
            for row in self.rows:
                self._all.add(row)
        return self._of(self._all, lambda row: row.versions[-1] is not None, state, newest)[0]

    def _of(
        self, bucket: Bucket, wanted: Callable[[RowHistory], bool], state: int, newest: int
    ) -> tuple[Collection[RowHistory], RowHistory | None]:
        active = bucket.lately(newest, wanted, self._marker)
        self._floor = max(self._floor, bucket.floor)
        return (active, bucket.aside) if state >= bucket.floor else (bucket.rows, None)

    def _marker(self, position: int) -> RowHistory:
        row = RowHistory(self.schema.name, None, -1)
        row.positions.append(position)
        row.versions.append(None)
        return row

    def forget_floors(self, length: int) -> None:
        """The states after `length` were taken back."""
        if self._floor <= length:
            return
        self._floor = 0
        for bucket in (self._all, *(bucket for index in self._indexes.values() for bucket in index[0].values())):
            if bucket is not None and bucket.floor > length:
                bucket.forget_floor()
            elif bucket is not None:
                self._floor = max(self._floor, bucket.floor)

    def sought(self, version: Row) -> Iterator[int]:
        """What stands for a row of this version being looked for, by any columns that rows were looked for by."""
        for columns in self._indexes:
            yield sought(self.schema.name, columns, tuple([version[column] for column in columns]))

    def _build(self, columns: tuple[int, ...]) -> _Index:
        index: _Index = ({}, [])
        self._indexes[columns] = index
        for row in self.rows:
            for version in row.versions:
                _enter(index, columns, row, version)
        return index

    def take_discovered(self) -> None:
        """Add the initial rows that were discovered since."""
        assert self.undiscovered is not None
        name = self.schema.name
        while self._discovered < self.undiscovered.count(name):
            row = RowHistory(name, None, self._discovered)
            row.positions.append(0)
            row.versions.append(self.undiscovered.version(name, self._discovered))
            self.rows.append(row)
            self.note(row, row.versions[0])
            self._discovered += 1

    def note(self, row: RowHistory, version: Version) -> None:
        """A version was added to one of the rows."""
        if self._all is not None:
            self._all.add(row)
        for columns, index in self._indexes.items():
            _enter(index, columns, row, version)

    def forget_symbolic(self, row: RowHistory) -> None:
        """A symbolic version of a row was taken back: if it was the last one, indexes need not keep it aside."""
        if not any(isinstance(version, Guarded) for version in row.versions):
            for _, aside in self._indexes.values():
                if row in aside:
                    aside.remove(row)

    def forget(self, rows: Iterable[RowHistory], state: int) -> None:
        """Forget what only states before this one have of some rows; those that are gone by then, whole."""
        absent: set[RowHistory] = set()
        for row in rows:
            gone = row.forget(state)
            if row.versions == [None] and row.positions[0] <= state:
                absent.add(row)
            if gone:
                self._forget_keys(row, gone)
        if absent:
            self.rows = [row for row in self.rows if row not in absent]
            if self._all is not None:
                for row in absent:
                    self._all.discard(row)

    def _forget_keys(self, row: RowHistory, gone: Iterable[Version]) -> None:
        for columns, (by_key, _) in self._indexes.items():
            kept = {tuple([version[c] for c in columns]) for version in row.versions if version.__class__ is tuple}
            for version in gone:
                key = tuple([version[c] for c in columns]) if version.__class__ is tuple else None
                bucket = None if key is None or key in kept else by_key.get(key)
                if bucket is not None and key is not None:
                    bucket.discard(row)
                    if not bucket.rows:
                        del by_key[key]

    def forget_row(self, row: RowHistory, version: Version) -> None:
        """Take back the insert of a row, whose only version was `version`; but for rows discovered since, the last."""
        if self.rows[-1] is row:
            self.rows.pop()
        else:
            self.rows.remove(row)
        if self._all is not None:
            self._all.discard(row)
        for columns, (by_key, aside) in self._indexes.items():
            if isinstance(version, tuple):
                bucket = by_key.get(tuple(version[column] for column in columns))
                if bucket is not None:
                    bucket.discard(row)
            elif row in aside:
                aside.remove(row)


def _enter(
    index: _Index,
    columns: tuple[int, ...],
    row: RowHistory,
    version: Version,
) -> None:
    if version is None:
        return
    by_key, aside = index
    if not isinstance(version, Guarded):
        _add(by_key, tuple([version[column] for column in columns]), row)
        return
    for _, alternative in version.alternatives:
        if alternative is None:
            continue
        values = tuple([alternative[column] for column in columns])
        if all(is_concrete(value) for value in values):
            _add(by_key, values, row)  # type: ignore[arg-type]  # all are concrete
        elif row not in aside:
            aside.append(row)


def _add(by_key: dict[Key, Bucket], key: Key, row: RowHistory) -> None:
    bucket = by_key.get(key)
    if bucket is None:
        bucket = by_key[key] = Bucket()
    bucket.add(row)


class Present:
    """A table's rows at `position`, a state in which it was written (0: the initial one), kept from scan to scan: a
    state next to it differs in few rows. They stand in the order in which they were first placed; rows that are absent
    keep their place."""

    __slots__ = ("_listed", "_pairs", "_symbolic", "position")

    def __init__(self, rows: Iterable[RowHistory], position: int) -> None:
        self.position = position
        self._pairs: dict[RowHistory, tuple[RowHistory, Row] | None] = {}
        self._symbolic: set[RowHistory] = set()
        self._listed: list[tuple[RowHistory, Row]] | None = None
        for row in rows:
            self.renew(row, position)

    def renew(self, row: RowHistory, position: int) -> None:
        """The row is now as `position` has it."""
        version = row.at(position)
        self._symbolic.discard(row)
        if version is None:
            self._pairs[row] = None
        elif version.__class__ is tuple:
            self._pairs[row] = row, version
        else:
            self._pairs[row] = None
            self._symbolic.add(row)
        self._listed = None

    @property
    def size(self) -> int:
        """How many rows it knows, absent ones included."""
        return len(self._pairs)

    def forget(self, row: RowHistory) -> None:
        """The row's insert was taken back."""
        self._pairs.pop(row, None)
        self._symbolic.discard(row)
        self._listed = None

    def rows(self) -> list[tuple[RowHistory, Row]] | None:
        """All rows, never to be changed; None where some are symbolic."""
        if self._symbolic:
            return None
        if self._listed is None:
            self._listed = [pair for pair in self._pairs.values() if pair is not None]
            if len(self._pairs) > 2 * len(self._listed) + LATELY:
                self._drop_old()
        return self._listed

    def _drop_old(self) -> None:
        """Rows that are absent for long lose their place."""
        since = self.position - LATELY
        old = [row for row, pair in self._pairs.items() if pair is None and row.positions[-1] <= since]
        for row in old:
            del self._pairs[row]


WriteMap = dict[RowHistory, Version]
"""The final map *w* of one transaction: whole rows, None for deleted; rows inserted by it have no history yet."""


def alternatives_of(version: Version) -> Iterator[tuple[Guard, SymbolicRow | None]]:
    """The alternatives of any version; a concrete one always stands."""
    if isinstance(version, Guarded):
        yield from version.alternatives
    else:
        yield TRUE, version


def simplest(alternatives: Sequence[tuple[Guard, SymbolicRow | None]]) -> Version:
    """The version with these alternatives, concrete where it is."""
    alive = [(guard, row) for guard, row in alternatives if guard is not FALSE]
    if len(alive) == 1 and alive[0][0] is TRUE:
        row = alive[0][1]
        if row is None or all(is_concrete(value) for value in row):
            return row  # type: ignore[return-value]
    return Guarded(tuple(alive))
