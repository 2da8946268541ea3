"""Another reading of an earlier transaction, where what it wrote unseen is to blame (DESIGN §7, H4: back to the choice
that is to blame, not to the last one).

At row scope, and where the DBMS had several ways to go, several readings may explain a transaction and write different
values. Where a later one fails, those that
wrote the rows it looked at are read anew, the latest first, and all after them are placed again. Where one change is
not enough, a second and a third one are made on top of it, and later transactions that the failing one may have seen
are placed before it. Does not know which of several readings is the likelier one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from troubadour.execution.free.choices import Choices
from troubadour.execution.states.history import RowHistory, Version
from troubadour.isolation.levels import Scope
from troubadour.search.problem.orders import may_have_seen, must_precede
from troubadour.search.repair.moves.delay_commit import unseen_one_by_one
from troubadour.search.repair.moves.joint_readings import SPAN, distinct_readings, looked_at_by, writers_of
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.moves.transpose import swap
from troubadour.search.repair.placer import REPAIR_RUNS, BoundedPlacements, Frontier
from troubadour.search.schedule.ascending import in_real_time
from troubadour.search.schedule.placement import Candidate, TakenBack, TooManyRuns, content, fingerprint
from troubadour.search.symbolic.trace import SymbolicTrace

SPANS = (8, 24, 60)
"""How many of the last placed transactions are read anew together."""

REREADINGS = 1200
"""Placements spent on reading them anew."""

PLACEMENTS = 1500
"""Placements spent on one transaction."""

AHEAD = 48
"""Later transactions that are placed before one at most."""

SEPARATED = 60
"""Placements spent on the order at each change."""

NEAR = 128
"""How many of the last placed transactions are read anew one at a time."""

ONE_REREAD = 1000
"""Runs and placements spent on that."""

FAR = 1024
"""How many are where whatever they write may be to blame."""

FAR_REREAD = 20_000
"""Runs and placements spent on that."""

EARLIER = 24
"""Placements before which one is put at most."""


def revise(frontier: Frontier, item: int) -> bool:
    """Read one of the writers of what the item looks at anew, so that the item has a place; False, with everything as
    before, where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    left = PLACEMENTS
    for position in writers_of(frontier, item):
        old = frontier.truncate(position - 1)
        writer, choices, tail = old[0].item, old[0].choices, [taken.item for taken in old[1:]]
        for reading in _other_readings(frontier, writer, choices):
            left -= len(tail) + 2
            frontier.keep(reading)
            if all(frontier.place(other, runs=REPAIR_RUNS) is None for other in (*tail, item)):
                return True
            frontier.truncate(position - 1)
            if left < 0:
                break
        frontier.restore(position - 1, old)
        if left < 0:
            break
    return False


def reread_one(frontier: Frontier, item: int) -> bool:
    """Read one of the last placed transactions anew, as a server might in real time, where it then writes something
    else that the item looks at; False, with everything as before, where that gives the item no place. It need not have
    written any of that before: an order that two transactions delivered is one that the second was not to find."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    return _reread(frontier, item, NEAR, ONE_REREAD, looked_at_by(frontier, item).meets)


def reread_far(frontier: Frontier, item: int) -> bool:
    """Read one of many placed transactions anew, as a server might in real time, whatever it then writes, and let those
    after it follow; False, with everything as before, where that gives the item no place. Where it delivered another
    order, each delivery after it does, too, and only the last of them wrote what the item looks at."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    return _reread(frontier, item, FAR, FAR_REREAD, bool)


def _reread(
    frontier: Frontier, item: int, reach: int, left: int, concerns: Callable[[Mapping[RowHistory, Version]], bool]
) -> bool:
    newest = len(frontier.trace)
    last = max(0, newest - reach)
    old: list[TakenBack] = []
    tail = [item]
    for position in range(newest, last, -1):
        old[:0] = frontier.truncate(position - 1)
        known = {content(old[0].writes)}
        for reading in islice(in_real_time(frontier.trace, old[0].item), REPAIR_RUNS):
            left -= 1
            wrote = content(reading.view.writes()) if reading.failure is None else None
            if wrote is None or wrote in known:
                continue
            known.add(wrote)
            if not concerns(reading.view.writes()):
                continue
            frontier.keep(reading)
            if all(frontier.place(other, runs=REPAIR_RUNS) is None for other in tail):
                return True
            left -= len(frontier.trace) - position
            frontier.truncate(position - 1)
        tail.insert(0, old[0].item)
        if left < 0:
            break
    frontier.restore(newest - len(old), old)
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
            for reading in _other_readings(frontier, old[0].item, old[0].choices):
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
        wrote = content({row: row.at(position) for row in frontier.trace.states.written_at(position)})
        for base, before, after in list(unseen_one_by_one(frontier, position, first)):
            tail = [one.item for one in frontier.trace.placements[position:]]
            with frontier.attempt(base) as attempt:
                if all(self._left.place(other) for other in before) and frontier.misplaced(placement.item) is None:
                    items = [*after, *tail, item]
                    attempt.done = self._keeps_another(placement.item, wrote, items, depth - 1, base)
            if attempt.done:
                return True
        return False

    def _keeps_another(self, writer: int, wrote: object, items: Sequence[int], depth: int, first: int) -> bool:
        """Whether some reading of the next one, which writes something else than it `wrote`, lets these follow."""
        length = len(self._frontier.trace)
        for reading in distinct_readings(self._frontier, writer):
            if content(reading.view.writes()) == wrote:
                continue
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


def _other_readings(frontier: Frontier, item: int, choices: Choices | None) -> list[Candidate]:
    """Its readings that explain it and write something else than it wrote before: one for each such write map."""
    assert choices is not None
    before = fingerprint(frontier.trace.run(item, choices).view.writes())
    return [
        candidate for candidate in distinct_readings(frontier, item) if fingerprint(candidate.view.writes()) != before
    ]
