"""Completing what is known to an order: schedule, decide where the schedule went wrong, derive, and so on.

What a schedule overtook says what is open and matters: a commit went between a read and its source, so it is taken to
be before the source. Each decision is derived from at once; one that leads to a contradiction is turned round, and
where that contradicts too the last decision that it hangs on is. Of counted rows it may be open of many commits on
which side of a count they are: that is decided first where they are few enough to be looked at one by one, the surest
first. Does not know what transactions do: the order is a hint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sql_semantics.records import dataclass
from troubadour.order.graph import ones
from troubadour.order.history import INITIAL, bits_of
from troubadour.order.saturation import Impossible, Known, Moment, Reason, Rule
from troubadour.order.schedule import Schedule, schedule

BATCH = 16
"""Sides that are decided at least, and one part of so many of all that are open, before they are compared anew."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is tried. `schedules`: greedy orders; `contradictions`: decisions that had to be turned round;
    `outdated`: decisions of one schedule that are skipped, as others excluded them, before the next one is made.
    `kept`: bytes that are held so that decisions can be taken back; beyond it the older half stands. `sides`: commits
    that may be on either side of a count, beyond which they are not looked at one by one; `miscounts`: decisions of
    these that had to be turned round."""

    schedules: int = 400
    contradictions: int = 2_000
    outdated: int = 5
    kept: int = 1 << 28
    sides: int = 20_000
    miscounts: int = 400


@dataclass(slots=True)
class Effort:
    """What was done."""

    schedules: int = 0
    decisions: int = 0
    contradictions: int = 0


@dataclass(frozen=True, slots=True)
class _Decision:
    """A read, and a commit that is taken to be before its source (else after the read), or a source that is taken to be
    its own. With a counter, a cut of it, and a commit that is taken to be before that, or after it (`is_late`)."""

    read: int
    other: int
    is_source: bool = False
    counter: int = -1
    is_late: bool = False


class Linearizer:
    """Looks for an order that keeps all that is known and has every read next to its source."""

    def __init__(self, known: Known, limits: Limits | None = None) -> None:
        """`known` is saturated and free of contradictions; decisions are added to it."""
        self._known = known
        self._limits = limits or Limits()
        self._trail: list[tuple[Moment, _Decision]] = []
        self._stands = False
        """Whether some decisions cannot be taken back any more."""
        self.effort = Effort()

    def run(self) -> list[int] | None:
        """The events in order; None where none was found."""
        effort, limits = self.effort, self._limits
        if self._known.history.counters:
            self._known.thorough = True
            if self._known.saturate() is not None or not self._decide_sides():
                return None
        while effort.schedules < limits.schedules:
            effort.schedules += 1
            found = schedule(self._known, likely_places(self._known))
            if not found.is_wrong:
                return found.order
            before = effort.decisions
            if not self._decide(self._decisions(found)) or effort.decisions == before:
                return None
        return None

    def _decide_sides(self) -> bool:
        """Decide on which side of each count each commit is that adds to it, or decide nothing; False where neither is
        possible any more."""
        if sum(bits.bit_count() for _, _, bits in self._sides()) > self._limits.sides:
            return True
        start = self._known.moment()
        before = self.effort.contradictions
        while decisions := self._by_sureness():
            turned = self.effort.contradictions
            # what is derived from these tells more of the others
            for decision in decisions[: max(BATCH, len(decisions) // BATCH)]:
                if self._is_settled(decision):
                    continue
                possible = self._try(decision)
                if not possible or self.effort.contradictions - before > self._limits.miscounts:
                    if self._stands:
                        return False
                    self._known.take_back(start)
                    self._trail.clear()
                    return True
                if self.effort.contradictions > turned:
                    break
        return True

    def _sides(self) -> Iterator[tuple[int, int, int]]:
        """By counter and cut the commits that may be on either side, as bits."""
        graph = self._known.graph
        for number, counter in enumerate(self._known.history.counters):
            for place, cut in enumerate(counter.cuts) if counter.is_exact else ():
                start, end = self._known.ends[number][place]
                own = bits_of(cut.seen)
                bits = counter.writers & ~(graph.before[start] | graph.after[end] | own)
                if bits:
                    yield number, place, bits

    def _by_sureness(self) -> list[_Decision]:
        """Which side of a count each commit is on, as far as that is open: first where their places in the order, as
        far as these are known, lie farthest apart for how far they may lie elsewhere."""
        graph = self._known.graph
        first = [before.bit_count() for before in graph.before]
        last = [len(graph) - 1 - after.bit_count() for after in graph.after]
        found: list[tuple[float, int, int, int, bool]] = []
        for number, place, bits in self._sides():
            start, end = self._known.ends[number][place]
            for commit in ones(bits):
                apart = first[commit] + last[commit] - first[start] - last[end]
                room = last[commit] - first[commit] + last[end] - first[start] + 1
                found.append((-abs(apart) / room, number, place, commit, apart > 0))
        found.sort()
        return [_Decision(cut, commit, counter=number, is_late=is_late) for _, number, cut, commit, is_late in found]

    def _decisions(self, found: Schedule) -> list[_Decision]:
        known = self._known
        decisions: dict[_Decision, None] = {}
        for number, took in found.took.items():
            if took is not None:
                decisions[_Decision(number, took, is_source=True)] = None
        for number, other in found.overtaken:
            sources = known.sources[number]
            if len(sources) == 1 and sources[0] != INITIAL:
                decisions[_Decision(number, other, is_source=False)] = None
        for number, took in found.took.items():
            if took is None:
                decisions[_Decision(number, known.sources[number][0], is_source=True)] = None
        for counter, cut, other, is_before in found.outcounted:
            decisions[_Decision(cut, other, counter=counter, is_late=not is_before)] = None
        return [*decisions]

    def _decide(self, decisions: Sequence[_Decision]) -> bool:
        """Take decisions as long as they are still asked for; False where nothing more can be tried."""
        outdated = 0
        for decision in decisions:
            if self._is_settled(decision):
                outdated += 1
                if outdated > self._limits.outdated:
                    return True
                continue
            if not self._try(decision):
                return False
        return True

    def _try(self, decision: _Decision) -> bool:
        """Take a decision, or its opposite; False where nothing more can be tried."""
        self.effort.decisions += 1
        moment = self._known.moment()
        if self._take(decision, Rule.ASSUMED) is None:
            self._trail.append((moment, decision))
            self._settle()
            return True
        self._known.take_back(moment)
        return self._turn(decision)

    def _settle(self) -> None:
        """Let the older half of the decisions stand where taking them back would need too much."""
        if self._known.graph.kept > self._limits.kept and len(self._trail) > 1:
            del self._trail[: len(self._trail) // 2]
            self._known.settle(self._trail[0][0])
            self._stands = True

    def _is_settled(self, decision: _Decision) -> bool:
        known = self._known
        if decision.counter >= 0:
            start, end = known.ends[decision.counter][decision.read]
            before, after = known.graph.precedes(decision.other, start), known.graph.precedes(end, decision.other)
            return before or after
        sources = known.sources[decision.read]
        if decision.is_source:
            return len(sources) == 1 or decision.other not in sources
        if len(sources) > 1 or sources[0] == INITIAL:
            return True
        graph, event = known.graph, known.reads[decision.read].event
        return graph.precedes(decision.other, sources[0]) or graph.precedes(event, decision.other)

    def _take(self, decision: _Decision, rule: Rule) -> Impossible | None:
        known, number = self._known, decision.read
        if decision.counter >= 0:
            return self._count(decision, Reason(rule, other=decision.other), is_late=decision.is_late)
        reason = Reason(rule, number, decision.other)
        if decision.is_source:
            rest = [source for source in known.sources[number] if source != decision.other]
            return known.exclude(number, rest, reason)
        return known.assume(decision.other, known.sources[number][0], reason)

    def _opposite(self, decision: _Decision) -> Impossible | None:
        known, number = self._known, decision.read
        if decision.counter >= 0:
            return self._count(decision, Reason(Rule.REFUTED, other=decision.other), is_late=not decision.is_late)
        reason = Reason(Rule.REFUTED, number, decision.other)
        if decision.is_source:
            return known.exclude(number, [decision.other], reason)
        return known.assume(known.reads[number].event, decision.other, reason)

    def _count(self, decision: _Decision, reason: Reason, *, is_late: bool) -> Impossible | None:
        start, end = self._known.ends[decision.counter][decision.read]
        if is_late:
            return self._known.assume(end, decision.other, reason)
        return self._known.assume(decision.other, start, reason)

    def _turn(self, decision: _Decision) -> bool:
        """A decision leads to a contradiction: take its opposite, and where that does too turn round an earlier one."""
        while True:
            self.effort.contradictions += 1
            if self.effort.contradictions > self._limits.contradictions:
                return False
            moment = self._known.moment()
            if self._opposite(decision) is None:
                return True
            self._known.take_back(moment)
            if not self._trail:
                return False
            moment, decision = self._trail.pop()
            self._known.take_back(moment)


def likely_places(known: Known) -> list[float]:
    """Where each event is about: by how many are before it, of those whose order with it is known."""
    graph = known.graph
    counts = [(graph.before[event].bit_count(), graph.after[event].bit_count()) for event in range(len(graph))]
    return [before / (before + after + 1) for before, after in counts]
