"""What reads force where a transaction sees a set of others, and no state (Biswas and Enea 2019, causal consistency).

Two relations are derived until nothing new comes: which commit a transaction sees, and which commit is before which in
the one order that decides between versions. A read whose only source is left sees that source; of every other commit
that it sees and that leaves something else there, the source is the later one. Where a transaction sees all that those
that it sees saw, seeing is closed. Only rows are looked at that come once and never go. Each step keeps the round in
which it was derived and hangs on earlier rounds alone, so that a contradiction can be told as a chain. Does not know
conflicts, and finds no order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import islice

from sql_semantics.records import dataclass
from troubadour.facts.sql import effects
from troubadour.facts.sql.effects import Accounts, reads_once
from troubadour.isolation.levels import Visible
from troubadour.order.graph import Edge, Graph, ones
from troubadour.order.history import INITIAL, History, Read, Rules, history_of
from troubadour.problem.budget import THOUSANDS
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem


class Why(Enum):
    """Why one transaction sees another or comes after it, or did not leave what was read."""

    HAPPENED = "it is the only source of what another one saw"
    SESSION = "their session has them so"
    TAKEN = "the read has no other source"
    SEEN = "it is seen"
    OVERWRITTEN = "it is seen and leaves something else, so it is before the read's source"
    LATER = "the source is after the read"
    REPLACED = "what is seen replaced the source"


@dataclass(frozen=True, slots=True)
class Seen:
    """What `item` saw at a place."""

    item: int
    place: effects.Place
    known: effects.Known


@dataclass(frozen=True, slots=True)
class Step:
    """What is shown next: `later` sees `earlier` (SESSION, TAKEN), `earlier` is before `later` (SEEN, OVERWRITTEN), or
    `earlier` (None: the initial version) is no source of what was seen (LATER, REPLACED by `other`), or `later`
    happened."""

    why: Why
    earlier: int | None
    later: int
    seen: Seen | None = None
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps in turn, and what they come to: a circle of transactions each before the next, or a read without a
    source."""

    steps: tuple[Step, ...]
    circle: tuple[int, ...] = ()
    unexplained: Seen | None = None

    @property
    def items(self) -> frozenset[int]:
        """The transactions that it is about."""
        found = {*self.circle, *(step.seen.item for step in self.steps if step.seen is not None)}
        if self.unexplained is not None:
            found.add(self.unexplained.item)
        for step in self.steps:
            found.update(one for one in (step.earlier, step.later, step.other) if one is not None)
        return frozenset(found)


def sees_sets(problem: Problem) -> bool:
    """Whether every transaction sees one set of others, and rows are all that it meets there."""
    level = problem.levels[problem.committed[0]]
    one_level = all(other is level for other in problem.levels)
    return level.visible is not Visible.STATE and one_level and reads_once(problem, level)


def comes_once(place: effects.Place, initial: effects.Known, writers: Iterable[effects.Account]) -> bool:
    """Whether a place has one row at most, from the beginning or by one insert, which is only updated then."""
    inserts = 0
    for account in writers:
        if place[0] in account.wild or not isinstance(account.wrote[place].after, tuple):
            return False
        inserts += not isinstance(account.met.get(place), tuple)
        if initial is not None and place in account.inserted:
            return False
    return initial is not None or inserts <= 1


class _Plain:
    """The places that have one row at most, whatever some items do."""

    def __init__(self, accounts: Accounts, items: Iterable[int]) -> None:
        self._initial = accounts.initial
        self._writers: dict[effects.Place, list[effects.Account]] = defaultdict(list)
        self._wild: set[str] = set()
        for item in items:
            account = accounts.of(item)
            self._wild |= account.wild
            for place in account.wrote:
                self._writers[place].append(account)

    def __contains__(self, place: effects.Place) -> bool:
        writers = self._writers.get(place, ())
        return place[0] not in self._wild and comes_once(place, self._initial.get(place), writers)


def contradict_in_sets(problem: Problem, accounts: Accounts, items: Iterable[int]) -> int | None:
    """The first of the items whose own answers no set of others gives, whatever they hold: none of what it looked at
    can be there as two rows of one key, of which sets may see an old one beside its successor."""
    if not sees_sets(problem):
        return None
    found = [item for item in items if accounts.of(item).contradicts]
    if not found:
        return None
    plain = _Plain(accounts, [*problem.committed, *problem.unknown])
    for item in found:
        named = accounts.of(item).named
        if named is not None and all(place in plain for place in named):
            return item
    return None


@dataclass(frozen=True, slots=True)
class _Reason:
    """A rule with the read (its number) and the other event that it was applied to, in a round."""

    why: Why
    round: int
    read: int = -1
    other: int = -1


@dataclass(frozen=True, slots=True)
class _Gone:
    """A source that is excluded from a read."""

    read: int
    source: int
    reason: _Reason


SESSION_PAIRS = 1_000_000
"""Transactions and others before them in their sessions that are told of one by one; beyond, the last before each."""


