"""A relation over events as arrays of edges, at any size: an order, or a shortest circle.

An edge has a `weight`; edges up to a weight are a graph of their own. Does not know what an event is, nor why one is
before another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from sql_semantics.records import dataclass

Ints = npt.NDArray[np.int64]

FIRST = 64
"""The weight up to which a circle is looked for first; then up to four times that, and so on."""


@dataclass(frozen=True, slots=True)
class Links:
    """Edges by number: from `source` to `target`, events below `events`."""

    events: int
    source: Ints
    target: Ints
    weight: Ints

    def only(self, chosen: Ints) -> Links:
        """Some of the edges, numbered anew."""
        return Links(self.events, self.source[chosen], self.target[chosen], self.weight[chosen])


class Rows:
    """The edges that leave each event, beside one another."""

    def __init__(self, links: Links) -> None:
        order = np.argsort(links.source, kind="stable")
        counts = np.bincount(links.source, minlength=links.events)
        self.first: list[int] = np.concatenate(([0], np.cumsum(counts))).tolist()
        self.targets: list[int] = links.target[order].tolist()
        self.edges = order
        """The number of the edge at each place."""


def in_order(links: Links, priority: Ints) -> list[int]:
    """The events in an order of the relation, of those that may be next that with the least priority first. Where the
    relation has circles, what is on or behind one is missing."""
    rows = Rows(links)
    first, targets = rows.first, rows.targets
    waiting: list[int] = np.bincount(links.target, minlength=links.events).tolist()
    count = links.events
    # one number for priority and event: a heap of integers is the fastest
    keys: list[int] = (priority * np.int64(count) + np.arange(count)).tolist()
    ready = [keys[event] for event in range(count) if not waiting[event]]
    heapify(ready)
    found = []
    while ready:
        event = heappop(ready) % count
        found.append(event)
        for place in range(first[event], first[event + 1]):
            other = targets[place]
            left = waiting[other] - 1
            waiting[other] = left
            if not left:
                heappush(ready, keys[other])
    return found


def in_blocks(links: Links, order: Ints) -> Ints:
    """The numbers of the edges that some circle may have, told by any order of the events: a circle that passes a place
    of it goes back over it, so that places which no edge goes back over part the events."""
    place = np.empty(links.events, np.int64)
    place[order] = np.arange(links.events)
    source, target = place[links.source], place[links.target]
    back = source > target
    over = np.bincount(target[back], minlength=links.events) - np.bincount(source[back], minlength=links.events)
    block = np.cumsum(np.cumsum(over) == 0)
    # a block ends behind the event that nothing goes back over from later ones
    block -= np.cumsum(over) == 0
    found: Ints = np.flatnonzero(block[source] == block[target])
    return found


def circling(links: Links) -> Ints:
    """The numbers of the edges that are part of a circle: both ends in one strongly connected component (Tarjan 1972),
    of what is left when events without edges in or out are taken away."""
    return circles(links)[0]


def circles(links: Links) -> tuple[Ints, Ints]:
    """As `circling`, with the component of each of these edges; a way leads to components of lesser numbers."""
    chosen = np.arange(len(links.source))
    while len(chosen):
        source, target = links.source[chosen], links.target[chosen]
        comes, goes = (np.bincount(one, minlength=links.events) > 0 for one in (target, source))
        kept = comes[source] & goes[target]
        if kept.sum() * 50 > len(chosen) * 49:
            # few go in a round: the rest one by one
            break
        chosen = chosen[kept]
    if not len(chosen):
        return chosen, chosen
    part = links.only(chosen)
    label = np.array(components(part), np.int64)
    inside = label[part.source] == label[part.target]
    return chosen[inside], label[part.source[inside]]


def components(links: Links) -> list[int]:
    """The strongly connected component of each event that an edge leaves or leads to, -1 of others."""
    rows = Rows(links)
    first, targets = rows.first, rows.targets
    count = links.events
    number = [0] * count
    low = [0] * count
    label = [-1] * count
    next_edge = first[:count]
    stack: list[int] = []
    counter = 0
    components = 0
    for root in np.flatnonzero(np.bincount(links.source, minlength=count)).tolist():
        if number[root]:
            continue
        path = [root]
        counter += 1
        number[root] = low[root] = counter
        stack.append(root)
        while path:
            event = path[-1]
            place = next_edge[event]
            if place < first[event + 1]:
                next_edge[event] = place + 1
                other = targets[place]
                if not number[other]:
                    counter += 1
                    number[other] = low[other] = counter
                    stack.append(other)
                    path.append(other)
                elif label[other] < 0 and number[other] < low[event]:
                    low[event] = number[other]
                continue
            path.pop()
            if low[event] == number[event]:
                while True:
                    other = stack.pop()
                    label[other] = components
                    if other == event:
                        break
                components += 1
            if path and low[event] < low[path[-1]]:
                low[path[-1]] = low[event]
    return label


def lightest(links: Links) -> tuple[int, Ints] | None:
    """The least weight up to which the edges have a circle, with the numbers of the edges of that weight and below
    that are part of one; None where there is none."""
    if not len(links.weight):
        return None
    most, bound, low = int(links.weight.max()), FIRST, -1
    while True:
        part = np.flatnonzero(links.weight <= bound)
        chosen = part[circling(links.only(part))]
        if len(chosen):
            break
        if bound >= most:
            return None
        low, bound = bound, bound * 4
    while True:
        weights = np.unique(links.weight[chosen])
        weights = weights[weights > low]
        if len(weights) <= 1:
            return int(links.weight[chosen].max()), chosen
        middle = int(weights[(len(weights) - 1) // 2])
        part = chosen[links.weight[chosen] <= middle]
        inner = circling(links.only(part))
        if len(inner):
            chosen = part[inner]
        else:
            low = middle


def shortest_circle(links: Links, cost: Sequence[int], starts: Ints) -> list[int]:
    """The numbers of the edges of a circle of the least cost (of an edge 0 or 1) among those through one of the edges
    `starts`; empty where there is none."""
    rows = Rows(links)
    best: list[int] = []
    least = -1
    for start in starts.tolist():
        found = _way(links, rows, cost, start, least)
        if found is not None and (least < 0 or found[0] < least):
            least, best = found
    return best


def _way(links: Links, rows: Rows, cost: Sequence[int], start: int, bound: int) -> tuple[int, list[int]] | None:
    """The cheapest way from the target of an edge back to its source, with that edge."""
    goal, begin = int(links.source[start]), int(links.target[start])
    distance = {begin: cost[start]}
    came: dict[int, int] = {}
    open_ = deque([(cost[start], begin)])
    done: set[int] = set()
    while open_:
        far, event = open_.popleft()
        if event in done:
            continue
        done.add(event)
        if bound >= 0 and far >= bound:
            return None
        if event == goal:
            way = []
            while event != begin:
                way.append(came[event])
                event = int(links.source[came[event]])
            return far, [start, *reversed(way)]
        for place in range(rows.first[event], rows.first[event + 1]):
            other = rows.targets[place]
            edge = int(rows.edges[place])
            reached = far + cost[edge]
            if other not in done and reached < distance.get(other, reached + 1):
                distance[other] = reached
                came[other] = edge
                if cost[edge]:
                    open_.append((reached, other))
                else:
                    open_.appendleft((reached, other))
    return None
