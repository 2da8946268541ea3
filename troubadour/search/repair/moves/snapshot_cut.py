"""Which commits did a transaction see? (two commits may become visible in the other order than the hints'.)

Where a transaction fails after the ones placed so far, those whose commits were under way while it took its snapshot
are separated into the ones it saw and the ones it did not, depth first; all placed since keep their order within either
part. Where its statements read states of their own, what the first one did not see a later one may have. Does not
know why they committed in another order than they became visible in.
"""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.facts.sql.observations import may_write
from troubadour.isolation.levels import Scope
from troubadour.isolation.times import in_snapshot
from troubadour.problem.budget import MANY, SEVERAL, THOUSANDS
from troubadour.problem.orders import may_have_seen, must_precede
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import BoundedPlacements, Frontier
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.schedule.visible_sets import sees_a_set


def separate(frontier: Frontier, item: int, placements_left: int = THOUSANDS) -> bool:
    """Change the order so that what the item saw stands before what it did not; False, with everything as before, where
    no separation explains it. Row-scope readers choose per row, so it is not for them."""
    problem = frontier.problem
    level = problem.levels[item]
    if level.scope is Scope.ROW or sees_a_set(problem, item) or not problem.heuristics.stronger_first:
        return False
    placements = frontier.trace.placements
    reader = problem.times[item]
    uncertain: list[int] = []
    for place in range(len(placements) - 1, max(-1, len(placements) - 1 - MANY), -1):
        writes = frontier.trace.states.written_at(place + 1)
        writer = placements[place].item
        if writes and in_snapshot(problem.times[writer], reader) is not True and may_have_seen(problem, writer, item):
            uncertain.append(place)
            if len(uncertain) == SEVERAL:
                break
    if not uncertain:
        return False
    base = uncertain[-1]
    tail = [placement.item for placement in placements[base:]]
    old = frontier.truncate(base)
    open_ = {tail[place - base] for place in uncertain}
    search = _Separation(frontier, item, tail, open_, placements_left)
    try:
        if search.run(0, []):
            return True
    except TooManyRuns:
        pass
    frontier.restore(base, old)
    return False


def _reads_in_parts(problem: Problem, item: int) -> bool:
    """Whether several statements read states of their own."""
    return problem.levels[item].own_states and len(problem.prepared(item).statements) > 1


class _Separation:
    """Depth first over what the item saw of `tail`; those after it that cannot be placed without what it did not see
    were not seen either."""

    def __init__(
        self,
        frontier: Frontier,
        item: int,
        tail: Sequence[int],
        uncertain: set[int],
        placements: int,
    ) -> None:
        self._frontier = frontier
        self._item = item
        self._tail = tail
        self._uncertain = uncertain
        self._placements = BoundedPlacements(frontier, placements)
        statements = frontier.problem.prepared(item).statements
        self._writes = item not in frontier.problem.aborted and any(map(may_write, statements))
        read_only = all(one.program is not None and one.program.read_only for one in statements)
        self._sees_at_once = read_only and not _reads_in_parts(frontier.problem, item)

    def run(self, position: int, unseen: list[int]) -> bool:
        """Whether the rest of the tail can be separated; what is seen of the part before is placed. Leaves the
        frontier complete, or as it was. Raises TooManyRuns."""
        frontier = self._frontier
        length = len(frontier.trace)
        if position == len(self._tail):
            return self._placed_with(unseen)
        other = self._tail[position]
        if not self._is_certainly_unseen(other, unseen) and self._placements.place(other):
            if self.run(position + 1, unseen):
                return True
            frontier.truncate(length)
            if other not in self._uncertain:
                return False
        return self.run(position + 1, [*unseen, other])

    def _placed_with(self, unseen: Sequence[int]) -> bool:
        """Whether the item and what it did not see can be placed next; else all is as before."""
        frontier, item = self._frontier, self._item
        length = len(frontier.trace)
        # one that writes may well have committed after what it did not see; of any other it is told at once
        orders = [[*unseen, item], [item, *unseen]] if self._writes else [[item, *unseen], [*unseen, item]]
        for sequence in orders:
            first = self._placements.place(sequence[0])
            if first and all(self._placements.place(other) for other in sequence[1:]):
                return True
            frontier.truncate(length)
            if self._sees_at_once and not first and sequence[0] == item and frontier.misplaced(item) is None:
                # it does not see the others, so it is no better off behind them, if times let it go before them
                break
        return False

    def _is_certainly_unseen(self, other: int, unseen: Sequence[int]) -> bool:
        """Whether times put it after the item's reads, or after something that these did not see."""
        problem = self._frontier.problem
        return not may_have_seen(problem, other, self._item) or any(
            must_precede(problem, earlier, other) for earlier in unseen
        )
