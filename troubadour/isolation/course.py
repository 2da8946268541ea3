"""Whether times leave the transactions of a log one order up to one of them, in which each sees all before it; or up to
a few of them, among which others are left.

Does not know what any of them read or wrote.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from troubadour.isolation.levels import Level, Scope, Visible
from troubadour.isolation.times import Times, in_snapshot, precedes, times_of
from troubadour.model.log import Log, Outline, Transaction

_Placed = tuple[int, Outline | Transaction]
"""A transaction by its place, and what tells when it ran."""


class Course:
    """Which transaction comes after which, in every order, one by one."""

    def __init__(self, log: Log, dialect: str, tables: Collection[str], level_of: Callable[[int], Level]) -> None:
        """`tables`: the names of the tables in lower case; `level_of`: the level of the transaction at a place."""
        self._log = log
        self._dialect = dialect
        self._tables = tables
        self._level_of = level_of
        self._levels: dict[str | None, Level] = {}

    def is_only(self, place: int) -> bool:
        """Whether the transactions up to a place come one after another, each of which sees those before it, and all
        others come later."""
        if not self._has_one_state((place, self._log.transactions[place])):
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
            last = chain.pop() if chain else None
            inside = [*islice(self._effective(0 if last is None else last[0] + 1, place + 1), most + 1)]
            if len(inside) > most:
                return None
            first = inside[0][0]
            if last is not None and not self._is_seen(last, first, place + 1):
                continue
            found = self._closed(first, place, most)
            if last is None or (found is not None and self._is_seen(last, place + 1, found.stop)):
                return found

    def _chain(self, place: int, most: int) -> list[_Placed]:
        """The last of those before a place that come one after another; all of them where none of them is left out."""
        chain: deque[_Placed] = deque(maxlen=most)
        before: _Placed | None = None
        for one in self._effective(0, place):
            if not self._has_one_state(one) or (before is not None and not self._follows(before, one)):
                break
            chain.append(one)
            before = one
        return list(chain)

    def _is_seen(self, last: _Placed, first: int, end: int) -> bool:
        """Whether those at some places see a transaction."""
        return all(self._sees(last, one) for one in self._effective(first, end))

    def _closed(self, first: int, place: int, most: int) -> range | None:
        """The places from the first one on, behind which all come later than all of them."""
        inside, waiting = [*self._effective(first, place + 1)], list[_Placed]()
        over, end = _Over([one for _, one in inside]), place + 1
        for one in self._effective(end, None):
            near = one[0] - first < most
            if near:
                waiting.append(one)
            if self._level(one).real_time and (over.is_before(one[1]) or all(self._precedes(x, one) for x in inside)):
                continue
            if not near:
                return None
            inside, waiting, end = inside + waiting, [], one[0] + 1
            over = _Over([one for _, one in inside])
        return range(first, end)

    def _effective(self, first: int, end: int | None) -> Iterator[_Placed]:
        outlines = self._log.outlines(first)
        some = outlines if end is None else islice(outlines, max(end - first, 0))
        return ((number, one) for number, one in enumerate(some, first) if one.status != "aborted")

    def _has_one_state(self, one: _Placed) -> bool:
        level = self._level(one)
        one_state = level.visible is Visible.STATE and level.scope is Scope.TRANSACTION and not level.dirty
        return one_state and level.real_time and (level.horizon.latest or level.horizon.at_start)

    def _level(self, one: _Placed) -> Level:
        place, outline = one
        level = self._levels.get(outline.isolation)
        if level is None:
            level = self._levels[outline.isolation] = self._level_of(place)
        return level

    def _follows(self, first: _Placed, second: _Placed) -> bool:
        """Whether one transaction comes after another, and sees it; of one that has one state."""
        if _surely_follows(first[1], second[1]):
            return True
        earlier, later = self._times(first), self._times(second)
        if not precedes(earlier, later):
            return False
        return self._level(second).horizon.latest or in_snapshot(earlier, later) is True

    def _sees(self, first: _Placed, second: _Placed) -> bool:
        return self._has_one_state(second) and self._follows(first, second)

    def _precedes(self, first: _Placed, second: _Placed) -> bool:
        """Whether one transaction comes after another, of one whose level keeps real time."""
        return precedes(self._times(first), self._times(second))

    def _times(self, one: _Placed) -> Times:
        """What it takes all of a transaction to know."""
        return times_of(self._log.transactions[one[0]], 0, self._dialect, self._tables)


class _Over:
    """When some transactions were over, by both kinds of times; None where it is not known of each."""

    def __init__(self, some: Sequence[Outline | Transaction]) -> None:
        commits = [one.commit for one in some]
        answers = [one.returned if one.status == "committed" else None for one in some]
        self._clock = some[0].clock
        self._commit = max((one for one in commits if one is not None), default=None) if None not in commits else None
        known = None not in answers and all(one.clock == self._clock for one in some)
        self._answered = max((one for one in answers if one is not None), default=None) if known else None

    def is_before(self, one: Outline | Transaction) -> bool:
        """Whether they all were over before one began, for what these times say."""
        if self._commit is not None and one.start is not None and self._commit < one.start:
            return True
        if self._answered is None or one.invoked is None or one.clock != self._clock:
            return False
        return self._answered < one.invoked


def _surely_follows(first: Outline | Transaction, second: Outline | Transaction) -> bool:
    """What the DBMS's times say at once, or client times alone of transactions that have no others."""
    if first.commit is not None and second.start is not None:
        return first.commit < second.start
    over, sent = first.returned, second.invoked
    if (
        first.status != "committed"
        or over is None
        or sent is None
        or over >= sent
        or first.clock != second.clock
        or second.start is not None
    ):
        return False
    if second.snapshot_at is not None or second.begin is not None or first.end is None or not second.statements:
        return False
    answered, asked = first.end.returned, second.statements[0].invoked
    return answered is not None and answered <= over and asked is not None and asked >= sent
