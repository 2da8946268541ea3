"""Another reading of an earlier transaction, where what it wrote unseen is to blame (DESIGN §7, H4: back to the choice
that is to blame, not to the last one).

At row scope, and where the DBMS had several ways to go, several readings may explain a transaction and write different
values. Where a later one fails, those that
wrote the rows it looked at are read anew, the latest first, and all after them are placed again. Where one change is
not enough, a second and a third one are made on top of it, and later transactions that the failing one may have seen
are placed before it. Does not know which of several readings is the likelier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from troubadour.execution.states.history import RowHistory, Version
from troubadour.isolation.levels import Scope
from troubadour.problem.orders import may_have_seen, must_precede
from troubadour.search.repair.moves.delay_commit import unseen_one_by_one
from troubadour.search.repair.moves.joint_readings import (
    SPAN,
    distinct_readings,
    looked_at_by,
    other_readings,
    writers_of,
)
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.moves.transpose import swap
from troubadour.search.repair.placer import REPAIR_RUNS, BoundedPlacements, Frontier
from troubadour.search.schedule.ascending import in_real_time
from troubadour.search.schedule.placement import Candidate, TakenBack, TooManyRuns
from troubadour.search.schedule.read_candidates import candidates_for
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.trace import SymbolicTrace

SPENT = 1500
"""Other readings and placements that are tried for one transaction, where one is read anew."""

SPANS = (8, 24, 60)
"""How many of the last placed transactions are read anew together."""

REREADINGS = 1200
"""Placements spent on reading them anew."""

AHEAD = 48
"""Later transactions that are placed before one at most."""

SEPARATED = 60
"""Placements spent on the order at each change."""

NEAR = 128
"""How many of the last placed transactions are read anew one at a time."""

EARLIER = 24
"""Placements before which one is put at most."""


def revise(frontier: Frontier, item: int) -> bool:
    """Read one of the writers of what the item looks at anew, so that the item has a place; False, with everything as
    before, where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    return _reread(frontier, item, writers_of(frontier, item), candidates_for, lambda rows: True)


def reread_one(frontier: Frontier, item: int) -> bool:
    """Read one of the last placed transactions anew, as a server might in real time, where it then writes something
    else that the item looks at; False, with everything as before, where that gives the item no place. It need not have
    written any of that before: an order that two transactions delivered is one that the second was not to find."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    newest = len(frontier.trace)
    positions = range(newest, max(0, newest - NEAR), -1)
    return _reread(frontier, item, positions, in_real_time, looked_at_by(frontier, item).meets)


def _reread(
    frontier: Frontier,
    item: int,
    positions: Iterable[int],
    readings: Callable[[Trace, int], Iterator[Candidate]],
    concerns: Callable[[Iterable[RowHistory]], bool],
) -> bool:
    """Place one at these positions, the latest first, by another reading that writes something else that `concerns` the
    item, and the others after it again; False, with everything as before, where none gives the item a place."""
    left = SPENT

    def runs(other: int) -> Iterator[Candidate]:
        nonlocal left
        for candidate in readings(frontier.trace, other):
            left -= 1
            yield candidate

    newest = len(frontier.trace)
    taken: list[TakenBack] = []
    for position in positions:
        taken[:0] = frontier.truncate(position - 1)
        tail = [*(one.item for one in taken[1:]), item]
        tried = False
        for reading in other_readings(runs(taken[0].item), taken[0].writes):
            if not concerns((*taken[0].writes, *reading.view.writes())):
                continue
            frontier.keep(reading)
            if all(frontier.place(other, runs=REPAIR_RUNS) is None for other in tail):
                return True
            tried = True
            left -= len(frontier.trace) - position
            frontier.truncate(position - 1)
            if left < 0:
                break
        if left < 0:
            break
        if tried:
            # what it wrote in vain is not what it is taken to write where those before it are read anew
            frontier.restore(newest - len(taken), taken)
            taken = frontier.truncate(position - 1)
    frontier.restore(newest - len(taken), taken)
    return False


def revise_several(frontier: Frontier, item: int, depth: int, placements: int) -> bool:
    """Read up to `depth` of the writers of what the item looks at anew, on top of each other, and place later
    transactions that it may have seen before it, with so many placements at most; False, with everything as before,
    where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace) or frontier.problem.levels[item].scope is Scope.ROW:
        return False
    length = len(frontier.trace)
    old = frontier.after(max(0, length - SPAN))
    try:
        return _Revision(frontier, placements).mend(item, depth, 0)
    except TooManyRuns:
        frontier.restore(length - len(old), old)
        return False


