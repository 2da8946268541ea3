"""Which transaction depends on which, whatever the level is: ww, wr and rw of Adya 1999, with sessions and real time
beside them, as the answers of a log tell them (Alvaro and Kingsbury 2020, *Elle*, sections 4.3.2 and 5).

An edge holds in every explanation of the log, those marked `grows` in every one where no update of a list gets lost,
and those marked `assumed` where what the user takes for granted is true. Does not know levels, nor what a circle is
called.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sql_semantics.records import dataclass, field
from troubadour.facts.objects.accesses import NEVER, Flags, Ints, heads
from troubadour.facts.objects.facts import BLIND, NOTHING, Facts
from troubadour.order.objects.arrays import Links
from troubadour.order.objects.known import Relation, Why, of_reads_and_times

FEW_PAIRS = 64
"""Pairs of a reader and a writer of one version up to which each is an edge; more go through beads."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """Versions that what the user takes for granted puts in order: `later` after `earlier`, both of one cell. `follow`:
    what a transaction writes comes after what it read there, as ww and not only as wr, but for the cells `contrary`,
    whose versions come in circles so."""

    earlier: Ints = field(default_factory=lambda: NOTHING)
    later: Ints = field(default_factory=lambda: NOTHING)
    follow: bool = False
    contrary: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Edges over transactions, each one event by its place, and beads behind these, which stand for the ends of many;
    by edge also whether it is one that `grows`, or that is `assumed`."""

    relation: Relation
    grows: Flags
    assumed: Flags


def dependencies_of(facts: Facts, assumed: Assumed) -> Dependencies:
    """All of them; `facts` with every append extending the newest list."""
    return _Maker(facts, assumed).made()


