"""What a history's reads force of the order of events, derived until nothing new comes (Biswas and Enea 2019; Cobra
2020).

A read with one source `w` left orders events: `w` is before it, and of every other commit `v` to the place either `v`
is before `w` or the read is before `v`. Which of both is derived where the closure excludes one. A source is excluded
where it comes after the read, or was overwritten before it. Every step keeps why it was taken, so that a
contradiction can be told as a chain that another program can check. Does not know how an order is completed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import Enum

from sql_semantics.records import dataclass, replace
from troubadour.order.counters import Counter, Cut, between, bounds
from troubadour.order.graph import Edge, Gain, Graph, Mark
from troubadour.order.history import INITIAL, History, Read


class Rule(Enum):
    """Why one event is before another, or a source is excluded."""

    GIVEN = "given"
    TAKEN = "the read takes the version of its only source"
    OVERWRITTEN = "a commit before the read leaves something else, so it is before the read's source"
    UNREAD = "a commit after the read's source leaves something else, so it is after the read"
    COMMON = "the event is before each source that is left, or is it"
    FEWER = "less was counted at the event than at the other"
    AS_MANY = "the event is on this side of another one at which as much was counted"
    ADDED_UP = "what was counted does not add up otherwise"
    LATER = "the source is after the read"
    REPLACED = "between the source and the read another commit leaves something else"
    ASSUMED = "assumed"
    REFUTED = "the opposite was assumed and is impossible"


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule and the read that it was applied to (its number), with the other commit that matters; or the counter and
    its cut, with the other event."""

    rule: Rule
    read: int = -1
    other: int = -1
    text: str = ""
    counter: int = -1
    cut: int = -1


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A source of a read is none, given the edges of lower rank."""

    read: int
    source: int
    reason: Reason
    rank: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment to which what is known can be taken back."""

    mark: Mark
    excluded: int


@dataclass(frozen=True, slots=True)
class Impossible:
    """A contradiction: edges in a circle, a read (its number) without a source, or a counter and a cut of it that
    nothing adds up to."""

    circle: tuple[Edge[Reason], ...] = ()
    read: int = -1
    count: tuple[int, int] | None = None


NEAR = 3
"""Counts on each side of one that it is added up with."""


