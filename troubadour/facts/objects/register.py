"""Registers: a read is of a version by its value (Biswas and Enea 2019; Alvaro and Kingsbury 2020, *Elle*, 5.2).

A value that one version has names it; one that several have leaves a choice. A transaction that reads a version and
then writes makes a later one. Does not know any level.
"""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Accesses, Ints, heads, spans
from troubadour.facts.objects.facts import Choices, Fault, Reads, Successions
from troubadour.facts.objects.names import aborted_writer, named, shown, soonest
from troubadour.model.objects import NOTHING


def register_facts(accesses: Accesses) -> tuple[Reads, Successions, Choices, list[Fault]]:
    """What reads and writes of registers tell."""
    mine = accesses.of_type("register")
    on = mine[accesses.cell]
    values = accesses.value
    outer = np.flatnonzero(on & accesses.known & (accesses.last < 0))
    inner = np.flatnonzero(on & accesses.known & (accesses.last >= 0))
    faults = []
    wrong = inner[values[inner] != values[accesses.last[inner]]]
    for at in wrong[soonest(accesses, wrong)].tolist():
        faults.append(_internal(accesses, at))
    faults += _unrepeated(accesses, outer)
    cells = len(accesses.key)
    last = accesses.last_change()
    writing = np.flatnonzero((last >= 0) & mine[accesses.visit_cell])
    numbers = np.flatnonzero(mine)
    version = np.concatenate((numbers, cells + writing))
    holds = np.concatenate((accesses.initial(numbers), values[last[writing]]))
    cell = np.concatenate((numbers, accesses.visit_cell[writing]))
    first, count, by_value = _candidates(cell, holds, accesses.cell[outer], values[outer])
    # what a transaction writes later it cannot have read before
    left = np.full(cells + len(accesses.visit_txn), values.dtype.type(0))
    left[version] = holds
    has = np.zeros(len(left), np.bool_)
    has[version] = True
    own = cells + accesses.visit[outer]
    itself = has[own] & (left[own] == values[outer])
    count_others = count - itself
    without = outer[count_others == 0]
    for at in without[soonest(accesses, without)].tolist():
        faults.append(_of_nothing(accesses, at))
    single = np.flatnonzero(count_others == 1)
    found = version[by_value[first[single]]]
    again = found == own[single]
    found[again] = version[by_value[first[single][again] + 1]]
    reads = Reads(accesses.txn[outer[single]], outer[single], found)
    several = np.flatnonzero(count_others > 1)
    choices = _choices(accesses, outer, several, version[by_value], first, count, own)
    # a transaction that reads a version and then writes makes a later one
    visit = accesses.visit[reads.at]
    overwrites = np.flatnonzero((last[visit] >= 0) & heads(visit))
    successions = Successions(
        reads.version[overwrites],
        cells + visit[overwrites],
        reads.txn[overwrites],
        reads.at[overwrites],
        (values[last[visit[overwrites]]] != values[reads.at[overwrites]]).astype(np.int64),
    )
    return reads, successions, choices, faults


def _candidates(cell: Ints, holds: Ints, of_cell: Ints, value: Ints) -> tuple[Ints, Ints, Ints]:
    """Of each asked pair of cell and value: where its versions begin in the third array, and how many there are; the
    third are the versions (indices of `cell`) by cell and value."""
    names, numbered = np.unique(np.concatenate((holds, value)), return_inverse=True)
    width = max(1, len(names))
    keys = cell * width + numbered[: len(holds)]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    asked = of_cell * width + numbered[len(holds) :]
    first = np.searchsorted(keys, asked)
    return first, np.searchsorted(keys, asked, side="right") - first, order


def _choices(
    accesses: Accesses, outer: Ints, several: Ints, versions: Ints, first: Ints, count: Ints, own: Ints
) -> Choices:
    at = outer[several]
    flat = versions[spans(first[several], count[several])]
    reader = np.repeat(np.arange(len(several)), count[several])
    kept = flat != own[several][reader]
    lengths = np.bincount(reader[kept], minlength=len(several)) if len(several) else np.zeros(0, np.int64)
    return Choices(accesses.txn[at], at, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), flat[kept])


def _unrepeated(accesses: Accesses, outer: Ints) -> list[Fault]:
    """Visits whose outer reads differ."""
    one, other = outer[:-1], outer[1:]
    wrong = (accesses.visit[one] == accesses.visit[other]) & (accesses.value[one] != accesses.value[other])
    found = []
    told = soonest(accesses, other[wrong])
    for first, second in zip(one[wrong][told].tolist(), other[wrong][told].tolist(), strict=True):
        seen, then = (accesses.log.seen(int(accesses.op[at])) for at in (first, second))
        text = f"it read {named(accesses, second)} as {shown(seen)}, and later as {shown(then)}"
        found.append(Fault("non-repeatable-read", int(accesses.txn[second]), second, text, one_view=True))
    return found


def _internal(accesses: Accesses, at: int) -> Fault:
    log, last = accesses.log, int(accesses.last[at])
    wrote, read = log.seen(int(accesses.op[last])), log.seen(int(accesses.op[at]))
    text = f"it wrote {shown(wrote)} to {named(accesses, at)}, and then read {shown(read)} there"
    return Fault("internal-inconsistency", int(accesses.txn[at]), at, text, dirty=True)


def _of_nothing(accesses: Accesses, at: int) -> Fault:
    """Why a read is of no committed version."""
    log = accesses.log
    cell, value, txn = int(accesses.cell[at]), int(accesses.value[at]), int(accesses.txn[at])
    here = f"it read {shown(log.seen(int(accesses.op[at])))} of {named(accesses, at)}"
    begin, end = np.searchsorted(accesses.cell, (cell, cell + 1))
    same = begin + np.flatnonzero((accesses.value[begin:end] == value) & ~accesses.is_read[begin:end])
    for write in same.tolist():
        writer = int(accesses.txn[write])
        if writer != txn:
            text = f"{here}, which {log.ids[writer]!r} wrote and overwrote before it committed"
            return Fault("intermediate-read", txn, at, text, writer)
    if len(same):
        return Fault("future-read", txn, at, f"{here}, which it wrote itself, later", txn)
    subject, key = int(accesses.subject[cell]), int(accesses.key[cell])
    aborted = aborted_writer(log, subject, key, value)
    if aborted >= 0:
        return Fault(
            "aborted-read", txn, at, f"{here}, which only {log.ids[aborted]!r} wrote, and that aborted", aborted
        )
    if value == NOTHING:
        return Fault("garbage-read", txn, at, f"{here}: nothing, and there is no such version", dirty=True)
    return Fault("garbage-read", txn, at, f"{here}, which nothing wrote there", dirty=True)
