"""A greedy order of all events: a topological order in which no commit overtakes a read that it would spoil.

A commit that leaves something else at a place waits until the reads that must take the version there now have had their
turn. Where events wait for one another in a circle one of them goes all the same, and what it overtook is noted: the
places at which something has to be decided otherwise. Does not know how that is done, nor runs any transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

from sql_semantics.records import dataclass, field
from troubadour.order.history import INITIAL
from troubadour.order.saturation import Known


@dataclass(slots=True)
class Schedule:
    """`order`: the events. `overtaken`: reads (by number) with the commits that came between them and their source.
    `took`: the source that a read with several of them had; None where it had none."""

    order: list[int] = field(default_factory=list)
    overtaken: list[tuple[int, int]] = field(default_factory=list)
    took: dict[int, int | None] = field(default_factory=dict)
    outcounted: list[tuple[int, int, int, bool]] = field(default_factory=list)
    """Where counts were not as seen: the counter, its cut, and a commit of which it is open whether it is before that,
    with whether it had better be."""
    is_miscounted: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether some read would not have its version, or its count."""
        return bool(self.overtaken) or self.is_miscounted or any(took is None for took in self.took.values())


def schedule(known: Known, rank: Sequence[float], accepts: Callable[[int], bool] | None = None) -> Schedule:
    """Put all events in order, those of low `rank` first where there is a choice, reads before commits. An event
    whose turn has come and that is not accepted is asked for again after the next commit; where only such are left
    the order ends before them."""
    return _Scheduler(known, rank, accepts).run()


