"""The facts of a whole log of operations on objects, each type by its own reader. Does not know what follows."""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Ints, accesses_of, ranks
from troubadour.facts.objects.counter import counter_facts
from troubadour.facts.objects.facts import Facts, Misses, Reads, Successions, Sums
from troubadour.facts.objects.list import list_facts
from troubadour.facts.objects.register import register_facts
from troubadour.facts.objects.replaced import replaced_values
from troubadour.facts.objects.set import set_facts
from troubadour.facts.objects.totals import total_faults
from troubadour.model.objects import ObjectLog


def facts_of(log: ObjectLog, *, grows: bool) -> Facts:
    """All that the answers tell. `grows`: every append extends the newest list, and every inc the newest number."""
    accesses = accesses_of(log)
    reads, successions, choices, faults = register_facts(accesses)
    rank = ranks(log)
    lists = list_facts(accesses, rank, grows=grows)
    sets = set_facts(accesses)
    counters = counter_facts(accesses, grows=grows)
    replaced = replaced_values(accesses) if grows else Sums()
    totals = total_faults(accesses, rank) if grows else []
    return Facts(
        accesses=accesses,
        reads=Reads(*_joined(reads, lists.reads, "txn", "at", "version")),
        successions=Successions(*_joined(successions, lists.successions, "earlier", "later", "by", "at", "differs")),
        sees=Misses(*_joined(lists.sees, sets.sees, "txn", "at", "visit")),
        misses=Misses(*_joined(lists.misses, sets.misses, "txn", "at", "visit")),
        tails=sets.tails,
        counts=counters.counts,
        sums=Sums(*_joined(counters.sums, replaced, "txn", "at", "off", "first", "visit", "net")),
        choices=choices,
        faults=(*faults, *lists.faults, *sets.faults, *counters.faults, *totals),
    )


class Derived:
    """The facts of one log, derived where they are first asked for and kept: several levels ask for the same."""

    def __init__(self, log: ObjectLog) -> None:
        self._log = log
        self._found: dict[bool, Facts] = {}

    def facts(self, *, grows: bool) -> Facts:
        """As `facts_of` has them."""
        if grows not in self._found:
            self._found[grows] = facts_of(self._log, grows=grows)
        return self._found[grows]


def _joined(one: object, other: object, *names: str) -> list[Ints]:
    return [np.concatenate((getattr(one, name), getattr(other, name))) for name in names]
