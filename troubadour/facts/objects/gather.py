"""The facts of a whole log of operations on objects, each type by its own reader. Does not know what follows."""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Ints, accesses_of, ranks
from troubadour.facts.objects.facts import Facts, Reads, Successions
from troubadour.facts.objects.list import list_facts
from troubadour.facts.objects.register import register_facts
from troubadour.model.objects import ObjectLog


def facts_of(log: ObjectLog, *, grows: bool) -> Facts:
    """All that the answers tell. `grows`: every append extends the newest list."""
    accesses = accesses_of(log)
    reads, successions, choices, faults = register_facts(accesses)
    lists = list_facts(accesses, ranks(log), grows=grows)
    return Facts(
        accesses=accesses,
        reads=Reads(*_joined(reads, lists.reads, "txn", "at", "version")),
        successions=Successions(*_joined(successions, lists.successions, "earlier", "later", "by", "at", "differs")),
        sees=lists.sees,
        misses=lists.misses,
        choices=choices,
        faults=(*faults, *lists.faults),
    )


def _joined(one: object, other: object, *names: str) -> list[Ints]:
    return [np.concatenate((getattr(one, name), getattr(other, name))) for name in names]
