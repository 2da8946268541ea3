"""What a transaction may have read and written otherwise, and whose writes another one looks at (DESIGN §7, H4).

Does not know which of several readings is the likelier one, nor what becomes of those placed after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from troubadour.execution.states.history import RowHistory, Version
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import REPAIR_RUNS, Frontier
from troubadour.search.schedule.placement import Candidate, content

SPAN = 60
"""How many placed transactions may be read anew."""

LOOKS = 12
"""Runs of a transaction that show what it looks at: some end early."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """Rows that runs of a transaction look at, and tables as a whole."""

    rows: frozenset[RowHistory]
    tables: frozenset[str]

    def meets(self, rows: Iterable[RowHistory]) -> bool:
        """Whether some of these rows are among them."""
        return any(row in self.rows or row.table in self.tables for row in rows)


def looked_at_by(frontier: Frontier, item: int) -> LookedAt:
    """What runs of an item to be placed next look at."""
    rows: set[RowHistory] = set()
    tables: set[str] = set()
    for candidate in islice(frontier.trace.candidates(item), LOOKS):
        rows.update(candidate.view.all_rows())
        tables.update(candidate.view.tables_scanned())
    return LookedAt(frozenset(rows), frozenset(tables))


def writers_of(frontier: Frontier, item: int, *, whoever: bool = False) -> list[int]:
    """The latest positions at which transactions that may be read anew (or `whoever`) wrote what runs of the item look
    at."""
    problem, trace = frontier.problem, frontier.trace
    looked_at = looked_at_by(frontier, item)
    newest = len(trace)
    return [
        position
        for position in range(newest, max(0, newest - SPAN), -1)
        if (whoever or trace.placements[position - 1].ways or _is_free(problem, trace.placements[position - 1].item))
        and looked_at.meets(trace.states.written_at(position))
    ]


def _is_free(problem: Problem, item: int) -> bool:
    """Whether times and the order leave open which states it read."""
    level = problem.levels[item]
    return level.own_states or not level.horizon.latest


def other_readings(candidates: Iterator[Candidate], wrote: Mapping[RowHistory, Version] | None) -> Iterator[Candidate]:
    """Of the first candidates for an item to be placed next those that explain it, one for each write map but what it
    `wrote` before (None: nothing is known of that)."""
    known = set() if wrote is None else {content(wrote)}
    for candidate in islice(candidates, REPAIR_RUNS):
        written = content(candidate.view.writes()) if candidate.failure is None else None
        if written is not None and written not in known:
            known.add(written)
            yield candidate


def distinct_readings(
    frontier: Frontier, item: int, wrote: Mapping[RowHistory, Version] | None = None
) -> list[Candidate]:
    """All of these, made before the order is changed."""
    return list(other_readings(frontier.trace.candidates(item), wrote))
