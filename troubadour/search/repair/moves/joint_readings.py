"""What a transaction may have read and written otherwise, and whose writes another one looks at (DESIGN §7, H4).

Does not know which of several readings is the likelier one, nor what becomes of those placed after it.
"""

from __future__ import annotations

from itertools import islice

from troubadour.execution.states.history import RowHistory
from troubadour.search.problem.problem import Problem
from troubadour.search.repair.placer import REPAIR_RUNS, Frontier
from troubadour.search.schedule.placement import Candidate, fingerprint

SPAN = 60
"""How many placed transactions may be read anew."""

LOOKS = 12
"""Runs of a transaction that show what it looks at: some end early."""


def writers_of(frontier: Frontier, item: int, *, whoever: bool = False) -> list[int]:
    """The latest positions at which transactions that may be read anew (or `whoever`) wrote what runs of the item look
    at."""
    problem, trace = frontier.problem, frontier.trace
    looked_at: set[RowHistory] = set()
    tables: set[str] = set()
    for candidate in islice(trace.candidates(item), LOOKS):
        looked_at.update(candidate.view.all_rows())
        tables.update(candidate.view.tables_scanned())
    newest = len(trace)
    return [
        position
        for position in range(newest, max(0, newest - SPAN), -1)
        if (whoever or trace.placements[position - 1].ways or _is_free(problem, trace.placements[position - 1].item))
        and any(row in looked_at or row.table in tables for row in trace.states.written_at(position))
    ]


def tables_looked_at(frontier: Frontier, item: int) -> frozenset[str]:
    """The tables of the rows that runs of the item look at, and those that they scan."""
    found: set[str] = set()
    for candidate in islice(frontier.trace.candidates(item), LOOKS):
        found.update(candidate.view.tables_scanned())
        found.update(row.table for row in candidate.view.all_rows())
    return frozenset(found)


def _is_free(problem: Problem, item: int) -> bool:
    """Whether times and the order leave open which states it read."""
    level = problem.levels[item]
    return level.own_states or not level.horizon.latest


def distinct_readings(frontier: Frontier, item: int) -> list[Candidate]:
    """Readings that explain an item to be placed next, one for each write map."""
    found: dict[object, Candidate] = {}
    for candidate in islice(frontier.trace.candidates(item), REPAIR_RUNS):
        if candidate.failure is None:
            found.setdefault(fingerprint(candidate.view.writes()), candidate)
    return list(found.values())
