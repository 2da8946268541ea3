"""Another reading of an earlier transaction, where what it wrote unseen is to blame (DESIGN §7, H4: back to the choice
that is to blame, not to the last one).

Where the DBMS had several ways to go, and where each row or statement read may be of a state of its own, several
readings may explain a transaction and write different values. Where a later one fails, one that wrote the rows that it
looks at is read anew, the latest first, and all after it are placed again. Does not know which of several readings is
the likelier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from troubadour.execution.states.history import RowHistory
from troubadour.search.problem.problem import Problem
from troubadour.search.repair.placer import REPAIR_RUNS, Frontier
from troubadour.search.schedule.ascending import in_real_time
from troubadour.search.schedule.placement import Candidate, TakenBack, content
from troubadour.search.schedule.read_candidates import candidates_for
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.trace import SymbolicTrace

SPAN = 60
"""How many placed transactions may be read anew."""

LOOKS = 12
"""Runs of a transaction that show what it looks at: some end early."""

NEAR = 128
"""How many are read anew in real time."""

SPENT = 1500
"""Other readings and placements that are tried for one transaction."""


@dataclass(frozen=True, slots=True)
class _LookedAt:
    """Rows that runs of a transaction look at, and tables as a whole."""

    rows: frozenset[RowHistory]
    tables: frozenset[str]

    def meets(self, rows: Iterable[RowHistory]) -> bool:
        """Whether some of these rows are among them."""
        return any(row in self.rows or row.table in self.tables for row in rows)


def revise(frontier: Frontier, item: int) -> bool:
    """Read one of the writers of what the item looks at anew, so that the item has a place; False, with everything as
    before, where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    problem, trace, looked_at = frontier.problem, frontier.trace, _looked_at_by(frontier, item)
    newest = len(trace)
    positions = [
        position
        for position in range(newest, max(0, newest - SPAN), -1)
        if (trace.placements[position - 1].ways or _is_free(problem, trace.placements[position - 1].item))
        and looked_at.meets(trace.states.written_at(position))
    ]
    return _reread(frontier, item, positions, candidates_for, looked_at)


def reread_one(frontier: Frontier, item: int) -> bool:
    """Read one of the last placed transactions anew, as a server might in real time, where it then writes something
    else that the item looks at; False, with everything as before, where that gives the item no place. It need not have
    written any of that before: an order that two transactions delivered is one that the second was not to find."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    newest = len(frontier.trace)
    positions = range(newest, max(0, newest - NEAR), -1)
    return _reread(frontier, item, positions, in_real_time, _looked_at_by(frontier, item))


def _reread(
    frontier: Frontier,
    item: int,
    positions: Sequence[int],
    readings: Callable[[Trace, int], Iterator[Candidate]],
    looked_at: _LookedAt,
) -> bool:
    """Place one at these positions, the latest first, by another reading that changes what the item looks at, and the
    others after it again."""
    left = SPENT
    for position in positions:
        old = frontier.truncate(position - 1)
        tail = [*(taken.item for taken in old[1:]), item]
        for reading in other_readings(readings(frontier.trace, old[0].item), old[0]):
            left -= 1
            if not looked_at.meets((*old[0].writes, *reading.view.writes())):
                continue
            frontier.keep(reading)
            if all(frontier.place(other, runs=REPAIR_RUNS) is None for other in tail):
                return True
            left -= len(frontier.trace) - position
            frontier.truncate(position - 1)
        left -= 1
        frontier.restore(position - 1, old)
        if left < 0:
            break
    return False


def other_readings(candidates: Iterator[Candidate], taken: TakenBack) -> Iterator[Candidate]:
    """Of the first candidates for one that was taken back those that explain it and write something else than it
    wrote, one for each such write map."""
    known = {content(taken.writes)}
    for candidate in islice(candidates, REPAIR_RUNS):
        wrote = content(candidate.view.writes()) if candidate.failure is None else None
        if wrote is not None and wrote not in known:
            known.add(wrote)
            yield candidate


def _looked_at_by(frontier: Frontier, item: int) -> _LookedAt:
    """What runs of an item to be placed next look at."""
    rows: set[RowHistory] = set()
    tables: set[str] = set()
    for candidate in islice(frontier.trace.candidates(item), LOOKS):
        rows.update(candidate.view.all_rows())
        tables.update(candidate.view.tables_scanned())
    return _LookedAt(frozenset(rows), frozenset(tables))


def _is_free(problem: Problem, item: int) -> bool:
    """Whether times and the order leave open which states it read."""
    level = problem.levels[item]
    return level.own_states or not level.horizon.latest
