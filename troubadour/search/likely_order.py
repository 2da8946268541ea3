"""What probably came before what where nothing says so of the whole log: the turns of sessions and of locks, and
clients' clocks.

That a session's transactions stand in their turn, or that what was over on a clock came first, binds at few levels;
it is where a search begins. Those that keep their locks until they end (Eswaran et al. 1976, two-phase locking) took
turns in the order of their ends: of two that met at a lock, the later one had it, and so its answer, after the earlier
one had let it go; and only then was its own COMMIT sent. A client may hear of its commit much later. Does not know what
transactions do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from sql_semantics.records import dataclass, field
from troubadour.problem.problem import Problem


@dataclass(slots=True)
class Order:
    """What must come before what, as sessions and clocks would have it: of each transaction how many others come before
    it, and those that come after it."""

    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, earlier: int, later: int) -> None:
        """One comes before the other."""
        self.before[later] += 1
        self.after[earlier].append(later)


def likely_order(problem: Problem, items: Sequence[int]) -> Order:
    """Each transaction after the one before it in its session, and after all that were over on its clock when it
    began (only those of them that nothing else tells)."""
    order = Order(dict.fromkeys(items, 0))
    sessions: dict[str, int] = {}
    clocks: dict[str | None, list[int]] = defaultdict(list)
    for item in items:
        times = problem.times[item]
        if times.over is not None and times.begun is not None:
            clocks[times.clock].append(item)
        elif times.session is not None:
            if times.session in sessions:
                order.add(sessions[times.session], item)
            sessions[times.session] = item
    for timed in clocks.values():
        _by_clock(problem, timed, order)
    return order


def _by_clock(problem: Problem, items: Sequence[int], order: Order) -> None:
    """Interval order: the latest that were over when one began have all before them already."""
    over = {item: problem.times[item].over or 0 for item in items}
    begun = {item: problem.times[item].begun or 0 for item in items}
    ended = sorted(items, key=lambda item: (over[item], item))
    ends = [over[item] for item in ended]
    for item in items:
        newest: int | None = None
        for place in range(bisect_left(ends, begun[item]) - 1, -1, -1):
            other = ended[place]
            if newest is not None and over[other] < newest:
                break
            newest = begun[other] if newest is None else max(newest, begun[other])
            order.add(other, item)


def near_order(items: Sequence[int], apart: int) -> Order:
    """Each after all that stand at least so many places before it."""
    order = Order(dict.fromkeys(items, 0))
    for place, item in enumerate(items):
        # those before these are before one of them
        for other in items[max(0, place - 2 * apart + 1) : max(0, place - apart + 1)]:
            order.add(other, item)
    return order


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
