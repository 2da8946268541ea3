"""Transactions without a place at their turn, which wait until those around them have theirs.

From aborted ones nothing follows, so they constrain no other transaction; of the others those that come next tell
what they saw. Does not know which may wait, nor how the order is changed where there is no place at all.
"""

from __future__ import annotations

from troubadour.isolation.levels import Scope
from troubadour.problem.budget import SOME
from troubadour.search.repair.placer import Frontier

PATIENCE = 32
"""Transactions of the hint order that one waits for."""


class Late:
    """Those that wait, by their places in hint order."""

    def __init__(self, frontier: Frontier, patience: int | None = PATIENCE) -> None:
        """`patience`: transactions that one waits for; None: all."""
        self._frontier = frontier
        self._patience = patience
        self._waiting: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, number: int, item: int) -> None:
        """The item at a place in hint order waits."""
        self._waiting[number] = item

    def clear(self) -> None:
        """No transaction waits any more."""
        self._waiting.clear()

    def verified(self, number: int) -> int:
        """How many of the hint order are explained when its first `number` had their turn."""
        return min([number, *self._waiting])

    def place(self) -> None:
        """Retry the postponed transactions."""
        for number, item in [*self._waiting.items()]:
            by_row = self._frontier.problem.levels[item].scope is Scope.ROW
            runs = None if by_row else SOME
            if item in self._frontier.placed or self._frontier.place(item, runs=runs, likely=by_row) is None:
                del self._waiting[number]

    def due(self, number: int | None) -> int | None:
        """The place in hint order of one that waits no longer, where the first `number` had their turn (None: all
        have), and that has no place among the latest placements either; None where there is none."""
        for one, item in [*self._waiting.items()]:
            if number is not None and (self._patience is None or one + self._patience > number):
                return None
            del self._waiting[one]
            if self._frontier.problem.levels[item].scope is Scope.ROW or not self._put_back(item):
                return one
        return None

    def _put_back(self, item: int) -> bool:
        """Put it before the latest placements; False, with everything as before, where it has no place there."""
        frontier = self._frontier
        length = len(frontier.trace)
        return any(
            frontier.replace(base, [item, *(placement.item for placement in frontier.trace.placements[base:])])
            for base in range(length - 1, max(length - SOME, 0) - 1, -1)
        )
