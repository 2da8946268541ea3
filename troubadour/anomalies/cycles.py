"""Circles of dependencies, each as short as there is one of its name: the strongly connected components first, and
inside each a search over transactions and what the way there has had (Alvaro and Kingsbury 2020, *Elle*, section 6).

A search that was cut off says so. Does not know what a circle rules out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from sql_semantics.records import dataclass, replace
from troubadour.anomalies.specifications import EXTRA, SPECIFICATIONS, Misses, Specification, name_of
from troubadour.facts.objects.accesses import Flags, Ints
from troubadour.isolation.models import implied
from troubadour.order.objects.arrays import Links, Rows, circles, circling, components, in_blocks
from troubadour.order.objects.dependencies import Dependencies
from troubadour.order.objects.known import Relation, Why

LOOKS = 1_000_000
"""Edges that are looked at for the circles of one name."""

EACH = 100_000
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


def cycles_of(dependencies: Dependencies, hint: Ints) -> Found:
    """The circles that a log's dependencies have. `hint`: the places of its transactions in an order that most edges
    keep, which makes that fast."""
    relation = dependencies.relation
    order = events_along(relation, hint)
    # a circle of some edges is one of all: what is on none of these is looked at once
    near, _ = circles_among(relation, np.arange(len(relation.why)), order)
    only = replace(
        relation, links=relation.links.only(near), why=relation.why[near], at=relation.at[near], by=relation.by[near]
    )
    weaker = (dependencies.grows | dependencies.assumed)[near]
    found = _Finder(only, weaker, order).found()
    cycles = tuple(Cycle(one.name, tuple(near[[*one.edges]].tolist())) for one in found.cycles)
    return replace(found, cycles=cycles)


def events_along(relation: Relation, hint: Ints) -> Ints:
    """The events in the hint order, a bead behind the last that leads to it."""
    links, count = relation.links, len(relation.since)
    rank = np.zeros(links.events, np.int64)
    rank[hint] = 2 * np.arange(count)
    some = (links.source < count) & (links.target >= count)
    np.maximum.at(rank, links.target[some], rank[links.source[some]] + 1)
    return np.argsort(rank, kind="stable")


def circles_among(relation: Relation, chosen: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Of some edges those that are on circles of these, and the component of each."""
    links = relation.links
    chosen = chosen[in_blocks(links.only(chosen), order)]
    there, label = circles(links.only(chosen))
    return chosen[there], label


