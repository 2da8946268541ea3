"""Counters: what a read shows is what was there at first and what some transactions added, each wholly.

So a number that no choice of them comes to is of no version. Where every change acts on the newest version (`grows`)
and all add in one direction, what was read is also an order: of two reads the one that shows more is of a later state,
and a transaction that read and then added is between those that show no more than it read and those that show more.
Numbers of more than 61 bits are left alone. Does not know which levels those are.
"""

from __future__ import annotations

import numpy as np

from sql_semantics.records import dataclass, field
from troubadour.facts.objects.accesses import Accesses, Flags, Ints, heads
from troubadour.facts.objects.facts import Counts, Fault, Sums
from troubadour.facts.objects.names import named, shown, soonest
from troubadour.model.objects import LEAST_TEXT

GREATEST = 2**61
"""Sums below this are told of."""

SUMS = 1 << 33
"""Of one cell, transactions times what they add up to (in units of the greatest common divisor), up to which every sum
is looked at."""


@dataclass(slots=True)
class CounterFacts:
    """What the answers tell."""

    counts: Counts = field(default_factory=Counts)
    sums: Sums = field(default_factory=Sums)
    faults: list[Fault] = field(default_factory=list)


def counter_facts(accesses: Accesses, *, grows: bool) -> CounterFacts:
    """What reads of counters and additions to them tell."""
    if not any(one.type == "counter" for one in accesses.log.objects):
        return CounterFacts()
    return _Maker(accesses, grows=grows).made()


