"""The view that a concrete program is given when it runs on guarded rows.

Whether a row exists is decided when the program reads its table. Writes stay here until all paths are known, and are
then made once per row, under the conditions of the paths that made them. What is read of the view below is the same
on every path, so it is read once per statement execution. Does not know which program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.paths.opaque import Unknown, lazy, plain, scalars_of
from sql_semantics.guarded.paths.running import Explorer
from sql_semantics.records import dataclass
from sql_semantics.terms import Scalar, Term
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, GuardedRow, GuardedView, Mark, RowId, View

Scalars = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class NewRow:
    """The identity of the path's `ordinal`-th new row of a table."""

    table: str
    ordinal: int


Own = dict[RowId, tuple[str, Scalars | None]]
"""What a path wrote: per row its table and its values, None where it was deleted."""


@dataclass(slots=True)
class Written:
    """The writes of one path; `first` are the values with which new rows came in."""

    own: Own
    first: dict[NewRow, Scalars]


class DecidingView:
    """A `View` of a `GuardedView`, on one path after the other."""

    def __init__(self, view: GuardedView, explorer: Explorer) -> None:
        self._view = view
        self._explorer = explorer
        self._executions: list[int] = []
        self._resumed = -1
        self._read: dict[Hashable, list[GuardedRow]] = {}
        self.restart()

    def restart(self) -> None:
        """A path begins."""
        self._execution = -1
        self._drawn: dict[int, int] = {}
        self._own: Own = {}
        self._insertions: dict[str, int] = {}
        self._first: dict[NewRow, Scalars] = {}
        self.savepoints: list[tuple[str, Mark]] = [(name, None) for name, _ in self._view.savepoints]

    def free(self, source: str, name: str, type: SqlType) -> Any:
        """See `View`. Ties between values (``currval`` and the last ``nextval``) are not kept: this admits more."""
        ordinal = self._drawn.get(self._execution, 0)
        self._drawn[self._execution] = ordinal + 1
        scalar = self._below().free(source, name, type, ordinal)
        if isinstance(scalar, Term):
            self._explorer.unknown = True
            return Unknown(self._explorer, scalar)
        return scalar

    def written(self) -> Written:
        """The path's writes. Raises Unsupported where it left other savepoints than it met."""
        if self.savepoints != [(name, None) for name, _ in self._view.savepoints]:
            raise Unsupported(f"SAVEPOINT in {self._explorer.what} on symbolic rows")
        return Written(self._own, self._first)

    @property
    def begun(self) -> int:
        """Statement executions that the longest path so far began."""
        return len(self._executions)

    rechecks = False
    locks = False
    apart = False

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`. The n-th execution of every path is the same one of the view below."""
        self._execution += 1
        if self._execution == len(self._executions):
            self._executions.append(self._view.begin(self._explorer.entry))
            self._resumed = self._execution

    def suspend(self) -> Mark:
        """See `View`: every execution reads the same."""
        return None

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def current(self, table: str, row: RowId, values: Any, *, locks: bool = True) -> Any:
        """See `View`: there is one version."""
        return values

    def _below(self) -> GuardedView:
        if self._resumed != self._execution:
            self._view.resume(self._executions[self._execution])
            self._resumed = self._execution
        return self._view

    def scan(self, table: str) -> list[tuple[RowId, Any]]:
        """See `View`."""
        return self._existing(table, self._once(("scan", table), lambda view: view.scan(table)))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Any]) -> list[tuple[RowId, Any]]:
        """See `View`. An unknown in the key makes it a scan."""
        if any(type(value) is Unknown for value in key):
            return self.scan(table)
        for value in key:
            plain(value)
        name = ("lookup", table, tuple(columns), tuple(key))
        rows = self._once(name, lambda view: view.lookup(table, columns, key))
        return self._existing(table, rows, _numbers(columns, key))

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Any]) -> list[tuple[RowId, Any]]:
        """See `View`. An unknown in the key makes it all rows."""
        if any(type(value) is Unknown for value in key):
            columns, key = (), ()
        for value in key:
            plain(value)
        name = ("rivals", table, tuple(columns), tuple(key))
        rows = self._once(name, lambda view: view.rivals(table, columns, key))
        return self._existing(table, rows, _numbers(columns, key))

    def own(self, table: str) -> list[tuple[RowId, Any]]:
        """Raises Unsupported: below, own writes are not told from others'."""
        raise Unsupported("a table that was created or dropped after the snapshot, where rows are symbolic")

    def held(self, table: str, columns: Sequence[int], key: Sequence[Any]) -> list[tuple[RowId, Any]]:
        """See `View`: as `rivals`."""
        return self.rivals(table, columns, key)

    def _once(self, name: Hashable, read: Callable[[GuardedView], Iterable[GuardedRow]]) -> list[GuardedRow]:
        """The rows that this read gives in the current execution."""
        key = (self._execution, name)
        rows = self._read.get(key)
        if rows is None:
            rows = self._read[key] = list(read(self._below()))
        return rows

    def _existing(
        self, table: str, rows: Sequence[GuardedRow], wanted: Sequence[tuple[int, Value]] = ()
    ) -> list[tuple[RowId, Any]]:
        """The rows that exist on this path, but for those whose numbers certainly are not those `wanted`."""
        explorer, own = self._explorer, self._own
        found: list[tuple[RowId, Any]] = []
        for row, guard, values in rows:
            if row not in own and self._may_equal(values, wanted) and explorer.holds(guard):
                found.append((row, lazy(explorer, values, table)))
        for row, (of, written) in own.items():
            if of == table and written is not None and self._may_equal(written, wanted):
                found.append((row, lazy(explorer, written, table)))
        return found

    def _may_equal(self, values: Scalars, wanted: Sequence[tuple[int, Value]]) -> bool:
        return all(
            any(not _is_number(leaf) or leaf == value for _, leaf in self._explorer.possible(values[column]))
            for column, value in wanted
        )

    def update(self, table: str, row: RowId, values: Sequence[Any]) -> None:
        """See `View`."""
        self._own[row] = (table, scalars_of(values))

    def delete(self, table: str, row: RowId) -> None:
        """See `View`."""
        self._own[row] = (table, None)

    def insert(self, table: str, values: Sequence[Any]) -> RowId:
        """See `View`."""
        ordinal = self._insertions.get(table, 0)
        self._insertions[table] = ordinal + 1
        row = NewRow(table, ordinal)
        self._first[row] = scalars_of(values)
        self._own[row] = (table, self._first[row])
        return row

    def choose(self, count: int, what: str) -> int:
        """See `View`: every way is a path of its own."""
        ordinal = self._drawn.get(self._execution, 0)
        self._drawn[self._execution] = ordinal + 1
        below = self._below()
        for number in range(count - 1):
            if self._explorer.holds(below.option(ordinal, number)):
                return number
        return count - 1

    def arbitrary(self, what: str) -> None:
        """Raises Unsupported: the choice would have to be open on symbolic rows too."""
        raise Unsupported(what)

    def savepoint(self) -> Mark:
        """See `View`."""
        return self._own.copy(), self._insertions.copy(), self._first.copy()

    def aside(self) -> View:
        """Itself: such levels are not decided on symbolic rows."""
        return self

    def attempting(self, step: int) -> None:
        """See `View`."""

    def rollback(self, mark: Mark) -> None:
        """See `View`."""
        if mark is None:
            raise Unsupported(f"ROLLBACK TO in {self._explorer.what} on symbolic rows")
        own, insertions, first = mark
        self._own, self._insertions, self._first = own.copy(), insertions.copy(), first.copy()


def _numbers(columns: Sequence[int], key: Sequence[Any]) -> list[tuple[int, Value]]:
    """The columns that are looked up by a number."""
    return [(column, value) for column, value in zip(columns, key, strict=False) if _is_number(value)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
