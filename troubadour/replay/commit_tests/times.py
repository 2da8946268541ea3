"""What the recorded times forbid (paper §6.2, seq).

Times of the DBMS's clock are compared with one another, and client times of one clock with one another; equal times
are concurrent. Does not know any row or state but the number of transactions in it.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection

from sql_semantics.records import dataclass, replace
from troubadour.model.log import Transaction
from troubadour.model.opening import not_before, opening, taken_by


@dataclass(frozen=True, slots=True)
class Times:
    """Bounds on what the client's clock `clock` says, None where nothing is known.

    The commit was not `sent` before; it was `answered` no later; the snapshot was not `asked` for before, and was taken
    (`opened`) no later; statement n was answered (`got[n]`) no later, and not sent before `put[n]`. `rank` is the place
    in the hint order, which is that of a session's transactions, for certain where the log has them `numbered`; only a
    commit that is known was `answered_at_all`. An aborted one still had its locks when its last successful statement
    was sent (`locked_at`, or later).
    """

    clock: str | None
    start: int | None
    commit: int | None
    invoked: int | None
    returned: int | None
    sent: int | None
    answered: int | None
    asked: int | None
    got: tuple[int | None, ...]
    session: str | None = None
    rank: int = 0
    answered_at_all: bool = True
    put: tuple[int | None, ...] = ()
    opened: int | None = None
    locked_at: int | None = None
    numbered: bool = False


def times_of(
    transaction: Transaction, default_clock: str | None, rank: int, dialect: str, tables: Collection[str]
) -> Times:
    """Derive the bounds. `tables`: the names of the log's tables, in lower case.

    A transaction of unknown outcome was never answered: it may take effect after its client gave up. An aborted one has
    no commit, and nobody comes after it.
    """
    end = transaction.end
    answered = None
    happened = transaction.status == "committed"
    if happened:
        answered = end.returned if end is not None and end.returned is not None else transaction.returned
    put, got = _put(transaction), answers_by(transaction)
    return Times(
        clock=transaction.clock if transaction.clock is not None else default_clock,
        start=transaction.start,
        commit=transaction.commit,
        invoked=transaction.invoked,
        returned=transaction.returned if happened else None,
        sent=_sent(transaction) if transaction.status != "aborted" else None,
        answered=answered,
        asked=not_before(transaction, dialect),
        got=got,
        session=transaction.session,
        rank=rank,
        answered_at_all=happened,
        put=put,
        opened=taken_by(transaction, got, opening(transaction, dialect, tables)),
        locked_at=_locked_at(transaction, put),
        numbered=transaction.sno is not None,
    )


def _locked_at(transaction: Transaction, put: tuple[int | None, ...]) -> int | None:
    if transaction.status != "aborted":
        return None
    for statement, since in zip(reversed(transaction.statements), reversed(put), strict=True):
        if statement.error is None and not statement.outcome_unknown:
            return since
    return None


def _sent(transaction: Transaction) -> int | None:
    """COMMIT follows every answer; a lone statement that commits by itself, with no COMMIT recorded, does so before
    its answer."""
    end = transaction.end
    if end is not None and end.invoked is not None:
        return end.invoked
    known = [transaction.invoked]
    for place, statement in enumerate(transaction.statements, 1):
        known.append(statement.invoked)
        if end is not None or place < len(transaction.statements):
            known.append(statement.returned)
    return max((time for time in known if time is not None), default=None)


def _put(transaction: Transaction) -> tuple[int | None, ...]:
    """Since when each statement can have been sent: its own time, else the latest known time before it. One that was
    sent in a pipeline may stand before the answer to the one before it."""
    sent, answered = transaction.invoked, None
    put: list[int | None] = []
    for statement in transaction.statements:
        if statement.invoked is None:
            put.append(_latest(sent, answered))
        else:
            sent = _latest(sent, statement.invoked)
            put.append(sent)
        answered = _latest(answered, statement.returned)
    return tuple(put)


def _latest(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else max(one, other)


def _earliest(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else min(one, other)


def answers_by(transaction: Transaction) -> tuple[int | None, ...]:
    """By when each statement was answered: its own time, else the earliest known time after it. The next one may have
    been sent before that answer, in a pipeline."""
    end = transaction.end
    answered = _earliest(transaction.returned, None if end is None else end.returned)
    sent = None if end is None else end.invoked
    got: list[int | None] = []
    for statement in reversed(transaction.statements):
        if statement.outcome_unknown and transaction.status == "unknown":
            got.append(None)  # no answer came, then or later
            continue
        answered = _earliest(answered, statement.returned)
        got.append(answered if statement.returned is not None else _earliest(answered, sent))
        sent = _earliest(sent, statement.invoked)
    return tuple(reversed(got))


class _Highest:
    """Running maximum over positions 1, 2, ...; kept where it grows."""

    __slots__ = ("positions", "values")

    def __init__(self) -> None:
        self.positions = array("q")
        self.values = array("q")

    def append(self, position: int, value: int | None) -> None:
        if value is not None and (not self.values or value > self.values[-1]):
            self.positions.append(position)
            self.values.append(value)

    def forget(self, value: int) -> None:
        """What is asked for from now on is no lower: of the positions up to it the last one is enough."""
        place = min(bisect_right(self.values, value), len(self.values) - 1)
        if place > 0:
            del self.positions[:place], self.values[:place]

    def truncate(self, length: int) -> None:
        """Take back the positions above `length`."""
        while self.positions and self.positions[-1] > length:
            self.positions.pop()
            self.values.pop()

    def first_above(self, value: int) -> int | None:
        """The first position at which the maximum exceeds `value`."""
        place = bisect_right(self.values, value)
        return self.positions[place] if place < len(self.positions) else None

    def copy(self) -> _Highest:
        twin = _Highest()
        twin.positions = self.positions[:]
        twin.values = self.values[:]
        return twin


class Timeline:
    """The times of the transactions in the order so far; position p is the p-th, from 1.

    Every question looks only at the positions where a running maximum says that there is something to find. Where no
    level `asks` for sessions, snapshots at the start or single statements, that is all that is kept.
    """

    __slots__ = (
        "_asks",
        "_by_sent",
        "_commit",
        "_forgotten",
        "_newest",
        "_ordered_invoked",
        "_sent",
        "_sessions",
        "_strict_asked",
        "_strict_asked_no_start",
        "_strict_invoked",
        "_strict_sent",
        "_strict_start",
        "_times",
    )

    def __init__(self, *, asks: bool = True) -> None:
        self._asks = asks
        self._newest = 0
        self._times: dict[int, Times] = {}
        self._forgotten = 0
        """Positions up to it may be gone."""
        self._commit = _Highest()
        self._sent: dict[str | None, _Highest] = {}
        self._by_sent: dict[str | None, list[tuple[int, int]]] = {}
        self._strict_start = _Highest()
        self._strict_invoked: dict[str | None, _Highest] = {}
        self._ordered_invoked: dict[str | None, _Highest] = {}
        """Of those that clients' times put only behind what has no commit timestamp."""
        self._strict_sent: dict[str | None, _Highest] = {}
        self._strict_asked: dict[str | None, _Highest] = {}
        self._strict_asked_no_start: dict[str | None, _Highest] = {}
        self._sessions: dict[str, list[tuple[int, int, bool]]] = {}

    def append(
        self,
        times: Times,
        real_time: bool,
        at_start: bool,
        session: bool = False,
        commits: bool = False,
        keeps_locks: bool = False,
        ordered: bool = False,
        idle: bool = False,
    ) -> None:
        """Place the next transaction; the flags are its level's, but that it is `idle`: it wrote nothing, so that it is
        never among those that were sent after an answer."""
        self._newest += 1
        position = self._newest
        if self._asks:
            # when its statements were sent and answered is not asked any more
            self._times[position] = replace(times, got=(), put=()) if times.got else times
        if times.session is not None and self._asks:
            placed = self._sessions.setdefault(times.session, [])
            highest = placed[-1][1] if placed else -1
            placed.append((position, max(highest, times.rank) if session else highest, session))
        self._commit.append(position, times.commit)
        _of(self._sent, times.clock).append(position, times.sent)
        if times.sent is not None and not idle:
            insort(self._by_sent.setdefault(times.clock, []), (times.sent, position))
        if real_time or (ordered and times.commit is None):
            self._strict_start.append(position, times.start)
            _of(self._strict_invoked, times.clock).append(position, times.invoked)
        elif ordered:
            _of(self._ordered_invoked, times.clock).append(position, times.invoked)
        if commits:
            until = times.locked_at if keeps_locks and times.sent is None else times.sent
            _of(self._strict_sent, times.clock).append(position, until)
        if at_start:
            _of(self._strict_asked, times.clock).append(position, times.asked)
            if times.start is None:
                _of(self._strict_asked_no_start, times.clock).append(position, times.asked)

    def at(self, position: int) -> Times:
        """The times of the one at a position; none of one that is forgotten."""
        return self._times.get(position, _FORGOTTEN)

    @property
    def times(self) -> list[Times]:
        """Those of every position."""
        return [self.at(position) for position in range(1, self._newest + 1)]

    def overtaken(self, times: Times) -> int | None:
        """A strict transaction placed already that real time puts after the one to be placed next: its position."""
        if times.commit is not None:
            found = self._strict_start.first_above(times.commit)
            if found is not None:
                return found
        if times.returned is not None and times.clock in self._strict_invoked:
            found = self._strict_invoked[times.clock].first_above(times.returned)
            if found is not None:
                return found
        if times.commit is None and times.returned is not None and times.clock in self._ordered_invoked:
            found = self._ordered_invoked[times.clock].first_above(times.returned)
            if found is not None:
                return found
        if times.answered is not None and times.clock in self._strict_sent:
            found = self._strict_sent[times.clock].first_above(times.answered)
            if found is not None:
                return found
        return self._left_out(times)

    def session_after(self, times: Times) -> int | None:
        """A transaction placed already that has to come after the one to be placed next in their session: its
        position."""
        placed = self._sessions.get(times.session or "", [])
        if not placed or placed[-1][1] < times.rank:
            return None
        for position, _, bound in placed:
            if bound and comes_before(times, self.at(position)):
                return position
        return None

    def session_before(self, reader: Times) -> int | None:
        """The last position of what the reader's session had committed before it."""
        for position, _, _ in reversed(self._sessions.get(reader.session or "", ())):
            if comes_before(self.at(position), reader):
                return position
        return None

    def not_yet_in_session(self, reader: Times) -> int | None:
        """The position of what the reader's session had committed before it by its order, and after its start by the
        clock."""
        for position, _, _ in self._sessions.get(reader.session or "", ()):
            if comes_before(self.at(position), reader) and in_snapshot(self.at(position), reader) is False:
                return position
        return None

    def _left_out(self, times: Times) -> int | None:
        """A strict snapshot taken after this transaction was answered, but placed before it. Where both DBMS times
        are known, they alone decide."""
        if times.answered is None:
            return None
        asked = self._strict_asked if times.commit is None else self._strict_asked_no_start
        highest = asked.get(times.clock)
        return None if highest is None else highest.first_above(times.answered)

    def misses(self, reader: Times, state: int) -> int | None:
        """A transaction after `state` that was over before the reader's snapshot was taken: its position."""
        for position in range(state + 1, self._newest + 1):
            if in_snapshot(self.at(position), reader) is True:
                return position
        return None

    def foresees(self, reader: Times, state: int, harmless: Collection[int] = ()) -> int | None:
        """A transaction within `state`, none of the `harmless`, that came after the reader's snapshot was taken: its
        position."""
        bounds = []
        if reader.start is not None:
            bounds.append(self._commit.first_above(reader.start))
        if reader.opened is not None and reader.clock in self._sent:
            bounds.append(self._sent[reader.clock].first_above(reader.opened))
        first = min((position for position in bounds if position is not None), default=state + 1)
        for position in range(first, state + 1):
            if position not in harmless and in_snapshot(self.at(position), reader) is False:
                return position
        return None

    def missed(self, reader: Times, put: int | None, state: int, harmless: Collection[int]) -> int | None:
        """A transaction after `state`, none of the `harmless`, that was there when the reader sent something at `put`:
        its position."""
        for position in range(self._newest, state, -1):
            if position in harmless:
                continue
            times = self.at(position)
            if times.commit is not None and reader.start is not None and times.commit < reader.start:
                return position
            answered = times.answered if times.clock == reader.clock else None
            if answered is not None and put is not None and answered < put:
                return position
        return None

    def sent_after(self, reader: Times, got: int | None, state: int) -> list[int]:
        """The positions within `state` that wrote and whose commit was sent after the reader had an answer at `got`."""
        sent = self._by_sent.get(reader.clock)
        if sent is None or got is None:
            return []
        later = sent[bisect_right(sent, (got, self._newest)) :]
        return sorted(position for _, position in later if position <= state)

    def first_sent_after(self, answer: int) -> int | None:
        """The first position, by any clock, whose commit was sent after `answer`."""
        found = (highest.first_above(answer) for highest in self._sent.values())
        return min((position for position in found if position is not None), default=None)

    def truncate(self, length: int) -> None:
        """Take back all but the first `length`, of which none is forgotten that is taken back."""
        for position in range(length + 1, self._newest + 1):
            self._times.pop(position, None)
        self._newest = length
        for sent in self._by_sent.values():
            sent[:] = [pair for pair in sent if pair[1] <= length]
        self._commit.truncate(length)
        self._strict_start.truncate(length)
        for by_clock in self._by_clock():
            for highest in by_clock.values():
                highest.truncate(length)
        for placed in self._sessions.values():
            while placed and placed[-1][0] > length:
                placed.pop()

    def _by_clock(self) -> tuple[dict[str | None, _Highest], ...]:
        return (
            self._sent, self._strict_invoked, self._ordered_invoked, self._strict_sent, self._strict_asked,
            self._strict_asked_no_start,
        )  # fmt: skip

    def forget(self, oldest: int, answer: int, began: int, rank: int) -> range:
        """Nothing placed from now on reads an older state, was answered before, has an earlier time by the DBMS's
        clock or a lower place in hint order. Returns the positions that are not asked for any more."""
        for sent in self._by_sent.values():
            del sent[: bisect_left(sent, (answer, 0))]
        for by_clock in self._by_clock():
            for highest in by_clock.values():
                highest.forget(answer)
        self._commit.forget(began)
        self._strict_start.forget(began)
        if not self._asks:
            return range(0)
        first = self._forgotten + 1
        while self._forgotten < min(oldest, self._newest):
            times = self._times[self._forgotten + 1]
            late = (times.sent is not None and times.sent > answer) or (
                times.commit is not None and times.commit > began
            )
            if late or times.rank >= rank:
                break
            self._forgotten += 1
            del self._times[self._forgotten]
        for session, placed in [*self._sessions.items()]:
            del placed[: bisect_right(placed, (self._forgotten, sys.maxsize))]
            if not placed:
                del self._sessions[session]
        return range(first, self._forgotten + 1)

    def copy(self) -> Timeline:
        """An independent copy."""
        twin = Timeline(asks=self._asks)
        twin._newest, twin._times, twin._forgotten = self._newest, self._times.copy(), self._forgotten
        twin._commit = self._commit.copy()
        twin._sent = _copies(self._sent)
        twin._by_sent = {clock: sent.copy() for clock, sent in self._by_sent.items()}
        twin._sessions = {session: placed.copy() for session, placed in self._sessions.items()}
        twin._strict_start = self._strict_start.copy()
        twin._strict_invoked = _copies(self._strict_invoked)
        twin._ordered_invoked = _copies(self._ordered_invoked)
        twin._strict_sent = _copies(self._strict_sent)
        twin._strict_asked = _copies(self._strict_asked)
        twin._strict_asked_no_start = _copies(self._strict_asked_no_start)
        return twin


