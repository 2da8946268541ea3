"""Circles of dependencies, each as short as there is one of its name: the strongly connected components first, and
inside each a search over transactions and what the way there has had (Alvaro and Kingsbury 2020, *Elle*, section 6).

A search that was cut off says so. Does not know what a circle rules out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from troubadour.anomalies.specifications import EXTRA, SPECIFICATIONS, Misses, Specification, name_of
from troubadour.facts.objects.accesses import Ints
from troubadour.isolation.models import implied
from troubadour.order.arrays import Links, Rows, circling, components
from troubadour.order.dependencies import Dependencies
from troubadour.order.known import Why

LOOKS = 3_000_000
"""Edges that are looked at for the circles of one name."""

EACH = 200_000
"""Edges that are looked at from one edge on."""

_EXTRA, _SECOND, _LAST = 1, 2, 4
"""What a way has had: an edge beside dependencies, a second anti-dependency, one of these just now."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A circle: the numbers of its edges in the relation, in order, those that go on from a bead among them."""

    name: str
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """`cycles`; `unsearched`: specifications whose search was cut off before one was found, each with a transaction of
    the component that has circles; `more`: those of which not all were looked for."""

    cycles: tuple[Cycle, ...]
    unsearched: tuple[tuple[str, int], ...]
    more: frozenset[str]


def cycles_of(dependencies: Dependencies) -> Found:
    """The circles that a log's dependencies have."""
    return _Finder(dependencies).found()


class _Finder:
    def __init__(self, dependencies: Dependencies) -> None:
        self.relation = dependencies.relation
        self.why = self.relation.why
        # edges that hold in every explanation first, so that a circle of these is found where there is one
        self.weaker = dependencies.grows | dependencies.assumed
        self.cycles: list[Cycle] = []
        self.unsearched: list[tuple[str, int]] = []
        self.more: set[str] = set()

    def found(self) -> Found:
        """All of them, without sessions and times first."""
        certain = np.flatnonzero(~self.weaker)
        everything = np.arange(len(self.why))
        for suffix, extra in EXTRA.items():
            kinds = [Why.WW, Why.WR, Why.RW, *([] if extra is None else [extra])]
            for among in (certain, everything) if self.weaker.any() else (everything,):
                chosen = among[self._of_kinds(among, kinds)]
                whole = chosen[circling(self.relation.links.only(chosen))]
                if len(whole):
                    self._within(whole, suffix)
        return Found(tuple(self.cycles), tuple(self.unsearched), frozenset(self.more))

    def _of_kinds(self, edges: Ints, kinds: Sequence[Why]) -> np.ndarray:
        """Edges of some kinds, and those that go on from beads which such edges lead to."""
        wanted = [int(kind) for kind in kinds]
        links, owner = self.relation.links, self.relation.owner
        mine = np.isin(self.why[edges], wanted)
        # a bead is entered by edges of one kind only
        beads = np.ones(links.events, np.bool_)
        other = ~np.isin(self.why, [*wanted, int(Why.INSIDE)])
        beads[links.target[other]] = False
        beads[owner >= 0] = False
        on = (self.why[edges] == Why.INSIDE) & beads[links.source[edges]]
        found: np.ndarray = mine | on
        return found

    def _within(self, edges: Ints, suffix: str) -> None:
        links = self.relation.links
        label = np.array(components(links.only(edges)), np.int64)
        there: dict[int, set[str]] = {}
        for known in self.cycles:
            there.setdefault(int(label[links.source[known.edges[0]]]), set()).add(known.name)
        for specification in SPECIFICATIONS[suffix]:
            inner = edges[self._of_kinds(edges, [*specification.allowed])]
            inner = inner[circling(links.only(inner))]
            if not len(inner):
                continue
            own = np.array(components(links.only(inner)), np.int64)
            skipped = {
                one for one, names in there.items() if any(specification.name in implied(name) for name in names)
            }
            group = label[links.source[inner]]
            kept = inner[~np.isin(group, [*skipped])] if skipped else inner
            if len(kept):
                for cycle in self._search(kept, own, specification, suffix):
                    self.cycles.append(cycle)
                    there.setdefault(int(label[links.source[cycle.edges[0]]]), set()).add(cycle.name)

    def _search(self, edges: Ints, label: Ints, specification: Specification, suffix: str) -> Iterator[Cycle]:
        """Circles of one specification among edges that are part of some circle; those that have a transaction in
        common with one found already are passed over."""
        links = self.relation.links
        walker = _Walker(links, self.why, edges, specification, self.relation.owner)
        left = LOOKS
        covered: set[int] = set()
        done: set[int] = set()
        for start in walker.starts():
            source, target = int(links.source[start]), int(links.target[start])
            if source in covered or target in covered:
                continue
            if left <= 0:
                component = int(label[source])
                if component not in done:
                    self.unsearched.append((specification.name, source))
                    done.add(component)
                self.more.add(specification.name)
                continue
            way, looked = walker.way(start, min(EACH, left))
            left -= looked
            if way is None:
                if looked >= EACH:
                    self.more.add(specification.name)
                continue
            for piece in self._simple(way):
                name = name_of([Why(int(self.why[one])) for one in self._told(piece)], suffix)
                if name is None:
                    continue
                done.add(int(label[source]))
                covered |= {int(links.source[one]) for one in piece if self.relation.owner[links.source[one]] >= 0}
                yield Cycle(name, tuple(piece))
                break

    def _told(self, edges: Sequence[int]) -> list[int]:
        return [one for one in edges if self.why[one] != Why.INSIDE]

    def _simple(self, way: Sequence[int]) -> list[list[int]]:
        """A closed way as circles that pass each transaction once, the whole first where it is one."""
        links = self.relation.links
        pieces: list[list[int]] = []
        path: list[int] = []
        place: dict[int, int] = {}
        for edge in way:
            place[int(links.source[edge])] = len(path)
            path.append(edge)
            goal = int(links.target[edge])
            if goal in place:
                begin = place[goal]
                pieces.append(path[begin:])
                for gone in path[begin:]:
                    place.pop(int(links.source[gone]), None)
                del path[begin:]
        return pieces


