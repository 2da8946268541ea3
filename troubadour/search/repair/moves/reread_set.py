"""The last few placements read anew together, where sets are seen (DESIGN §7, H4: back to the choice that is to blame).

Several readings may write the same and yet bind later ones differently, since who sees a transaction has to see what
that one saw. The solver is asked for all at once; where it cannot be, they are gone through. Does not change the order.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from troubadour.search.repair.placer import BoundedPlacements, Frontier
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.symbolic.encoder import Encoder
from troubadour.search.symbolic.trace import SymbolicTrace
from troubadour.solver import Answer, Session

REREAD = (0, 3, 8, 20)
"""How many placements are read anew together."""

SOLVER_SECONDS = 5.0
"""Time that the solver may take for these."""

READINGS = 300
"""Placements spent on them one by one, where the solver cannot be asked."""


def reread_sets(frontier: Frontier, item: int) -> bool:
    """Read the last placements anew, in their order, so that the item has a place where sets are seen; False, with
    everything as before, where that is not found."""
    if isinstance(frontier.trace, SymbolicTrace):
        return False
    for back in REREAD:
        base = max(0, len(frontier.trace) - back)
        old = frontier.truncate(base)
        items = [*(taken.item for taken in old), item]
        try:
            if _read_by_solver(frontier, items):
                return True
        except Unsupported:
            try:
                if _read_in_order(frontier, items, BoundedPlacements(frontier, READINGS)):
                    return True
            except TooManyRuns:
                pass
        frontier.restore(base, old)
        if not base:
            break
    return False


def _read_by_solver(frontier: Frontier, items: Sequence[int]) -> bool:
    """Whether these have a place one after the other; placed then, else all is as it was. Raises Unsupported."""
    trace = frontier.trace
    length = len(trace)
    encoder = Encoder(trace, Session())
    try:
        for item in items:
            encoder.keep(item)
        with trace.problem.budget.within(effort=SOLVER_SECONDS):
            answer = encoder.check()
        if answer is not Answer.SATISFIABLE:
            return False
        told = encoder.in_model(encoder.session.model())
        choices = {encoded.item: told.chosen(encoded) for encoded in encoder.encoded.values()}
    finally:
        trace.truncate(length)
    for item in items:
        if frontier.misplaced(item) is not None or trace.place(item, choices[item]) is not None:
            frontier.truncate(length)
            return False
        frontier.placed.add(item)
    return True


def _read_in_order(frontier: Frontier, items: Sequence[int], left: BoundedPlacements) -> bool:
    """Whether these have a place one after the other; placed then, else all is as it was. Raises TooManyRuns."""
    if not items:
        return True
    length = len(frontier.trace)
    if frontier.misplaced(items[0]) is not None:
        return False
    for candidate in frontier.trace.outcomes(items[0]):
        left.spend()
        frontier.keep(candidate)
        if _read_in_order(frontier, items[1:], left):
            return True
        frontier.truncate(length)
    return False
