"""Whether the database's timestamps explain a log of operations, window by window of its commits, in a memory that does
not grow with the log.

Each window is judged by `troubadour.replay.objects` as a log by itself: what was committed before all its starts is
what its keys hold at first, and what may have overlapped it is there with answers that are not asked again. What does
not fit that is left to the judge of the whole log. Does not know what came of the log before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sql_semantics.records import dataclass
from troubadour.formats.entries import BadEntry, RawEnd, RawHeader, RawRows, read_header, read_transaction
from troubadour.formats.objects.initial import ObjectInitial
from troubadour.formats.objects.read import ObjectLogReader, UsualLine
from troubadour.model.log import Header, LogError
from troubadour.model.objects import MISSING, READ, UNREAD
from troubadour.replay.objects.judge import Reading, by_timestamps, explains

WINDOW = 10_000
"""Transactions whose answers are judged at once."""

OPERATIONS = 100_000
"""Operations of those transactions, if these do many each."""

LOOK = 1000
"""Transactions between two looks at the memory."""


@dataclass(slots=True)
class Explained:
    """A log that its timestamps explain: how much of it there is."""

    total: int = 0
    committed: int = 0
    aborted: int = 0
    operations: int = 0
    observed: int = 0


class _Entry(NamedTuple):
    """A committed transaction that is waited for, or may overlap one."""

    commit: int
    start: int
    parsed: UsualLine


class _Open(Exception):
    """The log has something that only the judge of all of it can say."""


def explained(
    path: Path,
    isolation: str,
    window: int = WINDOW,
    room: Callable[[], bool] = lambda: True,
    until: int | None = None,
) -> Explained | None:
    """How much there is of a log, if its timestamps explain it at a level that goes by them, or what of it committed
    before `until`; None where they may not, or where there is no `room` left in memory.

    Raises OSError.
    """
    try:
        with path.open("rb") as file:
            return _Windows(read_header(file.readline()), isolation, window, room, until).judged(file)
    except (_Open, BadEntry, LogError):
        return None


class _Windows:
    def __init__(
        self, header: RawHeader, isolation: str, window: int, room: Callable[[], bool], until: int | None
    ) -> None:
        self._header, self._isolation, self._window, self._room = header, isolation, window, room
        self._until = until
        if header.objects is None or any(isinstance(one, str) for one in header.initial.values()):
            raise _Open
        self._types = header.objects
        self._reader = ObjectLogReader(header)
        self._initial = ObjectInitial(header)
        self._carried: list[_Entry] = []
        """Those of earlier windows that the next one may overlap, by commit."""
        self._folded = MISSING
        """The last commit of which nothing is left but what it wrote."""
        self._sent = MISSING
        """The latest time at which a client sent something of those."""
        self._numbers: dict[str | int, int] = {}
        self._counts: dict[str | int, list[int]] = {}
        """Of each session how many of its transactions have a number, and the highest."""
        self._found = Explained()

    def judged(self, lines: Iterable[bytes]) -> Explained:
        """Raises _Open, BadEntry, LogError."""
        waiting: list[_Entry] = []
        held = 0
        if not self._room():
            raise _Open
        for entry in self._entries(lines):
            waiting.append(entry)
            if len(waiting) % LOOK == 0 and not self._room():
                raise _Open
            held += len(entry.parsed.ops)
            if len(waiting) == 2 * self._window or held > 2 * OPERATIONS:
                waiting.sort(key=attrgetter("commit"))
                cut = bisect_left(waiting, waiting[len(waiting) // 2].commit, key=attrgetter("commit"))
                self._judge(waiting[: cut or len(waiting)])
                waiting = waiting[cut:] if cut else []
                held = sum(len(one.parsed.ops) for one in waiting)
        waiting.sort(key=attrgetter("commit"))
        self._judge(waiting)
        if any(count != highest + 1 for count, highest in self._counts.values()):
            raise _Open
        return self._found

    def _entries(self, lines: Iterable[bytes]) -> Iterator[_Entry]:
        """The committed transactions, with a count of all."""
        found, batch = self._found, list[bytes]()
        for line in lines:
            if line.isspace():
                continue
            batch.append(line.rstrip(b"\n"))
            if len(batch) == 64:
                yield from self._parsed(batch)
                batch = []
        for line in batch:
            yield from self._parsed([line])
        if not found.total:
            raise _Open

    def _parsed(self, batch: list[bytes]) -> Iterator[_Entry]:
        parsed = self._reader.usual(batch)
        if parsed is None:
            if len(batch) > 1:
                yield from chain.from_iterable(self._parsed([line]) for line in batch)
                return
            self._other(batch[0])
            return
        found = self._found
        for one in parsed:
            found.total += 1
            found.operations += len(one.ops)
            found.observed += [operation[0] for operation in one.ops].count("r")
            if one.session is not None and one.sno != MISSING:
                counts = self._counts.setdefault(one.session, [0, 0])
                counts[0] += 1
                counts[1] = max(counts[1], one.sno)
            if one.status == "aborted":
                found.aborted += 1
                continue
            if one.status != "committed" or MISSING in (one.start, one.commit) or one.isolation is not None:
                raise _Open
            found.committed += 1
            if self._until is None or one.commit < self._until:
                yield _Entry(one.commit, one.start, one)

    def _other(self, line: bytes) -> None:
        """A line that is no transaction of the usual shape."""
        entry = read_transaction(line)
        if isinstance(entry, RawRows) and not self._found.total:
            self._initial.add_line(entry)
        elif not isinstance(entry, RawEnd) or entry.transactions != self._found.total:
            raise _Open

    def _judge(self, entries: list[_Entry]) -> None:
        """Judge those of a window, of which none committed before one that was judged already."""
        if not entries:
            return
        carried = self._carried
        start = min(one.start for one in entries)
        if entries[0].commit <= (carried[-1].commit if carried else self._folded) or start <= self._folded:
            raise _Open
        self._follow(entries)
        cut = bisect_left(carried, start, key=attrgetter("commit"))
        self._fold(carried[:cut])
        if self._sent != MISSING and any(self._sent > one for one in chain.from_iterable(map(_answers, entries))):
            raise _Open
        kept = carried[cut:]
        reader = ObjectLogReader(self._header)
        reader.begin("window")
        reader.add_initial(self._initial)
        if not reader.add_usual([one.parsed for one in (*kept, *entries)], 2, self._header.clock):
            raise _Open
        log = reader.finish(Header("", ()), "")
        known = log.first[len(kept)]
        values, kinds = np.frombuffer(log.values, np.int64), np.frombuffer(log.kinds, np.uint8)
        values[:known][kinds[:known] == READ] = UNREAD
        reading = by_timestamps(log, self._isolation)
        if not isinstance(reading, Reading) or not explains(log, reading, self._isolation):
            raise _Open
        self._carried = kept + entries

    def _follow(self, entries: list[_Entry]) -> None:
        """Numbers ascend along each session."""
        numbers = self._numbers
        for one in entries:
            session, number = one.parsed.session, one.parsed.sno
            if session is not None and number != MISSING:
                if numbers.get(session, -1) >= number:
                    raise _Open
                numbers[session] = number

    def _fold(self, entries: list[_Entry]) -> None:
        """What these wrote is what keys hold at first."""
        for one in entries:
            for kind, name, key, value in one.parsed.ops:
                if kind == "r":
                    continue
                rows = self._initial.rows.setdefault(name, {})
                if kind == "w":
                    rows[key] = value
                elif kind == "inc":
                    rows[key] = self._held(name, key, 0) + value
                elif kind == "append":
                    rows[key] = [*self._held(name, key, ()), value]
                else:
                    held = self._held(name, key, ())
                    rows[key] = held if value in held else [*held, value]
            end = one.parsed.end
            sent = one.parsed.invoked if end is None else max(end.invoked, one.parsed.invoked)
            self._folded, self._sent = one.commit, max(self._sent, sent)

    def _held(self, name: str, key: int | str, nothing: Any) -> Any:
        found = self._initial.rows.get(name, {}).get(key)
        return self._initial.defaults.get(name, nothing) if found is None else found


def _answers(one: _Entry) -> Iterator[int]:
    """When a client had answers, where that is known."""
    parsed = one.parsed
    times = (parsed.returned,) if parsed.end is None else (parsed.end.invoked, parsed.end.returned, parsed.returned)
    return (time for time in times if time != MISSING)
