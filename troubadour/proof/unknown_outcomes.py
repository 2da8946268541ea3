"""Every fate of the few transactions of unknown outcome: that they did not happen, or did at any one place.

The search has tried the likely ones, with the orders that each would allow. Here the others are excluded: under the
order that the search ended with, the failing transaction has no explanation with them left out, nor with them at any
place that times allow. Does not know other orders.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from troubadour.problem.budget import MANY, THOROUGHLY
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.exhaustive import enumerate_again
from troubadour.search.symbolic.abstract_refutation import refuting_set
from troubadour.search.symbolic.cegar import Contradiction, Unresolved, refine

FEW = 2
"""Transactions of unknown outcome whose fates are all tried."""


def writers(problem: Problem) -> list[int]:
    """Those of unknown outcome whose fate can matter to others: a read-only transaction is not seen by any."""

    def only_reads(item: int) -> bool:
        programs = [statement.program for statement in problem.prepared(item).statements]
        return all(program is None or program.read_only for program in programs)

    return [item for item in problem.unknown if not only_reads(item)]


def fates(problem: Problem, order: Sequence[int]) -> list[list[int]]:
    """A failing order, its last transaction the one that fails, with each writer of unknown outcome left out or put
    where times allow it; empty where these are too many."""
    unknown = writers(problem)
    if len(unknown) > FEW:
        return []
    found = [[item for item in order if item not in problem.unknown]]
    for item in unknown:
        found += [other for one in found for other in _with(problem, one, item)]
        if len(found) > MANY:
            return []
    return found


def _with(problem: Problem, order: list[int], item: int) -> list[list[int]]:
    first = max((place + 1 for place, other in enumerate(order) if must_precede(problem, other, item)), default=0)
    last = min((place for place, other in enumerate(order) if must_precede(problem, item, other)), default=len(order))
    return [[*order[:place], item, *order[place:]] for place in range(first, min(last, len(order) - 1) + 1)]


def refuted_in_all(problem: Problem, orders: Sequence[Sequence[int]]) -> frozenset[int] | None:
    """Items that rule the last observation out under each of the orders; None where cases do not show that, as they
    cannot of no order at all."""
    if not orders:
        return None
    refuting: frozenset[int] = frozenset()
    try:
        for order in orders:
            found = refuting_set(problem, order)
            if found is None:
                return None
            refuting |= found
    except (Unsupported, OutOfTime):
        return None
    return refuting


def unexplained_in_all(problem: Problem, orders: Sequence[Sequence[int]]) -> bool:
    """Whether every reading was looked at under each of the orders, one at least, and none explains it."""
    return bool(orders) and all(enumerate_again(problem, order, every_order=False) for order in orders)


def contradictions_in_all(problem: Problem, orders: Sequence[Sequence[int]]) -> frozenset[int] | None:
    """Items that contradict each other under each of the orders, found by the solver; None where it takes too long, or
    where there is no order."""
    if not orders:
        return None
    kept: frozenset[int] = frozenset()
    try:
        with problem.budget.within(effort=THOROUGHLY):
            for order in orders:
                found = refine(problem, order)
                if not isinstance(found, Contradiction) or found.enumerated:
                    return None
                kept |= found.kept
    except (Unsupported, Unresolved, OutOfTime):
        return None
    return kept
