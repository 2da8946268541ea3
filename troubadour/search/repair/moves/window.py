"""Every order of a window, by which transaction could have committed when: depth first over session frontiers.

Each transaction has a span in which it took effect; next may come any whose span had begun before the first of the
others' ended. A branch ends as soon as some transaction that has seen all it could see is explained by no state.
Spans guess and never judge: what is found is a witness like any other, and what is not found is said to be open. Does
not know why the order was wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from sql_semantics.records import dataclass
from troubadour.execution.free.choices import OpenRead
from troubadour.isolation.levels import Horizon
from troubadour.problem.budget import FEW, FEWEST, MANY, SEVERAL, SOME
from troubadour.problem.orders import may_have_seen
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import BoundedPlacements, Frontier
from troubadour.search.schedule.placement import SEMANTIC, TooManyRuns


@dataclass(frozen=True, slots=True)
class Span:
    """It took effect at the earliest at `begun`, at the latest at `over`."""

    begun: int
    over: int


def spans(problem: Problem, items: Sequence[int]) -> dict[int, Span]:
    """When each took effect: between commit sent and answered, at serializable levels from its first statement on; an
    aborted one during the last statement that came about. Without client times of one clock for all: about its place
    in the hint order."""
    found: dict[int, Span] = {}
    for item in items:
        times = problem.times[item]
        begun, over = times.begun if problem.levels[item].horizon.latest else times.sent, times.over
        if item in problem.aborted:
            last = max(n for n, one in enumerate(problem.transaction(item).statements) if one.error is None)
            begun, over = times.put[last], times.got[last]
        if begun is None or over is None or times.clock != problem.times[items[0]].clock:
            return {item: Span(item - FEW, item + FEW) for item in items}
        found[item] = Span(begun, over)
    return found


def weave(frontier: Frontier, item: int, pending: Sequence[int]) -> bool:
    """Find an order of the last placed transactions, the item and some later ones in which all of the former and the
    item are explained; False, with everything as before, where none is found. `pending`: transactions of unknown
    outcome that may be placed too; those that are placed already need not be."""
    base = max(0, len(frontier.trace) - SEVERAL)
    old = frontier.truncate(base)
    unsure = [taken.item for taken in old if frontier.problem.statuses[taken.item] == "unknown"]
    must = [taken.item for taken in old if taken.item not in unsure] + [item]
    upcoming = frontier.remaining.after(item, frontier.placed | set(must), SOME)
    optional = sorted([*unsure, *pending], key=lambda other: abs(other - item))[:FEWEST]
    try:
        if _Weave(frontier, must, upcoming, optional).run():
            return True
    except TooManyRuns:
        pass
    frontier.restore(base, old)
    return False


class _Weave:
    """Depth first, memoized on what is placed and the newest states."""

    def __init__(
        self,
        frontier: Frontier,
        must: Sequence[int],
        upcoming: Sequence[int],
        optional: Sequence[int],
    ) -> None:
        problem = frontier.problem
        self._frontier = frontier
        self._must = frozenset(must)
        self._optional = tuple(optional)
        self._spans = spans(problem, [*must, *upcoming])
        last = max(self._spans[item].over for item in must)
        self._pool = sorted(item for item, own in self._spans.items() if item in self._must or own.begun <= last)
        self._placements = BoundedPlacements(frontier, MANY)
        self._horizons = {problem.levels[item].horizon for item in self._pool}
        self._base = len(frontier.trace)
        self._seen: set[tuple[frozenset[int], object]] = set()

    def run(self) -> bool:
        """Whether all that must be placed could be; the frontier then has them, else it is as it was. Raises
        TooManyRuns."""
        frontier = self._frontier
        if self._must <= frontier.placed:
            return True
        length = len(frontier.trace)
        waiting = [item for item in self._pool if item not in frontier.placed]
        due = min(self._spans[item].over for item in waiting)
        failed: list[int] = []
        for item in waiting:
            if self._spans[item].begun > due:
                continue
            if not self._placements.place(item):
                failed.append(item)
                continue
            if item in frontier.problem.aborted:
                # nothing remains of it: what can follow can follow without it
                found = self.run()
                if not found:
                    frontier.truncate(length)
                return found
            if self._is_open(failed) and self._is_new() and self.run():
                return True
            frontier.truncate(length)
        for item in self._optional:
            if item not in frontier.placed and self._placements.place(item):
                if frontier.trace.states.written_at(length + 1) and self._is_new() and self.run():
                    return True
                frontier.truncate(length)
        return False

    def _is_open(self, failed: Sequence[int]) -> bool:
        """Whether each of those that could not be placed may still be explained: by a commit that is not placed, or
        by the states there are."""
        frontier, problem = self._frontier, self._frontier.problem
        for item in failed:
            if problem.levels[item].horizon.latest:
                continue
            if any(
                other != item and other not in frontier.placed and may_have_seen(problem, other, item)
                for other in self._pool
            ):
                continue
            self._placements.spend()
            tried = islice(frontier.trace.candidates(item), SOME)
            try:
                if all(found.failure is not None and found.failure.condition in SEMANTIC for found in tried):
                    return False
            except OpenRead:
                # placed symbolically: what it reads may be anything
                continue
        return True

    def _is_new(self) -> bool:
        trace = self._frontier.trace
        digest: object
        if any(horizon.at_start for horizon in self._horizons):
            # a start hangs on which commits stand where, whatever they wrote
            return True
        if self._frontier.problem.closes:
            # what can be seen hangs on which transaction saw which
            return True
        if self._horizons == {Horizon.LATEST}:
            rows = {row for place in range(self._base, len(trace)) for row in trace.states.written_at(place + 1)}
            digest = frozenset((row.address, _hashable(row.versions[-1])) for row in rows)
        else:
            # older states can still be read: which states there were, in order
            digest = tuple(
                frozenset((row.address, _hashable(row.at(place + 1))) for row in trace.states.written_at(place + 1))
                for place in range(self._base, len(trace))
                if trace.states.written_at(place + 1)
            )
        key = (frozenset(placement.item for placement in trace.placements[self._base :]), digest)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def _hashable(version: object) -> object:
    return version if isinstance(version, tuple) or version is None else id(version)
