"""A view over another one: what wrappers of a view leave as it is. Does not know what they change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId, View


class DelegatingView:
    """A `View` that answers everything as the view below does."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.savepoints = view.savepoints
        self.rechecks = view.rechecks
        self.locks = view.locks
        self.apart = view.apart

    @property
    def below(self) -> View:
        """The view that answers."""
        return self._view

    def begin(self, acting: Acting = "reads") -> None:
        """As the view below."""
        self._view.begin(acting)

    def suspend(self) -> Mark:
        """As the view below."""
        return self._view.suspend()

    def resume(self, mark: Mark) -> None:
        """As the view below."""
        self._view.resume(mark)

    def aside(self) -> View:
        """Itself."""
        return self

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """As the view below."""
        return self._view.current(table, row, values, locks=locks)

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """As the view below."""
        return self._view.scan(table)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As the view below."""
        return self._view.lookup(table, columns, key)

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As the view below."""
        return self._view.rivals(table, columns, key)

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """As the view below."""
        return self._view.own(table)

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As the view below."""
        return self._view.held(table, columns, key)

    def update(self, table: str, row: RowId, values: Row) -> None:
        """As the view below."""
        self._view.update(table, row, values)

    def delete(self, table: str, row: RowId) -> None:
        """As the view below."""
        self._view.delete(table, row)

    def insert(self, table: str, values: Row) -> RowId:
        """As the view below."""
        return self._view.insert(table, values)

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """As the view below."""
        return self._view.free(source, name, type)

    def choose(self, count: int, what: str) -> int:
        """As the view below."""
        return self._view.choose(count, what)

    def arbitrary(self, what: str) -> None:
        """As the view below."""
        self._view.arbitrary(what)

    def savepoint(self) -> Mark:
        """As the view below."""
        return self._view.savepoint()

    def attempting(self, step: int) -> None:
        """As the view below."""
        self._view.attempting(step)

    def rollback(self, mark: Mark) -> None:
        """As the view below."""
        self._view.rollback(mark)
