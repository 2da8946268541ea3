"""An order of a log of operations on objects that its known edges leave open: saturated, then completed with decisions.

Reads of several possible versions and writes that no read ties to another become constraints of `order.history`, over
the transactions that happened. The closure takes two bits for each pair of events. Does not know what an operation is.
"""

from __future__ import annotations

import numpy as np

from troubadour.facts.objects.accesses import Flags, Ints
from troubadour.facts.objects.facts import Facts
from troubadour.order.counters import Counter
from troubadour.order.history import INITIAL, History, Read, bits_of
from troubadour.order.linearization import Limits, Linearizer
from troubadour.order.objects.known import Relation, Why
from troubadour.order.objects.needs import needs_of
from troubadour.order.saturation import Known

EVENTS = 12_000
"""Events up to which a closure is made, where transactions have one event; a third where they have two, of which each
write asks for more."""

TRIED = Limits(schedules=60, contradictions=60)
"""How much is tried."""


def completed(facts: Facts, relation: Relation, happened: Flags, *, keeps: bool) -> Ints | None:
    """The events of the relation in an order that has each read next to a version that it may be; None where none was
    found. `keeps`: what a transaction changes is as it saw it until its commit."""
    maker = _Maker(facts, relation, happened, keeps=keeps)
    if len(maker.events) > (EVENTS // 3 if relation.split else EVENTS):
        return None
    known = Known(maker.made())
    if known.saturate() is not None:
        return None
    order = Linearizer(known, TRIED).run()
    if order is None:
        return None
    count = len(maker.events)
    return maker.events[np.array([event for event in order if event < count], np.int64)]


class _Maker:
    def __init__(self, facts: Facts, relation: Relation, happened: Flags, *, keeps: bool) -> None:
        self._facts, self._relation, self._keeps = facts, relation, keeps
        owner = relation.owner
        links = relation.links
        used = np.zeros(links.events, np.bool_)
        used[links.source] = used[links.target] = True
        # what the beads of reads say follows from the reads themselves
        used[links.target[(relation.why == Why.RW) & (owner[links.target] < 0)]] = False
        used |= owner >= 0
        used &= (owner < 0) | happened[np.maximum(owner, 0)]
        self.events = np.flatnonzero(used)
        """The events of the relation that take part, by their numbers in the history."""
        self._number = np.full(links.events, -1, np.int64)
        self._number[self.events] = np.arange(len(self.events))
        self._happened = happened
        self._count = len(relation.since)

    def made(self) -> History:
        """The history."""
        relation = self._relation
        txns = np.flatnonzero(self._happened).tolist()
        history = History(txns)
        history.names = [("place", int(event)) for event in self.events.tolist()]
        for txn in txns:
            history.commit[txn] = self._commit(txn)
            history.snapshot[txn] = int(self._number[txn])
        source, target = self._number[relation.links.source], self._number[relation.links.target]
        both = np.flatnonzero((source >= 0) & (target >= 0))
        pairs = np.unique(np.stack((source[both], target[both]), axis=1), axis=0)
        history.edges = [(one, other, "known") for one, other in pairs.tolist()]
        self._read(history)
        return history

    def _commit(self, txn: int) -> int:
        return int(self._number[txn + self._count if self._relation.split else txn])

    def _read(self, history: History) -> None:
        facts = self._facts
        needs = needs_of(facts, self._happened)
        writers: dict[int, dict[int, int]] = {}
        grows: dict[int, dict[int, int]] = {}
        for txn, changes in needs.changes.items():
            for cell, made, adds in changes:
                (grows if adds else writers).setdefault(cell, {})[self._commit(txn)] = made
        history.places = [("cell", (cell,)) for cell in range(facts.cells)]
        for cell, by_event in (*writers.items(), *grows.items()):
            for event in by_event:
                history.written.setdefault(event, []).append(cell)
        event_of = {version: event for by_event in writers.values() for event, version in by_event.items()}
        writing = {cell: bits_of(by_event) for cell, by_event in writers.items()}
        counters = self._counters(grows)
        seen: dict[int, dict[int, tuple[int, None]]] = {}
        for txn, reads in needs.reads.items():
            start = int(self._number[txn])
            own = 1 << self._commit(txn)
            for cell, token in reads:
                if cell in grows:
                    if cell in counters and not isinstance(token, frozenset):
                        sign = counters[cell][1]
                        seen.setdefault(cell, {})[start] = (sign * (token - needs.initial[cell]), None)
                    continue
                tokens = token if isinstance(token, frozenset) else (token,)
                sources = tuple(
                    event_of.get(one, INITIAL) if one >= facts.cells else INITIAL
                    for one in sorted(tokens)
                    if one < facts.cells or one in event_of
                )
                others = writing.get(cell, 0) & ~bits_of(one for one in sources if one != INITIAL) & ~own
                history.reads.append(Read(start, txn, cell, sources, others))
        for cell, (counter, _) in counters.items():
            counter.close(seen.get(cell, {}))
            history.counters.append(counter)
        if self._keeps and self._relation.split:
            self._keep(history, writers, writing)

    def _counters(self, grows: dict[int, dict[int, int]]) -> dict[int, tuple[Counter, int]]:
        """The counters to which all add in one direction, with that."""
        found = {}
        for cell, made in grows.items():
            amounts = list(made.values())
            sign = 1 if all(amount > 0 for amount in amounts) else -1 if all(amount < 0 for amount in amounts) else 0
            if sign:
                counter = Counter(cell)
                counter.adds.update({event: sign * amount for event, amount in made.items()})
                counter.add_up()
                found[cell] = counter, sign
        return found

    def _keep(self, history: History, writers: dict[int, dict[int, int]], writing: dict[int, int]) -> None:
        """Nothing else is written between the snapshot and the commit of one that writes."""
        for txn in history.items:
            end = history.commit[txn]
            for cell in history.written.get(end, ()):
                others = writing.get(cell, 0) & ~(1 << end)
                if others:
                    history.reads.append(Read(end, txn, cell, (history.snapshot[txn],), others, unseen=True))
