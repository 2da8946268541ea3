"""Another reading of an earlier transaction, where what it wrote unseen is to blame (DESIGN §7, H4: back to the choice
that is to blame, not to the last one).

At row scope, and where the DBMS had several ways to go, several readings may explain a transaction and write different
values. Where a later one fails, those that
wrote the rows it looked at are read anew, the latest first, and all after them are placed again. Does not change the
order.
"""

from __future__ import annotations

from itertools import islice

from troubadour.audit.frontier import REPAIR_RUNS, Frontier
from troubadour.audit.placement import Candidate, fingerprint
from troubadour.audit.problem import Problem
from troubadour.audit.symbolic import SymbolicTrace
from troubadour.execution.choices import Choices
from troubadour.execution.history import RowHistory

SPAN = 60
"""How many placed transactions may be read anew."""

SPANS = (8, 24, 60)
"""How many of the last placed transactions are read anew together."""

REREADINGS = 1200
"""Placements spent on reading them anew."""

LOOKS = 12
"""Runs of a transaction that show what it looks at: some end early."""

PLACEMENTS = 1500
"""Placements spent on one transaction."""


def revise(frontier: Frontier, item: int) -> bool:
    """Read one of the writers of what the item looks at anew, so that the item has a place; False, with everything as
    before, where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    left = PLACEMENTS
    for position in _writers(frontier, item):
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


def _writers(frontier: Frontier, item: int) -> list[int]:
    """The latest positions at which transactions that may be read anew wrote what runs of the item look at."""
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
        if (trace.placements[position - 1].ways or _is_free(problem, trace.placements[position - 1].item))
        and any(row in looked_at or row.table in tables for row in trace.states.written_at(position))
    ]


def _is_free(problem: Problem, item: int) -> bool:
    """Whether times and the order leave open which states it read."""
    level = problem.levels[item]
    return level.own_states or not level.horizon.latest


def _other_readings(frontier: Frontier, item: int, choices: Choices | None) -> list[Candidate]:
    """Its readings that explain it and write something else than it wrote before: one for each such write map."""
    assert choices is not None
    before = fingerprint(frontier.trace.run(item, choices).view.writes())
    return [
        candidate for candidate in distinct_readings(frontier, item) if fingerprint(candidate.view.writes()) != before
    ]


def distinct_readings(frontier: Frontier, item: int) -> list[Candidate]:
    """Readings that explain an item to be placed next, one for each write map."""
    found: dict[object, Candidate] = {}
    for candidate in islice(frontier.trace.candidates(item), REPAIR_RUNS):
        if candidate.failure is None:
            found.setdefault(fingerprint(candidate.view.writes()), candidate)
    return list(found.values())
