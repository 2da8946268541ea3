"""The states of simulated histories: what the transactions of random logs leave behind."""

from __future__ import annotations

import random

from troubadour.replay.commit_tests.references import dangling
from troubadour.replay.store import Store, Writes


def is_a_state(store: Store, writes: Writes) -> bool:
    """Make the next state; whether its keys are of one row each, and its references find their rows."""
    clash, gone = store.append(writes)
    return clash is None and dangling(store.tables, store.catalog, gone, writes) is None


class Later:
    """The constraints of each statement meet any state from the snapshot on."""

    def __init__(self, rng: random.Random, newest: int) -> None:
        self._rng, self._newest = rng, newest

    def state(self, execution: tuple[int, int], default: int, /) -> int:
        del execution
        return default

    def newest(self, execution: tuple[int, int], state: int, default: int | None, /) -> int | None:
        del execution, default
        return self._rng.randint(state, self._newest)
