"""Which keys of a long log of registers have to be looked at one transaction at a time to list all violations: the
others are counted, all at once.

The axioms EXT, INT and NOCONFLICT are of one key each, so that a log's violations are those of some keys and those of
the others. Keys with equal timestamps, unknown outcomes or missing timestamps are always looked at. Does not know what
is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from sql_semantics.records import dataclass
from troubadour.facts.objects.accesses import NEVER, column, ranks
from troubadour.model.beside import Beside, is_allowed
from troubadour.model.objects import ABORTED, COMMITTED, MISSING, READ, UNREAD, WRITE, ObjectLog
from troubadour.timestamps.ledger import Rules

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LONG = 1 << 20
"""Operations from which on a part of them is looked at beside."""

FIRST = 64
"""Violations of which the keys are looked at: those of the shortest prefixes, and those that are told."""


KEY_BITS = 62
"""Bits of a number by which operations are sorted."""

PART = 1 << 18
"""Operations that are looked at at once, about: as many as a processor has near."""

MOST = 1 << 8
"""Parts at most."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The operations that are to be looked at, how many violations of each axiom others have, and up to which rank of a
    transaction all violations are among those."""

    operations: Flags
    elsewhere: dict[str, int]
    upto: int


def doubt(log: ObjectLog, rules: Rules, first: int = FIRST) -> Doubt | None:
    """None where all has to be looked at."""
    if rules.visible or rules.gaps or any(one.type != "register" or one.unknown for one in log.objects):
        return None
    kinds, values = np.frombuffer(log.kinds, np.uint8), column(log.values)
    if not len(kinds) or bool(((kinds == READ) & (values == UNREAD)).any()):
        return None
    if not rules.serial and _some_session_is_late(log):
        return None
    return _Count(log, rules.serial).doubt(first)


def _some_session_is_late(log: ObjectLog) -> bool:
    """Whether any session may be violated."""
    sessions, numbers, starts, commits = map(column, (log.sessions, log.numbers, log.starts, log.commits))
    chosen = np.flatnonzero((sessions >= 0) & (np.frombuffer(log.statuses, np.uint8) == COMMITTED))
    if not len(chosen):
        return False
    if bool(((starts[chosen] == MISSING) | (commits[chosen] == MISSING)).any()):
        return True
    missing = numbers[chosen] == MISSING
    if missing.any() and not missing.all():
        return True
    rank = commits if missing.all() else numbers
    chosen = chosen[np.lexsort((chosen, rank[chosen], sessions[chosen]))]
    _, times = np.unique(np.concatenate((starts[chosen], commits[chosen])), return_inverse=True)
    start, commit = times[: len(chosen)], times[len(chosen) :]
    apart = sessions[chosen].astype(np.int64) * (len(times) + 1)
    top = np.maximum.accumulate(commit + apart)
    return bool((top[:-1] > (start + apart)[1:]).any())


def _numbered(keys: Ints) -> Ints:
    """Small numbers of keys, the same for the same ones."""
    least, greatest = int(keys.min()), int(keys.max())
    if greatest - least > 2 * len(keys):
        _, numbers = np.unique(keys, return_inverse=True)
        return numbers.astype(np.int64)
    return keys - least


class _Count:
    def __init__(self, log: ObjectLog, serial: bool) -> None:
        self._log, self._serial = log, serial
        self._statuses = np.frombuffer(log.statuses, np.uint8)
        self._committed = self._statuses == COMMITTED
        starts, commits = column(log.starts), column(log.commits)
        self._timed = (starts != MISSING) & (commits != MISSING)
        both, times = np.unique(np.concatenate((starts, commits)), return_inverse=True)
        self._width = len(both) + 1
        self._start, self._commit = times[: len(starts)].astype(np.int64), times[len(starts) :].astype(np.int64)
        self._first = column(log.first)
        lengths = np.diff(self._first)
        self._longest = int(lengths.max(initial=0))
        self._owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        """The transaction of each operation."""
        self._alive = np.repeat(self._statuses != ABORTED, lengths)
        self._by_commit = np.argsort(self._commit, kind="stable")
        self._place = np.empty(len(lengths), np.int64)
        self._place[self._by_commit] = np.arange(len(lengths))
        subjects = np.frombuffer(log.subjects, np.uint16)
        cells = _numbered(column(log.keys))
        if len(log.objects) > 1:
            cells = cells * len(log.objects) + subjects
        self._count = int(cells.max()) + 1
        self._cells = cells.astype(np.int32) if self._count <= np.iinfo(np.int32).max else cells
        """A number of the key of each operation."""
        self._vague = np.zeros(self._count, bool)
        self._found: list[tuple[str, Ints, Ints, Ints, Ints]] = []
        """Axiom, cells, ranks, times by which they are told, how many; of each event."""
        self._rank = ranks(log)
        self._held = self._initial()
        self._parts = list[Ints]()

    def doubt(self, first: int) -> Doubt:
        """See `doubt`."""
        count = min(MOST, 1 + len(self._log.kinds) // PART)
        self._parts = self._in_parts(count)
        if len(self._log.kinds) < LONG or not is_allowed():
            self._look(range(count))
            return self._summed(first)
        beside = Beside(lambda: self._told(range(1, count, 2)))
        try:
            self._look(range(0, count, 2))
            told = beside.found()
        finally:
            beside.end()
        if told is None:
            self._look(range(1, count, 2))
        else:
            self._hear(told)
        return self._summed(first)

    def _in_parts(self, count: int) -> list[Ints]:
        """The operations of those that did not abort, by their keys in so many parts."""
        alive = None if self._alive.all() else np.flatnonzero(self._alive)
        numbers = (self._cells % self._cells.dtype.type(count)).astype(np.uint8)
        if alive is not None:
            numbers = numbers[alive]
        # of small numbers a stable sort takes one look at each
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=count))
        return np.split(order if alive is None else alive[order], ends[:-1])

    def _told(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """What is found of some parts, in bytes."""
        other = copy(self)
        other._found, other._vague = [], np.zeros(self._count, bool)
        other._look(numbers)
        yield np.flatnonzero(other._vague).tobytes()
        for axiom, *columns in other._found:
            yield axiom.encode()
            yield from (one.astype(np.int64).tobytes() for one in columns)

    def _hear(self, told: Sequence[bytes]) -> None:
        self._vague[np.frombuffer(told[0], np.int64)] = True
        for at in range(1, len(told), 5):
            cells, rank, times, many = (np.frombuffer(one, np.int64) for one in told[at + 1 : at + 5])
            self._found.append((told[at].decode(), cells, rank, times, many))

    def _look(self, numbers: Iterable[int]) -> None:
        """All keys of some parts."""
        for number in numbers:
            if len(self._parts[number]):
                self._look_at(*self._grouped(self._parts[number]))

    def _look_at(self, owner: Ints, cell: Ints, index: Ints, begin: Flags) -> None:
        """All operations on some keys, as `_grouped` gives them."""
        log = self._log
        kind, value = np.frombuffer(log.kinds, np.uint8)[index], column(log.values)[index]
        begins = np.flatnonzero(begin)
        wrong = 1 + np.flatnonzero(~begin[1:] & (kind[1:] == READ) & (value[1:] != value[:-1]))
        wrong = wrong[self._committed[owner[wrong]]]
        self._note("INT", cell[wrong], owner[wrong], self._commit[owner[wrong]])
        last = np.full(len(begins), -1)
        writes = np.flatnonzero(kind == WRITE)
        last[(np.cumsum(begin) - 1)[writes]] = writes
        of, at = owner[begins], cell[begins]
        writing, reading = last >= 0, kind[begins] == READ
        committed, timed = self._committed[of], self._timed[of]
        sure = committed & timed
        if not sure.all():
            self._vague[at[~timed | (writing & ~committed)]] = True
            writing, reading = writing & sure, reading & sure
        told, left = value[begins], value[last]
        wrote = np.flatnonzero(writing)
        commit = self._commit[of]
        versions = at[wrote] * self._width + commit[wrote]
        self._vague[at[wrote[1:][versions[1:] == versions[:-1]]]] = True
        if self._serial:
            self._reads_in_order(of, at, commit, reading, writing, told, left)
            return
        reads = np.flatnonzero(reading)
        self._reads(of[reads], at[reads], told[reads], versions, of[wrote], left[wrote])
        self._conflicts(of[wrote], at[wrote], versions)

    def _grouped(self, mine: Ints) -> tuple[Ints, Ints, Ints, Flags]:
        """Operations by their keys, by the commits of their transactions, and in program order: owners, keys, positions
        in the log's columns, and whether they are the first of a transaction on a key."""
        first, owner, cell = self._first, self._owner[mine], self._cells[mine].astype(np.int64)
        place = self._place[owner]
        by_place, by_number = len(first).bit_length(), self._longest.bit_length()
        if self._count.bit_length() + by_place + by_number > KEY_BITS:
            order = np.lexsort((place, cell))
            owner, cell, place, mine = owner[order], cell[order], place[order], mine[order]
            begin = np.ones(len(mine), np.bool_)
            begin[1:] = (place[1:] != place[:-1]) | (cell[1:] != cell[:-1])
            return owner.astype(np.int64), cell, mine, begin
        # one number for all three: sorted by it, they are sorted by all
        keys = (((cell << by_place) | place) << by_number) | (mine - first[owner])
        keys.sort()
        groups = keys >> by_number
        found = self._by_commit[groups & ((1 << by_place) - 1)]
        begin = np.ones(len(mine), np.bool_)
        begin[1:] = groups[1:] != groups[:-1]
        return found, groups >> by_place, first[found] + (keys & ((1 << by_number) - 1)), begin

    def _note(self, axiom: str, cells: Ints, owners: Ints, times: Ints, counts: Ints | None = None) -> None:
        many = np.ones(len(cells), np.int64) if counts is None else counts
        self._found.append((axiom, cells, self._rank[owners], times, many))

    def _reads_in_order(
        self, owners: Ints, cells: Ints, commits: Ints, reading: Flags, writing: Flags, read: Ints, written: Ints
    ) -> None:
        """Reads of what stands just before the commit of their transaction; all that some did to a key each, by keys
        and commits."""
        acting = reading | writing
        if not acting.all():
            owners, cells, commits, read, written = (one[acting] for one in (owners, cells, commits, read, written))
            reading, writing = reading[acting], writing[acting]
        tied = (cells[1:] == cells[:-1]) & (commits[1:] == commits[:-1]) & (writing[1:] | writing[:-1])
        self._vague[cells[1:][tied]] = True
        before = np.maximum.accumulate(np.where(writing, np.arange(len(cells)), -1))
        before[1:] = before[:-1]
        before[:1] = -1
        seen = (before >= 0) & (cells[before] == cells)
        expected = np.where(seen, written[before], self._held[cells])
        wrong = np.flatnonzero(reading & (expected != read))
        self._note("EXT", cells[wrong], owners[wrong], commits[wrong])

    def _reads(self, owners: Ints, cells: Ints, read: Ints, versions: Ints, writers: Ints, written: Ints) -> None:
        """Reads of what stood at the start of their transaction."""
        keys = cells * self._width + self._start[owners]
        # in ascending order, as neighbours are looked for near one another
        ascending = np.argsort(keys)
        keys, owners, cells, read = keys[ascending], owners[ascending], cells[ascending], read[ascending]
        place = np.searchsorted(versions, keys)
        if len(versions):
            there = np.minimum(place, len(versions) - 1)
            tied = (place < len(versions)) & (versions[there] == keys)
            self._vague[cells[tied & (writers[there] != owners)]] = True
            before = np.maximum(place - 1, 0)
            seen = (place > 0) & (versions[before] // self._width == cells)
            expected = np.where(seen, written[before], self._held[cells])
        else:
            expected = self._held[cells]
        wrong = np.flatnonzero(expected != read)
        self._note("EXT", cells[wrong], owners[wrong], self._commit[owners[wrong]])

    def _initial(self) -> Ints:
        objects = self._log.objects
        found = np.empty(self._count, np.int64)
        for number, one in enumerate(objects):
            found[number :: len(objects)] = one.default
        if any(one.rows for one in objects):
            keys = column(self._log.keys)
            cells, some = np.unique(self._cells, return_index=True)
            for cell, key in zip(cells.tolist(), keys[some].tolist(), strict=True):
                found[cell] = objects[cell % len(objects)].initial(key)
        return found

    def _conflicts(self, owners: Ints, cells: Ints, versions: Ints) -> None:
        ended = np.searchsorted(versions, cells * self._width + self._start[owners], side="right")
        many = np.maximum(np.arange(len(owners)) - ended, 0)
        some = np.flatnonzero(many)
        self._note("NOCONFLICT", cells[some], owners[some], self._commit[owners[ended[some]]], many[some])

    def _summed(self, first: int) -> Doubt:
        cells, rank, times = (np.concatenate([one[at] for one in self._found]) for at in (1, 2, 3))
        real = ~self._vague[cells]
        cells, rank, times = cells[real], rank[real], times[real]
        chosen = self._vague.copy()
        upto = int(NEVER)
        if len(cells):
            last = min(first, len(cells)) - 1
            chosen[cells[rank <= np.sort(rank)[last]]] = True
            chosen[cells[times <= np.sort(times)[last]]] = True
            if not chosen[cells].all():
                upto = int(rank[~chosen[cells]].min())
        elsewhere = dict.fromkeys((one[0] for one in self._found), 0)
        for axiom, of, _, _, many in self._found:
            elsewhere[axiom] += int(many[~chosen[of]].sum())
        return Doubt(chosen[self._cells], elsewhere, upto)
