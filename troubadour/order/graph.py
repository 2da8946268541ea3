"""Which event is before which: a graph whose closure is kept, each edge with the reason that it is there.

Events are small integers. The closure is one Python integer of bits per event and direction: a row of 10,000 events is
1.2 KB, and the OR of two rows is one operation. Edges are taken back in the reverse of the order in which they were
added. Does not know what an event is, nor why one is before another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from sql_semantics.records import dataclass

Reason = TypeVar("Reason")

Gain = tuple[bool, int, int]
"""Whether it is events before it that an event gained; the event; the gain, as bits."""


def ones(bits: int) -> list[int]:
    """The numbers of the bits that are set, ascending."""
    text = bin(bits)[:1:-1]
    found: list[int] = []
    place = text.find("1")
    while place >= 0:
        found.append(place)
        place = text.find("1", place + 1)
    return found


@dataclass(frozen=True, slots=True)
class Edge(Generic[Reason]):
    """`earlier` is before `later`. `rank` is the number of edges that were there before: an edge hangs on those of
    lower rank only."""

    earlier: int
    later: int
    reason: Reason
    rank: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment to which a graph can be taken back."""

    edges: int
    changes: int


class Graph(Generic[Reason]):
    """`before[e]` and `after[e]` are the events before and after e, as bits, as far as the closure is made."""

    def __init__(self) -> None:
        self.edges: list[Edge[Reason]] = []
        self.successors: list[list[Edge[Reason]]] = []
        self.before: list[int] = []
        self.after: list[int] = []
        self._known: set[tuple[int, int]] = set()
        self._changes: list[tuple[list[int], int, int]] = []
        self._forgotten = 0
        """How many changes were made before those that can be taken back."""

    def __len__(self) -> int:
        return len(self.successors)

    def add_event(self) -> int:
        """A new event, which nothing is known of."""
        self.successors.append([])
        self.before.append(0)
        self.after.append(0)
        return len(self.successors) - 1

    def add(self, earlier: int, later: int, reason: Reason) -> bool:
        """Note an edge that the closure does not hold yet; False where it is there."""
        if (earlier, later) in self._known:
            return False
        self._known.add((earlier, later))
        edge = Edge(earlier, later, reason, len(self.edges))
        self.edges.append(edge)
        self.successors[earlier].append(edge)
        return True

    def precedes(self, earlier: int, later: int) -> bool:
        """Whether the closure has one event before another."""
        return bool(self.after[earlier] >> later & 1)

    def close(self) -> bool:
        """Make the closure anew; False where the edges have a circle. It cannot be taken back to before this."""
        made = self._closure()
        if made is None:
            return False
        self.before, self.after = made
        self._forgotten += len(self._changes)
        self._changes.clear()
        return True

    def _closure(self) -> tuple[list[int], list[int]] | None:
        order = self.topological()
        if len(order) < len(self):
            return None
        before, after = [0] * len(self), [0] * len(self)
        for event in reversed(order):
            bits = 0
            for edge in self.successors[event]:
                bits |= after[edge.later] | 1 << edge.later
            after[event] = bits
        for event in order:
            bits = before[event] | 1 << event
            for edge in self.successors[event]:
                before[edge.later] |= bits
        return before, after

    def insert(self, earlier: int, later: int, reason: Reason) -> list[Gain] | None:
        """Add an edge and complete the closure; what events gained. None where it closes a circle; it is added then,
        too, and the closure is as before."""
        self.add(earlier, later, reason)
        if earlier == later or self.precedes(later, earlier):
            return None
        return self._spread(earlier, later)

    def _spread(self, earlier: int, later: int) -> list[Gain]:
        before, after, changes = self.before, self.after, self._changes
        ancestors = before[earlier] | 1 << earlier
        descendants = after[later] | 1 << later
        gained: list[Gain] = []
        for event in ones(descendants & ~after[earlier]):
            old = before[event]
            before[event] = old | ancestors
            changes.append((before, event, old))
            gained.append((True, event, ancestors & ~old))
        for event in ones(ancestors):
            old = after[event]
            new = descendants & ~old
            if new:
                after[event] = old | descendants
                changes.append((after, event, old))
                gained.append((False, event, new))
        return gained

    def mark(self) -> Mark:
        """Where the graph is now."""
        return Mark(len(self.edges), self._forgotten + len(self._changes))

    @property
    def kept(self) -> int:
        """About how many bytes are held so that changes can be taken back."""
        return len(self._changes) * len(self) // 8

    def forget(self, mark: Mark) -> None:
        """Hold nothing that is needed only to be taken back to before a mark."""
        gone = mark.changes - self._forgotten
        if gone > 0:
            del self._changes[:gone]
            self._forgotten = mark.changes

    def take_back(self, mark: Mark) -> None:
        """Be as at a mark, which was not forgotten."""
        assert mark.changes >= self._forgotten, "what was forgotten cannot be taken back"
        while len(self.edges) > mark.edges:
            edge = self.edges.pop()
            self.successors[edge.earlier].pop()
            self._known.discard((edge.earlier, edge.later))
        while self._forgotten + len(self._changes) > mark.changes:
            rows, event, old = self._changes.pop()
            rows[event] = old

    def topological(self) -> list[int]:
        """The events in an order that keeps all edges; fewer where there is a circle."""
        waiting = [0] * len(self)
        for edge in self.edges:
            waiting[edge.later] += 1
        order = [event for event, count in enumerate(waiting) if not count]
        for event in order:
            for edge in self.successors[event]:
                waiting[edge.later] -= 1
                if not waiting[edge.later]:
                    order.append(edge.later)
        return order

    def path(self, start: int, end: int, rank: int) -> list[Edge[Reason]] | None:
        """Edges of lower rank from one event to another, as few as can be; None where there are none."""
        came: dict[int, Edge[Reason]] = {}
        queue = deque([start])
        while queue:
            event = queue.popleft()
            for edge in self.successors[event]:
                if edge.rank >= rank:
                    continue
                if edge.later == end:
                    found = [edge]
                    while found[-1].earlier != start:
                        found.append(came[found[-1].earlier])
                    return found[::-1]
                if edge.later not in came and edge.later != start:
                    came[edge.later] = edge
                    queue.append(edge.later)
        return None

    def reached(self, start: int, rank: int, *, backwards: bool = False) -> dict[int, list[Edge[Reason]]]:
        """The events after one (before it, `backwards`) by edges of lower rank, the nearest first, with their paths."""
        neighbours: list[list[Edge[Reason]]] = self.successors
        if backwards:
            neighbours = [[] for _ in self.successors]
            for edge in self.edges:
                neighbours[edge.later].append(edge)
        found: dict[int, list[Edge[Reason]]] = {start: []}
        queue = deque([start])
        while queue:
            event = queue.popleft()
            for edge in neighbours[event]:
                other = edge.earlier if backwards else edge.later
                if edge.rank < rank and other not in found:
                    found[other] = [edge, *found[event]] if backwards else [*found[event], edge]
                    queue.append(other)
        return found

    def circle(self) -> list[Edge[Reason]]:
        """The edges of a circle, where there is one: the first that was closed, by few edges."""
        low, high = 0, len(self.edges)
        while low < high:
            middle = (low + high) // 2
            if _has_circle(len(self), self.edges[: middle + 1]):
                high = middle
            else:
                low = middle + 1
        closing = self.edges[low]
        if closing.earlier == closing.later:
            return [closing]
        rest = self.path(closing.later, closing.earlier, closing.rank)
        assert rest is not None, "an edge closes a circle"
        return [closing, *rest]


def _has_circle(count: int, edges: Sequence[Edge[Reason]]) -> bool:
    waiting = [0] * count
    successors: list[list[int]] = [[] for _ in range(count)]
    for edge in edges:
        waiting[edge.later] += 1
        successors[edge.earlier].append(edge.later)
    ready = [event for event, number in enumerate(waiting) if not number]
    for event in ready:
        for other in successors[event]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return len(ready) < count
