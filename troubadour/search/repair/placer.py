"""The transactions placed so far and those that may come next.

Does not know what to try when one fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sql_semantics.records import dataclass
from troubadour.execution.free.choices import Choices
from troubadour.execution.states.history import WriteMap
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import SOME, THOUSANDS
from troubadour.problem.orders import Remaining, overtaken_by
from troubadour.problem.problem import Problem
from troubadour.search.repair.moves.read_only import seat
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import Candidate, TakenBack, TooManyRuns
from troubadour.search.schedule.row_scope.rereading import reread_touched
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.trace import SymbolicTrace

FORGETTING = SOME
"""Placements after which old states are forgotten, where they are."""


@dataclass(slots=True)
class Attempt:
    """Whether an attempt at another order succeeded."""

    done: bool = False


class Frontier:
    """A trace with the set of what is placed in it. `first_open`: everything committed before this index of the hint
    order is placed, or about to be.

    A transaction that is taken back and placed again writes what it wrote before, if some reading does: what was found
    out of it on the way is not lost where something else is changed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.trace: Trace = SymbolicTrace(problem) if problem.leaves_readings_open else Trace(problem)
        self.placed: set[int] = set()
        self.remaining = Remaining(problem)
        self.first_open = 0
        self.half_tried: int | None = None
        """The last item that not every older state was tried for: it may have its place there."""
        self._settled = 0
        self._wrote: dict[int, WriteMap] = {}

    def settle(self) -> None:
        """What is placed now explains all that was asked for: it is what is remembered."""
        self.trace.settle()
        seat(self.trace, self._settled)
        self._settled = len(self.trace)
        if not self._settled % FORGETTING:
            self.trace.forget()

    def place(self, item: int, *, runs: int | None = None, likely: bool = False) -> Failure | None:
        """Place an item next, or say why it has no place here; `runs` bounds the readings that are tried, `likely`
        takes the likeliest only."""
        wrote = self._wrote.get(item)
        failure = self.misplaced(item) or self.trace.place(item, runs=runs, wrote=wrote, likely=likely)
        if failure is None:
            self.placed.add(item)
        return failure

    def place_rereading(self, item: int) -> bool:
        """Place an item next with earlier ones read otherwise, where each row read may be of a state of its own; False,
        with everything as before, where that gives it no place."""
        if isinstance(self.trace, SymbolicTrace) or self.misplaced(item) is not None:
            return False
        if reread_touched(self.trace, item):
            self.placed.add(item)
        return item in self.placed

    def keep(self, candidate: Candidate, writes: WriteMap | None = None) -> None:
        """Place an item as a candidate ran it, and so again where it is taken back and placed elsewhere."""
        self.trace.keep(candidate, writes)
        self.placed.add(candidate.item)
        if candidate.item in self._wrote:
            self._wrote[candidate.item] = dict(candidate.view.writes())

    def misplaced(self, item: int) -> Failure | None:
        """Why the item may not come next, whatever it read. In a bound order those that are not placed yet do not
        count: they fail when their turn comes."""
        problem = self.problem
        if not problem.order_recorded:
            blocker = self.remaining.blocker(item, self.placed, self.first_open)
            if blocker is not None:
                return out_of_place(problem, item, blocker, "before")
        other = overtaken_by(problem, self.trace.timeline, self.trace.item_at, item)
        return None if other is None else out_of_place(problem, item, other, "after")

    def truncate(self, length: int) -> list[TakenBack]:
        """Take back all but the first `length` placements; what was taken back, to be restored."""
        old = self.trace.take_back(length)
        self.placed.difference_update(taken.item for taken in old)
        if self._settled > length:
            self._remember(old[: self._settled - length])
            self._settled = length
        return old

    def _remember(self, taken: Sequence[TakenBack]) -> None:
        problem = self.problem
        for one in taken:
            level = problem.levels[one.item]
            if one.writes and level.scope is not Scope.ROW and (level.own_states or not level.horizon.latest):
                self._wrote[one.item] = one.writes
        if len(self._wrote) > THOUSANDS:
            for item in sorted(self._wrote)[: THOUSANDS // 2]:
                del self._wrote[item]

    def after(self, length: int) -> list[TakenBack]:
        """What stands after the first `length` placements, to be restored; all stays as it is."""
        old = self.truncate(length)
        self.restore(length, old)
        return old

    def restore(self, length: int, old: Sequence[TakenBack]) -> None:
        """Put back what stood after the same first `length` placements."""
        self.truncate(length)
        self.trace.put_back(old)
        self.placed.update(taken.item for taken in old)
        self._wrote.update((taken.item, taken.writes) for taken in old if taken.item in self._wrote)

    def rebuild(self, length: int, items: Sequence[tuple[int, Choices | None]]) -> None:
        """Place items that are explained by these reads after the first `length`."""
        if length or not self.trace.fixed:
            self.truncate(length)
        else:
            self.trace.clear()
            self.placed.clear()
            self._settled = 0
        for item, choices in items:
            failure = self.trace.place(item, choices)
            assert failure is None, failure
            self.placed.add(item)

    @contextmanager
    def attempt(self, length: int) -> Iterator[Attempt]:
        """Take back all but the first `length` for what is done in this block; undone unless it says that it is
        `done`, also where it raises."""
        old = self.truncate(length)
        attempt = Attempt()
        try:
            yield attempt
        finally:
            if not attempt.done:
                self.restore(length, old)

    def replace(self, length: int, sequence: Sequence[int]) -> bool:
        """Put a sequence in place of everything after the first `length`; undone where it fails."""
        old = self.truncate(length)
        if all(self.place(item, runs=SOME) is None for item in sequence):
            return True
        self.restore(length, old)
        return False


class BoundedPlacements:
    """Placements on a frontier, so many of them at most."""

    def __init__(self, frontier: Frontier, left: int) -> None:
        self._frontier = frontier
        self._left = left

    def spend(self) -> None:
        """One more; raises TooManyRuns where none is left."""
        if self._left <= 0:
            raise TooManyRuns
        self._left -= 1

    def place(self, item: int, runs: int = SOME) -> bool:
        """Whether the item could be placed next; raises TooManyRuns where none is left."""
        self.spend()
        return self._frontier.place(item, runs=runs) is None


def out_of_place(problem: Problem, item: int, other: int, where: str) -> Failure:
    """The failure of an item that times put `where` (before or after) another one must stand."""
    text = f"{problem.transaction(other).id!r} must stand {where} it"
    return Failure(item, "real-time", text, other=other)
