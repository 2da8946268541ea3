"""All anomalies of a log of operations on objects: those of single answers, and circles of dependencies.

What is listed holds in every explanation of the log, or rules out no more than what each of them has: an edge that an
update got lost would explain, and a version that a transaction of unknown outcome left, take that into account. Does
not know which levels hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sql_semantics.records import dataclass, replace
from troubadour.anomalies.assumptions import Assumption, Taken, taken_for_granted
from troubadour.anomalies.components import components_of
from troubadour.anomalies.cycles import Cycle, cycles_of
from troubadour.anomalies.direct import Direct, direct_anomalies
from troubadour.anomalies.names import other_names, title
from troubadour.anomalies.report import Around, Listed, worst_first
from troubadour.audit.objects.account import account_of_circle
from troubadour.audit.objects.links import links_of
from troubadour.facts.objects.accesses import column
from troubadour.facts.objects.facts import Facts
from troubadour.facts.objects.gather import Derived
from troubadour.facts.objects.names import named
from troubadour.isolation.anomalies import ANOMALIES, Kind, is_forbidden
from troubadour.isolation.levels import LEVELS, Level, Visible
from troubadour.isolation.models import TIMED, ruled_out, stronger
from troubadour.model.account import Edge
from troubadour.model.objects import MISSING, UNKNOWN, ObjectLog
from troubadour.order.objects.dependencies import Dependencies, dependencies_of
from troubadour.order.objects.known import Why
from troubadour.proof.objects.dependencies import DependencyLink

GROWING = ", unless an append got lost"
"""Behind the cause of a circle with an edge that holds where every append extends the newest list."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The anomalies of a log, and what was not looked for."""

    anomalies: tuple[Listed, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Circle:
    """A circle by its transactions: `grows` and `assumed` as `Dependencies` has them; `unknown`: the outcome of one of
    them is not known; `clients`: an edge is by clients' times."""

    cycle: Cycle
    links: tuple[DependencyLink, ...]
    cause: str
    grows: bool
    unknown: bool
    clients: bool
    assumed: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of such a circle."""
        return self.cycle.name


def anomalies_of(
    log: ObjectLog, assumptions: Sequence[Assumption] = (), *, around: bool = False, derived: Derived | None = None
) -> Listing:
    """All anomalies of a log, the worst first; `around`: with the components of the circles that are told of.
    `derived`: its facts, where others ask for them, too."""
    if not len(log):
        return Listing((), ())
    facts = (derived or Derived(log)).facts(grows=True)
    taken = taken_for_granted(facts, assumptions)
    return _Lister(facts, dependencies_of(facts, taken.order), taken, around=around).listed()


class _Lister:
    def __init__(self, facts: Facts, dependencies: Dependencies, taken: Taken, *, around: bool = False) -> None:
        self.around = around
        self.facts, self.dependencies, self.taken = facts, dependencies, taken
        self.relation = dependencies.relation
        self.log = facts.accesses.log
        self.by_server = max(self.log.starts, default=MISSING) != MISSING or bool(self.log.more)
        self._out: dict[tuple[object, ...], frozenset[str]] = {}

    def listed(self) -> Listing:
        """All of them, grouped."""
        groups: dict[tuple[object, ...], list[Listed]] = {}
        for direct in (*direct_anomalies(self.facts, self.relation.since), *self.taken.cyclic):
            one = self._of_direct(direct)
            groups.setdefault((one.name, one.cause, one.assumed), []).append(one)
        found = cycles_of(self.dependencies, column(self.log.order))
        circles: dict[tuple[object, ...], list[_Circle]] = {}
        for cycle in found.cycles:
            circle = self._circle(cycle)
            circles.setdefault((cycle.name, circle.cause, circle.assumed), []).append(circle)
        # one of the smallest is told of
        smallest = [min(several, key=lambda one: len(one.links)) for several in circles.values()]
        around = self._components([one.cycle for one in smallest])
        for (key, several), first, component in zip(circles.items(), smallest, around, strict=True):
            out = frozenset().union(*(self._ruled_out(one) for one in several))
            told = replace(self._of_circle(first), count=len(several), rules_out=out, around=component)
            groups.setdefault(key, []).append(told)
        listed = [self._grouped(several, several[0].name in found.more) for several in groups.values()]
        listed += [self._unsearched(name, txn) for name, txn in found.unsearched]
        notes = self.taken.notes + tuple(f"not all circles of {name} were looked for" for name in sorted(found.more))
        return Listing(worst_first(listed), notes)

    @staticmethod
    def _grouped(several: Sequence[Listed], more: bool) -> Listed:
        first = min(several, key=lambda one: len(one.transactions))
        out = frozenset().union(*(one.rules_out for one in several))
        return replace(first, count=sum(one.count for one in several), rules_out=out, more=more)

    def _of_direct(self, direct: Direct) -> Listed:
        assumed = self.taken.names if direct.name == "cyclic-versions" else ()
        ids = tuple(self.log.ids[one] for one in direct.transactions)
        cause = self.log.objects[direct.subject].name
        return Listed(
            direct.name, title(direct.name, None), other_names(direct.name, None), cause, ids, direct.text, 1,
            direct.rules_out, assumed=assumed, key=None if direct.key < 0 else self._key(direct.key),
        )  # fmt: skip

    def _key(self, at: int) -> tuple[str, object]:
        op = int(self.facts.accesses.op[at])
        return self.log.objects[self.log.subjects[op]].name, self.log.codes.value(self.log.keys[op])

    def _components(self, cycles: Sequence[Cycle]) -> Sequence[Around | None]:
        if not self.around:
            return [None] * len(cycles)
        ids = self.log.ids
        return [
            Around(
                tuple(ids[one] for one in found.transactions),
                tuple((kind, ids[earlier], ids[later]) for kind, earlier, later in found.edges),
            )
            for found in components_of(self.dependencies, column(self.log.order), cycles)
        ]

    def _circle(self, cycle: Cycle) -> _Circle:
        edges = [*cycle.edges]
        links = tuple(links_of(self.facts, self.relation, edges))
        grows = bool(self.dependencies.grows[edges].any())
        return _Circle(
            cycle, links, ", ".join(sorted(set(map(self._called, links)))) + (GROWING if grows else ""), grows,
            any(self.log.statuses[one.earlier] == UNKNOWN for one in links),
            bool((self.relation.why[edges] == Why.REAL_TIME).any()),
            self.taken.names if self.dependencies.assumed[edges].any() else (),
        )  # fmt: skip

    def _called(self, link: DependencyLink) -> str:
        if link.at < 0:
            return "session" if link.kind is Kind.SESSION else "real-time"
        return f"{link.kind.value} {self.log.objects[self.log.subjects[link.at]].name}"

    def _of_circle(self, circle: _Circle) -> Listed:
        finding = account_of_circle(self.log, circle.links)
        chain = tuple(self._edge(link, edge) for link, edge in zip(circle.links, finding.account.chain, strict=True))
        anomaly = ANOMALIES[finding.account.anomaly]
        ids = tuple(self.log.ids[one.earlier] for one in circle.links)
        return Listed(
            circle.name, title(circle.name, anomaly), other_names(circle.name, anomaly), circle.cause, ids,
            _contradiction(chain), 1, self._ruled_out(circle), chain, circle.assumed,
        )  # fmt: skip

    def _edge(self, link: DependencyLink, edge: Edge) -> Edge:
        """An edge as told, where no read tells it in the words of what was taken for granted."""
        if link.kind is not Kind.WW or link.by >= 0:
            return edge
        accesses = self.facts.accesses
        at = int(np.flatnonzero(accesses.op == link.at)[0])
        earlier, later = str(self.log.ids[link.earlier]), str(self.log.ids[link.later])
        text = f"{earlier} comes before {later}: both wrote {named(accesses, at)}, {later} later, as was assumed"
        return Edge("ww", edge.earlier, edge.later, text, table=edge.table, key=edge.key)

    def _ruled_out(self, circle: _Circle) -> frozenset[str]:
        """Levels and models that no explanation of the log has."""
        kinds = tuple(one.kind for one in circle.links)
        key = (circle.name, kinds, circle.grows, circle.unknown, circle.clients)
        if key not in self._out:
            out = ruled_out(circle.name)
            if circle.grows:
                out &= ruled_out("lost-update")
            if circle.unknown:
                out &= ruled_out("G1a")
            levels = [level for level in LEVELS.values() if not (level.dialect or level.dirty or level.ordered)]
            forbidden = (one.name for one in levels if self._forbids(one, kinds, circle.grows, circle.clients))
            self._out[key] = out | stronger(forbidden)
        return self._out[key]

    def _forbids(self, level: Level, kinds: Sequence[Kind], grows: bool, clients: bool) -> bool:
        """Whether a level excludes a circle whose edges hold in every explanation, or where no update gets lost.
        `clients`: some of them is by clients' times."""
        if clients and sorted(kind.value for kind in kinds) == ["real-time", "wr"]:
            return True  # nothing is read before its writer has begun
        if (Kind.SESSION in kinds and not level.session) or (Kind.REAL_TIME in kinds and not level.real_time):
            return False
        if grows and not (level.write_conflict or level.horizon.latest):
            return False
        if clients and level.horizon.at_start and self.by_server:
            return False  # its snapshot may be older than its client's first call
        if level.visible is Visible.STATE:
            return is_forbidden(level, kinds)
        return Kind.RW not in kinds or sorted(kind.value for kind in kinds) == ["rw", "wr"]

    def _unsearched(self, name: str, txn: int) -> Listed:
        """A component that has circles, of which none was found in time."""
        text = f"{self.log.ids[txn]} and others come before one another; the search for a smallest circle was cut off"
        # some circle of dependencies there is
        return Listed(
            "cycle-exists", title("cycle-exists", None), (), name, (self.log.ids[txn],), text, 1, _at_least(name)
        )


def _at_least(name: str) -> frozenset[str]:
    """What any circle of the edges of a specification rules out."""
    for suffix in TIMED:
        if name.endswith(suffix):
            return ruled_out(f"G2{suffix}")
    return ruled_out("G2")


def _contradiction(chain: Sequence[Edge]) -> str:
    """The circle in a sentence."""
    texts = [edge.text for edge in chain]
    return "; ".join(texts[:-1]) + f"; however, {texts[-1]}: a contradiction"
