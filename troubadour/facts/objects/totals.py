"""Counters of which every transaction takes from some what it adds to others, as the accounts of a bank: all that are
ever changed come to one total in every state, whatever they held at first. Does not know levels.
"""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import NEVER, Accesses, Ints, heads
from troubadour.facts.objects.facts import Fault
from troubadour.facts.objects.names import FAULTS
from troubadour.model.objects import LEAST_TEXT

GREATEST = 2**40
"""Numbers below this are added up."""


def total_faults(accesses: Accesses, rank: Ints) -> list[Fault]:
    """Transactions that read all of such an object and see another total than the others; `rank` as `ranks` has it."""
    log = accesses.log
    found: list[Fault] = []
    for number, definition in enumerate(log.objects):
        if definition.type == "counter":
            found += _of_object(accesses, rank, number)
    return found


def _of_object(accesses: Accesses, rank: Ints, number: int) -> list[Fault]:
    log = accesses.log
    on = accesses.subject[accesses.cell] == number
    told = on & (~accesses.is_read | accesses.known)
    if bool((np.abs(accesses.value[told].astype(np.float64)) >= min(GREATEST, LEAST_TEXT)).any()):
        return []
    changes = np.flatnonzero(on & ~accesses.is_read)
    net = np.bincount(accesses.txn[changes], accesses.value[changes].astype(np.float64), len(log))
    changed = np.unique(accesses.cell[changes])
    if not len(changed) or bool(net.any()):
        return []
    # the first read of each visit, without what the reader had added itself
    added = np.concatenate(([0], np.cumsum(np.where(on & ~accesses.is_read, accesses.value, 0))))
    reads = np.flatnonzero(on & accesses.known & np.isin(accesses.cell, changed))
    reads = reads[heads(accesses.visit[reads])]
    base = accesses.value[reads] - (added[reads] - added[accesses.begin[accesses.visit[reads]]])
    reader = accesses.txn[reads]
    whole = np.flatnonzero((np.bincount(reader, minlength=len(log)) == len(changed)) & (rank < NEVER))
    if not len(whole):
        return []
    totals = np.bincount(reader, base.astype(np.float64), len(log))[whole].astype(np.int64)
    expected, other = _expected(
        accesses, number, changed, whole[np.argsort(rank[whole])], totals[np.argsort(rank[whole])]
    )
    wrong = whole[totals != expected]
    found = []
    for txn in wrong[np.argsort(rank[wrong])][:FAULTS].tolist():
        at = int(reads[np.flatnonzero(reader == txn)[0]])
        total = int(totals[np.flatnonzero(whole == txn)[0]])
        name = log.objects[number].name
        text = (
            f"the {len(changed)} keys of {name} that it read come to {total}, where no transaction changes their sum,"
        )
        text += f" and they came to {expected} " + ("at first" if other < 0 else f"when {log.ids[other]!r} read them")
        since = int(max(rank[txn], rank[other] if other >= 0 else 0))
        others = () if other < 0 else (other,)
        found.append(Fault("read-skew", txn, at, text, one_view=True, since=since, others=others, whole=True))
    return found


def _expected(accesses: Accesses, number: int, changed: Ints, whole: Ints, totals: Ints) -> tuple[int, int]:
    """What the keys come to, and the transaction that shows it (-1: they were so at first)."""
    definition = accesses.log.objects[number]
    if not definition.unknown:
        codes = accesses.initial(changed).tolist()
        if all(abs(code) < GREATEST for code in codes):
            return sum(codes), -1
    names, first, counts = np.unique(totals, return_index=True, return_counts=True)
    most = int(np.argmax(counts))
    return int(names[most]), int(whole[first[most]])
