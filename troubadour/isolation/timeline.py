"""Time bounds of the transactions placed so far, by position (DESIGN §4). Does not know what they read or wrote.

Answers cost the concurrency around the reader, not the length of the log: scans run backwards from the newest
position and stop where running maxima show that nothing older can matter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from troubadour.isolation.times import Times, in_snapshot, precedes_in_session, sent_after


class _RunningMaximum:
    """max of the values at positions <= p, as a stack of the positions where it grew."""

    __slots__ = ("maxima", "positions")

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.maxima: list[int] = []

    def append(self, position: int, value: int) -> None:
        if not self.maxima or value > self.maxima[-1]:
            self.positions.append(position)
            self.maxima.append(value)

    def truncate(self, position: int) -> None:
        """Forget everything after `position`."""
        while self.positions and self.positions[-1] > position:
            self.positions.pop()
            self.maxima.pop()

    def up_to(self, position: int) -> int | None:
        index = bisect_right(self.positions, position)
        return self.maxima[index - 1] if index else None


class Timeline:
    """`times[p - 1]` are those of the transaction at position p (1-based)."""

    __slots__ = ("_begun", "_commits", "_sent", "_sessions", "_starts", "idle", "times")

    def __init__(self) -> None:
        self.times: list[Times] = []
        self.idle: list[bool] = []
        self._commits = _RunningMaximum()
        self._starts = _RunningMaximum()
        self._sent: dict[str | None, _RunningMaximum] = {}
        self._begun: dict[str | None, _RunningMaximum] = {}
        self._sessions: dict[str, list[tuple[int, int]]] = {}

    def append(self, times: Times, *, idle: bool = False) -> None:
        """Place the next transaction; `idle`: it wrote nothing, or may have."""
        self.times.append(times)
        self.idle.append(idle)
        position = len(self.times)
        if times.commit is not None:
            self._commits.append(position, times.commit)
        if times.start is not None:
            self._starts.append(position, times.start)
        begun = times.begun
        if begun is not None:
            self._begun.setdefault(times.clock, _RunningMaximum()).append(position, begun)
        if times.sent is not None:
            self._sent.setdefault(times.clock, _RunningMaximum()).append(position, times.sent)
        if times.session is not None:
            placed = self._sessions.setdefault(times.session, [])
            highest = placed[-1][1] if placed else -1
            placed.append((position, max(highest, times.rank)))

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions only."""
        for times in self.times[length:]:
            if times.session is not None:
                self._sessions[times.session].pop()
        del self.times[length:]
        del self.idle[length:]
        for running in (self._commits, self._starts, *self._sent.values(), *self._begun.values()):
            running.truncate(length)

    def begun_after(self, times: Times, *, commits: bool = False) -> Iterator[int]:
        """The positions, newest first, among which are all of those who may have begun after this one was over,
        committed after it, or come later in its session; with `commits` also who may have been sent after this one was
        answered."""
        for position in range(len(self.times), 0, -1):
            if not self._some_begun_after(times, position, commits):
                return
            yield position

    def _some_begun_after(self, times: Times, newest: int, commits: bool) -> bool:
        """Whether there is such a one up to a position."""
        if times.session is not None and times.happened:
            placed = self._sessions.get(times.session, ())
            last = bisect_right(placed, newest, key=itemgetter(0)) if placed and placed[-1][0] > newest else len(placed)
            if last and placed[last - 1][1] > times.rank:
                return True
        if times.commit is not None:
            start, commit = self._starts.up_to(newest), self._commits.up_to(newest)
            if (start is not None and start > times.commit) or (commit is not None and commit > times.commit):
                return True
        running = self._begun.get(times.clock)
        begun, over = running.up_to(newest) if running is not None else None, times.over
        sent = self._sent.get(times.clock) if commits else None
        latest = sent.up_to(newest) if sent is not None else None
        if latest is not None and times.answered is not None and latest > times.answered:
            return True
        return begun is not None and over is not None and begun > over

    def start_interval(self, reader: Times) -> tuple[int, int]:
        """The states (lowest, highest) that can be the reader's state at its start; empty where lowest > highest. Those
        that may have written nothing can be in it though they came later (see `foreseen`)."""
        newest = len(self.times)
        low, high = 0, newest
        sent = self._sent.get(reader.clock)
        for position in range(newest, 0, -1):
            inside = in_snapshot(self.times[position - 1], reader)
            if inside is False and not self.idle[position - 1]:
                high = position - 1
            elif inside and not low:
                low = position
            if low and not self._may_be_outside(reader, position - 1, sent):
                break
        return low, high

    def foreseen(self, reader: Times) -> list[int]:
        """The positions that came after the reader's start, oldest first."""
        sent = self._sent.get(reader.clock)
        found: list[int] = []
        for position in range(len(self.times), 0, -1):
            if in_snapshot(self.times[position - 1], reader) is False:
                found.append(position)
            if not self._may_be_outside(reader, position - 1, sent):
                break
        return found[::-1]

    def _may_be_outside(self, reader: Times, position: int, sent: _RunningMaximum | None) -> bool:
        if reader.start is not None:
            commit = self._commits.up_to(position)
            if commit is not None and commit > reader.start:
                return True
        latest = sent.up_to(position) if sent is not None else None
        return latest is not None and reader.opened is not None and latest > reader.opened

    def session_floor(self, reader: Times) -> int:
        """The newest position of what the reader's session had committed before it; 0 for none."""
        if reader.session is None:
            return 0
        for position, _ in reversed(self._sessions.get(reader.session, ())):
            if precedes_in_session(self.times[position - 1], reader):
                return position
        return 0

    def session_positions(self, reader: Times) -> list[int]:
        """The positions of all that the reader's session had committed before it."""
        placed = self._sessions.get(reader.session or "", ())
        return [position for position, _ in placed if precedes_in_session(self.times[position - 1], reader)]

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
        got = reader.got[statement]
        sent = self._sent.get(reader.clock)
        found: list[int] = []
        if got is None or sent is None:
            return found
        for position in range(len(self.times), 0, -1):
            latest = sent.up_to(position)
            if latest is None or latest <= got:
                break
            if sent_after(self.times[position - 1], reader, statement):
                found.append(position)
        return found
