"""The order in which transactions that keep their locks until they end took turns (Eswaran et al. 1976, two-phase
locking): the order of their ends.

Of two that met at a lock, the later one had it, and so its answer, after the earlier one had let it go; and only then
was its own COMMIT sent. A client may hear of its commit much later. Does not know what they read.
"""

from __future__ import annotations

from troubadour.problem.problem import Problem


def locks_all(problem: Problem) -> bool:
    """Whether all that is read is locked, too, so that the order of ends is one in which all ran one after another."""
    return all(problem.levels[item].holds and problem.levels[item].horizon.latest for item in problem.judged)


def in_turns(problem: Problem) -> list[int] | None:
    """All that are judged, in that order as clients' times tell it; None where they do not, or where some transaction
    lets a lock go before its end."""
    ends: dict[int, int] = {}
    for item in problem.judged:
        end = _end(problem, item) if problem.levels[item].holds else None
        if end is None or problem.times[item].clock != problem.times[problem.judged[0]].clock:
            return None
        ends[item] = end
    return sorted(ends, key=lambda item: (ends[item], item))


def _end(problem: Problem, item: int) -> int | None:
    """A time at which it had all its locks: its COMMIT was sent, or, where it has none of its own or aborted, its last
    statement that succeeded was answered."""
    transaction, times = problem.transaction(item), problem.times[item]
    if transaction.end is not None and item not in problem.aborted:
        return times.sent
    answered = [time for one, time in zip(transaction.statements, times.got, strict=True) if one.error is None]
    return max((time for time in answered if time is not None), default=times.begun)