class _Saturation:
    """Events are those of the history: one for each transaction."""

    def __init__(self, problem: Problem, history: History, reads: list[Read]) -> None:
        self._check: Callable[[], object] = problem.budget.left
        self._history = history
        self._reads = reads
        self._closed = problem.levels[problem.committed[0]].visible is Visible.CLOSED
        self._sources = [read.sources for read in reads]
        self._gone: list[_Gone] = []
        self._seen: Graph[_Reason] = Graph()
        self._order: Graph[_Reason] = Graph()
        for _ in history.names:
            self._seen.add_event()
            self._order.add_event()
        self._visible: list[int] = []
        self._marks: list[tuple[int, int]] = []
        """By round, the edges of both relations that were there before it."""
        if problem.levels[problem.committed[0]].session:
            happened = {item for item in history.items if item not in history.optional or item in history.because}
            left = SESSION_PAIRS
            for item in sorted(happened):
                earlier = (one for one in problem.earlier_in_session(item) if must_precede(problem, one, item))
                # where seeing is closed the last one passes on the others
                for other in islice(earlier, 1 if self._closed or left <= 0 else None):
                    left -= 1
                    if other in happened:
                        self._see(history.commit[other], history.commit[item], _Reason(Why.SESSION, 0))

    def chain(self) -> Chain | None:
        """Derive all that follows; the chain of a contradiction."""
        number = 0
        while True:
            self._check()
            number += 1
            self._marks.append((len(self._seen.edges), len(self._order.edges)))
            closed = self._seen.close() and self._order.close()
            if not closed:
                # whatever is seen is before, too
                return self._told(circle=self._order.circle())
            count = len(self._seen.edges) + len(self._order.edges) + len(self._gone)
            self._visible = self._seen_by_each()
            for place in range(len(self._reads)):
                if not self._derive(place, number):
                    return self._told(read=place)
            if count == len(self._seen.edges) + len(self._order.edges) + len(self._gone):
                return None

    def sets(self) -> Sets:
        """An order that keeps what was derived, with those that each transaction sees and no more."""
        history = self._history
        found: Sets = []
        for event in self._order.topological():
            item = history.item_of(event)
            if item is not None and item not in history.optional:
                seen = (history.item_of(other) for other in ones(self._visible[event]))
                found.append((item, frozenset(other for other in seen if other is not None)))
        return found

    def _see(self, earlier: int, later: int, reason: _Reason) -> None:
        self._seen.add(earlier, later, reason)
        self._order.add(earlier, later, _Reason(Why.SEEN, reason.round))

    def _seen_by_each(self) -> list[int]:
        """What each event sees, as bits."""
        if self._closed:
            return self._seen.before
        found = [0] * len(self._seen)
        for edge in self._seen.edges:
            found[edge.later] |= 1 << edge.earlier
        return found

    def _derive(self, number: int, round_: int) -> bool:
        """What a read forces; False where it has no source."""
        read, order = self._reads[number], self._order
        visible = read.others & self._visible[read.event]
        for source in self._sources[number] if len(self._sources[number]) > 1 or visible else ():
            if source != INITIAL and order.precedes(read.event, source):
                self._exclude(number, source, _Reason(Why.LATER, round_))
                continue
            between = visible if source == INITIAL else visible & order.after[source]
            if between:
                other = between.bit_length() - 1
                self._exclude(number, source, _Reason(Why.REPLACED, round_, other=other))
        sources = self._sources[number]
        if not sources:
            return False
        if len(sources) == 1 and sources[0] != INITIAL:
            (source,) = sources
            if not self._visible[read.event] >> source & 1:
                self._see(source, read.event, _Reason(Why.TAKEN, round_, number))
            for other in ones(visible & ~order.before[source] & ~(1 << source)):
                order.add(other, source, _Reason(Why.OVERWRITTEN, round_, number, other))
        return True

    def _exclude(self, number: int, source: int, reason: _Reason) -> None:
        self._sources[number] = tuple([one for one in self._sources[number] if one != source])
        self._gone.append(_Gone(number, source, reason))

    def _told(self, circle: list[Edge[_Reason]] | None = None, read: int = -1) -> Chain:
        """The chain, from what it comes to backwards."""
        return _Teller(self._history, self._reads, self._marks, (self._seen, self._order), self._gone).told(
            circle or [], read
        )


