"""Which keys of a long log of registers have to be looked at one transaction at a time to list all violations: the
others are counted, all at once.

The axioms EXT, INT and NOCONFLICT are of one key each, so that a log's violations are those of some keys and those of
the others. Keys with equal timestamps, unknown outcomes or missing timestamps are always looked at. Does not know what
is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from troubadour.facts.objects.accesses import NEVER, column, ranks
from troubadour.model.objects import ABORTED, COMMITTED, MISSING, READ, UNREAD, WRITE, ObjectLog
from troubadour.timestamps.ledger import Rules

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FIRST = 64
"""Violations of which the keys are looked at: those of the shortest prefixes, and those that are told."""


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
        _, keys = np.unique(column(log.keys), return_inverse=True)
        self._cells = (keys * len(log.objects) + subjects).astype(np.int64)
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
        owners = np.repeat(np.arange(len(log.ids)), np.diff(column(log.first)))
        alive = np.flatnonzero(self._statuses[owners] != ABORTED)
        groups = owners[alive] * self._count + self._cells[alive]
        order = alive[np.argsort(groups, kind="stable")]
        kind, value, owner, cell = kinds[order], values[order], owners[order], self._cells[order]
        group = owner * self._count + cell
        begins = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        within = np.ones(len(order), bool)
        within[begins] = False
        wrong = np.flatnonzero(within & (kind == READ) & (value != np.roll(value, 1)))
        wrong = wrong[self._statuses[owner[wrong]] == COMMITTED]
        self._note("INT", cell[wrong], owner[wrong], self._commit[owner[wrong]])
        last = np.maximum.reduceat(np.where(kind == WRITE, np.arange(len(order)), -1), begins)
        of, at = owner[begins], cell[begins]
        committed = self._statuses[of] == COMMITTED
        self._vague[at[~self._timed[of] | ((last >= 0) & ~committed)]] = True
        sure = committed & self._timed[of]
        wrote = np.flatnonzero((last >= 0) & sure)
        wrote = wrote[np.lexsort((self._commit[of[wrote]], at[wrote]))]
        versions = at[wrote] * self._width + self._commit[of[wrote]]
        self._vague[at[wrote[1:][versions[1:] == versions[:-1]]]] = True
        reads = np.flatnonzero((kind[begins] == READ) & sure)
        self._reads(of[reads], at[reads], value[begins[reads]], versions, of[wrote], value[last[wrote]])
        if not self._serial:
            self._conflicts(of[wrote], at[wrote], versions)
        return self._summed(first)

    def _note(self, axiom: str, cells: Ints, owners: Ints, times: Ints, counts: Ints | None = None) -> None:
        many = np.ones(len(cells), np.int64) if counts is None else counts
        self._found.append((axiom, cells, self._rank[owners], times, many))

    def _reads(self, owners: Ints, cells: Ints, read: Ints, versions: Ints, writers: Ints, written: Ints) -> None:
        moment = (self._commit if self._serial else self._start)[owners]
        place = np.searchsorted(versions, cells * self._width + moment)
        if len(versions):
            there = np.minimum(place, len(versions) - 1)
            tied = (place < len(versions)) & (versions[there] == cells * self._width + moment)
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
