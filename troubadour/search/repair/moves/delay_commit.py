"""An earlier statement that missed one commit under way (DESIGN §6, §8).

A commit that was answered about when a snapshot was taken, a transaction's or a statement's, may have become visible
behind everything that the snapshot has. What was written unseen, and hangs on that commit, comes out otherwise
then, and only a later read tells, of a sum over a whole table for instance. So each writer of what the failing one
looks at is read anew with one open commit moved behind what the writer has seen. Does not know which commit the failing
one's answer speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from troubadour.isolation.levels import Scope
from troubadour.isolation.times import was_there
from troubadour.search.repair.moves.joint_readings import distinct_readings, writers_of
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.moves.transpose import APART, is_open, put_behind
from troubadour.search.repair.placer import BoundedPlacements, Frontier
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.symbolic.trace import SymbolicTrace

PLACEMENTS = 6000
"""Placements spent on one transaction, and again where what it saw is separated at each change."""

SEPARATED = 120
"""Placements spent on that each time."""


def read_without_one(frontier: Frontier, item: int) -> bool:
    """Let one writer of what the item looks at have missed one commit, so that the item has a place; False, with
    everything as before, where no two of them help. Only for what may read an older state."""
    problem = frontier.problem
    if isinstance(frontier.trace, SymbolicTrace) or problem.levels[item].scope is Scope.ROW:
        return False
    positions = writers_of(frontier, item)
    for separated in (False, True):
        left = BoundedPlacements(frontier, PLACEMENTS)
        try:
            if any(_missed_one(frontier, item, position, left, separated=separated) for position in positions):
                return True
        except TooManyRuns:
            pass
    return False


def _missed_one(frontier: Frontier, item: int, position: int, left: BoundedPlacements, *, separated: bool) -> bool:
    """Read the one at `position` anew with one before it moved, and with `separated` tell then what the item saw."""
    trace = frontier.trace
    writer, tail = trace.placements[position - 1].item, [one.item for one in trace.placements[position:]]
    wrote = {row: row.at(position) for row in trace.states.written_at(position)}
    for base, before, after in list(unseen_one_by_one(frontier, position, 0)):
        with frontier.attempt(base) as attempt:
            late = _place(left, before)
            if frontier.misplaced(writer) is not None:
                continue
            length = len(trace)
            for reading in distinct_readings(frontier, writer, wrote):
                left.spend()
                frontier.keep(reading)
                attempt.done = all(left.place(other) for other in (*late, *after, *tail)) and (
                    separate(frontier, item, SEPARATED, length) if separated else left.place(item)
                )
                if attempt.done:
                    return True
                frontier.truncate(length)
    return False


def _place(left: BoundedPlacements, items: Sequence[int]) -> list[int]:
    """Place these in turn, who has no place as soon as there is one; who has none behind all of them."""
    late: list[int] = []
    for item in items:
        if left.place(item):
            late = [other for other in late if not left.place(other)]
        else:
            late.append(item)
    return late


def unseen_one_by_one(frontier: Frontier, position: int, first: int) -> Iterator[tuple[int, list[int], list[int]]]:
    """Orders in which one writer after the first `first` placements, whom the one at `position` need not have seen, has
    come behind the last one that it must have seen, or behind it: from which placement on, what comes before it, and
    what after."""
    problem, trace = frontier.problem, frontier.trace
    items = [placement.item for placement in trace.placements[:position]]
    reader = items[-1]
    times = problem.times[reader]
    for place in range(position - 2, max(first, position - APART) - 1, -1):
        if not trace.states.written_at(place + 1) or not is_open(problem, items[place], reader):
            continue
        seen = {
            max(
                (
                    p
                    for p in range(place + 1, position - 1)
                    if trace.states.written_at(p + 1) and was_there(problem.times[items[p]], times, put)
                ),
                default=place,
            )
            for put in times.put
        }
        for last in (*sorted(seen - {place}), position - 1):
            moved = put_behind(problem, items[place : last + 1])
            if moved is not None:
                order = [*moved, *items[last + 1 :]]
                cut = order.index(reader)
                yield place, order[:cut], order[cut + 1 :]
