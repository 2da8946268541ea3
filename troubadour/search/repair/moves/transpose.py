"""Two earlier commits in the other order.

What the later of two overlapping commits wrote may hang on whether it saw the earlier one, and only a read after both
tells. So pairs of writers are transposed, the latest first. Does not know which of the two the reader missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from troubadour.isolation.levels import Scope
from troubadour.isolation.times import was_answered_before_commit
from troubadour.problem.budget import SEVERAL, SOME, THOUSANDS
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import BoundedPlacements, Frontier
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.symbolic.trace import SymbolicTrace


def swap_seen(frontier: Frontier, item: int) -> bool:
    """Transpose two writers that the item may both have seen, so that it has a place; False, with everything as before,
    where no two help. Only for what may read an older state."""
    problem = frontier.problem
    level = problem.levels[item]
    if isinstance(frontier.trace, SymbolicTrace) or level.horizon.latest or level.scope is Scope.ROW:
        return False
    left = BoundedPlacements(frontier, THOUSANDS)
    with suppress(TooManyRuns):
        for base, sequence in _transposed(frontier):
            with frontier.attempt(base) as attempt:
                attempt.done = all(left.place(other) for other in (*sequence, item))
            if attempt.done:
                return True
    return False


def _transposed(frontier: Frontier) -> Iterator[tuple[int, list[int]]]:
    """Orders in which one writer has come behind a later one: from which placement on, and what comes there."""
    problem, trace = frontier.problem, frontier.trace
    items = [placement.item for placement in trace.placements]
    writers = [place for place in range(max(0, len(items) - SOME), len(items)) if trace.states.written_at(place + 1)]
    for number in range(len(writers) - 1, -1, -1):
        place = writers[number]
        for later in writers[number + 1 :]:
            if later - place > SEVERAL or not _overlap(problem, items[place], items[later]):
                break
            block = items[place : later + 1]
            behind = _put_behind(problem, block)
            before = _put_before(problem, block)
            for sequence in (behind, before) if behind != before else (behind,):
                if sequence is not None:
                    yield place, [*sequence, *items[later + 1 :]]


def _overlap(problem: Problem, earlier: int, later: int) -> bool:
    """Whether neither commit was answered before the other was sent."""
    return not was_answered_before_commit(problem.times[earlier], problem.times[later])


def _put_behind(problem: Problem, block: Sequence[int]) -> list[int] | None:
    """The first behind the last, with those between that must come after it; None where that cannot be."""
    moved: list[int] = [block[0]]
    kept: list[int] = []
    for item in block[1:]:
        (moved if any(must_precede(problem, other, item) for other in moved) else kept).append(item)
    return None if moved[-1] == block[-1] else [*kept, *moved]


def _put_before(problem: Problem, block: Sequence[int]) -> list[int] | None:
    """The last before the first, with those between that must come before it; None where that cannot be."""
    moved: list[int] = [block[-1]]
    kept: list[int] = []
    for item in reversed(block[:-1]):
        (moved if any(must_precede(problem, item, other) for other in moved) else kept).append(item)
    return None if moved[-1] == block[0] else [*moved[::-1], *kept[::-1]]
