"""Which ids a stream had, in a memory of eight bytes for each. Does not know what else a line says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np
import numpy.typing as npt

from troubadour.model.log import TransactionId

RECENT = 1 << 17
"""Ids that are kept as they are, before they become numbers."""

SURE = 16
"""Ids in a row that came before, after which one whose number came is not looked up: a log may be sent twice."""


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


def _numbers(ids: Collection[TransactionId]) -> npt.NDArray[np.int64]:
    """A number of each: two ids hardly ever have the same."""
    return np.fromiter((hash(repr(id)) for id in ids), np.int64, len(ids))