class _Revision:
    """Changes of readings on top of each other, the later ones at later places."""

    def __init__(self, frontier: Frontier, placements: int) -> None:
        self._frontier = frontier
        self._left = BoundedPlacements(frontier, placements)

    def mend(self, item: int, depth: int, first: int) -> bool:
        """Give a failing item a place; False, with everything as before, where none is found. `depth` readings are
        changed at most, and the order, of those after the first `first` placements. Raises TooManyRuns."""
        frontier = self._frontier
        length = len(frontier.trace)
        if self._place_ahead(item, [item]) or separate(frontier, item, SEPARATED, first):
            return True
        if depth:
            if self._changed(item, depth, first) or self._place_earlier(item, depth, first):
                return True
            if self._place_ahead(item, []) and self._changed(item, depth, first):
                return True
        frontier.truncate(length)
        return False

    def _changed(self, item: int, depth: int, first: int) -> bool:
        return swap(self._frontier, item, self._left, first) or self._read_anew(item, depth, first)

    def _place_earlier(self, item: int, depth: int, first: int) -> bool:
        """Put the item, in each of its readings, right before one that wrote what it looks at."""
        frontier = self._frontier
        oldest = max(first, len(frontier.trace) - EARLIER)
        for position in writers_of(frontier, item, whoever=True):
            if position <= oldest:
                break
            old = frontier.truncate(position - 1)
            tail = [taken.item for taken in old]
            for reading in distinct_readings(frontier, item) if frontier.misplaced(item) is None else ():
                self._left.spend()
                frontier.keep(reading)
                if self._placed_again(tail, depth - 1, position):
                    return True
                frontier.truncate(position - 1)
            frontier.restore(position - 1, old)
        return False

    def _place_ahead(self, item: int, wanted: Sequence[int]) -> bool:
        """Place later ones that the item may have seen, until those that are `wanted` can be, too; with none wanted,
        all of them, and whether there were any. What was placed is taken back where it did not help."""
        frontier = self._frontier
        length = len(frontier.trace)
        for other in frontier.remaining.after(item, frontier.placed, AHEAD):
            problem = frontier.problem
            if not may_have_seen(problem, other, item) or must_precede(problem, item, other):
                continue
            if not self._left.place(other) or not frontier.trace.states.written_at(len(frontier.trace)):
                continue
            if wanted and all(self._left.place(one) for one in wanted):
                return True
        if not wanted:
            return len(frontier.trace) > length
        frontier.truncate(length)
        return False

    def _read_anew(self, item: int, depth: int, first: int) -> bool:
        frontier = self._frontier
        for position in writers_of(frontier, item):
            if position <= first:
                break
            old = frontier.truncate(position - 1)
            tail = [taken.item for taken in old[1:]]
            for reading in distinct_readings(frontier, old[0].item, old[0].writes):
                self._left.spend()
                frontier.keep(reading)
                # it may have come behind those that it is not seen by any more
                if self._placed_again([*tail, item], depth - 1, position - 1):
                    return True
                frontier.truncate(position - 1)
            frontier.restore(position - 1, old)
            if self._read_without_one(item, position, depth, first):
                return True
        return False

    def _read_without_one(self, item: int, position: int, depth: int, first: int) -> bool:
        """Read the one at `position` anew with one before it, which it need not have seen, behind it."""
        frontier = self._frontier
        placement = frontier.trace.placements[position - 1]
        wrote = {row: row.at(position) for row in frontier.trace.states.written_at(position)}
        for base, before, after in list(unseen_one_by_one(frontier, position, first)):
            tail = [one.item for one in frontier.trace.placements[position:]]
            with frontier.attempt(base) as attempt:
                if all(self._left.place(other) for other in before) and frontier.misplaced(placement.item) is None:
                    items = [*after, *tail, item]
                    attempt.done = self._keeps_another(placement.item, wrote, items, depth - 1, base)
            if attempt.done:
                return True
        return False

    def _keeps_another(
        self, writer: int, wrote: Mapping[RowHistory, Version], items: Sequence[int], depth: int, first: int
    ) -> bool:
        """Whether some reading of the next one, which writes something else than it `wrote`, lets these follow."""
        length = len(self._frontier.trace)
        for reading in distinct_readings(self._frontier, writer, wrote):
            self._left.spend()
            self._frontier.keep(reading)
            if self._placed_again(items, depth, first):
                return True
            self._frontier.truncate(length)
        return False

    def _placed_again(self, items: Sequence[int], depth: int, first: int) -> bool:
        for item in items:
            if item in self._frontier.placed or self._left.place(item):
                continue
            if not self.mend(item, depth, first):
                return False
        return True


def reread(frontier: Frontier, item: int) -> bool:
    """Read the last placed transactions anew, depth first and in their order, so that the item has a place; False, with
    everything as before, where that is not found."""
    for span in SPANS:
        base = max(0, len(frontier.trace) - span)
        old = frontier.truncate(base)
        left = [REREADINGS]
        if _placed_in_turn(frontier, [*(taken.item for taken in old), item], left):
            return True
        frontier.restore(base, old)
        if not base:
            break
    return False


def _placed_in_turn(frontier: Frontier, items: list[int], left: list[int]) -> bool:
    if not items:
        return True
    if frontier.misplaced(items[0]) is not None:
        return False
    length = len(frontier.trace)
    for candidate in distinct_readings(frontier, items[0]):
        left[0] -= 1
        if left[0] < 0:
            break
        frontier.keep(candidate)
        if _placed_in_turn(frontier, items[1:], left):
            return True
        frontier.truncate(length)
    return False