class _Maker:
    def __init__(self, facts: Facts, assumed: Assumed) -> None:
        self.facts, self.assumed = facts, assumed
        self.told = of_reads_and_times(facts)
        self.since = self.told.since
        self.events = self.told.links.events
        self.parts: list[tuple[Ints, ...]] = []
        reads = facts.reads
        first = heads(facts.accesses.visit[reads.at], reads.version)
        shown = first & (self.since[reads.txn] < NEVER)
        self.reader, self.read_at, self.version = reads.txn[shown], reads.at[shown], reads.version[shown]
        order = np.argsort(self.version, kind="stable")
        self.reader, self.read_at, self.version = (one[order] for one in (self.reader, self.read_at, self.version))

    def made(self) -> Dependencies:
        """All edges."""
        self._follow()
        self._begin()
        told = self.told
        # what a list lacks is not there where no update gets lost; what a set or a counter lacks never was
        lacks = told.why == Why.RW
        lacks[lacks] = self.facts.accesses.of_type("list")[self.facts.accesses.cell[told.at[lacks]]]
        no = np.zeros(len(told.why), np.bool_)
        columns = [(told.links.source, told.links.target, told.why, told.at, told.by, lacks, no), *self.parts]
        source, target, why, at, by, grows, assumed = (np.concatenate(one) for one in zip(*columns, strict=True))
        owner = np.full(self.events, -1, np.int64)
        owner[: len(self.since)] = np.arange(len(self.since))
        links = Links(self.events, source, target, np.zeros(len(source), np.int64))
        relation = Relation(links, why, at, by, owner, split=False, since=self.since)
        return Dependencies(relation, grows.astype(np.bool_), assumed.astype(np.bool_))

    def _add(self, source: Ints, target: Ints, why: int, at: Ints, by: Ints, grows: Flags, assumed: Flags) -> None:
        kept = source != target
        kind = np.full(len(source), int(why), np.int64)
        self.parts.append(tuple(one[kept] for one in (source, target, kind, at, by, grows, assumed)))

    def _follow(self) -> None:
        """Version after version: the writer of one before that of the next, and its readers, too."""
        known = self.facts.successions
        earlier = np.concatenate((known.earlier, self.assumed.earlier))
        later = np.concatenate((known.later, self.assumed.later))
        none = np.full(len(self.assumed.earlier), -1, np.int64)
        # of what is taken for granted no read tells: the key is that of the operations that it is about
        first = self.facts.accesses.begin[self.assumed.later - self.facts.cells]
        by, at = np.concatenate((known.by, none)), np.concatenate((known.at, first))
        taken = np.zeros(len(earlier), np.bool_)
        taken[len(known.earlier) :] = True
        grows = np.zeros(len(earlier), np.bool_)
        # all that is written comes after what is there at first
        grows[: len(known.earlier)] = (known.differs == BLIND) & (known.earlier >= self.facts.cells)
        writer = self.facts.writer(later)
        shown = (self.since[writer] < NEVER) & ((by < 0) | (self.since[np.maximum(by, 0)] < NEVER))
        earlier, later, by, at, writer = (one[shown] for one in (earlier, later, by, at, writer))
        taken, grows = taken[shown], grows[shown]
        before = self.facts.writer(earlier)
        # that one writes what follows its own read is wr, and ww only where that is taken for granted
        own = (by == writer) & ~taken
        contrary = np.isin(self.facts.accesses.visit_cell[later - self.facts.cells], self.assumed.contrary)
        ordered = (before >= 0) & (~own | (self.assumed.follow & ~contrary))
        ordered[ordered] &= self.since[before[ordered]] < NEVER
        self._add(
            before[ordered], writer[ordered], Why.WW, at[ordered], by[ordered], grows[ordered],
            taken[ordered] | own[ordered],
        )  # fmt: skip
        self._read_before(earlier, writer, grows, taken)

    def _begin(self) -> None:
        """What is there at first is read before all that is written there."""
        facts = self.facts
        accesses, cells = facts.accesses, facts.cells
        last = accesses.last_change()
        follows = np.zeros(len(accesses.visit_txn), np.bool_)
        follows[facts.successions.later - cells] = True
        read = np.zeros(cells, np.bool_)
        read[self.version[self.version < cells]] = True
        ordered = accesses.of_type("register", "list") & read
        begun = np.flatnonzero((last >= 0) & ~follows & ordered[accesses.visit_cell])
        begun = begun[self.since[accesses.visit_txn[begun]] < NEVER]
        no = np.zeros(len(begun), np.bool_)
        self._read_before(accesses.visit_cell[begun], accesses.visit_txn[begun], no, no)

    def _read_before(self, earlier: Ints, writer: Ints, grows: Flags, taken: Flags) -> None:
        """The readers of versions before transactions whose versions of these cells are later."""
        order = np.lexsort((taken, grows, earlier))
        earlier, writer, grows, taken = earlier[order], writer[order], grows[order], taken[order]
        first = np.searchsorted(self.version, earlier)
        count = np.searchsorted(self.version, earlier, side="right") - first
        begins = np.flatnonzero(heads(earlier, grows.astype(np.int64), taken.astype(np.int64)))
        ends = np.append(begins[1:], len(earlier))
        many = (ends - begins) * count[begins] > FEW_PAIRS
        direct = ~np.repeat(many, ends - begins)
        some = np.flatnonzero(direct & (count > 0))
        repeated = np.repeat(some, count[some])
        place = np.arange(len(repeated)) - np.repeat(np.cumsum(count[some]) - count[some], count[some])
        reads = first[repeated] + place
        none = np.full(len(reads), -1, np.int64)
        self._add(
            self.reader[reads], writer[repeated], Why.RW, self.read_at[reads], none, grows[repeated], taken[repeated]
        )
        for begin, end in zip(begins[many].tolist(), ends[many].tolist(), strict=True):
            readers = range(int(first[begin]), int(first[begin] + count[begin]))
            self._through_beads(readers, writer[begin:end].tolist(), bool(grows[begin]), bool(taken[begin]))

    def _through_beads(self, readers: range, writers: Sequence[int], grows: bool, taken: bool) -> None:
        """Every reader before every writer but itself: beads stand for the first writers, and for the last ones."""
        writers = list(dict.fromkeys(writers))
        number = {writer: place for place, writer in enumerate(writers)}
        up = list(range(self.events, self.events + len(writers)))
        down = list(range(self.events + len(writers), self.events + 2 * len(writers)))
        self.events += 2 * len(writers)
        inside = [*zip(up, writers, strict=True), *zip(down, writers, strict=True)]
        inside += [(later, earlier) for earlier, later in pairwise(up)]
        inside += list(pairwise(down))
        self._edges(inside, Why.INSIDE, [-1] * len(inside), grows, taken)
        edges, told = [], []
        for read in readers:
            reader = int(self.reader[read])
            own = number.get(reader)
            ends = [up[-1]] if own is None else [*up[max(0, own - 1) : own], *down[own + 1 : own + 2]]
            edges += [(reader, end) for end in ends]
            told += [int(self.read_at[read])] * len(ends)
        self._edges(edges, Why.RW, told, grows, taken)

    def _edges(self, edges: Sequence[tuple[int, int]], why: int, told: Sequence[int], grows: bool, taken: bool) -> None:
        pairs = np.array(edges, np.int64).reshape(len(edges), 2)
        self._add(
            pairs[:, 0], pairs[:, 1], why, np.array(told, np.int64), np.full(len(edges), -1, np.int64),
            np.full(len(edges), grows), np.full(len(edges), taken),
        )  # fmt: skip
