"""The writes of one statement, and the foreign keys and triggers that they touch, as one. Does not know
which rows."""

from __future__ import annotations

from sql_semantics.errors import SqlError
from sql_semantics.run.writes.rows.references import Change, Enforce
from sql_semantics.view import Row, RowId, View


class Writer:
    """Writes through to a view. Where foreign keys or triggers are touched (`enforce`), `finish` carries out what they
    do and check; nothing is left of a statement that fails in it."""

    __slots__ = ("_changes", "_enforce", "_mark", "_view")

    def __init__(self, view: View, enforce: Enforce | None) -> None:
        self._view = view
        self._enforce = enforce
        self._changes: list[Change] = []
        self._mark = None if enforce is None else view.savepoint()

    def insert(self, table: str, new: Row) -> RowId:
        """Add a row."""
        identity = self._view.insert(table, new)
        if self._enforce is not None:
            self._changes.append(Change(table, identity, None, new))
        return identity

    def update(self, table: str, identity: RowId, old: Row, new: Row, assigned: frozenset[int] | None = None) -> None:
        """Replace a row; `assigned`: the columns that are set."""
        self._view.update(table, identity, new)
        if self._enforce is not None:
            self._changes.append(Change(table, identity, old, new, assigned))

    def keep(self, table: str, identity: RowId, row: Row, assigned: frozenset[int] | None = None) -> None:
        """Leave a row that is set to what it is; triggers alone tell it."""
        if self._enforce is not None:
            self._changes.append(Change(table, identity, row, row, assigned, kept=True))

    def delete(self, table: str, identity: RowId, old: Row) -> None:
        """Remove a row."""
        self._view.delete(table, identity)
        if self._enforce is not None:
            self._changes.append(Change(table, identity, old, None))

    def finish(self) -> None:
        """The statement is over. Raises SqlError."""
        if self._enforce is None or not self._changes:
            return
        try:
            self._enforce(self._view, self._changes)
        except SqlError:
            self._view.rollback(self._mark)
            raise
