"""Another reading of an earlier transaction: back to the choice that is to blame, not to the last one (backjumping by
conflicts, Prosser 1993).

At row scope, and where the DBMS had several ways to go, several readings may explain a transaction and write different
values. Where a later one fails, those that wrote the rows it looked at are read anew, the latest first, and all after
them are placed again. Does not know which of several readings is the likelier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from sql_semantics.records import dataclass
from troubadour.execution.states.history import RowHistory, Version
from troubadour.problem.budget import FEW, HUNDREDS, MANY, SEVERAL, SOME
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.ascending import in_real_time
from troubadour.search.schedule.placement import Candidate, TakenBack, content
from troubadour.search.schedule.read_candidates import candidates_for
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.trace import SymbolicTrace

SPANS = (FEW, SEVERAL, SOME)
"""How many of the last placed transactions are read anew together."""


def revise(frontier: Frontier, item: int) -> bool:
    """Read one of the writers of what the item looks at anew, so that the item has a place; False, with everything as
    before, where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    return _reread(frontier, item, _writers_of(frontier, item), candidates_for, lambda rows: True)


def reread_one(frontier: Frontier, item: int) -> bool:
    """Read one of the last placed transactions anew, as a server might in real time, where it then writes something
    else that the item looks at; False, with everything as before, where that gives the item no place. It need not have
    written any of that before: an order that two transactions delivered is one that the second was not to find."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    newest = len(frontier.trace)
    positions = range(newest, max(0, newest - MANY), -1)
    return _reread(frontier, item, positions, in_real_time, _looked_at_by(frontier, item).meets)


def _reread(
    frontier: Frontier,
    item: int,
    positions: Iterable[int],
    readings: Callable[[Trace, int], Iterator[Candidate]],
    concerns: Callable[[Iterable[RowHistory]], bool],
) -> bool:
    """Place one at these positions, the latest first, by another reading that writes something else that `concerns` the
    item, and the others after it again; False, with everything as before, where none gives the item a place."""
    left = HUNDREDS

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
            if all(frontier.place(other, runs=SOME) is None for other in tail):
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


def reread(frontier: Frontier, item: int) -> bool:
    """Read the last placed transactions anew, depth first and in their order, so that the item has a place; False, with
    everything as before, where that is not found."""
    for span in SPANS:
        base = max(0, len(frontier.trace) - span)
        old = frontier.truncate(base)
        left = [HUNDREDS]
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
    for candidate in list(other_readings(frontier.trace.candidates(items[0]), None)):
        left[0] -= 1
        if left[0] < 0:
            break
        frontier.keep(candidate)
        if _placed_in_turn(frontier, items[1:], left):
            return True
        frontier.truncate(length)
    return False


@dataclass(frozen=True, slots=True)
class _LookedAt:
    """Rows that runs of a transaction look at, and tables as a whole."""

    rows: frozenset[RowHistory]
    tables: frozenset[str]

    def meets(self, rows: Iterable[RowHistory]) -> bool:
        """Whether some of these rows are among them."""
        return any(row in self.rows or row.table in self.tables for row in rows)


def _looked_at_by(frontier: Frontier, item: int) -> _LookedAt:
    """What runs of an item to be placed next look at."""
    rows: set[RowHistory] = set()
    tables: set[str] = set()
    for candidate in islice(frontier.trace.candidates(item), SEVERAL):
        rows.update(candidate.view.all_rows())
        tables.update(candidate.view.tables_scanned())
    return _LookedAt(frozenset(rows), frozenset(tables))


def _writers_of(frontier: Frontier, item: int) -> list[int]:
    """The latest positions at which transactions that may be read anew wrote what runs of the item look at."""
    problem, trace = frontier.problem, frontier.trace
    looked_at = _looked_at_by(frontier, item)
    newest = len(trace)
    return [
        position
        for position in range(newest, max(0, newest - SOME), -1)
        if (trace.placements[position - 1].ways or is_free(problem, trace.placements[position - 1].item))
        and looked_at.meets(trace.states.written_at(position))
    ]


def is_free(problem: Problem, item: int) -> bool:
    """Whether times and the order leave open which states it read."""
    level = problem.levels[item]
    return level.own_states or not level.horizon.latest


def other_readings(candidates: Iterator[Candidate], wrote: Mapping[RowHistory, Version] | None) -> Iterator[Candidate]:
    """Of the first candidates for an item to be placed next those that explain it, one for each write map but what it
    `wrote` before (None: nothing is known of that)."""
    known = set() if wrote is None else {content(wrote)}
    for candidate in islice(candidates, SOME):
        written = content(candidate.view.writes()) if candidate.failure is None else None
        if written is not None and written not in known:
            known.add(written)
            yield candidate
