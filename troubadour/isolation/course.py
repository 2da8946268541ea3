"""Whether times leave the transactions of a log one order up to one of them, in which each sees all before it.

Does not know what any of them read or wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from troubadour.isolation.levels import Level, Scope, Visible
from troubadour.isolation.times import in_snapshot, precedes, times_of
from troubadour.model.log import Log, Transaction


class Course:
    """Which transaction comes after which, in every order, one by one."""

    def __init__(
        self, log: Log, dialect: str, tables: Collection[str], level_of: Callable[[Transaction], Level]
    ) -> None:
        """`tables`: the names of the tables in lower case; `level_of`: the level of a transaction."""
        self._log = log
        self._dialect = dialect
        self._tables = tables
        self._level_of = level_of
        self._levels: dict[str | None, Level] = {}

    def is_only(self, place: int) -> bool:
        """Whether the transactions up to a place come one after another, each of which sees those before it, and all
        others come later."""
        before: Transaction | None = None
        for one in self._effective(0, place + 1):
            if not self._has_one_state(one) or (before is not None and not self._follows(before, one)):
                return False
            before = one
        last = self._log.transactions[place]
        return before is last and all(
            self._follows(last, other, sees=False) for other in self._effective(place + 1, None)
        )

    def _effective(self, first: int, end: int | None) -> Iterator[Transaction]:
        return (one for one in islice(self._log.transactions, first, end) if one.status != "aborted")

    def _has_one_state(self, one: Transaction) -> bool:
        level = self._level(one)
        one_state = level.visible is Visible.STATE and level.scope is Scope.TRANSACTION and not level.dirty
        return one_state and level.real_time and (level.horizon.latest or level.horizon.at_start)

    def _level(self, one: Transaction) -> Level:
        level = self._levels.get(one.isolation)
        if level is None:
            level = self._levels[one.isolation] = self._level_of(one)
        return level

    def _follows(self, first: Transaction, second: Transaction, *, sees: bool = True) -> bool:
        """Whether one transaction comes after another, and sees it where that is asked."""
        if _surely_follows(first, second):
            return True
        earlier, later = (times_of(one, 0, self._dialect, self._tables) for one in (first, second))
        level = self._level(second)
        if not (level.real_time and precedes(earlier, later)):
            return False
        return not sees or level.horizon.latest or in_snapshot(earlier, later) is True


def _surely_follows(first: Transaction, second: Transaction) -> bool:
    """What client times alone say at once of transactions that have no others."""
    over, sent = first.returned, second.invoked
    if over is None or sent is None or over >= sent or first.clock != second.clock or second.start is not None:
        return False
    if second.snapshot_at is not None or second.begin is not None or first.end is None or not second.statements:
        return False
    answered, asked = first.end.returned, second.statements[0].invoked
    return answered is not None and answered <= over and asked is not None and asked >= sent
