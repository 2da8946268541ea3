"""Later transactions of the hint order placed before one that fails (it may have seen them).

Does not know what else would give it a place, nor what its observations say of what it saw.
"""

from __future__ import annotations

from collections.abc import Callable

from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.problem.budget import FEWEST, MANY, SEVERAL, SOME
from troubadour.problem.orders import must_precede
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.placer import Frontier


def defer(frontier: Frontier, item: int, wanted: Callable[[int], bool]) -> bool:
    """Place those that follow first, as far as that takes; those that are not wanted are passed over, and those that
    have no place yet are tried again behind the others."""
    length = len(frontier.trace)
    tables = _tables_of_interest(frontier, item)
    passed = [
        other
        for other in frontier.remaining.after(item, frontier.placed, MANY)
        if wanted(other) and not must_precede(frontier.problem, item, other)
    ]
    for _ in range(FEWEST):
        # one that was passed over may wait for another that comes after it
        again: list[int] = []
        for other in passed:
            if frontier.place(other, runs=SOME) is not None:
                again.append(other)
                continue
            wrote = {row.table for row in frontier.trace.states.written_at(len(frontier.trace))}
            if not (tables is None or wrote & tables or not wrote):
                continue
            if frontier.place(item, runs=SOME) is None:
                return True
        if len(again) == len(passed):
            break
        passed = again
    frontier.truncate(length)
    return False


def separate_ahead(frontier: Frontier, item: int, wanted: Callable[[int], bool]) -> bool:
    """Place those that follow and are wanted, a few of them by separating what they saw from what they did not, and
    then separate for the item; False, with everything as before, where that does not help."""
    problem, length = frontier.problem, len(frontier.trace)
    base = max(length - MANY, 0)
    old = frontier.after(base)
    ahead, left = 0, FEWEST
    for other in frontier.remaining.after(item, frontier.placed, SEVERAL):
        if not wanted(other) or must_precede(problem, item, other):
            continue
        if frontier.place(other, runs=SOME) is not None:
            left -= 1
            if left < 0 or not separate(frontier, other, MANY):
                continue
        ahead += 1
    if ahead and (frontier.place(item, runs=SOME) is None or separate(frontier, item, MANY)):
        return True
    frontier.restore(base, old)
    return False


def _tables_of_interest(frontier: Frontier, item: int) -> set[str] | None:
    """Tables that a run of the item looks at; None where that is not known."""
    try:
        view = frontier.trace.run(item, Choices(len(frontier.trace)), tolerant=True).view
    except OpenRead:
        return None
    return {row.table for row in view.footprint} | view.scanned
