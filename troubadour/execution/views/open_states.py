"""Rows that may hold anything: the view of a transaction whose reads do not matter.

Does not know why they do not matter.
"""

from __future__ import annotations

from sql_semantics.ir.schema import Table, TableColumn
from sql_semantics.terms import (
    TRUE,
    Scalar,
    atom,
    is_concrete,
)
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.states.history import (
    Guarded,
    RowHistory,
    SymbolicRow,
    alternatives_of,
)
from troubadour.execution.views.guarded import Alternatives, GuardedStates, ReadId


class OpenStates(GuardedStates):
    """A view for a transaction whose reads do not matter: every row it looks at may hold anything, but for key columns
    that never changed; another thing in each execution, where these read states of their own (`row_scope`)."""

    known_keys: dict[RowHistory, tuple[int, SymbolicRow | None, bool]]
    """Per row: how many versions were looked at, the values of columns that never changed (unknown ones elsewhere),
    and whether the row existed in all of them."""

    def _surely_seen(self) -> int:
        return -1

    def _refuse_newer(self) -> None:
        """Whatever is read may hold anything."""

    def _at(self, row: RowHistory, read: ReadId, masked: frozenset[int], high: int | None = None) -> Alternatives:
        shape, always = self._shape(row)
        if shape is None:
            return []
        apart = () if read.statement is None else (read.statement, read.execution)
        if apart:
            columns = self._states.tables[row.table].schema.columns
            shape = tuple(
                value if is_concrete(value) else _anything(row, index, columns[index], apart)
                for index, value in enumerate(shape)
            )
        if always and row.positions[0] <= self._low:
            return [(TRUE, shape)]
        return [(atom(("exists for", self._reader, row.address, *apart)), shape)]

    def _shape(self, row: RowHistory) -> tuple[SymbolicRow | None, bool]:
        seen, shape, always = self.known_keys.get(row, (0, None, True))
        schema = self._states.tables[row.table].schema
        for version in row.versions[seen:]:
            for _, values in alternatives_of(version):
                always = always and values is not None
                if values is not None:
                    shape = open_row(schema, row, shape, values)
            always = always and not (isinstance(version, Guarded) and seen == 0 and version.written is not TRUE)
        self.known_keys[row] = (len(row.versions), shape, always)
        return shape, always


def open_row(schema: Table, row: RowHistory, shape: SymbolicRow | None, values: SymbolicRow) -> SymbolicRow:
    """A row whose key columns are as they always were and whose other columns are unknown."""
    keys = {column for key in schema.keys for column in key.columns}
    found: list[Scalar] = []
    for index, column in enumerate(schema.columns):
        value = values[index] if shape is None else shape[index]
        if index in keys and is_concrete(value) and value == values[index]:
            found.append(value)
        else:
            found.append(_anything(row, index, column))
    return tuple(found)


def _anything(row: RowHistory, index: int, column: TableColumn, apart: tuple[object, ...] = ()) -> Scalar:
    """Whatever a column may hold, by the name of its place; `apart` tells reads of different states from each other."""
    return unknown_value(("open", row.address, index, *apart), column.type, column.not_null)
