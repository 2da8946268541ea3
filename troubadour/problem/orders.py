"""Which transaction may follow which: real time and bound commit orders. Knows no rows, no reads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

from troubadour.isolation.levels import Conflict, Scope, Visible
from troubadour.isolation.timeline import Timeline
from troubadour.isolation.times import (
    Times,
    in_snapshot,
    precedes,
    precedes_in_session,
    sent_after,
    was_answered_before_commit,
    was_answered_before_end,
)
from troubadour.problem.problem import Problem


def must_precede(problem: Problem, earlier: int, later: int) -> bool:
    """Whether the first must stand before the second in every order that their levels allow."""
    first, second = problem.times[earlier], problem.times[later]
    level = problem.levels[later]
    timed = first.commit is not None and second.commit is not None
    if (level.real_time or (level.ordered and not timed)) and precedes(first, second):
        return True
    if level.horizon.at_start and in_snapshot(first, second):
        return True
    if level.session and precedes_in_session(first, second):
        return True
    if level.commits and was_answered_before_commit(first, second):
        return True
    if level.conflict is Conflict.VERSIONS and level.dialect is not None and was_answered_before_end(first, second):
        return True
    bound = problem.binds_commit_order(earlier) and problem.binds_commit_order(later)
    if bound and first.commit is not None and second.commit is not None:
        return first.commit < second.commit
    return False


def must_see(problem: Problem, writer: int, reader: int) -> bool:
    """Whether the one state that the second reads has what the first committed, in every order that their levels
    allow. False where a transaction reads several states, and for unknown outcomes."""
    level = problem.levels[reader]
    if level.visible is not Visible.STATE or level.scope is not Scope.TRANSACTION or level.dirty:
        return False
    if problem.statuses[writer] != "committed":
        return False
    if level.horizon.latest:
        return must_precede(problem, writer, reader)
    first, second = problem.times[writer], problem.times[reader]
    if level.session and precedes_in_session(first, second):
        return True
    return level.horizon.at_start and in_snapshot(first, second) is True


def must_not_see(problem: Problem, writer: int, reader: int) -> bool:
    """Whether no state that the second reads has what the first committed, in any order that their levels allow."""
    if must_precede(problem, reader, writer):
        return True
    level = problem.levels[reader]
    if level.visible is not Visible.STATE or level.scope is not Scope.TRANSACTION or level.acts or level.dirty:
        return False
    return level.horizon.at_start and in_snapshot(problem.times[writer], problem.times[reader]) is False


def may_have_seen(problem: Problem, writer: int, reader: int) -> bool:
    """Whether times leave it open that one transaction read what the other committed."""
    first, second = problem.times[writer], problem.times[reader]
    if second.got and sent_after(first, second, len(second.got) - 1):
        return False
    # when a CALL takes its snapshot is not known; that it saw nothing sent after its answer is
    level = problem.levels[reader]
    return level.scope is Scope.STATEMENT or level.acts or in_snapshot(first, second) is not False


class Remaining:
    """The committed transactions not placed yet, in hint order, with what must precede what among them.

    Checks are cheap where `placed` is close to a prefix of the hint order: suffix minima of commit and return times
    answer for the far rest.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._items: Sequence[int] = problem.judged
        count = len(self._items)
        self._commit: list[int | None] = [None] * (count + 1)
        self._over: list[dict[str | None, int]] = [{} for _ in range(count + 1)]
        lowest: int | None = None
        by_clock: dict[str | None, int] = {}
        for index in range(count - 1, -1, -1):
            times = problem.times[self._items[index]]
            if times.commit is not None and (lowest is None or times.commit < lowest):
                lowest = times.commit
            over = times.over
            if over is not None and over < by_clock.get(times.clock, over + 1):
                by_clock = {**by_clock, times.clock: over}
            self._commit[index] = lowest
            self._over[index] = by_clock

    def blocker(self, item: int, placed: Collection[int], first_open: int) -> int | None:
        """A committed transaction that is not placed although it must precede `item`; None where there is none.

        `first_open`: all committed transactions before this index of the hint order are placed.
        """
        problem = self._problem
        if problem.levels[item].session:
            lowest = self._items[first_open] if first_open < len(self._items) else item
            for other in problem.earlier_in_session(item):
                if other < lowest:
                    break
                if other not in placed and must_precede(problem, other, item):
                    return other
        if not (problem.levels[item].real_time or problem.order_exact):
            return None
        times = problem.times[item]
        for index in range(first_open, len(self._items)):
            if not self._may_block(index, times, item):
                return None
            other = self._items[index]
            if other != item and other not in placed and must_precede(problem, other, item):
                return other
        return None

    def _may_block(self, index: int, times: Times, item: int) -> bool:
        lowest = self._commit[index]
        latest = max((time for time in (times.start, times.commit) if time is not None), default=None)
        if lowest is not None and latest is not None and lowest < latest:
            return True
        over, begun = self._over[index].get(times.clock), times.begun
        if self._problem.levels[item].commits and times.ends is not None:
            begun = times.ends
        return over is not None and begun is not None and over < begun

    def after(self, item: int, placed: Collection[int], count: int) -> list[int]:
        """The next `count` committed transactions after `item` in hint order that are not placed."""
        found: list[int] = []
        for index in range(bisect_left(self._items, item), len(self._items)):
            other = self._items[index]
            if other != item and other not in placed:
                found.append(other)
                if len(found) == count:
                    break
        return found


def overtaken_by(problem: Problem, timeline: Timeline, item_at: Callable[[int], int], item: int) -> int | None:
    """One of those placed, the newest, that must stand behind `item`, which would come next; None where there is none.
    `item_at` names who has a position of the timeline (from 1)."""
    for position in timeline.begun_after(problem.times[item], commits=problem.orders_commits):
        other = item_at(position)
        if must_precede(problem, item, other):
            return other
    return None


def is_allowed(problem: Problem, items: Sequence[int]) -> bool:
    """Whether no transaction stands before one that must precede it."""
    timeline = Timeline()
    for item in items:
        if overtaken_by(problem, timeline, lambda position: items[position - 1], item) is not None:
            return False
        timeline.append(problem.times[item])
    return True


def is_total(problem: Problem, items: Sequence[int]) -> bool:
    """Whether the level leaves these transactions, in this order, no other order."""
    return all(must_precede(problem, earlier, later) for earlier, later in pairwise(items))


def is_only_order(problem: Problem, last: int, before: Iterable[int]) -> bool:
    """Whether the level leaves a transaction and those before it, the newest first, no other order than this one, in
    which each reads what all before it left and nothing else, and all others stand behind it."""
    if problem.order_recorded or problem.discovery.unknown:
        return False
    placed, first = {last}, last
    for earlier in before:
        if not _is_next(problem, earlier, first):
            return False
        placed.add(earlier)
        first = earlier
    levels = [problem.levels[item] for item in (first, last)]
    if not all(level.real_time or level.ordered or level.horizon.at_start for level in levels):
        return False
    others = (item for item in (*problem.committed, *problem.unknown) if item not in placed)
    return all(must_precede(problem, last, other) for other in others)


def _is_next(problem: Problem, earlier: int, later: int) -> bool:
    """Whether the second comes after the first and sees it, in every order."""
    level = problem.levels[later]
    if level.dirty or level.visible is not Visible.STATE or level.scope is Scope.ROW:
        return False
    sees = level.horizon.latest or in_snapshot(problem.times[earlier], problem.times[later]) is True
    return sees and must_precede(problem, earlier, later)
