"""Mending the hint order where a transaction fails (DESIGN §6: the order is a hint).

Transactions are inserted after older states that explain them, put off until what they read is there, transposed with
overlapping ones, and at last every order of a small window is tried. What none of these mends may still be explained by
an order further away; whoever calls says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from troubadour.audit.frontier import REPAIR_RUNS, Frontier
from troubadour.audit.orders import must_precede
from troubadour.audit.possible import is_refuted
from troubadour.audit.trace import SEMANTIC
from troubadour.execution.concrete import Choices, OpenRead
from troubadour.isolation.levels import Horizon

REACH = 24
"""How far a transposition moves a transaction."""

INSERTIONS = 8
"""Older states after which a transaction that must read the newest state is tried."""

DEFERRALS = 192
"""How many later transactions are placed before a failing one."""

UNKNOWN_REACH = 8
"""How far from where its commit was sent a transaction of unknown outcome is tried."""

WINDOW_BACK = (0, 2, 4, 6, 8)
"""How many placed transactions a window takes back."""

WINDOW_AHEAD = 6
"""How many later transactions a window takes in."""

WINDOW_PLACEMENTS = 1500
"""Placements spent on one window."""


def repair(frontier: Frontier, item: int, unknown: Sequence[int]) -> bool:
    """Change the order so that the item has a place; False, with everything as before, where that is not found."""
    pending = [other for other in unknown if other not in frontier.placed]
    if _insert(frontier, item) or _defer(frontier, item):
        return True
    if _is_hopeless(frontier, item, pending):
        return False
    return (
        _transpose(frontier, item)
        or _with_unknown(frontier, item, pending)
        or any(_window(frontier, item, back, pending) for back in WINDOW_BACK)
    )


def _is_hopeless(frontier: Frontier, item: int, pending: Sequence[int]) -> bool:
    """Whether case analysis rules the item out even with all around it, later ones included, written before it."""
    placed = [placement.item for placement in frontier.trace.placements]
    upcoming = frontier.remaining.after(item, frontier.placed, REACH)
    try:
        return is_refuted(frontier.problem, [*placed, *upcoming, *pending, item], {*placed, *upcoming, item})
    except Unsupported:
        return False


def _insert(frontier: Frontier, item: int) -> bool:
    """Where it must read the newest state, put it right after an older state that explains it."""
    if frontier.problem.levels[item].horizon is not Horizon.LATEST:
        return False
    tried = 0
    newest = state = len(frontier.trace)
    try:
        while state >= 0 and tried < INSERTIONS:
            candidate = frontier.trace.run(item, Choices(state))
            explains = candidate.failure is None or candidate.failure.condition not in SEMANTIC
            if explains and state < newest:
                tried += 1
                tail = [placement.item for placement in frontier.trace.placements[state:]]
                if frontier.replace(state, [item, *tail]):
                    return True
            state = candidate.since - 1
    except OpenRead:
        # a symbolic trace has no concrete state to read here
        return False
    return False


def _defer(frontier: Frontier, item: int) -> bool:
    """Place those that follow first, as far as that takes; those that have no place yet are passed over."""
    length = len(frontier.trace)
    tables = _tables_of_interest(frontier, item)
    for other in frontier.remaining.after(item, frontier.placed, DEFERRALS):
        if must_precede(frontier.problem, item, other) or frontier.place(other, runs=REPAIR_RUNS) is not None:
            continue
        wrote = {row.table for row in frontier.trace.states.written_at(len(frontier.trace))}
        if (tables is None or wrote & tables or not wrote) and frontier.place(item, runs=REPAIR_RUNS) is None:
            return True
    frontier.truncate(length)
    return False


def _tables_of_interest(frontier: Frontier, item: int) -> set[str] | None:
    """Tables that a run of the item looks at; None where that is not known."""
    try:
        view = frontier.trace.run(item, Choices(len(frontier.trace))).view
    except OpenRead:
        return None
    return {row.table for row in view.footprint} | view.scanned


def _transpose(frontier: Frontier, item: int) -> bool:
    length = len(frontier.trace)
    upcoming = frontier.remaining.after(item, frontier.placed, REACH)
    for distance in range(1, REACH + 1):
        if distance <= len(upcoming) and frontier.replace(length, [upcoming[distance - 1], item]):
            return True
        base = length - distance
        if base < 0:
            continue
        tail = [placement.item for placement in frontier.trace.placements[base:]]
        if frontier.replace(base, [item, *tail]) or frontier.replace(base, [*tail[1:], item, tail[0]]):
            return True
    return False


def _with_unknown(frontier: Frontier, item: int, pending: Sequence[int]) -> bool:
    """Let a transaction of unknown outcome have happened: about where its commit was sent, or a little before."""
    length = len(frontier.trace)
    for other in pending:
        sent = next((n for n, placement in enumerate(frontier.trace.placements) if placement.item > other), length)
        near = [sent + step for distance in range(UNKNOWN_REACH) for step in (distance, -distance)]
        recent = range(length, length - REACH, -1)
        for base in dict.fromkeys([*near, *recent]):
            if 0 <= base <= length:
                tail = [placement.item for placement in frontier.trace.placements[base:]]
                if frontier.replace(base, [other, *tail, item]):
                    return True
    return False


def _window(frontier: Frontier, item: int, back: int, pending: Sequence[int]) -> bool:
    """Every order of the last `back` placed, the item, and some of the next, until all of the former have a place."""
    base = max(0, len(frontier.trace) - back)
    old = frontier.truncate(base)
    must = [placed for placed, _ in old] + [item]
    upcoming = frontier.remaining.after(item, frontier.placed | set(must), WINDOW_AHEAD)
    search = _Window(frontier, must, [*must, *upcoming, *pending[:2]])
    if search.run():
        return True
    frontier.restore(base, old)
    return False


class _Window:
    """Depth first over orders, memoized on what is placed and the newest states."""

    def __init__(self, frontier: Frontier, must: Sequence[int], pool: Sequence[int]) -> None:
        self._frontier = frontier
        self._must = frozenset(must)
        self._pool = pool
        self._left = WINDOW_PLACEMENTS
        self._seen: set[tuple[frozenset[int], frozenset[object]]] = set()
        self._base = len(frontier.trace)

    def run(self) -> bool:
        """Whether all that must be placed could be; the frontier then has them."""
        frontier = self._frontier
        if self._must <= frontier.placed:
            return True
        length = len(frontier.trace)
        for item in self._pool:
            if item in frontier.placed:
                continue
            if self._left <= 0:
                return False
            self._left -= 1
            if frontier.place(item, runs=REPAIR_RUNS) is not None:
                continue
            if self._is_new() and self.run():
                return True
            frontier.truncate(length)
        return False

    def _is_new(self) -> bool:
        trace = self._frontier.trace
        rows = {row for place in range(self._base, len(trace)) for row in trace.states.written_at(place + 1)}
        newest = frozenset((row.address, _hashable(row.versions[-1])) for row in rows)
        key = (frozenset(placement.item for placement in trace.placements[self._base :]), newest)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def _hashable(version: object) -> object:
    return version if isinstance(version, tuple) or version is None else id(version)
