"""The strongly connected component that a circle lies in, as transactions and the edges between them, to be drawn.

Edges that go through beads are told of from transaction to transaction. Does not know how it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sql_semantics.records import dataclass
from troubadour.anomalies.cycles import Cycle, circles_among, events_along, of_kinds
from troubadour.anomalies.specifications import EXTRA
from troubadour.facts.objects.accesses import Ints
from troubadour.isolation.models import PLAIN, TIMED
from troubadour.order.objects.arrays import Links, Rows
from troubadour.order.objects.dependencies import Dependencies
from troubadour.order.objects.known import Relation, Why

GREATEST = 1_000
"""Transactions of a component up to which its edges are told."""

NAMES = {Why.WR: "wr", Why.WW: "ww", Why.RW: "rw", Why.SESSION: "session", Why.REAL_TIME: "real-time",
         Why.TIMESTAMP: "timestamp"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Component:
    """`transactions` of a component by their places, and its `edges`, each a kind and two of these; of one with more
    than GREATEST transactions no edges."""

    transactions: tuple[int, ...]
    edges: tuple[tuple[str, int, int], ...]


def components_of(dependencies: Dependencies, hint: Ints, cycles: Sequence[Cycle]) -> list[Component]:
    """The component of each circle, with all edges that circles of its name may have. `hint` as for `cycles_of`."""
    relation = dependencies.relation
    order = events_along(relation, hint)
    found: dict[int, Component] = {}
    for suffix, extra in EXTRA.items():
        mine = [number for number, one in enumerate(cycles) if _suffix(one.name) == suffix]
        if not mine:
            continue
        allowed = np.flatnonzero(of_kinds(relation, {Why.WW, Why.WR, Why.RW, *extra}))
        edges, label = circles_among(relation, allowed, order)
        for number in mine:
            # a circle has no edge beside circles
            at = int(np.searchsorted(edges, cycles[number].edges[0]))
            found[number] = _told(relation, edges[label == label[at]])
    return [found[number] for number in range(len(cycles))]


def _suffix(name: str) -> str:
    return next((suffix for suffix in TIMED if name.endswith(suffix)), PLAIN)


def _told(relation: Relation, edges: Ints) -> Component:
    links = relation.links
    sources, targets, why = links.source[edges], links.target[edges], relation.why[edges]
    ends = np.unique(np.concatenate((sources, targets)))
    members = np.unique(relation.owner[ends[relation.owner[ends] >= 0]])
    if len(members) > GREATEST:
        return Component(tuple(members.tolist()), ())
    inside = why == Why.INSIDE
    rows = Rows(Links(links.events, sources[inside], targets[inside], np.zeros(int(inside.sum()), np.int64)))
    told: dict[tuple[str, int, int], None] = {}
    for source, target, kind in zip(sources.tolist(), targets.tolist(), why.tolist(), strict=True):
        earlier = int(relation.owner[source])
        if kind == Why.INSIDE or earlier < 0:
            continue
        for later in _reached(relation, rows, target):
            if later != earlier:
                told[NAMES[Why(kind)], earlier, later] = None
    return Component(tuple(members.tolist()), tuple(told))


def _reached(relation: Relation, rows: Rows, event: int) -> list[int]:
    """The transaction of an event, or those that a bead leads to."""
    pending, seen, found = [event], {event}, []
    while pending:
        one = pending.pop()
        owner = int(relation.owner[one])
        if owner >= 0:
            found.append(owner)
            continue
        for other in rows.targets[rows.first[one] : rows.first[one + 1]]:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return sorted(found)