class _Teller:
    def __init__(
        self,
        history: History,
        reads: list[Read],
        marks: list[tuple[int, int]],
        graphs: tuple[Graph[_Reason], Graph[_Reason]],
        gone: list[_Gone],
    ) -> None:
        self._history = history
        self._reads = reads
        self._marks = marks
        self._graphs = graphs
        self._gone = gone
        self._steps: dict[tuple[int, int, Step], None] = {}

    def told(self, circle: list[Edge[_Reason]], read: int) -> Chain:
        """What a circle, or a read without a source, hangs on."""
        unexplained = None
        if circle:
            for edge in circle:
                self._need_before(edge)
        else:
            unexplained = self._what(read)
            self._need_gone(read, len(self._marks) + 1)
            self._need_happened(unexplained.item)
        steps = tuple([step for _, _, step in sorted(self._steps, key=lambda one: one[:2])])
        return Chain(steps, tuple([self._item(edge.earlier) for edge in circle]), unexplained)

    def _item(self, event: int) -> int:
        item = self._history.item_of(event)
        assert item is not None, "every event is a transaction's"
        return item

    def _what(self, number: int) -> Seen:
        read = self._reads[number]
        return Seen(read.item, self._history.places[read.place], read.known)

    def _note(self, round_: int, step: Step, depth: int = 1) -> bool:
        """Whether a step is new."""
        key = (round_, depth, step)
        if key in self._steps:
            return False
        self._steps[key] = None
        return True

    def _need_before(self, edge: Edge[_Reason]) -> None:
        """Tell why one event is before another."""
        reason, earlier, later = edge.reason, self._item(edge.earlier), self._item(edge.later)
        if reason.why is Why.SEEN:
            seen = next(one for one in self._graphs[0].successors[edge.earlier] if one.later == edge.later)
            self._need_seen(seen)
            self._note(reason.round, Step(Why.SEEN, earlier, later), depth=2)
            return
        read = self._reads[reason.read]
        if self._note(reason.round, Step(Why.OVERWRITTEN, earlier, later, self._what(reason.read)), depth=2):
            self._need_happened(read.item)
            self._need_gone(reason.read, reason.round)
            self._need_path(0, edge.earlier, read.event, reason.round)

    def _need_seen(self, edge: Edge[_Reason]) -> None:
        """Tell why one event sees another."""
        reason, earlier, later = edge.reason, self._item(edge.earlier), self._item(edge.later)
        if reason.why is Why.SESSION:
            self._note(reason.round, Step(Why.SESSION, earlier, later))
            self._need_happened(earlier)
            self._need_happened(later)
        elif self._note(reason.round, Step(Why.TAKEN, earlier, later, self._what(reason.read))):
            self._need_happened(later)
            self._need_gone(reason.read, reason.round)

    def _need_path(self, relation: int, start: int, end: int, round_: int) -> None:
        """Tell why an event is seen by (0) or before (1) another one, by edges of earlier rounds."""
        path = self._graphs[relation].path(start, end, self._marks[round_ - 1][relation])
        assert path is not None, "what was derived hangs on earlier rounds"
        for edge in path:
            (self._need_before if relation else self._need_seen)(edge)

    def _need_gone(self, number: int, round_: int) -> None:
        """Tell why sources of a read were excluded by then."""
        event = self._reads[number].event
        for one in self._gone:
            reason = one.reason
            if one.read != number or reason.round > round_:
                continue
            source = None if one.source == INITIAL else self._item(one.source)
            other = None if reason.other < 0 else self._item(reason.other)
            step = Step(reason.why, source, self._reads[number].item, self._what(number), other)
            if not self._note(reason.round, step, depth=0):
                continue
            self._need_happened(step.later)
            if reason.why is Why.LATER:
                self._need_path(1, event, one.source, reason.round)
                continue
            self._need_path(0, reason.other, event, reason.round)
            if one.source != INITIAL:
                self._need_path(1, one.source, reason.other, reason.round)

    def _need_happened(self, item: int) -> None:
        because = self._history.because.get(item)
        if because is None:
            return
        read = self._history.reads[because]
        seen = Seen(read.item, self._history.places[read.place], read.known)
        if self._note(-1, Step(Why.HAPPENED, None, item, seen), depth=self._history.depth(item)):
            self._need_happened(read.item)


@dataclass(frozen=True, slots=True)
class Unseen:
    """What the transactions of a log saw has no explanation at its level, whatever the order."""

    chain: Chain
    accounts: Accounts


Sets = list[tuple[int, frozenset[int]]]
"""Transactions in an order, each with those that it sees."""


def unseen(problem: Problem, prefix: int | None = None) -> Unseen | None:
    """What excludes every order of a problem's first `prefix` committed transactions (None: of all), with any of the
    later ones; None where nothing is found, or sets are not what is seen. Raises OutOfTime."""
    return unseen_in(problem, Accounts(problem, latest=False), prefix) if sees_sets(problem) else None


def unseen_in(problem: Problem, accounts: Accounts, prefix: int | None) -> Unseen | None:
    """`unseen`, where sets are what is seen and the accounts are made. Raises OutOfTime."""
    chain = _saturation_of(problem, accounts, prefix).chain()
    return None if chain is None else Unseen(chain, accounts)


def unseen_or_sets(problem: Problem, accounts: Accounts) -> Unseen | Sets:
    """What excludes every order of a problem; else one that keeps what is derived and shows no more, which proves
    nothing, and is empty where the transactions are too many. Raises OutOfTime."""
    saturation = _saturation_of(problem, accounts, None)
    chain = saturation.chain()
    if chain is not None:
        return Unseen(chain, accounts)
    return saturation.sets() if len(problem.committed) <= THOUSANDS else []


def _saturation_of(problem: Problem, accounts: Accounts, prefix: int | None) -> _Saturation:
    level = problem.levels[problem.committed[0]]
    history = history_of(problem, Rules(level, latest=True), accounts, prefix)
    plain = _Plain(accounts, history.items)
    once = [place in plain for place in history.places]
    return _Saturation(problem, history, [read for read in history.reads if once[read.place]])
