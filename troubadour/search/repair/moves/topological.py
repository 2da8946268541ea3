"""Mending the order by what answers prove of it (DESIGN §6: dependency edges wr, ww, rw, kept acyclic).

Where rows are read and written by their keys, the answers alone put many transactions in order, far beyond the windows
in which orders are tried. What is guessed is placed like any other order. Does not know how it is found
(`search.inference.dependency_graph`).
"""

from __future__ import annotations

from bisect import bisect_left

from troubadour.search.inference.dependency_graph import suggested_order
from troubadour.search.repair.placer import Frontier
from troubadour.search.symbolic.trace import SymbolicTrace

WINDOWS = (400, 4_000)
"""How many of the last placed transactions are put in another order."""


def line_up(frontier: Frontier, item: int) -> bool:
    """Place the last placed transactions, the item and others whose writes they saw in the order that their answers
    suggest; False, with everything as before, where that does not place them all."""
    problem = frontier.problem
    level = problem.levels[item]
    if isinstance(frontier.trace, SymbolicTrace) or level.real_time or problem.order_recorded:
        return False
    if item in problem.aborted:
        return False
    verified = bisect_left(problem.committed, item)
    length = len(frontier.trace)
    for window in WINDOWS:
        order = suggested_order(problem, verified, window)
        if order is None:
            return False
        base = max(0, length - window)
        if base < frontier.trace.fixed:
            return False
        fixed = {placement.item for placement in frontier.trace.placements[:base]}
        wanted = {item, *(placement.item for placement in frontier.trace.placements[base:])}
        first = [other for other in order if other not in fixed]
        last = max((place for place, other in enumerate(first) if other in wanted), default=-1)
        sequence = first[: last + 1]
        sequence = [*sorted(wanted.difference(sequence)), *sequence]
        if frontier.replace(base, sequence):
            return True
        if not base:
            return False
    return False
