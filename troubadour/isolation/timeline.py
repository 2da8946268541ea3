"""Time bounds of the transactions placed so far, by position. Does not know what they read or wrote.

Answers cost the concurrency around the reader, not the length of the log, also where some stand far from where their
times would have them: a transaction that is late for a time is found by that time, not by going through positions.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from troubadour.isolation.times import Times, in_snapshot, precedes_in_session, sent_after


class _Ascending:
    """Positions by a value that each has; values mostly come in ascending order."""

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: list[tuple[int, int]] = []

    def add(self, value: int | None, position: int) -> None:
        """The position has this value; None says nothing."""
        if value is not None:
            insort(self._pairs, (value, position))

    def discard(self, value: int | None, position: int) -> None:
        """Take back what was added."""
        if value is not None:
            del self._pairs[bisect_left(self._pairs, (value, position))]

    def shift(self, value: int | None, position: int) -> None:
        """The position has become the next one, which no other has."""
        if value is not None:
            self._pairs[bisect_left(self._pairs, (value, position))] = value, position + 1

    def above(self, value: int | None) -> list[int]:
        """The positions whose value is greater; none where the value is not known."""
        if value is None or not self._pairs or self._pairs[-1][0] <= value:
            return []
        return [position for _, position in self._pairs[bisect_right(self._pairs, (value, sys.maxsize)) :]]


_NOTHING = _Ascending()


class Timeline:
    """`times[p - 1]` are those of the transaction at position p (1-based)."""

    __slots__ = ("_begun", "_commits", "_ranks", "_sent", "_sessions", "_starts", "idle", "times")

    def __init__(self) -> None:
        self.times: list[Times] = []
        self.idle: list[bool] = []
        self._commits = _Ascending()
        self._starts = _Ascending()
        self._sent: dict[str | None, _Ascending] = {}
        self._begun: dict[str | None, _Ascending] = {}
        self._ranks: dict[str, _Ascending] = {}
        self._sessions: dict[str, list[int]] = {}

    def append(self, times: Times, *, idle: bool = False) -> None:
        """Place the next transaction; `idle`: it wrote nothing, or may have."""
        self.times.append(times)
        self.idle.append(idle)
        position = len(self.times)
        if times.clock not in self._sent:
            self._sent[times.clock], self._begun[times.clock] = _Ascending(), _Ascending()
        self._commits.add(times.commit, position)
        self._starts.add(times.start, position)
        self._sent[times.clock].add(times.ends, position)
        self._begun[times.clock].add(times.begun, position)
        if times.session is not None:
            self._sessions.setdefault(times.session, []).append(position)
            self._ranks.setdefault(times.session, _Ascending()).add(times.rank, position)

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions only."""
        for position in range(len(self.times), length, -1):
            times = self.times[position - 1]
            self._commits.discard(times.commit, position)
            self._starts.discard(times.start, position)
            self._sent[times.clock].discard(times.ends, position)
            self._begun[times.clock].discard(times.begun, position)
            if times.session is not None:
                self._sessions[times.session].pop()
                self._ranks[times.session].discard(times.rank, position)
        del self.times[length:]
        del self.idle[length:]

    def move(self, position: int, place: int) -> None:
        """Put the one at a position right after the first `place` positions."""
        moved = self.times[position - 1]
        for values, value in self._values_of(moved):
            values.discard(value, position)
        for before in range(position - 1, place, -1):
            for values, value in self._values_of(self.times[before - 1]):
                values.shift(value, before)
        for values, value in self._values_of(moved):
            values.add(value, place + 1)
        if moved.session is not None:
            del self._sessions[moved.session][bisect_left(self._sessions[moved.session], position)]
        for session in {times.session for times in self.times[place : position - 1]}:
            if session is not None:
                placed = self._sessions[session]
                for index in range(bisect_right(placed, place), bisect_left(placed, position)):
                    placed[index] += 1
        if moved.session is not None:
            insort(self._sessions[moved.session], place + 1)
        self.times.insert(place, self.times.pop(position - 1))
        self.idle.insert(place, self.idle.pop(position - 1))

    def _values_of(self, times: Times) -> list[tuple[_Ascending, int | None]]:
        """Where positions stand by the values that these times have, and those values."""
        found = [
            (self._commits, times.commit),
            (self._starts, times.start),
            (self._sent[times.clock], times.ends),
            (self._begun[times.clock], times.begun),
        ]
        if times.session is not None:
            found.append((self._ranks[times.session], times.rank))
        return found

    def begun_after(self, times: Times, *, commits: bool = False) -> list[int]:
        """The positions, newest first, among which are all that may have begun after this one was over,
        committed after it, or come later in its session; with `commits` also those that may have been sent after this
        one was answered."""
        found = {
            *self._starts.above(times.commit),
            *self._commits.above(times.commit),
            *self._begun.get(times.clock, _NOTHING).above(times.over),
        }
        if times.session in self._ranks and times.happened:
            found.update(self._ranks[times.session].above(times.rank))
        if commits:
            found.update(self._sent.get(times.clock, _NOTHING).above(times.answered))
        return sorted(found, reverse=True)

    def start_interval(self, reader: Times) -> tuple[int, int]:
        """The states (lowest, highest) that can be the reader's state at its start; empty where lowest > highest. Those
        that may have written nothing can be in it though they came later (see `foreseen`)."""
        newest = len(self.times)
        high = next((position - 1 for position in self.foreseen(reader) if not self.idle[position - 1]), newest)
        if reader.start is None and reader.asked is None:
            return 0, high
        positions = range(newest, 0, -1)
        return next((position for position in positions if in_snapshot(self.times[position - 1], reader)), 0), high

    def foreseen(self, reader: Times) -> list[int]:
        """The positions that came after the reader's start, oldest first."""
        late = {
            *self._commits.above(reader.start),
            *self._sent.get(reader.clock, _NOTHING).above(reader.opened),
        }
        return sorted(position for position in late if in_snapshot(self.times[position - 1], reader) is False)

    def session_floor(self, reader: Times) -> int:
        """The newest position of what the reader's session had committed before it; 0 for none."""
        for position in reversed(self.of_session(reader.session)):
            if precedes_in_session(self.times[position - 1], reader):
                return position
        return 0

    def of_session(self, session: str | None) -> Sequence[int]:
        """The positions of a session's transactions, in turn."""
        return self._sessions.get(session or "", ())

    def session_positions(self, reader: Times) -> list[int]:
        """The positions of all that the reader's session had committed before it."""
        placed = self.of_session(reader.session)
        return [position for position in placed if precedes_in_session(self.times[position - 1], reader)]

    def answered_before(self, clock: str | None, sent: int) -> int:
        """The newest position whose commit had been answered by a client time of this clock; 0 for none."""
        if clock not in self._sent:
            return 0
        for position in range(len(self.times), 0, -1):
            times = self.times[position - 1]
            if times.clock == clock and times.answered is not None and times.answered < sent:
                return position
        return 0

    def sent_later(self, reader: Times, statement: int) -> list[int]:
        """Positions of the transactions whose commit was sent after the statement's answer, newest first."""
        late = self._sent.get(reader.clock, _NOTHING).above(reader.got[statement])
        found = [position for position in late if sent_after(self.times[position - 1], reader, statement)]
        return sorted(found, reverse=True)
