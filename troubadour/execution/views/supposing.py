"""A transaction run once more on its state, in which queries find some rows otherwise than they were: whether it read
them shows in what it answers and writes then. Does not know who wrote those rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sql_semantics.values.types import Value
from troubadour.execution.free.choices import Choices
from troubadour.execution.given import PLAIN, Given
from troubadour.execution.states.history import RowHistory, Version
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.writing import Found
from troubadour.model.log import TransactionId

Sought = tuple[str, tuple[int, ...], tuple[Value, ...]]
"""A table, columns, and the values by which rows were looked for; none where the whole table was looked at."""


class SupposingView(ConcreteView):
    """Queries find the rows of `supposed` in these versions, None for no row; keys and other constraints meet what they
    met. `sought`: by what queries looked for rows."""

    __slots__ = ("_constrained", "_supposed", "sought")

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        choices: Choices,
        given: Given = PLAIN,
        supposed: Mapping[RowHistory, Version] | None = None,
    ) -> None:
        super().__init__(states, author, choices, given)
        self._supposed = supposed or {}
        self._constrained = False
        self.sought: set[Sought] = set()

    def scan(self, table: str) -> Found:
        """See `View`."""
        return self._as_supposed((table, (), ()), super().scan(table))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        return self._as_supposed((table, tuple(columns), tuple(key)), super().lookup(table, columns, key))

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        before, self._constrained = self._constrained, True
        try:
            return super().rivals(table, columns, key)
        finally:
            self._constrained = before

    def contents(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """No state holds what this view shows."""
        return None

    def contents_ahead(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """See `contents`."""
        return None

    def _as_supposed(self, sought: Sought, found: Found) -> Found:
        if self._constrained:
            return found
        self.sought.add(sought)
        other = [
            (row, version) for row, version in self._supposed.items() if row.table == sought[0] and row not in self._own
        ]
        if not other:
            return found
        kept = [pair for pair in found if pair[0] not in self._supposed or pair[0] in self._own]
        return kept + [(row, version) for row, version in other if isinstance(version, tuple)]