class _Finder:
    def __init__(self, relation: Relation, weaker: Flags, order: Ints) -> None:
        """`order`: of the events, as `in_blocks` takes it."""
        self.relation, self.order = relation, order
        # edges that hold in every explanation first, so that a circle of these is found where there is one
        self.weaker = weaker
        self.cycles: list[Cycle] = []
        self.unsearched: list[tuple[str, int]] = []
        self.more: set[str] = set()

    def found(self) -> Found:
        """All of them, without sessions and times first."""
        for suffix, extra in EXTRA.items():
            allowed = np.flatnonzero(of_kinds(self.relation, {Why.WW, Why.WR, Why.RW, *extra}))
            wanted = [self.relation.why == extra[0]] if extra else []
            if self.weaker[allowed].any():
                self._among(allowed[~self.weaker[allowed]], wanted, suffix)
                wanted.append(self.weaker)
            self._among(allowed, wanted, suffix)
        return Found(tuple(self.cycles), tuple(self.unsearched), frozenset(self.more))

    def _among(self, allowed: Ints, wanted: Sequence[Flags], suffix: str) -> None:
        """Circles of one suffix among some edges, in components with an edge of each kind that is wanted: the others
        have none that is new."""
        edges, label = circles_among(self.relation, allowed, self.order)
        for one in wanted:
            there = np.zeros(int(label.max(initial=0)) + 1, np.bool_)
            there[label[one[edges]]] = True
            edges, label = edges[there[label]], label[there[label]]
        if len(edges):
            self._within(_Part(self.relation, edges, label, self.order), suffix)

    def _within(self, part: _Part, suffix: str) -> None:
        """Circles of one suffix in components that have some."""
        label = part.label
        there: dict[int, set[str]] = {}
        for known in self.cycles:
            event = part.event(int(self.relation.links.source[known.edges[0]]))
            if event is not None:
                there.setdefault(int(label[event]), set()).add(known.name)
        inner: dict[Misses, Ints] = {}
        for specification in SPECIFICATIONS[suffix]:
            # with one anti-dependency, too, no two are right after one another
            misses = Misses.APART if specification.misses is Misses.ONE else specification.misses
            if misses not in inner:
                inner[misses] = part.on_circles(misses)
            chosen = inner[misses]
            if misses is Misses.NONE and len(chosen):
                chosen = chosen[np.isin(part.why[chosen], [*map(int, specification.allowed), int(Why.INSIDE)])]
                chosen = chosen[circling(part.links.only(chosen))]
            skipped = [
                one for one, names in there.items() if any(specification.name in implied(name) for name in names)
            ]
            if skipped:
                chosen = chosen[~np.isin(label[part.links.source[chosen]], skipped)]
            if not len(chosen):
                continue
            some = _Part(self.relation, part.edges[chosen], part.component[chosen], self.order)
            for cycle in self._search(some, specification, suffix):
                self.cycles.append(cycle)
                event = part.event(int(self.relation.links.source[cycle.edges[0]]))
                assert event is not None
                there.setdefault(int(label[event]), set()).add(cycle.name)

    def _search(self, part: _Part, specification: Specification, suffix: str) -> Iterator[Cycle]:
        """Circles of one specification; those that have a transaction in common with one found already are passed
        over."""
        links, owner = self.relation.links, self.relation.owner
        walker = _Walker(part, specification)
        left = LOOKS
        covered: set[int] = set()
        done: set[int] = set()
        cut_off: list[int] = []
        for begin in walker.starts():
            source, target = part.source[begin], part.target[begin]
            if source in covered or target in covered:
                continue
            if left <= 0:
                cut_off.append(begin)
                self.more.add(specification.name)
                continue
            way, looked = walker.way(begin, min(EACH, left))
            left -= looked
            if way is None:
                if looked >= EACH:
                    self.more.add(specification.name)
                continue
            for piece in self._simple([int(part.edges[one]) for one in way]):
                kinds = [Why(int(self.relation.why[one])) for one in piece]
                name = name_of([kind for kind in kinds if kind is not Why.INSIDE], suffix)
                ends = [int(links.source[one]) for one in piece]
                if name is None or sum(bool(owner[end] >= 0) for end in ends) < 2:
                    continue
                done.add(source)
                covered |= {event for end in ends if owner[end] >= 0 and (event := part.event(end)) is not None}
                yield Cycle(name, tuple(piece))
                break
        if cut_off:
            label = components(part.links)
            told = {label[one] for one in done}
            for begin in cut_off:
                if label[part.source[begin]] not in told:
                    told.add(label[part.source[begin]])
                    self.unsearched.append((specification.name, int(links.source[part.edges[begin]])))

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


def of_kinds(relation: Relation, kinds: set[Why]) -> Flags:
    """By edge: whether it is of one of some kinds, or goes on from a bead that only such edges lead to."""
    links, why = relation.links, relation.why
    wanted = [int(kind) for kind in kinds]
    beads = relation.owner < 0
    beads[links.target[~np.isin(why, [*wanted, int(Why.INSIDE)])]] = False
    found: Flags = np.isin(why, wanted) | ((why == Why.INSIDE) & beads[links.source])
    return found


