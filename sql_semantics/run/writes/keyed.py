"""Writes under a handler that may be for a violated key: the key is looked at when the row is written.

Elsewhere keys are judged where the newest state is known, after the transaction. Here the program goes on differently
where a row is in the way, so it must be known at once. A row in the way that the statement does not read was committed
later; whether the DBMS met it is its choice. Does not know foreign keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, Truncate, Update
from sql_semantics.ir.statements import Write as WriteStatement
from sql_semantics.ir.walks.effects import sets_others
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import Arguments, Frame
from sql_semantics.run.writes.rows.keys import Key, compile_keys, is_visible, rivals
from sql_semantics.run.writes.write import Write, Written
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Row, RowId, View

Keys = Mapping[str, tuple[Key, ...]]


class KeyedView(DelegatingView):
    """A view for one statement, whose inserts and updates raise SqlError for a key that another row has."""

    def __init__(self, view: View, keys: Keys, state: str) -> None:
        super().__init__(view)
        self._keys = keys
        self._state = state
        self._moved = 0

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row, whole."""
        for key in self._keys[table]:
            old = next((found for identity, found in rivals(self._view, table, key, values) if identity == row), None)
            if old is None and key.value(values) is not None:
                # the row's key changes; with several of them their order decides which is in the way of which
                self._moved += 1
                if self._moved > 1:
                    raise Unsupported("an UPDATE of several rows' keys under a handler")
                self._check(table, key, values)
        self._view.update(table, row, values)

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row under a fresh identity."""
        for key in self._keys[table]:
            self._check(table, key, values)
        return self._view.insert(table, values)

    def _check(self, table: str, key: Key, values: Row) -> None:
        for identity, other in rivals(self._view, table, key, values):
            if not is_visible(self._view, table, key, identity, other):
                self._view.arbitrary("a row in the way of a key that the statement does not read, under a handler")
            raise SqlError(self._state, f"duplicate value of key {key.unique.name!r}", number=1062)


def moves_keys(statement: WriteStatement, catalog: Catalog) -> bool:
    """Whether a write can make a row stand in another's way."""
    match statement:
        case Delete() | Truncate():
            return False
        case Insert(table):
            return table not in catalog.tables or bool(catalog.tables[table].keys)
        case Update(table, assignments) if table in catalog.tables:
            keys = catalog.tables[table].keys
            if sets_others(table, catalog):
                return bool(keys)
            assigned = {position for position, _ in assignments}
            return any(not key.plain or assigned & set(key.columns) for key in keys)
    return True


def keyed(write: Write, catalog: Catalog, dialect: Dialect) -> Write:
    """The write with its keys looked at; one that fails leaves nothing behind."""
    keys = {name: compile_keys(table, dialect) for name, table in catalog.tables.items()}
    state = unique_state(dialect)

    def run(view: View, args: Arguments, frame: Frame) -> Written:
        mark = view.savepoint()
        try:
            return write(KeyedView(view, keys, state), args, frame)
        except SqlError:
            view.rollback(mark)
            raise

    return run


def unique_state(dialect: Dialect) -> str:
    """The SQLSTATE of a violated key."""
    return dialect.rules.running.key_state
