"""Where transactions of unknown outcome may stand among the database's timestamps, by what was read of them and what
they read themselves: a candidate, which replay judges. Does not know levels.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from troubadour.facts.objects.accesses import Ints, column
from troubadour.facts.objects.written import read_of_unknown
from troubadour.model.objects import ABORTED, COMMITTED, MISSING, READ, UNREAD, ObjectLog
from troubadour.replay.objects import Reading
from troubadour.timestamps.visits import NONE, Cell, Done, Visit, visits_of

MOST = 5000
"""Transactions of unknown outcome that are placed: each looks at all that touch its keys."""


class _Write(NamedTuple):
    commit: int
    start: int
    change: Any


class _Key:
    """What is known of a key: its writes by commit, and its readers with what each read from outside."""

    def __init__(self) -> None:
        self.writes: list[_Write] = []
        self.readers: list[tuple[int, Any]] = []

    def before(self, moment: int) -> _Write | None:
        """The last write that committed before a moment."""
        at = bisect_left(self.writes, moment, key=itemgetter(0))
        return self.writes[at - 1] if at else None


def placed(log: ObjectLog, *, serial: bool) -> Reading | None:
    """The order of the commit timestamps with each transaction of unknown outcome that was read as early as it may
    stand; None where there is none, or one has no place. `serial`: all read what stands just before their place."""
    statuses, starts, commits = np.frombuffer(log.statuses, np.uint8), column(log.starts), column(log.commits)
    timed = (starts != MISSING) & (commits != MISSING)
    if not timed[statuses == COMMITTED].all():
        return None
    happened = read_of_unknown(log)
    open_ = sorted((one for one in happened if not timed[one]), key=_hint(log).__getitem__)
    if not open_ or len(open_) > MOST:
        return None
    certain = np.flatnonzero((statuses != ABORTED) & timed)
    found = _Places(log, certain, serial)
    found.know(open_)
    for one in open_:
        if not found.put(one):
            return None
    return found.reading()


def _hint(log: ObjectLog) -> list[int]:
    hint = np.empty(len(log), np.int64)
    hint[column(log.order)] = np.arange(len(log))
    return hint.tolist()


class _Places:
    """Moments are numbers: even ones are those of the database, of which odd ones stand between two."""

    def __init__(self, log: ObjectLog, certain: Ints, serial: bool) -> None:
        self._log, self._certain, self._serial = log, certain, serial
        starts, commits = column(log.starts)[certain], column(log.commits)[certain]
        times = np.unique(np.concatenate((starts, commits)))
        self._start, self._commit = (2 * np.searchsorted(times, one) + 2 for one in (starts, commits))
        self._keys: dict[Cell, _Key] = {}
        self._visits: dict[int, dict[Cell, Visit]] = {}
        self._put: list[tuple[int, int, int]] = []
        """Moments, places and snapshots of those that were put."""
        self._types = tuple(one.type for one in log.objects)
        self._returned = self._over()

    def _over(self) -> dict[int, tuple[list[int], list[int]]]:
        """Of each client's clock the times at which certain ones had returned, and the last commit up to each."""
        log = self._log
        found = {}
        returned, clocks = column(log.returned)[self._certain], np.array(log.clocks, np.int64)[self._certain]
        for clock in np.unique(clocks).tolist():
            mine = np.flatnonzero((clocks == clock) & (returned != MISSING))
            mine = mine[np.argsort(returned[mine], kind="stable")]
            found[clock] = returned[mine].tolist(), np.maximum.accumulate(self._commit[mine]).tolist()
        return found

    def know(self, open_: list[int]) -> None:
        """Look at all keys that these touch."""
        log = self._log
        for one in open_:
            self._visits[one] = self._visited(range(log.first[one], log.first[one + 1]))
            for cell in self._visits[one]:
                self._keys.setdefault(cell, _Key())
        keys = np.array([*{key for _, key in self._keys}], np.int64)
        near = np.flatnonzero(np.isin(column(log.keys), keys))
        owners = np.searchsorted(column(log.first), near, side="right") - 1
        number = np.full(len(log), -1, np.int64)
        number[self._certain] = np.arange(len(self._certain))
        mine: dict[int, list[int]] = {}
        for at, of in zip(near.tolist(), number[owners].tolist(), strict=True):
            if of >= 0 and (log.subjects[at], log.keys[at]) in self._keys:
                mine.setdefault(of, []).append(at)
        for of, operations in mine.items():
            start, commit = int(self._start[of]), int(self._commit[of])
            for cell, visit in self._visited(operations).items():
                if visit.change is not NONE:
                    self._keys[cell].writes.append(_Write(commit, start, visit.change))
                if visit.base is not NONE:
                    self._keys[cell].readers.append((commit if self._serial else start, visit.base))
        for key in self._keys.values():
            key.writes.sort(key=itemgetter(0))

    def _visited(self, operations: Iterable[int]) -> dict[Cell, Visit]:
        return visits_of(self._types, self._done(operations))[0]

    def _done(self, operations: Iterable[int]) -> Iterator[Done]:
        log = self._log
        for at in operations:
            kind, subject, value = log.kinds[at], log.subjects[at], log.values[at]
            known = kind != READ or value != UNREAD
            shown: Any = value
            if kind == READ and known and self._types[subject] in ("list", "set"):
                shown = tuple(log.sequences.at(value))
            elif self._types[subject] == "counter" and known:
                shown = log.codes.value(value)
            yield kind, subject, log.keys[at], shown, known

    def put(self, place: int) -> bool:
        """Give one its place; whether it has any."""
        log = self._log
        low, high, out = 0, 2**62, list[tuple[int, int]]()
        if log.invoked[place] != MISSING:
            times, last = self._returned.get(log.clocks[place], ([], []))
            at = bisect_left(times, log.invoked[place])
            low = last[at - 1] if at else 0
        for cell, visit in self._visits[place].items():
            key, kind = self._keys[cell], self._types[cell[0]]
            if visit.base is not NONE:
                low = max(low, _read_since(key, kind, visit.base))
            if visit.change is NONE or kind == "counter":
                continue
            if not self._serial:
                out += ((one.start, one.commit) for one in key.writes)
            for moment, base in key.readers:
                if kind == "register":
                    last_one = key.before(moment)
                    if base == visit.change:
                        high = min(high, moment)
                        low = max(low, 0 if last_one is None else last_one.commit)
                    elif last_one is None or last_one.change == base:
                        out.append((-1 if last_one is None else last_one.commit, moment))
                elif min(visit.change) in base if kind == "set" else visit.change[0] in base:
                    high = min(high, moment)
                    if kind == "list":
                        low, high = _within(key, base, visit.change[0], low, high)
                else:
                    low = max(low, moment)
        moment = low + 1
        for since, until in sorted(out):
            if since < moment < until:
                moment = until + 1
        if moment > high:
            return False
        snapshot = moment
        for cell, visit in self._visits[place].items():
            key, kind = self._keys[cell], self._types[cell[0]]
            if visit.base is not NONE:
                snapshot = min(snapshot, _read_until(key, kind, visit.base, moment))
        for cell, visit in self._visits[place].items():
            if visit.change is not NONE:
                insort(self._keys[cell].writes, _Write(moment, snapshot, visit.change), key=itemgetter(0))
        self._put.append((moment, place, snapshot))
        return True

    def reading(self) -> Reading:
        """The order, and what each reads."""
        moments, put, snapshots = (np.array(one, np.int64) for one in zip(*self._put, strict=True))
        commits = np.concatenate((self._commit, moments))
        starts = np.concatenate((self._start, snapshots))
        places = np.concatenate((self._certain, put))
        ordered = np.lexsort((np.arange(len(places)), commits))
        before = np.arange(len(places))
        states = np.searchsorted(commits[ordered], starts[ordered], side="left")
        newest = self._serial | (starts[ordered] == commits[ordered])
        return Reading(places[ordered], np.where(newest, before, np.minimum(states, before)))


def _within(key: _Key, shown: tuple[Any, ...], item: Any, low: int, high: int) -> tuple[int, int]:
    """Between which moments an item was appended that a list shows among those of others."""
    own = shown.index(item)
    where = {one: at for at, one in enumerate(shown)}
    for one in key.writes:
        at = where.get(one.change[0])
        if at is not None and at > own:
            high = min(high, one.commit)
        elif at is not None and at < own:
            low = max(low, one.commit)
    return low, high


def _read_since(key: _Key, kind: str, base: Any) -> int:
    """A moment after which what was read was there."""
    if kind == "register":
        return max((one.commit for one in key.writes if one.change == base), default=0)
    if kind == "counter":
        return 0
    return max((one.commit for one in key.writes if any(item in base for item in one.change)), default=0)


def _read_until(key: _Key, kind: str, base: Any, moment: int) -> int:
    """The first moment before another one at which what was read was there no more."""
    if kind == "counter":
        return moment
    since = _read_since(key, kind, base)
    return min((one.commit for one in key.writes if since < one.commit < moment), default=moment)
