"""An order of transactions that is told by what they counted: rows that are only added to, and totals over tables.

Each number that is only added to is a clock. A transaction that was told of it has its turn at that reading; the others
are put between, those first that are needed soonest: what is told of a total says by when a row must have come how far
(earliest deadline first). The order is a hint, which is run; nothing follows where none is found. Does not know how
what was told is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from sql_semantics.records import dataclass, field
from troubadour.facts.sql.effects import Accounts
from troubadour.facts.sql.totals import Total, Totals
from troubadour.order.saturation import Known
from troubadour.problem.problem import Problem


@dataclass(slots=True)
class _Clock:
    """A number that is only added to, by how much since the start. `adds` and `told` by event."""

    adds: dict[int, int] = field(default_factory=dict)
    told: dict[int, int] = field(default_factory=dict)


def ordered_by_counts(problem: Problem, known: Known, accounts: Accounts) -> list[int] | None:
    """The transactions in an order in which each was told what had been added then; None where none is found, or no
    totals were told. Each has one event. Raises OutOfTime."""
    history = known.history
    one_event = all(history.snapshot[item] == event for item, event in history.commit.items())
    if not one_event:
        return None
    clocks = _totals(problem, known, accounts)
    if not clocks:
        return None
    for counter in history.counters:
        clock = _Clock(dict(counter.adds))
        clock.told = {event: cut.value for cut in counter.cuts for event in cut.seen}
        if counter.is_exact:
            clocks.append(clock)
    for number, by in _slower(clocks):
        _give_turns(clocks[number], clocks[by])
    return _Course(problem, known, clocks).run()


def _totals(problem: Problem, known: Known, accounts: Accounts) -> list[_Clock]:
    """The totals that were told, of which each transaction is known to add something or nothing."""
    totals, commit = Totals(problem, accounts), known.history.commit
    told: dict[Total, dict[int, int]] = defaultdict(dict)
    for item in known.history.items:
        for total, value in totals.told(item):
            told[total][commit[item]] = value
    found: list[_Clock] = []
    for total, values in told.items():
        first = totals.initial(total)
        added = {commit[item]: totals.added(total, accounts.of(item)) for item in known.history.items}
        adds = {event: number for event, number in added.items() if number}
        sign = 1 if sum(adds.values()) >= 0 else -1
        if first is None or None in added.values() or any(number * sign < 0 for number in adds.values()):
            continue
        since = {event: (value - first) * sign for event, value in values.items()}
        found.append(_Clock({event: number * sign for event, number in adds.items()}, since))
    return found


class _Need(NamedTuple):
    """When clock `by`, which all move that move a clock, has come to `reading`, this one is at `value`."""

    by: int
    reading: int
    value: int


def _slower(clocks: Sequence[_Clock]) -> Iterator[tuple[int, int]]:
    """Clocks, by number, each with another one that all move that move it."""
    for number, clock in enumerate(clocks):
        for by, other in enumerate(clocks):
            if clock.adds.keys() < other.adds.keys():
                yield number, by


def _give_turns(clock: _Clock, by: _Clock) -> None:
    """Let those that move a clock by one, and were told of `by` alone, have been told of it, too: of values that are
    left, each the nearest to where the clock would be if it went evenly."""
    if set(clock.adds.values()) != {1}:
        return
    least = {event: reading for event, reading in by.told.items() if event in clock.adds}
    known = sorted((reading, clock.told[event]) for event, reading in least.items() if event in clock.told)
    free = [value for value in range(len(clock.adds)) if value not in set(clock.told.values())]
    ends = [(-1, -1), *known, (sum(by.adds.values()), len(clock.adds))]
    for (begin, low), (end, high) in pairwise(ends):
        open_ = sorted((reading, event) for event, reading in least.items() if begin < reading < end)
        open_ = [(reading, event) for reading, event in open_ if event not in clock.told]
        for left, (reading, event) in zip(range(len(open_), 0, -1), open_, strict=True):
            values = [value for value in free if low < value < high][: -left + 1 or None]
            # between two values at most as much is added as to the faster clock
            values = [value for value in values if value - low <= reading - begin and high - value <= end - reading]
            if not values:
                return
            evenly = low + (high - low) * (reading - begin) / (end - begin)
            low = clock.told[event] = min(values, key=lambda value: abs(value - evenly))
            begin = reading


class _Course:
    """Places one event after the other."""

    def __init__(self, problem: Problem, known: Known, clocks: Sequence[_Clock]) -> None:
        self._budget = problem.budget
        self._known = known
        self._clocks = clocks
        self._now = [0] * len(clocks)
        self._of: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """By event the clocks that it adds to, and how much."""
        self._told: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """By event the clocks that it was told of, with what."""
        for number, clock in enumerate(clocks):
            for event, amount in clock.adds.items():
                self._of[event].append((number, amount))
            for event, value in clock.told.items():
                self._told[event].append((number, value))
        self._left = [sorted((value, event) for event, value in clock.told.items()) for clock in clocks]
        """Of each clock what is still to be told, in turn."""
        self._waiting = [0] * len(known.graph)
        for edge in known.graph.edges:
            self._waiting[edge.later] += 1
        self._following: dict[int, list[int]] = defaultdict(list)
        for edge in known.graph.edges:
            self._following[edge.earlier].append(edge.later)
        self._placed: set[int] = set()
        self._needs = self._needed()

    def _needed(self) -> dict[int, list[_Need]]:
        """By clock (its number) what is needed of it, the soonest first."""
        found: dict[int, list[_Need]] = defaultdict(list)
        for number, by in _slower(self._clocks):
            readings, values = self._clocks[by].told, self._clocks[number].told
            found[number] += [_Need(by, readings[event], values[event]) for event in readings.keys() & values.keys()]
        for needs in found.values():
            needs.sort(key=lambda need: need.reading)
        return found

    def run(self) -> list[int] | None:
        """The items in order; None where no event can be next."""
        items = {event: item for item, event in self._known.history.commit.items()}
        ready: dict[Hashable, list[int]] = defaultdict(list)
        self._release([event for event, count in enumerate(self._waiting) if not count], items, ready)
        order: list[int] = []
        while len(order) < len(items):
            self._budget.note(len(ready))
            self._budget.left()
            alike = self._next(ready)
            if alike is None:
                return None
            event = ready[alike].pop()
            if not ready[alike]:
                del ready[alike]
            order.append(items[event])
            self._placed.add(event)
            for number, amount in self._of[event]:
                self._now[number] += amount
            self._pass(event, items, ready)
        return order

    def _pass(self, event: int, items: dict[int, int], ready: dict[Hashable, list[int]]) -> None:
        following = []
        for later in self._following[event]:
            self._waiting[later] -= 1
            if not self._waiting[later]:
                following.append(later)
        self._release(following, items, ready)

    def _release(self, events: list[int], items: dict[int, int], ready: dict[Hashable, list[int]]) -> None:
        """Events of which all that must be before is placed: transactions have their turn, others are passed."""
        for event in events:
            if event in items:
                # what was told nothing, and adds the same, is the same here
                alike = (tuple(self._of[event]), tuple(self._told[event]))
                ready[alike].append(event)
            else:
                self._pass(event, items, ready)

    def _next(self, ready: dict[Hashable, list[int]]) -> Hashable | None:
        best: Hashable | None = None
        soonest = (inf, inf)
        for alike, events in ready.items():
            event = events[-1]
            if not self._fits(event):
                continue
            # of those that are needed as soon the one whose clock is behind the others
            rank = (self._latest(event), self._share(event))
            if best is None or rank < soonest:
                best, soonest = alike, rank
        return best

    def _fits(self, event: int) -> bool:
        """Whether an event may be next: it was told what there is now, and lets none of those left miss its turn."""
        if any(self._now[number] != value for number, value in self._told[event]):
            return False
        return all(self._now[number] + amount <= self._first_left(number, event) for number, amount in self._of[event])

    def _first_left(self, number: int, event: int) -> float:
        """The lowest reading of a clock that another event is still to be told."""
        left = self._left[number]
        while left and left[0][1] in self._placed:
            left.pop(0)
        return next((value for value, other in left if other != event and other not in self._placed), inf)

    def _latest(self, event: int) -> float:
        """The reading of another clock by which an event has to be next, so that all that is told comes in time."""
        found = inf
        for number, amount in self._of[event]:
            needs = self._needs[number]
            while needs and needs[0].reading < self._now[needs[0].by]:
                needs.pop(0)
            for need in needs:
                if need.value > self._now[number]:
                    found = min(found, need.reading - self._now[need.by] - (need.value - self._now[number]) / amount)
        return found

    def _share(self, event: int) -> float:
        """How far the clock is that an event moves and few others do."""
        shares = [(len(self._clocks[number].adds), self._now[number]) for number, _ in self._of[event]]
        return min((now / count for count, now in shares), default=0.0)