class _Walker:
    """Ways along edges that a specification allows."""

    def __init__(self, links: Links, why: Ints, edges: Ints, specification: Specification, owner: Ints) -> None:
        self.edges, self.specification = edges, specification
        self.links = links
        events, compact = np.unique(np.concatenate((links.source[edges], links.target[edges])), return_inverse=True)
        count = len(edges)
        self.small = Links(len(events), compact[:count], compact[count:], np.zeros(count, np.int64))
        self.rows = Rows(self.small)
        self.kinds: list[int] = why[edges].tolist()
        self.place = {int(edge): number for number, edge in enumerate(edges.tolist())}
        self.source: list[int] = self.small.source.tolist()
        self.target: list[int] = self.small.target.tolist()
        self.order: list[int] = self.rows.edges.tolist()
        self.extra = {int(kind) for kind in specification.required if kind in (Why.SESSION, Why.REAL_TIME)}

    def starts(self) -> list[int]:
        """The edges to begin with: each circle of the specification has one."""
        first = {int(kind) for kind in self.specification.required}
        if self.specification.misses is not Misses.NONE:
            first = {int(Why.RW)}
        return [int(self.edges[number]) for number, kind in enumerate(self.kinds) if kind in first]

    def way(self, start: int, most: int) -> tuple[list[int] | None, int]:
        """A shortest way along the edge and back to where it begins, with how many edges were looked at."""
        misses = self.specification.misses
        begin = self.place[start]
        goal, first = self.source[begin], self.target[begin]
        kind = self.kinds[begin]
        had = (_LAST if kind == Why.RW else 0) | (_EXTRA if kind in self.extra else 0)
        needed = (_EXTRA if self.extra else 0) | (_SECOND if misses in (Misses.APART, Misses.ANY) else 0)
        rows, order, kinds, target = self.rows.first, self.order, self.kinds, self.target
        inside, rw = int(Why.INSIDE), int(Why.RW)
        at = first * 8 + had
        came: dict[int, tuple[int, int]] = {at: (-1, begin)}
        ready = deque([(0, at)])
        distance = {at: 0}
        looked = 0
        while ready:
            far, at = ready.popleft()
            if far > distance[at]:
                continue
            event, had = divmod(at, 8)
            if event == goal and had & needed == needed and not (misses is Misses.APART and had & _LAST):
                return self._back(came, at), looked
            if looked > most:
                return None, looked
            for number in range(rows[event], rows[event + 1]):
                edge = order[number]
                kind = kinds[edge]
                looked += 1
                if kind == inside:
                    now = had
                elif kind == rw:
                    if misses is Misses.ONE or (misses is Misses.APART and had & _LAST):
                        continue
                    now = had | _LAST | _SECOND
                else:
                    now = had & ~_LAST | (_EXTRA if kind in self.extra else 0)
                other = target[edge] * 8 + now
                reached = far + (kind != inside)
                if reached < distance.get(other, reached + 1):
                    distance[other] = reached
                    came[other] = (at, edge)
                    if kind == inside:
                        ready.appendleft((reached, other))
                    else:
                        ready.append((reached, other))
        return None, looked

    def _back(self, came: dict[int, tuple[int, int]], at: int) -> list[int]:
        way = []
        while at >= 0:
            at, edge = came[at]
            way.append(int(self.edges[edge]))
        return way[::-1]
