"""A circle of edges over events as one of transactions. Does not know how it was found, nor what it refutes."""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.facts.objects.facts import Facts
from troubadour.isolation.anomalies import Kind
from troubadour.order.objects.known import Relation, Why
from troubadour.proof.dependencies import DependencyLink

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
    links, owner = relation.links, relation.owner
    # begin at an edge that leaves a transaction
    ways = list(edges)
    start = next(n for n, one in enumerate(ways) if owner[links.source[one]] >= 0)
    ways = ways[start:] + ways[:start]
    found: list[DependencyLink] = []
    begun = -1
    told: list[int] = []
    for one in ways:
        source, target = int(owner[links.source[one]]), int(owner[links.target[one]])
        if source >= 0:
            begun, told = source, []
        if relation.why[one] != Why.INSIDE:
            told.append(one)
        if target < 0 or not told:
            continue
        # of a counter two reads tell it: what one misses the other one has
        first, last = told[0], told[-1]
        at, more = (_operation(facts, relation, edge) for edge in (first, last))
        kind = _KINDS[Why(int(relation.why[first]))]
        found.append(DependencyLink(kind, begun, target, at, int(relation.by[first]), -1 if last == first else more))
    return found


def _operation(facts: Facts, relation: Relation, edge: int) -> int:
    at = int(relation.at[edge])
    return -1 if at < 0 else int(facts.accesses.op[at])