class Known:
    """Edges and sources that are known; `sources[n]` are those left to read n."""

    def __init__(self, history: History, check: Callable[[], object] = lambda: None) -> None:
        """`check` is called now and then, and may raise."""
        self.history = history
        self.reads: list[Read] = history.reads
        self.sources = [read.sources for read in self.reads]
        self.excluded: list[Exclusion] = []
        self.graph: Graph[Reason] = Graph()
        self._check = check
        self.thorough = False
        """Whether what is between counts is added up, too: that is not told as evidence."""
        self._firsts: dict[int, int] = {}
        self.at: dict[int, list[int]] = defaultdict(list)
        self.of: dict[int, list[int]] = defaultdict(list)
        """The reads by their event, and by their sources."""
        for _ in history.names:
            self.graph.add_event()
        for earlier, later, text in history.edges:
            self.graph.add(earlier, later, Reason(Rule.GIVEN, text=text))
        for number, read in enumerate(self.reads):
            self.at[read.event].append(number)
            for source in read.sources:
                self.of[source].append(number)
            if INITIAL in read.sources:
                self._first(read.others)
        self.ends: list[list[tuple[int, int]]] = []
        """By counter and cut, the event before all that saw the count, and the one after."""
        self.cuts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """The counters and cuts by their events."""
        for number, counter in enumerate(history.counters):
            self.ends.append([self._ends(number, place, cut) for place, cut in enumerate(counter.cuts)])
            self._put_in_turn(number, counter)

    def _ends(self, number: int, place: int, cut: Cut) -> tuple[int, int]:
        for event in cut.seen:
            self.cuts[event].append((number, place))
        if len(cut.seen) == 1:
            (event,) = cut.seen
            return event, event
        ends = self.graph.add_event(), self.graph.add_event()
        for event in cut.seen:
            self.graph.add(ends[0], event, Reason(Rule.GIVEN, text="it saw the count"))
            self.graph.add(event, ends[1], Reason(Rule.GIVEN, text="it saw the count"))
        return ends

    def _put_in_turn(self, number: int, counter: Counter) -> None:
        ends = self.ends[number]
        for place in range(1, len(ends)):
            one, other = counter.cuts[place - 1], counter.cuts[place]
            reason = Reason(Rule.FEWER, counter=number, cut=place)
            self.graph.add(ends[place - 1][1], ends[place][0], reason)
            if one.writes and other.value < one.value + max(counter.adds[event] for event in one.seen):
                # one of them adds more than the other saw
                self.graph.add(ends[place][1], ends[place - 1][0], replace(reason, cut=place - 1))

    def _first(self, others: int) -> int:
        """An event before all of some commits, of which none may be before a read of the initial version."""
        found = self._firsts.get(others)
        if found is None:
            found = self._firsts[others] = self.graph.add_event()
            rest = others
            while rest:
                low = rest & -rest
                self.graph.add(found, low.bit_length() - 1, Reason(Rule.GIVEN, text="the first of these commits"))
                rest ^= low
        return found

    def moment(self) -> Moment:
        """What is known now."""
        return Moment(self.graph.mark(), len(self.excluded))

    def take_back(self, moment: Moment) -> None:
        """Know what was known at a moment."""
        self.graph.take_back(moment.mark)
        while len(self.excluded) > moment.excluded:
            gone = self.excluded.pop()
            self.sources[gone.read] = (*self.sources[gone.read], gone.source)

    def settle(self, moment: Moment) -> None:
        """Never be taken back to before a moment: what was held for that is forgotten."""
        self.graph.forget(moment.mark)

    def saturate(self) -> Impossible | None:
        """Derive all that follows, in rounds. Cannot be taken back."""
        while True:
            self._check()
            if not self.graph.close():
                return Impossible(circle=tuple(self.graph.circle()))
            count = len(self.graph.edges) + len(self.excluded)
            for number in range(len(self.reads)):
                edges = self._derived(number)
                if edges is None:
                    return Impossible(read=number)
                for earlier, later, reason in edges:
                    self.graph.add(earlier, later, reason)
            for number, counter in enumerate(self.history.counters):
                for place in range(len(counter.cuts)):
                    edges = self._counted(number, place)
                    if edges is None:
                        return Impossible(count=(number, place))
                    for earlier, later, reason in edges:
                        self.graph.add(earlier, later, reason)
            if count == len(self.graph.edges) + len(self.excluded):
                return None

    def assume(self, earlier: int, later: int, reason: Reason) -> Impossible | None:
        """Add an edge and derive all that follows."""
        return self._follow([(earlier, later, reason)])

    def exclude(self, number: int, sources: Iterable[int], reason: Reason) -> Impossible | None:
        """Exclude sources of a read and derive all that follows."""
        for source in sources:
            self._exclude(number, source, reason)
        edges = self._derived(number)
        return Impossible(read=number) if edges is None else self._follow(edges)

    def _follow(self, edges: list[tuple[int, int, Reason]]) -> Impossible | None:
        """Add edges and what they force, the latest first: what an edge forces is often what others would."""
        graph = self.graph
        pending = list(edges)
        while pending:
            earlier, later, reason = pending.pop()
            if graph.precedes(earlier, later):
                continue
            self._check()
            gains = graph.insert(earlier, later, reason)
            if gains is None:
                closing = graph.edges[-1]
                rest = () if earlier == later else graph.path(later, earlier, closing.rank) or ()
                return Impossible(circle=(closing, *rest))
            for number in self._touched(gains):
                derived = self._derived(number)
                if derived is None:
                    return Impossible(read=number)
                pending += derived
            for count in self._touched_counts(gains):
                derived = self._counted(*count)
                if derived is None:
                    return Impossible(count=count)
                pending += derived
        return None

    def _touched_counts(self, gains: Iterable[Gain]) -> Iterable[tuple[int, int]]:
        """The cuts, with their counters, at which events gained writers of the count."""
        found: dict[tuple[int, int], None] = {}
        for _, event, gain in gains:
            for count in self.cuts.get(event, ()):
                if self.history.counters[count[0]].writers & gain:
                    found[count] = None
        return found

    def _counted(self, number: int, place: int) -> list[tuple[int, int, Reason]] | None:
        """What a count that was seen forces, that the closure does not hold; None where nothing adds up to it."""
        graph, counter = self.graph, self.history.counters[number]
        cut, (start, end) = counter.cuts[place], self.ends[number][place]
        found = bounds(counter, cut, graph.before, graph.after)
        edges: list[tuple[int, int, Reason]] = []
        if len(cut.seen) > 1:
            rest = found.before & ~graph.before[start]
            while rest:
                other = rest.bit_length() - 1
                by = next(event for event in cut.seen if graph.precedes(other, event))
                edges.append((other, start, Reason(Rule.AS_MANY, other=by, counter=number, cut=place)))
                rest &= ~(graph.before[other] | 1 << other)
            rest = found.after & ~graph.after[end]
            while rest:
                other = (rest & -rest).bit_length() - 1
                by = next(event for event in cut.seen if graph.precedes(event, other))
                edges.append((end, other, Reason(Rule.AS_MANY, other=by, counter=number, cut=place)))
                rest &= ~(graph.after[other] | 1 << other)
        if found.impossible:
            # first what it hangs on
            return edges or None
        reason = Reason(Rule.ADDED_UP, counter=number, cut=place)
        edges += self._edges(found.must_be_before, start, reason, before=True)
        edges += self._edges(found.must_be_after, end, reason, before=False)
        if not self.thorough or not counter.is_exact:
            return edges
        for one in range(max(0, place - NEAR), min(len(counter.cuts), place + NEAR + 1)):
            more = [] if one == place else self._between(number, min(one, place), max(one, place))
            if more is None:
                return None
            edges += more
        return edges

    def _between(self, number: int, first: int, second: int) -> list[tuple[int, int, Reason]] | None:
        """What the counts of two cuts force of those between them; None where nothing adds up."""
        graph, counter = self.graph, self.history.counters[number]
        (start, end), (other_start, other_end) = self.ends[number][first], self.ends[number][second]
        sides = graph.before[start], graph.after[end], graph.before[other_start], graph.after[other_end]
        found = between(counter, (counter.cuts[first], counter.cuts[second]), sides)
        if found.impossible:
            return None
        reason = Reason(Rule.ASSUMED, counter=number, cut=second)
        return [
            *self._edges(found.before_first, start, reason, before=True),
            *self._edges(found.after_first, end, reason, before=False),
            *self._edges(found.before_second, other_start, reason, before=True),
            *self._edges(found.after_second, other_end, reason, before=False),
        ]

    def _edges(self, events: int, end: int, reason: Reason, *, before: bool) -> list[tuple[int, int, Reason]]:
        """Edges from or to an event, of which the closure gives the others."""
        graph = self.graph
        edges: list[tuple[int, int, Reason]] = []
        while events:
            if before:
                other = events.bit_length() - 1
                edges.append((other, end, reason))
                events &= ~(graph.before[other] | 1 << other)
            else:
                other = (events & -events).bit_length() - 1
                edges.append((end, other, reason))
                events &= ~(graph.after[other] | 1 << other)
        return edges

    def _touched(self, gains: Iterable[Gain]) -> Iterable[int]:
        """The reads that something may follow for from what events gained."""
        reads, sources, graph = self.reads, self.sources, self.graph
        found: dict[int, None] = {}
        for are_before, event, gain in gains:
            for number in (self.at if are_before else self.of).get(event, ()):
                if len(sources[number]) > 1:
                    found[number] = None
                    continue
                news = reads[number].others & gain
                if not news or sources[number][0] == INITIAL:
                    continue
                if news & ~(graph.before[sources[number][0]] if are_before else graph.after[reads[number].event]):
                    found[number] = None
            if not are_before:
                found.update((number, None) for number in self.at.get(event, ()) if len(sources[number]) > 1)
        return found

    def _exclude(self, number: int, source: int, reason: Reason) -> None:
        self.sources[number] = tuple([one for one in self.sources[number] if one != source])
        self.excluded.append(Exclusion(number, source, reason, len(self.graph.edges)))

    def _derived(self, number: int) -> list[tuple[int, int, Reason]] | None:
        """What a read forces, that the closure does not hold; None where it has no source."""
        read, graph = self.reads[number], self.graph
        event, others = read.event, read.others
        earlier = others & graph.before[event]
        if len(self.sources[number]) > 1:
            self._prune(number, earlier)
        sources = self.sources[number]
        if not sources:
            return None
        if len(sources) > 1:
            return self._common(number, sources)
        source = sources[0]
        edges: list[tuple[int, int, Reason]] = []
        if source == INITIAL:
            first = self._firsts[others]
            if not graph.precedes(event, first):
                edges.append((event, first, Reason(Rule.UNREAD, number)))
            return edges
        if not graph.precedes(source, event):
            edges.append((source, event, Reason(Rule.TAKEN, number)))
        rest = earlier & ~graph.before[source]
        while rest:
            other = rest.bit_length() - 1
            edges.append((other, source, Reason(Rule.OVERWRITTEN, number, other)))
            rest &= ~(graph.before[other] | 1 << other)
        rest = others & graph.after[source] & ~graph.after[event]
        while rest:
            other = (rest & -rest).bit_length() - 1
            edges.append((event, other, Reason(Rule.UNREAD, number, other)))
            rest &= ~(graph.after[other] | 1 << other)
        return edges

    def _prune(self, number: int, earlier: int) -> None:
        """Exclude the sources that are after the read, or replaced before it by one of the `earlier` commits."""
        graph, event = self.graph, self.reads[number].event
        for source in self.sources[number]:
            between = earlier if source == INITIAL else earlier & graph.after[source]
            if source != INITIAL and graph.precedes(event, source):
                self._exclude(number, source, Reason(Rule.LATER, number))
            elif between:
                self._exclude(number, source, Reason(Rule.REPLACED, number, between.bit_length() - 1))

    def _common(self, number: int, sources: tuple[int, ...]) -> list[tuple[int, int, Reason]]:
        """What is forced by whichever of several sources it is."""
        read, graph = self.reads[number], self.graph
        later, edges = read.others & ~graph.after[read.event], []
        for source in sources:
            later &= graph.after[source] if source != INITIAL else -1
        while later:
            other = (later & -later).bit_length() - 1
            edges.append((read.event, other, Reason(Rule.UNREAD, number, other)))
            later &= ~(graph.after[other] | 1 << other)
        if INITIAL in sources:
            return edges
        common = ~graph.before[read.event]
        for source in sources:
            common &= graph.before[source] | 1 << source
        while common:
            other = common.bit_length() - 1
            edges.append((other, read.event, Reason(Rule.COMMON, number, other)))
            common &= ~(graph.before[other] | 1 << other)
        return edges