class _Maker:
    def __init__(self, accesses: Accesses, *, grows: bool) -> None:
        self.accesses, self.grows = accesses, grows
        self.found = CounterFacts()
        self.plain = accesses.of_type("counter")
        """By cell: whether it is a counter of which all is told."""
        self.initial = np.zeros(len(accesses.key), np.int64)
        self._leave_long_numbers()
        on = self.plain[accesses.cell]
        changes = on & ~accesses.is_read
        added = np.concatenate(([0], np.cumsum(np.where(changes, accesses.value, 0))))
        begin = accesses.begin
        self.net = added[begin[1:]] - added[begin[:-1]]
        """Of each visit what it adds."""
        self.reads = np.flatnonzero(on & accesses.known)
        own = added[self.reads] - added[begin[accesses.visit[self.reads]]]
        self.base = accesses.value[self.reads] - own
        """What was there without what the reader had added itself."""

    def _leave_long_numbers(self) -> None:
        accesses = self.accesses
        told = (accesses.known | ~accesses.is_read) & self.plain[accesses.cell]
        long = told & (np.abs(accesses.value.astype(np.float64)) >= GREATEST)
        self.plain[accesses.cell[long]] = False
        cells = np.flatnonzero(self.plain)
        codes = accesses.initial(cells)
        short = (codes < LEAST_TEXT) & (codes < GREATEST) & (codes > -GREATEST)
        self.plain[cells[~short]] = False
        self.initial[cells[short]] = codes[short]
        changes = np.flatnonzero(self.plain[accesses.cell] & ~accesses.is_read)
        sizes = np.bincount(
            accesses.cell[changes], np.abs(accesses.value[changes].astype(np.float64)), len(accesses.key)
        )
        self.plain &= sizes + np.abs(self.initial) < GREATEST

    def made(self) -> CounterFacts:
        """All of it."""
        self._unrepeated()
        self._sums()
        if self.grows:
            self._count()
            self._add_up()
        return self.found

    def _unrepeated(self) -> None:
        """Visits whose answers differ by more than what they added between."""
        accesses = self.accesses
        visit = accesses.visit[self.reads]
        wrong = np.flatnonzero((visit[1:] == visit[:-1]) & (self.base[1:] != self.base[:-1]))
        for place in wrong[soonest(accesses, self.reads[wrong + 1])].tolist():
            one, other = int(self.reads[place]), int(self.reads[place + 1])
            itself = bool(accesses.last[one] >= 0)
            changed = bool(accesses.last[other] >= 0)
            anomaly = "internal-inconsistency" if changed else "non-repeatable-read"
            text = f"it read {named(accesses, other)} as {self._told(one)}, and later as {self._told(other)}"
            if changed:
                text += f", and what it added there comes to {int(self._own(other))}"
            txn = int(accesses.txn[other])
            self.found.faults.append(Fault(anomaly, txn, other, text, one_view=not itself, dirty=itself))

    def _own(self, at: int) -> int:
        accesses = self.accesses
        begin = int(accesses.begin[accesses.visit[at]])
        return sum(int(accesses.value[one]) for one in range(begin, at) if not accesses.is_read[one])

    # what can be added up

    def _sums(self) -> None:
        accesses = self.accesses
        adding = np.flatnonzero((self.net != 0) & self.plain[accesses.visit_cell])
        cell, net = accesses.visit_cell[adding], self.net[adding]
        size = len(accesses.key)
        least, most = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(least, cell, np.minimum(net, 0))
        np.add.at(most, cell, np.maximum(net, 0))
        divisor = np.zeros(size, np.int64)
        np.gcd.at(divisor, cell, np.abs(net))
        # without what the reader adds itself
        of = accesses.cell[self.reads]
        mine = self.net[accesses.visit[self.reads]]
        off = self.base - self.initial[of]
        wrong = (off < least[of] - np.minimum(mine, 0)) | (off > most[of] - np.maximum(mine, 0))
        step = np.maximum(divisor[of], 1)
        wrong |= off % step != 0
        wrong |= (divisor[of] == 0) & (off != 0)
        wrong |= self._unreachable(cell, net, divisor, least, most, of, off, wrong)
        places = np.flatnonzero(wrong)
        for place in places[soonest(accesses, self.reads[places])].tolist():
            at = int(self.reads[place])
            text = f"it read {self._told(at)} of {named(accesses, at)}"
            text += f", where {self.initial[of[place]]} was at first, and nothing that others added comes to that"
            self.found.faults.append(Fault("counter-anomaly", int(accesses.txn[at]), at, text))

    def _unreachable(
        self, cell: Ints, net: Ints, divisor: Ints, least: Ints, most: Ints, of: Ints, off: Ints, wrong: Flags
    ) -> Flags:
        """Reads of numbers that no choice of what was added comes to, of cells of which that is cheap to tell."""
        found = np.zeros(len(of), np.bool_)
        asked = np.unique(of[~wrong & (divisor[of] > 0)])
        counts = np.bincount(cell, minlength=len(divisor))
        width = (most - least) // np.maximum(divisor, 1) + 1
        cheap = asked[(counts[asked] * width[asked].astype(np.float64) <= SUMS) & (counts[asked] > 1)]
        # where as much as the divisor is added often enough, all sums are reached
        order = np.argsort(cell, kind="stable")
        begins = np.searchsorted(cell[order], cheap)
        by_cell = np.argsort(of, kind="stable")
        for one, begin in zip(cheap.tolist(), begins.tolist(), strict=True):
            unit = int(divisor[one])
            amounts = (np.abs(net[order[begin : begin + int(counts[one])]]) // unit).tolist()
            if _are_all(amounts):
                continue
            reached = 1
            for amount in amounts:
                reached |= reached << amount
            first, last = np.searchsorted(of[by_cell], (one, one + 1))
            for read in by_cell[first:last].tolist():
                number = (int(off[read]) - int(least[one])) // unit
                found[read] = not wrong[read] and not reached >> number & 1
        return found

    # what it tells of the order

    def _idle(self) -> Flags:
        """By cell: whether a transaction leaves what it saw, which conflicts with nothing and may bring an old number
        back."""
        accesses = self.accesses
        found = np.zeros(len(accesses.key), np.bool_)
        idle = (self.net == 0) & (accesses.last_change() >= 0) & self.plain[accesses.visit_cell]
        found[accesses.visit_cell[idle]] = True
        return found

    def _add_up(self) -> None:
        accesses, idle = self.accesses, self._idle()
        adding = np.flatnonzero((self.net != 0) & self.plain[accesses.visit_cell] & ~idle[accesses.visit_cell])
        some = ~idle[accesses.cell[self.reads]]
        reads = self.reads[some]
        first = self.initial[accesses.cell[reads]]
        self.found.sums = Sums(accesses.txn[reads], reads, self.base[some] - first, first, adding, self.net[adding])

    def _count(self) -> None:
        accesses = self.accesses
        size = len(accesses.key)
        adding = (self.net != 0) & self.plain[accesses.visit_cell]
        up, down = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        up[accesses.visit_cell[adding & (self.net > 0)]] = True
        down[accesses.visit_cell[adding & (self.net < 0)]] = True
        sign = np.where(up & ~down, 1, np.where(down & ~up, -1, 0))
        sign[self._idle()] = 0
        cell = accesses.cell[self.reads]
        visit = accesses.visit[self.reads]
        some = np.flatnonzero((sign[cell] != 0) & heads(visit))
        if not len(some):
            return
        reads, cell, visit = self.reads[some], cell[some], visit[some]
        number = sign[cell] * self.base[some]
        names, numbered = np.unique(number, return_inverse=True)
        width = len(names) + 1
        groups, group = np.unique(cell * width + numbered, return_inverse=True)
        changing = np.flatnonzero(self.net[visit] != 0)
        left = number[changing] + np.abs(self.net[visit[changing]])
        beyond = np.searchsorted(groups, cell[changing] * width + np.searchsorted(names, left))
        self.found.counts = Counts(
            accesses.txn[reads],
            reads,
            group,
            groups // width,
            visit[changing],
            group[changing],
            beyond,
            reads[changing],
        )

    def _told(self, at: int) -> str:
        return shown(self.accesses.log.seen(int(self.accesses.op[at])))


def _are_all(amounts: list[int]) -> bool:
    """Whether amounts, the least first, add up to every number up to their sum."""
    total = 0
    for amount in sorted(amounts):
        if amount > total + 1:
            return False
        total += amount
    return True
