"""What transactions need of cells and what they make of them, as tokens: versions of registers and lists, numbers of
counters. Does not know any order."""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Accesses, Flags, heads
from troubadour.facts.objects.facts import Facts
from troubadour.order.objects.greedy import Change, Needs, Read


def needs_of(facts: Facts, happened: Flags) -> Needs:
    """Of the transactions that are in the order."""
    accesses = facts.accesses
    reads: dict[int, list[Read]] = {}
    changes: dict[int, list[Change]] = {}
    initial = {cell: cell for cell in range(facts.cells)}
    _versions(facts, happened, reads, changes)
    _counters(accesses, happened, reads, changes, initial)
    return Needs(reads, changes, initial)


def _versions(facts: Facts, happened: Flags, reads: dict[int, list[Read]], changes: dict[int, list[Change]]) -> None:
    accesses, told = facts.accesses, facts.reads
    visit = accesses.visit[told.at]
    some = np.flatnonzero(heads(visit) & happened[told.txn])
    for txn, cell, version in zip(
        told.txn[some].tolist(), accesses.cell[told.at[some]].tolist(), told.version[some].tolist(), strict=True
    ):
        reads.setdefault(txn, []).append((cell, version))
    choices = facts.choices
    known = set(visit.tolist())
    for number, (txn, at) in enumerate(zip(choices.txn.tolist(), choices.at.tolist(), strict=True)):
        one = int(accesses.visit[at])
        if happened[txn] and one not in known:
            known.add(one)
            versions = choices.versions[choices.first[number] : choices.first[number + 1]].tolist()
            reads.setdefault(txn, []).append((int(accesses.cell[at]), frozenset(versions)))
    ordered = accesses.of_type("register", "list")[accesses.visit_cell]
    made = np.flatnonzero((accesses.last_change() >= 0) & happened[accesses.visit_txn] & ordered)
    for one, txn, cell in zip(
        made.tolist(), accesses.visit_txn[made].tolist(), accesses.visit_cell[made].tolist(), strict=True
    ):
        changes.setdefault(txn, []).append((cell, facts.cells + one, False))


def _counters(
    accesses: Accesses,
    happened: Flags,
    reads: dict[int, list[Read]],
    changes: dict[int, list[Change]],
    initial: dict[int, int],
) -> None:
    log = accesses.log
    counted = accesses.of_type("counter")
    for cell in np.flatnonzero(counted).tolist():
        definition = log.objects[int(accesses.subject[cell])]
        initial[cell] = _number(accesses, definition.initial(int(accesses.key[cell])))
    for visit in np.flatnonzero(counted[accesses.visit_cell]).tolist():
        txn, cell = int(accesses.visit_txn[visit]), int(accesses.visit_cell[visit])
        if not happened[txn]:
            continue
        added = 0
        seen: int | None = None
        for at in range(int(accesses.begin[visit]), int(accesses.begin[visit + 1])):
            if not accesses.is_read[at]:
                added += _number(accesses, int(accesses.value[at]))
            elif accesses.known[at] and seen is None:
                seen = _number(accesses, int(accesses.value[at])) - added
        if seen is not None:
            reads.setdefault(txn, []).append((cell, seen))
        if added:
            changes.setdefault(txn, []).append((cell, added, True))


def _number(accesses: Accesses, code: int) -> int:
    value = accesses.log.codes.value(code)
    assert isinstance(value, int)
    return value
