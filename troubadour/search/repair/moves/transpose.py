"""Two earlier commits in the other order (DESIGN §6: two commits may become visible in the
other order than the hints').

What reads one state out of many may have met the moment at which the later of two overlapping commits was visible and
the earlier one was not; everybody else has seen both, or neither. So pairs of writers that the reader may or may not
have seen are transposed, the latest first; and, where writes act on the newest rows whatever was read, those that wrote
one row. Does not know which of the two the reader missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from troubadour.isolation.levels import Horizon, Scope
from troubadour.isolation.times import was_answered_before_commit, was_there
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import BoundedPlacements, Frontier
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.symbolic.trace import SymbolicTrace

BACK = 80
"""Placements among which commits are transposed."""

APART = 24
"""How many places two of them lie apart at most."""

SEEN = 6000
"""Placements spent on transposing commits both of which were seen."""


def swap_seen(frontier: Frontier, item: int) -> bool:
    """Transpose two writers though the item has seen both: what the later one wrote may hang on whether it saw the
    earlier one. False, with everything as before, where no two help."""
    try:
        return swap(frontier, item, BoundedPlacements(frontier, SEEN), seen=True)
    except TooManyRuns:
        return False


def swap(frontier: Frontier, item: int, left: BoundedPlacements, first: int = 0, *, seen: bool = False) -> bool:
    """Transpose two writers after the first `first` placements so that the item has a place; False, with everything as
    before, where no two help. Only for what may read an older state. With `seen` the two may have been seen whatever
    they wrote. Raises TooManyRuns, everything as before."""
    problem = frontier.problem
    level = problem.levels[item]
    if isinstance(frontier.trace, SymbolicTrace) or level.horizon.latest or level.scope is Scope.ROW:
        return False
    for base, sequence in _transposed(frontier, item, first, seen):
        with frontier.attempt(base) as attempt:
            attempt.done = all(left.place(other) for other in (*sequence, item))
        if attempt.done:
            return True
    return False


def _transposed(frontier: Frontier, item: int, first: int, seen: bool) -> Iterator[tuple[int, list[int]]]:
    """Orders in which one writer has come behind a later one: from which placement on, and what comes there."""
    problem, trace = frontier.problem, frontier.trace
    items = [placement.item for placement in trace.placements]
    writers = [
        place for place in range(max(first, len(items) - BACK), len(items)) if trace.states.written_at(place + 1)
    ]
    for number in range(len(writers) - 1, -1, -1):
        place = writers[number]
        open_ = seen or is_open(problem, items[place], item)
        if not open_ and not problem.levels[items[place]].own_states:
            continue
        wrote = set(trace.states.written_at(place + 1))
        for later in writers[number + 1 :]:
            if later - place > APART or not _overlap(problem, items[place], items[later]):
                break
            if not open_ and wrote.isdisjoint(trace.states.written_at(later + 1)):
                # both were seen, and neither wrote over the other
                continue
            block = items[place : later + 1]
            behind = put_behind(problem, block)
            before = _put_before(problem, block)
            for sequence in (behind, before) if behind != before else (behind,):
                if sequence is not None:
                    yield place, [*sequence, *items[later + 1 :]]


def is_open(problem: Problem, writer: int, reader: int) -> bool:
    """Whether some read of the reader's need not have seen the writer."""
    times = problem.times[reader]
    put = times.put[0] if times.put else times.asked
    return problem.levels[reader].horizon is not Horizon.LATEST and not was_there(problem.times[writer], times, put)


def _overlap(problem: Problem, earlier: int, later: int) -> bool:
    """Whether neither commit was answered before the other was sent."""
    return not was_answered_before_commit(problem.times[earlier], problem.times[later])


def put_behind(problem: Problem, block: Sequence[int]) -> list[int] | None:
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