class _Scheduler:
    def __init__(self, known: Known, rank: Sequence[float], accepts: Callable[[int], bool] | None) -> None:
        self._known = known
        self._accepts = accepts
        self._refused: list[int] = []
        self._rank = rank
        self._done = [False] * len(known.graph)
        self._waiting = [0] * len(known.graph)
        for edge in known.graph.edges:
            self._waiting[edge.later] += 1
        count = len(known.history.places)
        self._newest = [INITIAL] * count
        self._active: list[set[int]] = [set() for _ in range(count)]
        self._held: dict[int, list[int]] = defaultdict(list)
        """Commits that wait for the reads at a place; events that wait for a source, by minus one minus their read."""
        self._left = [len(sources) for sources in known.sources]
        self._written = known.history.written
        counters = known.history.counters
        self._counted = [0] * len(counters)
        self._next_cut = [0] * len(counters)
        self._unseen = [[len(cut.seen) for cut in counter.cuts] for counter in counters]
        """How many of those that see a count have not had their turn."""
        self._adding: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._let_go: set[int] = set()
        """Events that no count holds any more."""
        for number, counter in enumerate(counters):
            if counter.is_exact:
                for event, amount in counter.adds.items():
                    self._adding[event].append((number, amount))
        self._ready: list[tuple[bool, float, int]] = []
        self.found = Schedule()

    def run(self) -> Schedule:
        known = self._known
        for number, sources in enumerate(known.sources):
            if INITIAL in sources:
                self._offer(number)
        self._ready = [self._entry(event) for event, count in enumerate(self._waiting) if not count]
        heapify(self._ready)
        order = self.found.order
        while len(order) < len(self._done):
            if not self._ready:
                if not self._held:
                    break
                self._force()
                continue
            event = heappop(self._ready)[2]
            if self._done[event] or self._is_held(event):
                continue
            if self._accepts is not None and not self._accepts(event):
                self._refused.append(event)
                continue
            self._take(event)
            if event in self._written:
                for other in self._refused:
                    heappush(self._ready, self._entry(other))
                self._refused.clear()
        return self.found

    def _entry(self, event: int) -> tuple[bool, float, int]:
        return event in self._written, self._rank[event], event

    def _is_held(self, event: int) -> bool:
        """Whether the event has to wait; it is noted what for."""
        known = self._known
        for number in known.at.get(event, ()):
            sources = known.sources[number]
            if len(sources) > 1 and self._newest[known.reads[number].place] not in sources and self._left[number]:
                self._held[-1 - number].append(event)
                return True
        for place in self._written.get(event, ()):
            if any(self._spoils(event, number) for number in self._active[place]):
                self._held[place].append(event)
                return True
        return event not in self._let_go and self._is_miscounted(event)

    def _is_miscounted(self, event: int) -> bool:
        """Whether a count is not yet what the event sees, or would be more than others see that have to come first."""
        counters = self._known.history.counters
        for number, place in self._known.cuts.get(event, ()):
            if counters[number].is_exact and self._counted[number] < counters[number].cuts[place].value:
                self._held[self._key(number)].append(event)
                return True
        for number, amount in self._adding.get(event, ()):
            cuts, place = counters[number].cuts, self._next_cut[number]
            if place == len(cuts) or (cuts[place].writes and event in cuts[place].seen):
                continue
            if self._counted[number] + amount > cuts[place].value:
                self._held[self._key(number)].append(event)
                return True
        return False

    def _key(self, number: int) -> int:
        """The key of what waits for a counter."""
        return len(self._newest) + number

    def _count(self, event: int) -> None:
        """Count what an event adds, and that it saw a count."""
        for number, amount in self._adding.get(event, ()):
            self._counted[number] += amount
            self._wake(self._key(number))
        for number, place in self._known.cuts.get(event, ()):
            left = self._unseen[number]
            left[place] -= 1
            if left[place]:
                continue
            while self._next_cut[number] < len(left) and not left[self._next_cut[number]]:
                self._next_cut[number] += 1
            self._wake(self._key(number))

    def _spoils(self, event: int, number: int) -> bool:
        read = self._known.reads[number]
        return read.event != event and bool(read.others >> event & 1)

    def _take(self, event: int) -> None:
        known = self._known
        self._done[event] = True
        self.found.order.append(event)
        for number in known.at.get(event, ()):
            read = known.reads[number]
            if len(known.sources[number]) > 1:
                newest = self._newest[read.place]
                self.found.took[number] = newest if newest in known.sources[number] else None
            if number in self._active[read.place]:
                self._active[read.place].discard(number)
                if len(self._active[read.place]) <= 1:
                    self._wake(read.place)
        for place in self._written.get(event, ()):
            self._newest[place] = event
            self._wake(place)
        for number in known.of.get(event, ()):
            if event in known.sources[number]:
                self._offer(number)
        self._count(event)
        for edge in known.graph.successors[event]:
            self._waiting[edge.later] -= 1
            if not self._waiting[edge.later]:
                heappush(self._ready, self._entry(edge.later))

    def _offer(self, number: int) -> None:
        """One more source of a read is there: where it is the last one, the read has to be next at the place."""
        self._left[number] -= 1
        read = self._known.reads[number]
        if not self._left[number] and not self._done[read.event]:
            self._active[read.place].add(number)
        self._wake(-1 - number)

    def _wake(self, key: int) -> None:
        waiting = self._held.pop(key, None)
        for event in waiting or ():
            heappush(self._ready, self._entry(event))

    def _force(self) -> None:
        """Let the event of lowest rank go that waits for reads, or for a source, or for a count."""
        _, _, event, key = min(
            (self._hindrance(key, event), self._rank[event], event, key)
            for key, events in self._held.items()
            for event in events
        )
        if key < 0:
            self._left[-1 - key] = 0
        elif key >= len(self._newest):
            self._miscount(key - len(self._newest), event)
        else:
            for place in self._written.get(event, ()):
                spoiled = [number for number in sorted(self._active[place]) if self._spoils(event, number)]
                self.found.overtaken.extend((number, event) for number in spoiled)
                self._active[place].difference_update(spoiled)
                if spoiled:
                    self._wake(place)
        self._held[key] = [other for other in self._held.get(key, ()) if other != event]
        if not self._held[key]:
            del self._held[key]
        heappush(self._ready, self._entry(event))

    def _hindrance(self, key: int, event: int) -> int:
        """How many reads an event would overtake; those that wait for a count come last."""
        if key < 0:
            return 0
        if key < len(self._newest):
            return len(self._active[key])
        number = key - len(self._newest)
        if any(number == other for other, _ in self._adding.get(event, ())):
            return self._unseen[number][self._next_cut[number]]
        return len(self._done)

    def _miscount(self, number: int, event: int) -> None:
        """Let an event go though a count is not as it should be."""
        if not self.found.is_miscounted:
            # what is still in turn: all that waits says what is open
            for key, events in list(self._held.items()):
                if key >= len(self._newest):
                    for other in sorted(events, key=lambda other: self._rank[other]):
                        self._ask(key - len(self._newest), other)
        self._let_go.add(event)
        self.found.is_miscounted = True

    def _ask(self, number: int, event: int) -> None:
        """Note which commit is on the wrong side of a count, where an event waits for it."""
        counter, place = self._known.history.counters[number], self._next_cut[number]
        graph = self._known.graph
        if event in counter.adds:
            start, end = self._known.ends[number][place]
            if not graph.precedes(event, start):
                self.found.outcounted.append((number, place, event, True))
                return
            # others took its turn
            early = [
                other
                for other in counter.adds
                if self._done[other] and not graph.precedes(other, start) and not graph.precedes(end, other)
            ]
            if early:
                self.found.outcounted.append((number, place, max(early, key=lambda other: self._rank[other]), False))
            return
        place = next(place for other, place in self._known.cuts[event] if other == number)
        end = self._known.ends[number][place][1]
        late = [
            other
            for other in counter.adds
            if not self._done[other] and other != event and not graph.precedes(end, other)
        ]
        if late:
            self.found.outcounted.append((number, place, min(late, key=lambda other: self._rank[other]), True))
