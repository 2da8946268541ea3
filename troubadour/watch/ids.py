"""Which ids a stream had, in a memory of eight bytes for each, and which numbers its sessions had, in one of the
numbers that are missing. Does not know what else a line says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from troubadour.model.log import TransactionId

RECENT = 1 << 17
"""Ids that are kept as they are, before they become numbers."""

SURE = 16
"""Ids in a row that came before, after which one whose number came is not looked up: a log may be sent twice."""


_low = itemgetter(0)


class Ids:
    """Ids so far. `there` looks an id up where all lines are kept: it is asked of one whose number was seen."""

    def __init__(self, there: Callable[[TransactionId], bool], recent: int = RECENT) -> None:
        self._there, self._most = there, recent
        self._recent: set[TransactionId] = set()
        self._runs: list[npt.NDArray[np.int64]] = []
        """Numbers of older ones, each sorted, the longest first."""
        self._confirmed = 0

    def __len__(self) -> int:
        return len(self._recent) + sum(map(len, self._runs))

    def any_of(self, ids: Iterable[TransactionId]) -> bool:
        """Whether any of these came before."""
        if not self._recent.isdisjoint(ids):
            return True
        if not self._runs:
            return False
        several = [*ids]
        numbers = _numbers(several)
        found = np.zeros(len(numbers), bool)
        for run in self._runs:
            places = np.searchsorted(run, numbers)
            found |= run[np.minimum(places, len(run) - 1)] == numbers
        return any(self._came(several[at]) for at in np.flatnonzero(found))

    def _came(self, id: TransactionId) -> bool:
        """Whether one came whose number did: after enough that were looked up and had come, it has."""
        if self._confirmed < SURE:
            there = self._there(id)
            self._confirmed = self._confirmed + 1 if there else 0
            return there
        return True

    def update(self, ids: Iterable[TransactionId]) -> None:
        """Take these, none of which came before."""
        self._recent.update(ids)
        if len(self._recent) < self._most:
            return
        runs = self._runs
        run = np.sort(_numbers(self._recent))
        self._recent.clear()
        while runs and len(runs[-1]) <= len(run):
            run = np.sort(np.concatenate((runs.pop(), run)), kind="stable")
        runs.append(run)


class Numbers:
    """Numbers of the transactions of each session. `held`: of each the least above all that came, and the ranges below
    it that did not come, each with its end left out."""

    def __init__(self) -> None:
        self.held: dict[str | int, tuple[int, list[tuple[int, int]]]] = {}
        """The ranges are in ascending order."""

    def came(self, session: str | int, number: int) -> bool:
        """Whether this one came before."""
        end, missing = self.held.get(session, (0, []))
        if number >= end:
            return False
        at = bisect_right(missing, number, key=_low) - 1
        return at < 0 or number >= missing[at][1]

    def add(self, session: str | int, number: int) -> None:
        """Take one that did not come before."""
        end, missing = self.held.get(session, (0, []))
        if number > end:
            missing.append((end, number))
        elif number < end:
            at = bisect_right(missing, number, key=_low) - 1
            low, high = missing[at]
            missing[at : at + 1] = [one for one in ((low, number), (number + 1, high)) if one[0] < one[1]]
        self.held[session] = max(end, number + 1), missing


def _numbers(ids: Collection[TransactionId]) -> npt.NDArray[np.int64]:
    """A number of each: two ids hardly ever have the same."""
    return np.fromiter((hash(repr(id)) for id in ids), np.int64, len(ids))
