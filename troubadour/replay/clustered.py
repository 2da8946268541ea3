"""Which rows of a snapshot own writes hide where rows are kept by their clustered key: InnoDB.

A consistent read that comes by a key which its own transaction wrote finds what that left there, be it another row, and
the snapshot's version under any other key. Tried on MariaDB 10.11. Does not know which statements read consistently.
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.values.text import differ_for_certain
from sql_semantics.values.types import Kind
from sql_semantics.view import Row
from troubadour.replay.store import RowName, StoredTable


class KeysWritten:
    """The clustered keys, by table, of the rows that a transaction wrote, before and after."""

    def __init__(self) -> None:
        self._keys: dict[str, set[Row]] = {}

    def note(self, table: StoredTable, *versions: Row | None) -> None:
        """A row was written: what it was and what it is, None for no row."""
        columns = table.schema.clustered
        if columns:
            found = self._keys.setdefault(table.schema.name, set())
            found |= {tuple([values[column] for column in columns]) for values in versions if values is not None}

    def hide(self, table: StoredTable, name: RowName, values: Row, *, own: bool) -> bool:
        """Whether a row of the snapshot is not seen. `own`: the transaction wrote that row. Raises Unsupported where
        another text may be the same key."""
        columns = table.schema.clustered
        if not columns:
            return own
        key, written = tuple([values[column] for column in columns]), self._keys.get(table.schema.name, ())
        if key in written:
            return True
        types = [table.schema.columns[column].type for column in columns]
        loose = any(type_.kind is Kind.TEXT and (type_.padded or table.folded) for type_ in types)
        if loose and (own or name not in table.newest) and not all(differ_for_certain(key, one) for one in written):
            raise Unsupported("the snapshot's version of a row, where another text may be the same key")
        return False

    def copy(self) -> KeysWritten:
        """As it is now."""
        twin = KeysWritten()
        twin._keys = {table: set(keys) for table, keys in self._keys.items()}
        return twin