class _Part:
    """Some edges of a relation, their events numbered anew."""

    def __init__(self, relation: Relation, edges: Ints, component: Ints, order: Ints) -> None:
        """`component`: of each edge, all of which are on circles; `order`: of the relation's events."""
        self.edges, self.component = edges, component
        links = relation.links
        ends = np.concatenate((links.source[edges], links.target[edges]))
        used = np.zeros(links.events, np.bool_)
        used[ends] = True
        self.events = np.flatnonzero(used)
        number = np.cumsum(used) - 1
        self.order: Ints = number[order[used[order]]]
        count = len(edges)
        both = number[ends]
        self.links = Links(len(self.events), both[:count], both[count:], np.zeros(count, np.int64))
        self.why = relation.why[edges]
        self.label = np.zeros(len(self.events), np.int64)
        """The component of each event; a way leads to components of lesser numbers."""
        self.label[self.links.source] = component
        self.source: list[int] = self.links.source.tolist()
        self.target: list[int] = self.links.target.tolist()

    def event(self, event: int) -> int | None:
        """The number here of an event, None where it is not of the part."""
        place = int(np.searchsorted(self.events, event))
        return place if place < len(self.events) and self.events[place] == event else None

    def on_circles(self, misses: Misses) -> Ints:
        """The edges, all of which are on circles, that are on one with so many anti-dependencies."""
        everything = np.arange(len(self.edges))
        match misses:
            case Misses.NONE:
                # what goes on from a bead that anti-dependencies lead to is on no circle then
                chosen: Ints = everything[self.why != Why.RW]
                chosen = chosen[in_blocks(self.links.only(chosen), self.order)]
                return chosen[circling(self.links.only(chosen))]
            case Misses.ONE | Misses.APART:
                return self._apart()
            case Misses.ANY:
                return everything

    def _apart(self) -> Ints:
        """The edges on closed ways without two anti-dependencies right after one another: each event is two, that of
        ways there which end with one, and that of others."""
        count = self.links.events
        source, target = self.links.source, self.links.target
        inside, miss = self.why == Why.INSIDE, self.why == Why.RW
        number = np.arange(len(self.edges))
        plain = ~inside & ~miss
        sources = np.concatenate(
            (source[miss], source[plain], source[plain] + count, source[inside], source[inside] + count)
        )
        targets = np.concatenate(
            (target[miss] + count, target[plain], target[plain], target[inside], target[inside] + count)
        )
        of = np.concatenate((number[miss], number[plain], number[plain], number[inside], number[inside]))
        links = Links(2 * count, sources, targets, np.zeros(len(of), np.int64))
        there = np.zeros(len(self.edges), np.bool_)
        there[of[circling(links)]] = True
        return np.flatnonzero(there)


class _Walker:
    """Ways along edges that a specification allows."""

    def __init__(self, part: _Part, specification: Specification) -> None:
        self.part, self.specification = part, specification
        self.rows = Rows(part.links)
        self.kinds: list[int] = part.why.tolist()
        self.order: list[int] = self.rows.edges.tolist()
        dependencies = (Why.WW, Why.WR, Why.RW)
        self.extra = {int(kind) for kind in specification.required if kind not in dependencies}
        self.label: list[int] | None = None
        if specification.misses is Misses.ONE:
            # a way without anti-dependencies leads to components of lesser numbers only
            rest = np.flatnonzero(part.why != Why.RW)
            self.label = components(part.links.only(rest))

    def starts(self) -> list[int]:
        """The edges to begin with: each circle of the specification has one."""
        first = {int(kind) for kind in self.specification.required}
        if self.specification.misses is not Misses.NONE:
            first = {int(Why.RW)}
        return [number for number, kind in enumerate(self.kinds) if kind in first]

    def way(self, begin: int, most: int) -> tuple[list[int] | None, int]:
        """A shortest way along the edge and back to where it begins, with how many edges were looked at."""
        misses = self.specification.misses
        goal, first = self.part.source[begin], self.part.target[begin]
        kind = self.kinds[begin]
        had = (_LAST if kind == Why.RW else 0) | (_EXTRA if kind in self.extra else 0)
        needed = (_EXTRA if self.extra else 0) | (_SECOND if misses in (Misses.APART, Misses.ANY) else 0)
        rows, order, kinds, target, label = self.rows.first, self.order, self.kinds, self.part.target, self.label
        inside, rw = int(Why.INSIDE), int(Why.RW)
        lowest = -1 if label is None else label[goal]
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
                if label is not None and label[target[edge]] < lowest:
                    continue
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

    @staticmethod
    def _back(came: dict[int, tuple[int, int]], at: int) -> list[int]:
        way = []
        while at >= 0:
            at, edge = came[at]
            way.append(edge)
        return way[::-1]
