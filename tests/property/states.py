"""The states of simulated histories: what the transactions of random logs leave behind."""

from __future__ import annotations

from troubadour.replay.commit_tests.references import dangling
from troubadour.replay.store import Store, Writes


def is_a_state(store: Store, writes: Writes) -> bool:
    """Make the next state; whether its keys are of one row each, and its references find their rows."""
    clash, gone = store.append(writes)
    return clash is None and dangling(store.tables, store.catalog, gone, writes) is None
