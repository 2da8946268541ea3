"""What an impossible number of a counter most likely shows: what aborted, a part of what a transaction added, the
reader's own additions left out or seen too early (Alvaro and Kingsbury 2020, *Elle*, section 3).

Only names it: that no choice of what may have committed comes to the number is found elsewhere. Does not know levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from sql_semantics.records import dataclass
from troubadour.facts.objects.accesses import Accesses, column
from troubadour.model.objects import ABORTED, INC, ObjectLog

MOST = 4_096
"""Different sums that are looked at."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The name of an impossible number and the transaction whose additions explain it (-1: none)."""

    name: str
    writer: int = -1


def named_sum(log: ObjectLog, accesses: Accesses, at: int) -> Sum:
    """Name the answer of an operation, which is an index of the accesses."""
    try:
        return _Cell(log, accesses, at).named()
    except _TooMany:
        return Sum("counter-anomaly")


class _TooMany(Exception):
    """There are more sums than are looked at."""


class _Cell:
    """What was added to the counter that an operation read: by transaction, one after the other."""

    def __init__(self, log: ObjectLog, accesses: Accesses, at: int) -> None:
        self.log = log
        op, self.reader = int(accesses.op[at]), int(accesses.txn[at])
        subject, key = log.subjects[op], log.keys[op]
        definition = log.objects[subject]
        self.number = int(accesses.value[at]) - definition.initial(key)
        kinds = np.frombuffer(log.kinds, np.uint8)
        near = np.flatnonzero((kinds == INC) & (np.asarray(log.subjects) == subject) & (column(log.keys) == key))
        self.before, self.later = 0, list[int]()
        self.others: dict[int, list[int]] = {}
        owners = np.searchsorted(column(log.first), near, side="right") - 1
        for one, txn in zip(near.tolist(), owners.tolist(), strict=True):
            amount = log.values[one]
            if txn != self.reader:
                self.others.setdefault(txn, []).append(amount)
            elif one < op:
                self.before += amount
            else:
                self.later.append(amount)

    def named(self) -> Sum:
        """The first reading that comes to the number."""
        whole = {txn: sum(amounts) for txn, amounts in self.others.items() if self.log.statuses[txn] != ABORTED}
        every = _sums(whole.values())
        if self.before and self.number in every:
            return Sum("internal")
        rest = self.number - self.before
        if any(rest - early in every for early in accumulate(self.later)):
            return Sum("future-read")
        for txn, part in self._parts():
            if txn not in whole:
                if rest - part in every:
                    return Sum("G1a", txn)
            elif rest - part in _sums(amount for one, amount in whole.items() if one != txn):
                return Sum("G1b", txn)
        return Sum("garbage-read")

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Transactions with what they had added at a moment: those that aborted, and others before they were done."""
        for txn, amounts in self.others.items():
            aborted = self.log.statuses[txn] == ABORTED
            for part in [*accumulate(amounts)][: None if aborted else -1]:
                yield txn, part


def _sums(amounts: Iterable[int]) -> set[int]:
    """What some of the amounts add up to. Raises _TooMany."""
    found = {0}
    for amount in amounts:
        found |= {one + amount for one in found}
        if len(found) > MOST:
            raise _TooMany
    return found
