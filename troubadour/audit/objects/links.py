"""A circle of edges over events as one of transactions. Does not know how it was found, nor what it refutes."""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.facts.objects.facts import Facts
from troubadour.isolation.anomalies import Kind
from troubadour.order.objects.known import Relation, Why
from troubadour.proof.objects.dependencies import DependencyLink

_KINDS = {
    Why.WR: Kind.WR,
    Why.WW: Kind.WW,
    Why.RW: Kind.RW,
    Why.SESSION: Kind.SESSION,
    Why.REAL_TIME: Kind.REAL_TIME,
    Why.TIMESTAMP: Kind.REAL_TIME,
}


def links_of(facts: Facts, relation: Relation, edges: Sequence[int]) -> list[DependencyLink]:
    """A circle of events as one of transactions: edges through beads are put together, those inside one left out."""
    links, owner, ways = relation.links, relation.owner, [*edges]
    sources, targets = (owner[ends[ways]].tolist() for ends in (links.source, links.target))
    why, by, at = (column[ways].tolist() for column in (relation.why, relation.by, relation.at))
    found: list[DependencyLink] = []
    begun = -1
    told: list[int] = []
    # begin at an edge that leaves a transaction
    start = next(n for n, one in enumerate(sources) if one >= 0)
    for one in (*range(start, len(ways)), *range(start)):
        if sources[one] >= 0:
            begun, told = sources[one], []
        if why[one] != Why.INSIDE:
            told.append(one)
        if targets[one] < 0 or not told:
            continue
        # of a counter two reads tell it: what one misses the other one has
        first, last = told[0], told[-1]
        shown, more = (_operation(facts, at[edge]) for edge in (first, last))
        kind = _KINDS[Why(why[first])]
        found.append(DependencyLink(kind, begun, targets[one], shown, by[first], -1 if last == first else more))
    return found


def _operation(facts: Facts, at: int) -> int:
    return -1 if at < 0 else int(facts.accesses.op[at])
