"""A contradiction as a chain of plain facts, each with what it follows from, fit to be checked by another program.

From the circle (or the read without a source) backwards: an edge was derived from a read and from paths of earlier
edges, these from others. Ticks of clocks and the events that stand for several commits are left out. Does not check
anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.records import dataclass
from troubadour.facts.sql import effects
from troubadour.facts.sql.events import Moment
from troubadour.order.graph import Edge
from troubadour.order.history import INITIAL, Read
from troubadour.order.saturation import Exclusion, Impossible, Known, Reason, Rule

FEW = 2
"""Transactions below which no smaller contradiction is looked for."""


@dataclass(frozen=True, slots=True)
class Observation:
    """At an event of `item`, `known` was at a place; `unseen`: instead, nothing was written there by others since the
    item's snapshot."""

    event: Moment
    item: int
    place: effects.Place
    known: effects.Known
    unseen: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """What is shown next. `earlier` is before `later`, by a rule and an observation; or, with the rules that exclude a
    source, `earlier` is not what was observed (None: the initial version), because of `other`; or, with no rule, the
    transaction of `later` has happened. `added`: commits whose place is known and that are added up."""

    rule: Rule | None
    earlier: Moment | None
    later: Moment
    observation: Observation | None = None
    other: Moment | None = None
    added: tuple[Moment, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts in turn, and what they come to: a circle of events, or an observation that nothing explains, with the
    commits that were added up."""

    facts: tuple[Fact, ...]
    circle: tuple[Moment, ...] = ()
    unexplained: Observation | None = None
    added: tuple[Moment, ...] = ()

    @property
    def items(self) -> frozenset[int]:
        """The transactions whose answers or place in the order it is about; those that only left what was met are
        none."""
        found = {*self.circle, *self.added, *(fact.other for fact in self.facts if fact.other is not None)}
        found.update(moment for fact in self.facts for moment in fact.added)
        observed = {fact.observation.item for fact in self.facts if fact.observation is not None}
        if self.unexplained is not None:
            observed.add(self.unexplained.item)
        return frozenset(observed | {item for _, item in found if isinstance(item, int)})


def evidence_of(known: Known, impossible: Impossible, visits: int = 2_000_000) -> Evidence | None:
    """The facts that a contradiction comes from, of few transactions; None where they cannot be told. Where the edges
    have several circles they are compared, by so many visits of edges."""
    if not impossible.circle:
        return _Teller(known).told(impossible)
    best = _Teller(known).told(impossible)
    graph = known.graph
    first = max(edge.rank for edge in impossible.circle)
    for edge in graph.edges[first : first + max(8, visits // len(graph.edges))]:
        if best is not None and len(best.items) <= FEW:
            break
        rest = graph.path(edge.later, edge.earlier, len(graph.edges))
        if rest is not None:
            other = _Teller(known).told(Impossible(circle=(edge, *rest)))
            if other is not None and (best is None or len(other.items) < len(best.items)):
                best = other
    return best


class _Teller:
    def __init__(self, known: Known) -> None:
        self._known = known
        self._facts: dict[tuple[int, int, Fact], None] = {}
        self._pending: list[tuple[Edge[Reason], ...] | Exclusion] = []
        self._complete = True

    def told(self, impossible: Impossible) -> Evidence | None:
        circle: tuple[Moment, ...] = ()
        unexplained = None
        added: tuple[Moment, ...] = ()
        if impossible.circle:
            edges = impossible.circle
            start = next((n for n, edge in enumerate(edges) if self._is_told(edges[n - 1], edge)), None)
            if start is None:
                return None
            links = self._linked([*edges[start:], *edges[:start]])
            circle = tuple([self._name(link[0].earlier) for link in links])
        elif impossible.count is not None:
            number, cut = impossible.count
            event = next(iter(self._known.history.counters[number].cuts[cut].seen))
            unexplained = self._count_seen(number, cut, event)
            self._need_item(unexplained.item)
            rank = len(self._known.graph.edges)
            over = self._summed(number, cut, event, rank, too_much=True)
            added = over if over is not None else self._summed(number, cut, event, rank, too_much=False) or ()
        else:
            unexplained = self._observation(impossible.read)
            self._need_exclusions(impossible.read, len(self._known.graph.edges))
            self._need_happened(impossible.read)
        while self._pending:
            one = self._pending.pop()
            if isinstance(one, Exclusion):
                self._tell_exclusion(one)
            else:
                self._tell_link(one)
        if not self._complete:
            return None
        facts = tuple([fact for _, _, fact in sorted(self._facts, key=lambda one: one[:2])])
        return Evidence(facts, circle, unexplained, added)

    def _is_real(self, event: int) -> bool:
        history = self._known.history
        return event < len(history.names) and history.item_of(event) is not None

    def _name(self, event: int) -> Moment:
        return self._known.history.names[event]

    def _observation(self, number: int) -> Observation:
        read: Read = self._known.reads[number]
        place = self._known.history.places[read.place]
        return Observation(self._name(read.event), read.item, place, read.known, read.unseen)

    def _count_seen(self, number: int, cut: int, event: int) -> Observation:
        history = self._known.history
        counter = history.counters[number]
        item = history.item_of(event)
        assert item is not None, "counts are seen by transactions"
        return Observation(
            self._name(event), item, history.places[counter.place], counter.cuts[cut].seen[event], unseen=False
        )

    def _summed(
        self, number: int, cut: int, event: int, rank: int, *, too_much: bool, commit: int | None = None
    ) -> tuple[Moment, ...] | None:
        """Commits before an event that add up to more than was seen there, or after it so that too little is left
        without them; one more is among them. Their places are to be told. None where there are none."""
        counter = self._known.history.counters[number]
        item_of = self._known.history.item_of
        value, own = counter.cuts[cut].value, item_of(event)
        amounts = {**counter.adds, **({} if too_much else counter.may_add)}
        amounts = {other: amount for other, amount in amounts.items() if item_of(other) != own}
        over = -value if too_much else value - sum(amounts.values())
        over += amounts.pop(commit, 0) if commit is not None else 0
        chosen: list[int] = []
        paths = self._known.graph.reached(event, rank, backwards=too_much)
        for other in paths:
            if over > 0:
                break
            if other in amounts:
                chosen.append(other)
                over += amounts[other]
        if over <= 0:
            return None
        for other in chosen:
            self._linked(paths[other])
        return tuple([self._name(other) for other in chosen])

    def _tell_count(self, link: tuple[Edge[Reason], ...], edge: Edge[Reason], rank: int) -> None:
        """Tell an edge that a count forces: `edge` of a link is the one that does."""
        start, end = link[0].earlier, link[-1].later
        reason = edge.reason
        number, cut = reason.counter, reason.cut
        is_later = reason.rule is Rule.FEWER or edge.later == self._known.ends[number][cut][0]
        event, commit = (end, start) if is_later else (start, end)
        seen = self._count_seen(number, cut, event)
        added: tuple[Moment, ...] = ()
        other = None
        if reason.rule is Rule.ADDED_UP:
            found = self._summed(number, cut, event, edge.rank, too_much=not is_later, commit=commit)
            self._complete = self._complete and found is not None
            added = found or ()
        elif reason.rule is Rule.AS_MANY:
            other = self._name(reason.other)
            self._need_item(self._item(reason.other))
            self._need_path(*((commit, reason.other) if is_later else (reason.other, commit)), edge.rank)
        else:
            self._need_item(self._item(start))
        self._need_item(seen.item)
        self._facts[rank, 1, Fact(reason.rule, self._name(start), self._name(end), seen, other, added)] = None

    def _item(self, event: int) -> int:
        item = self._known.history.item_of(event)
        assert item is not None, "counts are seen by transactions"
        return item

    def _linked(self, edges: Sequence[Edge[Reason]]) -> list[tuple[Edge[Reason], ...]]:
        """Edges in a row, those through events that are no transaction's, or of one that need not have happened, taken
        together; they are to be told."""
        links: list[tuple[Edge[Reason], ...]] = []
        begun: list[Edge[Reason]] = []
        for edge, following in zip(edges, [*edges[1:], None], strict=True):
            begun.append(edge)
            if self._is_real(edge.later) if following is None else self._is_told(edge, following):
                links.append(tuple(begun))
                begun = []
        self._pending += links
        return links

    def _is_told(self, edge: Edge[Reason], following: Edge[Reason]) -> bool:
        """Whether the event between two edges is told: it is a transaction's, and the edges are not given, as a
        session's, whether it happened or not."""
        history = self._known.history
        if not self._is_real(edge.later):
            return False
        item = history.item_of(edge.later)
        given = edge.reason.rule is following.reason.rule is Rule.GIVEN
        return not given or item not in history.optional or item in history.because

    def _need_path(self, start: int, end: int, rank: int) -> None:
        if start == end:
            return
        path = self._known.graph.path(start, end, rank)
        if path is None:
            self._complete = False
            return
        self._linked(path)

    def _need_exclusions(self, number: int, rank: int) -> list[int]:
        """Tell why sources of a read are excluded by then; those that are left."""
        gone = [one for one in self._known.excluded if one.read == number and one.rank <= rank]
        self._pending += gone
        excluded = {one.source for one in gone}
        return [source for source in self._known.reads[number].sources if source not in excluded]

    def _need_happened(self, number: int) -> None:
        self._need_item(self._known.reads[number].item)

    def _need_item(self, item: int) -> None:
        history = self._known.history
        because = history.because.get(item)
        if because is not None:
            place = self._name(history.commit[item])
            depth = history.depth(item)
            fact = Fact(None, None, place, self._observation(because))
            if (-1, depth, fact) not in self._facts:
                self._facts[-1, depth, fact] = None
                self._need_happened(because)

    def _tell_link(self, link: tuple[Edge[Reason], ...]) -> None:
        first, last = link[0], link[-1]
        reason, rank = first.reason, max(edge.rank for edge in link)
        start, end = self._name(first.earlier), self._name(last.later)
        by_count = next((edge for edge in link if edge.reason.counter >= 0), None)
        if by_count is not None:
            self._tell_count(link, by_count, rank)
            return
        if len(link) > 1 and last.reason.rule is Rule.COMMON:
            self._tell_common(link)
            return
        if reason.rule is Rule.GIVEN:
            self._facts[rank, 1, Fact(Rule.GIVEN, start, end)] = None
            for _, item in (start, end):
                if isinstance(item, int):
                    self._need_item(item)
            return
        if len(link) > 2 or reason.rule in (Rule.ASSUMED, Rule.REFUTED):
            self._complete = False
            return
        number = reason.read
        other = last.later if len(link) == 2 else reason.other
        named = self._name(other) if other >= 0 else None
        fact = Fact(reason.rule, start, end, self._observation(number), named)
        if (rank, 1, fact) in self._facts:
            return
        self._facts[rank, 1, fact] = None
        self._need_happened(number)
        event = self._known.reads[number].event
        left = self._need_exclusions(number, first.rank)
        if reason.rule is Rule.OVERWRITTEN:
            self._need_path(other, event, first.rank)
        elif reason.rule is Rule.UNREAD:
            for source in left:
                if source != INITIAL:
                    self._need_path(source, other, first.rank)
        elif reason.rule is Rule.COMMON:
            for source in left:
                self._need_path(other, source, first.rank)

    def _tell_common(self, link: tuple[Edge[Reason], ...]) -> None:
        """Tell that what is before an event of no transaction is before all sources of a read, as that event is."""
        start, last = link[0].earlier, link[-1]
        number, rank = last.reason.read, max(edge.rank for edge in link)
        fact = Fact(Rule.COMMON, self._name(start), self._name(last.later), self._observation(number), None)
        if (rank, 1, fact) in self._facts:
            return
        self._facts[rank, 1, fact] = None
        self._need_happened(number)
        for source in self._need_exclusions(number, last.rank):
            self._need_path(start, source, last.rank)

    def _tell_exclusion(self, one: Exclusion) -> None:
        reason, event = one.reason, self._known.reads[one.read].event
        source = None if one.source == INITIAL else self._name(one.source)
        other = self._name(reason.other) if reason.other >= 0 else None
        fact = Fact(reason.rule, source, self._name(event), self._observation(one.read), other)
        if (one.rank, 0, fact) in self._facts:
            return
        self._facts[one.rank, 0, fact] = None
        self._need_happened(one.read)
        if reason.rule is Rule.LATER:
            self._need_path(event, one.source, one.rank)
        elif reason.rule is Rule.REPLACED:
            if one.source != INITIAL:
                self._need_path(one.source, reason.other, one.rank)
            self._need_path(reason.other, event, one.rank)
        else:
            self._complete = False
