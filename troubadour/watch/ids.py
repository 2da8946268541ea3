"""Which ids a stream had, in a memory of eight bytes for each. Does not know what else a line says."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from troubadour.model.log import TransactionId

RECENT = 1 << 17
"""Ids that are kept as they are, before they become numbers."""


class Ids:
    """Ids so far. `there` looks an id up where all lines are kept: it is asked of one whose number was seen."""

    def __init__(self, there: Callable[[TransactionId], bool], recent: int = RECENT) -> None:
        self._there, self._most = there, recent
        self._recent: set[TransactionId] = set()
        self._runs: list[npt.NDArray[np.int64]] = []
        """Numbers of older ones, each sorted, the longest first."""

    def __len__(self) -> int:
        return len(self._recent) + sum(map(len, self._runs))

    def any_of(self, ids: Iterable[TransactionId]) -> bool:
        """Whether any of these came before."""
        if not self._recent.isdisjoint(ids):
            return True
        if not self._runs:
            return False
        several = [*ids]
        numbers = np.fromiter(map(hash, several), np.int64, len(several))
        found = np.zeros(len(numbers), bool)
        for run in self._runs:
            places = np.searchsorted(run, numbers)
            found |= run[np.minimum(places, len(run) - 1)] == numbers
        return any(self._there(several[at]) for at in np.flatnonzero(found))

    def update(self, ids: Iterable[TransactionId]) -> None:
        """Take these, none of which came before."""
        self._recent.update(ids)
        if len(self._recent) < self._most:
            return
        runs = self._runs
        run = np.sort(np.fromiter(map(hash, self._recent), np.int64, len(self._recent)))
        self._recent.clear()
        while runs and len(runs[-1]) <= len(run):
            run = np.sort(np.concatenate((runs.pop(), run)), kind="stable")
        runs.append(run)
