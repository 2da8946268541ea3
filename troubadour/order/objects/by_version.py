"""An order in which the versions of each cell follow one another as they do in a first order, and each read is before
the next version of what it read: where the hint order has each cell's changes in their true turn, that is all it takes,
at any size. Does not know levels, nor whether the order found is right.
"""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Flags, Ints, heads
from troubadour.facts.objects.facts import Facts
from troubadour.order.objects.arrays import Links, in_order
from troubadour.order.objects.known import Relation


def by_version(
    facts: Facts, relation: Relation, happened: Flags, priority: Ints, place: Ints, *, keeps: bool
) -> Ints | None:
    """The events in such an order; None where there is none. `place`: where events stand in the order that is
    followed. `keeps`: what a transaction changes stays as it is between its snapshot and its commit."""
    maker = _Maker(facts, relation, happened, place, keeps=keeps)
    links = maker.made()
    order = np.array(in_order(links, priority), np.int64)
    return order if len(order) == links.events else None


class _Maker:
    def __init__(self, facts: Facts, relation: Relation, happened: Flags, place: Ints, *, keeps: bool) -> None:
        self.facts, self.relation, self.keeps = facts, relation, keeps
        self.happened = happened
        self.count = len(relation.since)
        self.place = place
        self.source = [relation.links.source]
        self.target = [relation.links.target]

    def commit(self, txn: Ints) -> Ints:
        return txn + self.count if self.relation.split else txn

    def add(self, source: Ints, target: Ints) -> None:
        other = source != target
        self.source.append(source[other])
        self.target.append(target[other])

    def made(self) -> Links:
        """The relation with the order of the versions."""
        self._versions()
        self._numbers()
        source, target = np.concatenate(self.source), np.concatenate(self.target)
        return Links(self.relation.links.events, source, target, np.zeros(len(source), np.int64))

    def _chain(self, cell: Ints, txn: Ints) -> None:
        """Changes of cells, one after another."""
        same = np.flatnonzero(cell[1:] == cell[:-1])
        after = txn[same + 1]
        self.add(self.commit(txn[same]), after if self.keeps else self.commit(after))

    # registers and lists

    def _versions(self) -> None:
        facts = self.facts
        accesses, cells = facts.accesses, facts.cells
        ordered = accesses.of_type("register", "list")[accesses.visit_cell]
        visits = np.flatnonzero((accesses.last_change() >= 0) & self.happened[accesses.visit_txn] & ordered)
        root, depth = self._roots()
        writer = facts.writer(root[cells + visits])
        begun = np.where(writer >= 0, self.place[self.commit(np.maximum(writer, 0))], -1)
        cell = accesses.visit_cell[visits]
        order = np.lexsort((depth[cells + visits], begun, cell))
        visits, cell = visits[order], cell[order]
        self._chain(cell, accesses.visit_txn[visits])
        # what comes next of each version
        follower = np.full(cells + len(accesses.visit_txn), -1, np.int64)
        starts = heads(cell)
        follower[cell[starts]] = visits[starts]
        later = np.flatnonzero(~starts)
        follower[cells + visits[later - 1]] = visits[later]
        txn, at, version = self._reads()
        kept = np.flatnonzero(heads(accesses.visit[at]) & self.happened[txn])
        txn, version = txn[kept], version[kept]
        source = facts.writer(version)
        made = source >= 0
        self.add(self.commit(source[made]), txn[made])
        known = follower[version] >= 0
        after = accesses.visit_txn[follower[version[known]]]
        other = after != txn[known]
        self.add(txn[known][other], self.commit(after[other]))

    def _roots(self) -> tuple[Ints, Ints]:
        """Of each version the one that its transaction, and those before it that read one another, go back to, and by
        how many."""
        known = self.facts.successions
        size = self.facts.cells + len(self.facts.accesses.visit_txn)
        parent = np.arange(size)
        own = known.by == self.facts.writer(known.later)
        parent[known.later[own]] = known.earlier[own]
        depth = (parent != np.arange(size)).astype(np.int64)
        for _ in range(int(size).bit_length()):
            further = parent[parent]
            if (further == parent).all():
                break
            depth += depth[parent]
            parent = further
        return parent, depth

    def _reads(self) -> tuple[Ints, Ints, Ints]:
        """Reads with their versions: of several the newest one that stands before the reader."""
        reads, choices = self.facts.reads, self.facts.choices
        if not len(choices.txn):
            return reads.txn, reads.at, reads.version
        reader = np.repeat(np.arange(len(choices.txn)), np.diff(choices.first))
        writer = self.facts.writer(choices.versions)
        stands = np.where(writer >= 0, self.place[self.commit(np.maximum(writer, 0))], -1)
        stands[(writer >= 0) & ~self.happened[np.maximum(writer, 0)]] = 2**60
        behind = stands >= self.place[choices.txn[reader]]
        # those before the reader first, the newest of them first, and then the others
        order = np.lexsort((np.where(behind, stands, -stands), behind, reader))
        picked = choices.versions[order[heads(reader[order])]]
        txn, at = np.concatenate((reads.txn, choices.txn)), np.concatenate((reads.at, choices.at))
        sorted_ = np.argsort(at, kind="stable")
        return txn[sorted_], at[sorted_], np.concatenate((reads.version, picked))[sorted_]

    # counters

    def _numbers(self) -> None:
        """Reads of counters between the changes that come to what they show."""
        facts = self.facts
        accesses, sums = facts.accesses, facts.sums
        some = self.happened[accesses.visit_txn[sums.visit]]
        visit, net = sums.visit[some], sums.net[some]
        cell, txn = accesses.visit_cell[visit], accesses.visit_txn[visit]
        order = np.lexsort((self.place[self.commit(txn)], cell))
        cell, txn, net = cell[order], txn[order], net[order]
        self._chain(cell, txn)
        read = np.flatnonzero(self.happened[sums.txn])
        reader, of, off = sums.txn[read], accesses.cell[sums.at[read]], sums.off[read]
        # how much was added once each change was made, and before the first one: a place for each
        cells = np.unique(np.concatenate((cell, of)))
        total = np.cumsum(net)
        begin = np.searchsorted(cell, cells)
        before = np.concatenate(([0], total))[begin]
        number = np.searchsorted(cells, cell)
        amounts = np.concatenate((np.zeros(len(cells), np.int64), total - before[number]))
        where = np.concatenate((cells, cell))
        stands = np.concatenate((np.full(len(cells), -1, np.int64), self.place[self.commit(txn)]))
        change = np.concatenate((np.full(len(cells), -1, np.int64), np.arange(len(cell))))
        names, numbered = np.unique(np.concatenate((amounts, off)), return_inverse=True)
        width = len(names) + 1
        keys = where * width + numbered[: len(amounts)]
        order = np.lexsort((stands, keys))
        events = int(self.place.max(initial=0)) + 3
        sorted_keys = keys[order] * events + stands[order] + 1
        asked = of * width + numbered[len(amounts) :]
        last = np.searchsorted(sorted_keys, asked * events + self.place[reader] + 1, side="right") - 1
        good = (last >= 0) & (keys[order][np.maximum(last, 0)] == asked)
        # else the first one that comes to it
        next_ = np.minimum(last + 1, max(0, len(order) - 1))
        ahead = ~good & (keys[order][next_] == asked)
        picked = np.where(good, last, next_)[good | ahead]
        reader, of = reader[good | ahead], of[good | ahead]
        at = change[order[picked]]
        made = at >= 0
        self.add(self.commit(txn[at[made]]), reader[made])
        after = np.where(made, at + 1, np.searchsorted(cell, of))
        there = after < len(cell)
        there[there] = cell[after[there]] == of[there]
        follower = txn[after[there]]
        other = follower != reader[there]
        self.add(reader[there][other], self.commit(follower[other]))
