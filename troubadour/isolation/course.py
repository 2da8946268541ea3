"""Whether times leave the transactions of a log one order up to one of them, in which each sees all before it; or up to
a few of them, among which others are left.

Does not know what any of them read or wrote.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
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
        if not self._has_one_state(self._log.transactions[place]):
            return False
        return self.window(place, 1) == range(place, place + 1)

    def window(self, place: int, most: int) -> range | None:
        """The places of few transactions, that at `place` among them: all before them come one after another, each of
        which sees those before it, and they see these all; what is behind them comes later than they all. None where
        that takes more than `most`, or the one at `place` was aborted."""
        if self._log.transactions[place].status == "aborted":
            return None
        chain = self._chain(place, most)
        while True:
            last, at = (None, -1) if not chain else chain.pop()
            inside = [number for number, _ in islice(self._effective(at + 1, place + 1), most + 1)]
            if len(inside) > most:
                return None
            if last is not None and not self._is_seen(last, inside[0], place + 1):
                continue
            found = self._closed(inside[0], place, most)
            if last is None or (found is not None and self._is_seen(last, place + 1, found.stop)):
                return found

    def _chain(self, place: int, most: int) -> list[tuple[Transaction, int]]:
        """The last of those before a place that come one after another, with their places; all of them where none of
        them is left out."""
        chain: deque[tuple[Transaction, int]] = deque(maxlen=most)
        before: Transaction | None = None
        for number, one in self._effective(0, place):
            if not self._has_one_state(one) or (before is not None and not self._follows(before, one)):
                break
            chain.append((one, number))
            before = one
        return list(chain)

    def _is_seen(self, last: Transaction, first: int, end: int) -> bool:
        """Whether those at some places see a transaction."""
        return all(self._sees(last, one) for _, one in self._effective(first, end))

    def _closed(self, first: int, place: int, most: int) -> range | None:
        """The places from the first one on, behind which all come later than all of them."""
        inside, waiting = [one for _, one in self._effective(first, place + 1)], list[Transaction]()
        over, end = _Over(inside), place + 1
        for number, one in self._effective(end, None):
            near = number - first < most
            if near:
                waiting.append(one)
            if self._level(one).real_time and (over.is_before(one) or all(self._precedes(x, one) for x in inside)):
                continue
            if not near:
                return None
            inside, waiting, end = inside + waiting, [], number + 1
            over = _Over(inside)
        return range(first, end)

    def _effective(self, first: int, end: int | None) -> Iterator[tuple[int, Transaction]]:
        transactions = self._log.transactions
        places = range(first, len(transactions) if end is None else min(end, len(transactions)))
        # one by one: to skip those before the first one would be to decode them
        return ((number, one) for number in places if (one := transactions[number]).status != "aborted")

    def _has_one_state(self, one: Transaction) -> bool:
        level = self._level(one)
        one_state = level.visible is Visible.STATE and level.scope is Scope.TRANSACTION and not level.dirty
        return one_state and level.real_time and (level.horizon.latest or level.horizon.at_start)

    def _level(self, one: Transaction) -> Level:
        level = self._levels.get(one.isolation)
        if level is None:
            level = self._levels[one.isolation] = self._level_of(one)
        return level

    def _follows(self, first: Transaction, second: Transaction) -> bool:
        """Whether one transaction comes after another, and sees it; of one that has one state."""
        if _surely_follows(first, second):
            return True
        earlier, later = (times_of(one, 0, self._dialect, self._tables) for one in (first, second))
        if not precedes(earlier, later):
            return False
        return self._level(second).horizon.latest or in_snapshot(earlier, later) is True

    def _sees(self, first: Transaction, second: Transaction) -> bool:
        return self._has_one_state(second) and self._follows(first, second)

    def _precedes(self, first: Transaction, second: Transaction) -> bool:
        """Whether one transaction comes after another, of one whose level keeps real time."""
        earlier, later = (times_of(one, 0, self._dialect, self._tables) for one in (first, second))
        return precedes(earlier, later)


class _Over:
    """When some transactions were over, by both kinds of times; None where it is not known of each."""

    def __init__(self, some: Sequence[Transaction]) -> None:
        commits = [one.commit for one in some]
        answers = [one.returned if one.status == "committed" else None for one in some]
        self._clock = some[0].clock
        self._commit = max((one for one in commits if one is not None), default=None) if None not in commits else None
        known = None not in answers and all(one.clock == self._clock for one in some)
        self._answered = max((one for one in answers if one is not None), default=None) if known else None

    def is_before(self, one: Transaction) -> bool:
        """Whether they all were over before one began, for what these times say."""
        if self._commit is not None and one.start is not None and self._commit < one.start:
            return True
        if self._answered is None or one.invoked is None or one.clock != self._clock:
            return False
        return self._answered < one.invoked


def _surely_follows(first: Transaction, second: Transaction) -> bool:
    """What the DBMS's times say at once, or client times alone of transactions that have no others."""
    if first.commit is not None and second.start is not None:
        return first.commit < second.start
    over, sent = first.returned, second.invoked
    if over is None or sent is None or over >= sent or first.clock != second.clock or second.start is not None:
        return False
    if second.snapshot_at is not None or second.begin is not None or first.end is None or not second.statements:
        return False
    answered, asked = first.end.returned, second.statements[0].invoked
    return answered is not None and answered <= over and asked is not None and asked >= sent
