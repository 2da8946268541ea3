"""Committed states, and the view of a transaction on one of them (paper §3.2, *readVal*, in its plainest form).

A state maps tables to rows by identity; a commit makes a new one. Does not know transactions, nor when faults happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId
from troubadour.record.simulated.faults import Faults

State = Mapping[str, Mapping[RowId, Row]]
Writes = dict[str, dict[RowId, Row | None]]
"""What a transaction leaves behind: rows by identity, None for one that is gone."""


def over(state: State, writes: Mapping[str, Mapping[RowId, Row | None]]) -> State:
    """The state after these writes; the given one stays as it is."""
    changed = dict(state)
    for table, rows in writes.items():
        found: dict[RowId, Row] = dict(state[table])
        for identity, row in rows.items():
            if row is None:
                found.pop(identity, None)
            else:
                found[identity] = row
        changed[table] = found
    return changed


def each(writes: Mapping[str, Mapping[RowId, Row | None]]) -> Iterator[tuple[str, RowId, Row | None]]:
    """Every row written, one by one."""
    for table, rows in writes.items():
        for identity, row in rows.items():
            yield table, identity, row


class StateView:
    """A `sql_semantics.view.View`: reads of `base` below the transaction's own writes; keys meet the newest state.

    `read` collects the tables read. `base` may be exchanged between statements. `aggregating`: the statement that runs
    next computes an aggregate.
    """

    def __init__(self, base: State, newest: Callable[[], State], fresh: Callable[[], int], faults: Faults) -> None:
        self.base = base
        self.writes: Writes = {table: {} for table in base}
        self.read: set[str] = set()
        self.savepoints: list[tuple[str, Mark]] = []
        self.aggregating = False
        self._newest = newest
        self._fresh = fresh
        self._faults = faults

    rechecks = False
    locks = False
    apart = False

    def begin(self, acting: Acting = "reads") -> None:
        """All executions of a statement read the same state."""

    def suspend(self) -> Mark:
        """See `View`."""

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """The row as it was found."""
        return values

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `rivals`."""
        return self.rivals(table, columns, key)

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row."""
        return self._faulty(self._merged(self.base, table))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """The rows with these values."""
        return self._faulty(self._having(self._merged(self.base, table), columns, key))

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """The rows with these values in the newest state, and of the transaction's own."""
        return self._having(self._merged(self._newest(), table), columns, key)

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """What the transaction itself wrote."""
        return [(identity, row) for identity, row in self.writes[table].items() if row is not None]

    def _merged(self, state: State, table: str) -> list[tuple[RowId, Row]]:
        self.read.add(table)
        own = self.writes[table]
        if not own:
            return list(state[table].items())
        found = [(identity, own.get(identity, row)) for identity, row in state[table].items()]
        found += [(identity, row) for identity, row in own.items() if identity not in state[table]]
        return [(identity, row) for identity, row in found if row is not None]

    @staticmethod
    def _having(rows: list[tuple[RowId, Row]], columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowId, Row]]:
        places = list(zip(columns, key, strict=True))
        return [item for item in rows if all(item[1][column] == value for column, value in places)]

    def _faulty(self, rows: list[tuple[RowId, Row]]) -> list[tuple[RowId, Row]]:
        if rows and self._faults.now("missed-row"):
            rows = list(rows)
            del rows[self._faults.random.randrange(len(rows))]
        if rows and self.aggregating and self._faults.now("wrong-aggregate"):
            rows = [*rows, self._faults.random.choice(rows)]
        return rows

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row."""
        self.writes[table][row] = values

    def delete(self, table: str, row: RowId) -> None:
        """Remove a row."""
        self.writes[table][row] = None

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row."""
        identity = self._fresh()
        self.writes[table][identity] = values
        return identity

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """The simulated server chooses nothing."""
        raise Unsupported(f"a value that the DBMS chooses ({source})")

    def choose(self, count: int, what: str) -> int:
        """Any way will do."""
        return 0

    def arbitrary(self, what: str) -> None:
        """Any answer will do."""

    def savepoint(self) -> Mark:
        """A copy of the writes."""
        return {table: dict(rows) for table, rows in self.writes.items()}

    def aside(self) -> StateView:
        """Itself."""
        return self

    def attempting(self, step: int) -> None:
        """See `View`."""

    def rollback(self, mark: Mark) -> None:
        """Back to the copy."""
        self.writes = {table: dict(rows) for table, rows in mark.items()}
