"""Which keys of a long log of registers have to be looked at one transaction at a time to list all violations: the
others are counted, all at once.

The axioms EXT, INT and NOCONFLICT are of one key each, so that a log's violations are those of some keys and those of
the others. Keys with equal timestamps, unknown outcomes or missing timestamps are always looked at. Does not know what
is told.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sql_semantics.records import dataclass
from troubadour.facts.objects.accesses import NEVER, column, ranks
from troubadour.model.objects import ABORTED, COMMITTED, MISSING, READ, UNREAD, WRITE, ObjectLog
from troubadour.timestamps.ledger import Rules

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FIRST = 64
"""Violations of which the keys are looked at: those of the shortest prefixes, and those that are told."""


KEY_BITS = 62
"""Bits of a number by which operations are sorted."""


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
        starts, commits = column(log.starts), column(log.commits)
        self._timed = (starts != MISSING) & (commits != MISSING)
        both, times = np.unique(np.concatenate((starts, commits)), return_inverse=True)
        self._width = len(both) + 1
        self._start, self._commit = times[: len(starts)].astype(np.int64), times[len(starts) :].astype(np.int64)
        subjects = np.asarray(log.subjects, np.int64)
        self._cells = _numbered(column(log.keys)) * len(log.objects) + subjects
        """A number of the key of each operation."""
        self._count = int(self._cells.max()) + 1
        self._vague = np.zeros(self._count, bool)
        self._found: list[tuple[str, Ints, Ints, Ints, Ints]] = []
        """Axiom, cells, ranks, times by which they are told, how many; of each event."""
        self._rank = ranks(log)

    def doubt(self, first: int) -> Doubt:
        """See `doubt`."""
        log = self._log
        kinds, values = np.frombuffer(log.kinds, np.uint8), column(log.values)
        owner, cell, order, begin = self._grouped()
        kind, value = kinds[order], values[order]
        begins = np.flatnonzero(begin)
        wrong = 1 + np.flatnonzero(~begin[1:] & (kind[1:] == READ) & (value[1:] != value[:-1]))
        wrong = wrong[self._statuses[owner[wrong]] == COMMITTED]
        self._note("INT", cell[wrong], owner[wrong], self._commit[owner[wrong]])
        last = np.full(len(begins), -1)
        writes = np.flatnonzero(kind == WRITE)
        last[(np.cumsum(begin) - 1)[writes]] = writes
        of, at = owner[begins], cell[begins]
        writing, reading = last >= 0, kind[begins] == READ
        alive = self._statuses != ABORTED
        if not (self._timed & (self._statuses == COMMITTED))[alive].all():
            committed = self._statuses[of] == COMMITTED
            self._vague[at[~self._timed[of] | (writing & ~committed)]] = True
            sure = committed & self._timed[of]
            writing, reading = writing & sure, reading & sure
        wrote, reads = np.flatnonzero(writing), np.flatnonzero(reading)
        versions = at[wrote] * self._width + self._commit[of[wrote]]
        ascending = np.argsort(versions)
        wrote, versions = wrote[ascending], versions[ascending]
        self._vague[at[wrote[1:][versions[1:] == versions[:-1]]]] = True
        self._reads(of[reads], at[reads], value[begins[reads]], versions, of[wrote], value[last[wrote]])
        if not self._serial:
            self._conflicts(of[wrote], at[wrote], versions)
        return self._summed(first)

    def _grouped(self) -> tuple[Ints, Ints, Ints, Flags]:
        """The operations of all that did not abort, those of a transaction on one key beside one another in program
        order: owners, keys, positions in the log's columns, and whether they are the first of such a group."""
        first = column(self._log.first)
        lengths = np.diff(first)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        alive = np.flatnonzero(np.repeat(self._statuses != ABORTED, lengths))
        owner, cell = owners[alive], self._cells[alive]
        by_cell, by_number = self._count.bit_length(), int(lengths.max(initial=0)).bit_length()
        if by_cell + by_number + len(lengths).bit_length() > KEY_BITS:
            sorted_ = np.argsort(owner * self._count + cell, kind="stable")
            owner, cell, order = owner[sorted_], cell[sorted_], alive[sorted_]
        else:
            # one number for all three: sorted by it, they are sorted by all
            keys = (owner << (by_cell + by_number)) | (cell << by_number) | (alive - first[owner])
            keys.sort()
            owner, cell = keys >> (by_cell + by_number), (keys >> by_number) & ((1 << by_cell) - 1)
            order = first[owner] + (keys & ((1 << by_number) - 1))
        begin = np.ones(len(order), np.bool_)
        begin[1:] = (owner[1:] != owner[:-1]) | (cell[1:] != cell[:-1])
        return owner, cell, order, begin

    def _note(self, axiom: str, cells: Ints, owners: Ints, times: Ints, counts: Ints | None = None) -> None:
        many = np.ones(len(cells), np.int64) if counts is None else counts
        self._found.append((axiom, cells, self._rank[owners], times, many))

    def _reads(self, owners: Ints, cells: Ints, read: Ints, versions: Ints, writers: Ints, written: Ints) -> None:
        moment = (self._commit if self._serial else self._start)[owners]
        keys = cells * self._width + moment
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
            expected = np.where(seen, written[before], self._initial()[cells])
        else:
            expected = self._initial()[cells]
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
        elsewhere = {axiom: int(many[~chosen[of]].sum()) for axiom, of, _, _, many in self._found}
        return Doubt(chosen[self._cells], elsewhere, upto)
