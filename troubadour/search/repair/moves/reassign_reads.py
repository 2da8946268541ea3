"""Another reading of an earlier transaction: back to the choice that is to blame, not to the last one (backjumping by
conflicts, Prosser 1993).

At row scope, and where the DBMS had several ways to go, several readings may explain a transaction and write different
values. Where a later one fails, those that wrote the rows it looked at are read anew, the latest first, and all after
them are placed again. Does not know which of several readings is the likelier one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from troubadour.execution.states.history import RowHistory, Version
from troubadour.problem.budget import HUNDREDS, SEVERAL, SOME
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.placement import Candidate, TakenBack, content
from troubadour.search.schedule.read_candidates import candidates_for
from troubadour.search.symbolic.trace import SymbolicTrace


def revise(frontier: Frontier, item: int) -> bool:
    """Read one of the writers of what the item looks at anew, the latest first, so that it writes something else and
    the item has a place behind it and the others after it; False, with everything as before, where none gives it
    one."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    left = HUNDREDS

    def runs(other: int) -> Iterator[Candidate]:
        nonlocal left
        for candidate in candidates_for(frontier.trace, other):
            left -= 1
            yield candidate

    newest = len(frontier.trace)
    taken: list[TakenBack] = []
    for position in _writers_of(frontier, item):
        taken[:0] = frontier.truncate(position - 1)
        tail = [*(one.item for one in taken[1:]), item]
        tried = False
        for reading in _other_readings(runs(taken[0].item), taken[0].writes):
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


def _writers_of(frontier: Frontier, item: int) -> list[int]:
    """The latest positions at which transactions that may be read anew wrote what runs of the item look at."""
    problem, trace = frontier.problem, frontier.trace
    rows: set[RowHistory] = set()
    tables: set[str] = set()
    for candidate in islice(trace.candidates(item), SEVERAL):
        rows.update(candidate.view.all_rows())
        tables.update(candidate.view.tables_scanned())
    newest = len(trace)
    return [
        position
        for position in range(newest, max(0, newest - SOME), -1)
        if (trace.placements[position - 1].ways or _is_free(problem, trace.placements[position - 1].item))
        and any(row in rows or row.table in tables for row in trace.states.written_at(position))
    ]


def _is_free(problem: Problem, item: int) -> bool:
    """Whether times and the order leave open which states it read."""
    level = problem.levels[item]
    return level.own_states or not level.horizon.latest


def _other_readings(candidates: Iterator[Candidate], wrote: Mapping[RowHistory, Version]) -> Iterator[Candidate]:
    """Of the first candidates for an item to be placed next those that explain it, one for each write map but what it
    `wrote` before."""
    known = {content(wrote)}
    for candidate in islice(candidates, SOME):
        written = content(candidate.view.writes()) if candidate.failure is None else None
        if written is not None and written not in known:
            known.add(written)
            yield candidate