_FORGOTTEN = Times(None, None, None, None, None, None, None, None, (), answered_at_all=False)


def _of(by_clock: dict[str | None, _Highest], clock: str | None) -> _Highest:
    return by_clock.setdefault(clock, _Highest())


def _copies(by_clock: dict[str | None, _Highest]) -> dict[str | None, _Highest]:
    return {clock: highest.copy() for clock, highest in by_clock.items()}


def comes_before(earlier: Times, later: Times) -> bool:
    """Whether one session committed the earlier one, and had the answer, before it began the later one."""
    if earlier.session is None or earlier.session != later.session or not earlier.answered_at_all:
        return False
    over = min((time for time in (later.returned, later.answered) if time is not None), default=None)
    begun = max((time for time in (earlier.invoked, earlier.asked) if time is not None), default=None)
    certain = earlier.numbered and later.numbered
    if not certain and earlier.clock == later.clock and over is not None and begun is not None and over < begun:
        return False  # the client knows better than the hint order
    return earlier.rank < later.rank


def comes_after(later: Times, earlier: Times) -> bool:
    """Whether real time may put one transaction after another, at some level."""
    if earlier.commit is not None and later.start is not None and earlier.commit < later.start:
        return True
    if earlier.clock != later.clock:
        return False
    over = min((time for time in (earlier.returned, earlier.answered) if time is not None), default=None)
    known = (later.invoked, later.asked, later.sent, later.locked_at)
    return over is not None and any(time is not None and time > over for time in known)


def in_snapshot(writer: Times, reader: Times) -> bool | None:
    """Whether the state at the reader's start has the writer's commit: True, False, or None for either way."""
    if writer.commit is not None and reader.start is not None:
        return None if writer.commit == reader.start else writer.commit < reader.start
    if writer.clock != reader.clock:
        return None
    if writer.answered is not None and reader.asked is not None and writer.answered < reader.asked:
        return True
    if writer.sent is not None and reader.opened is not None and writer.sent > reader.opened:
        return False
    return None
