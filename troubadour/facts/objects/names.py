"""How values, keys and the writers of what is not there are named where an answer is at fault. Does not know types."""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Accesses, Ints, column, ranks
from troubadour.model.objects import ABORTED, READ, ObjectLog

FAULTS = 200
"""Faults of a kind that are told of."""


def soonest(accesses: Accesses, reads: Ints) -> Ints:
    """Of operations that are at fault the FAULTS whose transactions come first in the hint order, in the order of the
    accesses; as numbers of `reads`."""
    if len(reads) <= FAULTS:
        return np.arange(len(reads))
    rank = ranks(accesses.log)[accesses.txn[reads]]
    return np.sort(np.argsort(rank, kind="stable")[:FAULTS])


def aborted_writer(log: ObjectLog, subject: int, key: int, value: int) -> int:
    """An aborted transaction that changed a key by a value, -1 for none."""
    same = (column(log.keys) == key) & (column(log.values) == value)
    same &= (np.frombuffer(log.subjects, np.uint16) == subject) & (np.frombuffer(log.kinds, np.uint8) != READ)
    owners = np.searchsorted(column(log.first), np.flatnonzero(same), side="right") - 1
    aborted = owners[np.frombuffer(log.statuses, np.uint8)[owners] == ABORTED]
    return int(aborted[0]) if len(aborted) else -1


def named(accesses: Accesses, at: int) -> str:
    """What the key of an operation is called."""
    log, op = accesses.log, int(accesses.op[at])
    return f"{log.objects[log.subjects[op]].name}({shown(log.codes.value(log.keys[op]))})"


def shown(value: object) -> str:
    """A value for people."""
    if value is None:
        return "nothing"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    return repr(value) if isinstance(value, str) else str(value)
