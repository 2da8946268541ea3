"""Registers of numbers of which every transaction that writes one has read it before, as a lock or what is compared and
set: each adds what it wrote less what it read, so that they are counted as counters are. Does not know levels.
"""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Accesses, heads
from troubadour.facts.objects.facts import Sums

GREATEST = 2**40
"""Numbers below this are told of."""


def replaced_values(accesses: Accesses) -> Sums:
    """What reads of such registers show, and what their writers add."""
    plain = accesses.of_type("register")
    on = plain[accesses.cell]
    last = accesses.last_change()
    told = on & (~accesses.is_read | accesses.known)
    long = told & (np.abs(accesses.value.astype(np.float64)) >= GREATEST)
    plain[accesses.cell[long]] = False
    outer = np.flatnonzero(on & accesses.known & (accesses.last < 0))
    outer = outer[heads(accesses.visit[outer])]
    based = np.full(len(accesses.visit_txn), -1, np.int64)
    based[accesses.visit[outer]] = outer
    # a write of what nothing read, or of what is there
    changing = last >= 0
    blind = changing & (based < 0)
    idle = changing & (based >= 0) & (accesses.value[last] == accesses.value[based]) if len(last) else changing
    plain[accesses.visit_cell[blind | idle]] = False
    changed = np.zeros(len(plain), np.bool_)
    changed[accesses.visit_cell[changing]] = True
    plain &= changed
    initial = np.zeros(len(plain), np.int64)
    cells = np.flatnonzero(plain)
    initial[cells] = accesses.initial(cells)
    plain &= (initial < GREATEST) & (initial > -GREATEST)
    reads = outer[plain[accesses.cell[outer]]]
    visits = np.flatnonzero(changing & plain[accesses.visit_cell])
    first = initial[accesses.cell[reads]]
    net = accesses.value[last[visits]] - accesses.value[based[visits]]
    return Sums(accesses.txn[reads], reads, accesses.value[reads] - first, first, visits, net)
