"""Which rows of a table had given values, and which of them can matter near the newest state (H1).

Rows that lost their values long ago are set aside, so that a lookup costs what is there now and was there lately, not
the length of the log; a lookup in an older state goes through all of them. Does not know what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from troubadour.execution.states.history import RowHistory

LATELY = 128
"""States, the newest ones, within which a row must have changed not to be set aside."""

FEW = 32
"""Rows up to which none are set aside."""


class Bucket:
    """Rows, none of which is ever left out, and the `active` ones among them: every other one is, in the states from
    `floor` on, as it is in state `floor`, and not wanted there. `aside` stands for all of those in a footprint: it
    changed last in state `floor`."""

    __slots__ = ("_limit", "active", "aside", "floor", "rows")

    def __init__(self) -> None:
        self.rows: dict[RowHistory, None] = {}
        self.active = self.rows
        self.floor = 0
        self.aside: RowHistory | None = None
        self._limit = FEW

    def add(self, row: RowHistory) -> None:
        """A row has the values now."""
        self.rows[row] = None
        self.active[row] = None

    def discard(self, row: RowHistory) -> None:
        """The row's insert was taken back."""
        self.rows.pop(row, None)
        self.active.pop(row, None)

    def forget_floor(self) -> None:
        """States before `floor` are the newest ones now."""
        self.active = self.rows
        self.floor = 0
        self.aside = None
        self._limit = FEW

    def lately(
        self, newest: int, wanted: Callable[[RowHistory], bool], marker: Callable[[int], RowHistory]
    ) -> Collection[RowHistory]:
        """The active rows; where they have become many, those are set aside first that did not change lately and are
        not `wanted` now. `marker`: makes the row that stands for them, of the position of their last change."""
        if len(self.active) > self._limit:
            since = newest - LATELY
            for row in [row for row in self.active if not row.positions]:
                # taken back altogether
                self.discard(row)
            old = [row for row in self.active if row.positions[-1] <= since and not wanted(row)]
            if old:
                gone = set(old)
                self.active = {row: None for row in self.active if row not in gone}
                self.floor = max(self.floor, *(row.positions[-1] for row in old))
                self.aside = marker(self.floor)
            self._limit = max(FEW, 2 * len(self.active))
        return self.active
