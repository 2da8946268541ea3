"""One serial order of a log whose order nothing tells, in layers: every way to place so many transactions that write.

What is left of the rows and what was placed is all that matters of a way: ways that come to the same are one, and a
transaction runs once on the same rows, however they came about. What can only read takes its place as soon as its
answers fit. Where there are too many ways those go on on which most was placed; where these come to an end it is all
done again with more of them. Finding no order says nothing: that equal rows are equal states is about right only. Does
not know how a transaction is run, nor what else a level allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from troubadour.search.likely_order import Order
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.placement import Candidate, TakenBack

ASKED = 1
"""Units of asking whether a transaction fits next, where that is known."""

FOLLOWED = 5
"""Units of following a way by one that does."""

WIDER = 4
"""How many times as many ways are followed where the first ones all came to an end."""


@dataclass(slots=True, eq=False)
class _State:
    """Rows that were reached, by placing a transaction after others that write, and how it is placed again."""

    before: _State | None = None
    depth: int = 0
    taken: TakenBack | None = None


@dataclass(slots=True, eq=False)
class _Way:
    """The transactions that were placed, as bits and how many, those that may come next, and the rows that are left;
    the last ones that were placed, after those of an earlier way."""

    placed: int
    count: int
    fronts: tuple[int, ...]
    rows: int
    last: tuple[int, ...] = ()
    earlier: _Way | None = None


class _Unknown(Exception):
    """What a table holds is not known."""


class _States:
    """How transactions run on rows."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._tables = sorted(frontier.trace.states.tables)
        self._at: list[_State] = []
        """What is placed now."""
        self.first = self._digest()
        self._states = {self.first: _State()}
        self._after: dict[tuple[int, int], int | None] = {}

    def after(self, item: int, rows: int) -> int | None:
        """The rows after an item that is placed where these were left; None where it does not fit."""
        key = item, rows
        if key not in self._after:
            self._after[key] = self._run(item, self._states[rows])
        return self._after[key]

    def _run(self, item: int, state: _State) -> int | None:
        self._go_to(state)
        frontier = self._frontier
        candidate = fitting(frontier, item)
        if candidate is None:
            return None
        frontier.keep(candidate)
        rows = self._digest()
        (taken,) = frontier.truncate(state.depth)
        if rows not in self._states:
            self._states[rows] = _State(state, state.depth + 1, taken)
        return rows

    def _go_to(self, state: _State) -> None:
        """Place what led to a state, and nothing else."""
        missing: list[_State] = []
        while state.before is not None and self._at[state.depth - 1 : state.depth] != [state]:
            missing.append(state)
            state = state.before
        missing.reverse()
        self._frontier.restore(state.depth, [one.taken for one in missing if one.taken is not None])
        self._at[state.depth :] = missing

    def _digest(self) -> int:
        states = self._frontier.trace.states
        found = [states.contents_at(name, states.length) for name in self._tables]
        if None in found:
            raise _Unknown
        return hash(tuple(found))


def fitting(frontier: Frontier, item: int) -> Candidate | None:
    """How an item runs on the newest state; None where that is not as it was observed."""
    frontier.problem.budget.left()
    for candidate in islice(frontier.trace.candidates(item), 1):
        if candidate.failure is None:
            return candidate
    return None


def place_layers(
    begin: Callable[[], Frontier], order: Order, only_reads: frozenset[int], *, width: int, fronts: int
) -> bool:
    """Place all of an order, one after the other, `width` ways at a time, then more; False where no such order was
    found. Ways of which more than `fronts` may come next are not followed. `begin` gives an empty frontier. Raises
    OutOfTime."""
    try:
        found = _Layers(begin(), order, only_reads, width, fronts).run()
    except _Unknown:
        return False
    return found is not None and _place(begin(), found)


def _place(frontier: Frontier, items: Sequence[int]) -> bool:
    """Whether all fit, one after the other."""
    for item in items:
        candidate = fitting(frontier, item) if frontier.misplaced(item) is None else None
        if candidate is None:
            return False
        frontier.keep(candidate)
    return True


class _Layers:
    """Each layer has the ways to place one more transaction that may write."""

    def __init__(self, frontier: Frontier, order: Order, only_reads: frozenset[int], width: int, fronts: int) -> None:
        self._budget = frontier.problem.budget
        self._states = _States(frontier)
        self._order = order
        self._only_reads = only_reads
        self._width = width
        self._was_cut = False
        """Whether there were more ways than were followed."""
        self._most = fronts
        self._needs = dict.fromkeys(order.before, 0)
        """Those that come before each, as bits."""
        for item, others in order.after.items():
            for other in others:
                self._needs[other] |= 1 << item

    def run(self) -> list[int] | None:
        """An order of all; None where none was found."""
        while True:
            found = self._searched()
            if found is not None or not self._was_cut:
                return found
            # how transactions run is known by now
            self._width *= WIDER

    def _searched(self) -> list[int] | None:
        self._was_cut = False
        first = _Way(0, 0, tuple(item for item, needs in self._needs.items() if not needs), self._states.first)
        layer = [self._with_reads(first)]
        while layer:
            for way in layer:
                if way.count == len(self._needs):
                    return _items(way)
            layer = [way for way in layer if len(way.fronts) <= self._most]
            found: dict[tuple[int, int], _Way] = {}
            for way in layer:
                self._budget.left()
                for item in way.fronts:
                    if item not in self._only_reads:
                        self._follow(way, item, found)
            # most placed is most explained
            layer = sorted(found.values(), key=lambda way: -way.count)
            self._was_cut = self._was_cut or len(layer) > self._width
            del layer[self._width :]
        return None

    def _follow(self, way: _Way, item: int, found: dict[tuple[int, int], _Way]) -> None:
        self._budget.note(ASKED)
        rows = self._states.after(item, way.rows)
        if rows is None:
            return
        self._budget.note(FOLLOWED)
        longer = self._with_reads(self._longer(way, item, rows))
        found.setdefault((longer.placed, longer.rows), longer)

    def _with_reads(self, way: _Way) -> _Way:
        """With all that can only read and fits."""
        looked: set[int] = set()
        while True:
            rest = [item for item in way.fronts if item in self._only_reads and item not in looked]
            if not rest:
                return way
            looked.update(rest)
            for item in rest:
                if self._states.after(item, way.rows) is not None:
                    way = self._longer(way, item, way.rows)

    def _longer(self, way: _Way, item: int, rows: int) -> _Way:
        placed = way.placed | 1 << item
        fronts = [other for other in way.fronts if other != item]
        for later in self._order.after.get(item, ()):
            if not self._needs[later] & ~placed and later not in fronts:
                fronts.append(later)
        return _Way(placed, way.count + 1, tuple(fronts), rows, (item,), way)


def _items(way: _Way | None) -> list[int]:
    found: list[int] = []
    while way is not None:
        found.extend(reversed(way.last))
        way = way.earlier
    found.reverse()
    return found
