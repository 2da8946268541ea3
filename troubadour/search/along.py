"""Running transactions in an order that was inferred (an order found is a hint).

Each one reads the states that the order gives it, where these explain it, or others. One that is not explained at its
turn waits for those that come next: what it saw of rows that no key names was not known to what inferred the order.
Does not know how an order is inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.isolation.levels import Scope
from troubadour.order.linearization import likely_places
from troubadour.order.saturation import Known
from troubadour.order.schedule import schedule
from troubadour.problem.budget import SEVERAL
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.trace import Trace

SOONER = 0.3
"""How much sooner, as a part of the whole order, a transaction comes in the next schedule that had no place in the
last."""


def place_along(frontier: Frontier, order: Sequence[tuple[int, int | None]], waiting: int = 64) -> bool:
    """Place transactions in an order, each with the number of placements whose state it reads (None: all); False
    where one has no place. Up to `waiting` of them are put off at a time."""
    put_off: list[int] = []
    for item, state in order:
        if not _place(frontier, item, state if not put_off else None):
            put_off.append(item)
            if len(put_off) > waiting:
                return False
            continue
        put_off = _placed_late(frontier, put_off)
    return not _placed_late(frontier, put_off)


def place_seeing(frontier: Frontier, order: Sequence[tuple[int, frozenset[int]]]) -> bool:
    """Place transactions in an order, each with those that it sees, where that need be no state; False where one has no
    place so."""
    trace = frontier.trace
    for item, seen in order:
        newest = len(trace)
        hidden = frozenset(place for place in range(1, newest + 1) if trace.item_at(place) not in seen)
        choices = Choices(newest, newest=newest, hidden=hidden)
        try:
            candidate = trace.run(item, choices, 0, trace.masked(item), tolerant=True)
        except OpenRead:
            return False
        if candidate.failure is not None:
            return False
        frontier.keep(candidate)
    return True


def place_guided(known: Known, begin: Callable[[], Frontier], restarts: int = 60) -> bool:
    """Place transactions as a schedule of what is known would, each only where it is explained: what they saw of rows
    that no key names is found out by running them. Those left without a place come sooner in the next schedule. False
    where so many restarts are not enough."""
    history, graph = known.history, known.graph
    rank = likely_places(known)
    places = [history.item_of(event) if event < len(history.names) else None for event in range(len(graph))]
    before: list[list[int]] = [[] for _ in range(len(graph))]
    for edge in graph.edges:
        before[edge.later].append(edge.earlier)
    for _ in range(restarts):
        frontier = begin()

        def accepts(event: int, frontier: Frontier = frontier) -> bool:
            item = places[event]
            if item is None or item in history.optional or event != history.commit[item]:
                return True
            return frontier.place(item, runs=SEVERAL) is None

        found = schedule(known, rank, accepts)
        if len(found.order) == len(graph):
            return True
        done = set(found.order)
        for event in range(len(graph)):
            if event not in done and done.issuperset(before[event]):
                rank[event] -= SOONER
    return False


def _placed_late(frontier: Frontier, items: list[int]) -> list[int]:
    """Place those that can be by now; the others."""
    placed = True
    while items and placed:
        placed = False
        for item in items:
            if frontier.place(item, runs=SEVERAL) is None:
                items = [other for other in items if other != item]
                placed = True
                break
    return items


def _place(frontier: Frontier, item: int, state: int | None) -> bool:
    if state is not None and _reads_one_state(frontier.trace, item) and frontier.misplaced(item) is None:
        low, high = frontier.trace.horizon(item)
        if low <= state <= high and not _is_foreseen(frontier.trace, item, state):
            try:
                candidate = frontier.trace.run(item, Choices(state), low, frontier.trace.masked(item), tolerant=True)
            except OpenRead:
                return False
            if candidate.failure is None:
                frontier.keep(candidate)
                return True
    return frontier.place(item, runs=SEVERAL) is None


def _is_foreseen(trace: Trace, item: int, state: int) -> bool:
    """Whether the state has something that was written after the transaction's start."""
    return bool(trace.foreseen(item, state))


def _reads_one_state(trace: Trace, item: int) -> bool:
    level = trace.problem.levels[item]
    return level.scope is Scope.TRANSACTION and not level.horizon.latest
