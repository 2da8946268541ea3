"""The order of a register's versions that dependencies between their writers tell (Alvaro and Kingsbury 2020, *Elle*,
section 5.2): what depends on a writer, and writes there, too, wrote later. The contrary would be a circle of ww and wr.

Does not know what else is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from troubadour.facts.objects.accesses import NEVER, Ints
from troubadour.facts.objects.facts import BLIND, Facts
from troubadour.order.objects.arrays import Links, components

MOST = 20_000
"""Transactions that a log may have: for each a bit of all others is kept."""

LONG = f"versions were not ordered by what depends on their writers: the log has more than {MOST:,} transactions"

Pair = tuple[int, int]
"""A version, and a later one of the same cell."""


class Flow:
    """What depends on what by wr and ww, in a log of which all that is told is known to have happened."""

    def __init__(self, facts: Facts, since: Ints) -> None:
        """`since`: see `order.objects.known.Relation`."""
        self._facts = facts
        self.is_complete = len(since) <= MOST
        reads, known = facts.reads, facts.successions
        certain = known.differs != BLIND
        source = np.concatenate((facts.writer(reads.version), facts.writer(known.earlier[certain])))
        target = np.concatenate((reads.txn, facts.writer(known.later[certain])))
        kept = (source >= 0) & (source != target)
        kept[kept] = (since[source[kept]] < NEVER) & (since[target[kept]] < NEVER)
        self._source, self._target = source[kept], target[kept]
        accesses = facts.accesses
        writes = (accesses.last_change() >= 0) & accesses.of_type("register")[accesses.visit_cell]
        self._visits = np.flatnonzero(writes & (since[accesses.visit_txn] < NEVER))

    def pairs(self, ordered: Iterable[Pair]) -> Iterator[tuple[int, Pair]]:
        """By cell: versions of which the later one's writer depends on the other's, those in between left out.
        `ordered`: versions in an order that is taken for granted, whose writers depend on one another so, too."""
        if not self.is_complete:
            return
        cells = self._facts.cells
        some = np.array([pair for pair in ordered if min(pair) >= cells], np.int64).reshape(-1, 2)
        source = np.concatenate((self._source, self._facts.writer(some[:, 0])))
        target = np.concatenate((self._target, self._facts.writer(some[:, 1])))
        accesses = self._facts.accesses
        links = Links(len(accesses.log), source, target, np.zeros(len(source), np.int64))
        label = components(links)
        before = _before(label, source.tolist(), target.tolist())
        visits = self._visits[np.argsort(accesses.visit_cell[self._visits], kind="stable")]
        of_cell = accesses.visit_cell[visits]
        bounds = np.append(np.flatnonzero(np.diff(of_cell, prepend=-1)), len(visits))
        for begin, end in pairwise(bounds.tolist()):
            if end - begin > 1:
                here = visits[begin:end].tolist()
                by_label: dict[int, list[int]] = {}
                for visit in here:
                    number = label[int(accesses.visit_txn[visit])]
                    if number >= 0:
                        by_label.setdefault(number, []).append(cells + visit)
                for pair in _latest(by_label, before):
                    yield int(of_cell[begin]), pair


def _before(label: list[int], source: list[int], target: list[int]) -> dict[int, int]:
    """By component: those before it, as bits. A way leads to components of lesser numbers."""
    into: dict[int, set[int]] = {}
    for one, other in zip(source, target, strict=True):
        if label[one] != label[other]:
            into.setdefault(label[other], set()).add(label[one])
    found: dict[int, int] = {}
    for number in sorted(into, reverse=True):
        bits = 0
        for one in into[number]:
            bits |= found.get(one, 0) | 1 << one
        found[number] = bits
    return found


def _latest(by_label: dict[int, list[int]], before: dict[int, int]) -> Iterator[Pair]:
    """Of the versions of a cell, by component: each behind the latest ones before it."""
    here = sum(1 << number for number in by_label)
    for number, versions in by_label.items():
        left = here & before.get(number, 0)
        while left:
            nearest = left & -left
            one = nearest.bit_length() - 1
            left &= ~(nearest | before.get(one, 0))
            yield from ((earlier, later) for earlier in by_label[one] for later in versions)
