"""The core of numbers that nothing adds up to (CONTRACT §2 *core*; paper §8.1): the one that saw them, and all writers.

If one writer's writes are unknown, the reader can have read just these, and what the others observed is nothing: so no
writer can be left out, and the core is minimal. Decided again with heuristics off, on what the core wrote alone. Does
not know how the numbers were added.
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from troubadour.isolation.levels import Scope
from troubadour.proof.cores.core import Core
from troubadour.search.inference.reachable_numbers import ReachableNumbers
from troubadour.search.problem.problem import Heuristics, Problem
from troubadour.search.symbolic.cegar import Unresolved, relax
from troubadour.solver import Answer

WRITERS = 2_000
"""Writers each of which is asked to be needed."""


def core_of_sums(problem: Problem, item: int, shown: ReachableNumbers) -> Core | None:
    """The core; None where the writers observed something, so that fewer may be enough. Raises OutOfTime."""
    members = sorted(shown.members())
    others = [other for other in members if other != item]
    if problem.levels[item].scope is not Scope.ROW or not all(map(problem.is_silent, others)) or len(others) > WRITERS:
        return None
    off = Heuristics(index=False, window=None, concretize=False, stronger_first=False)
    try:
        again = ReachableNumbers(problem.with_heuristics(off), item, others).is_impossible()
        minimal = all(_explains(problem, other, item) for other in _first_of_each(shown, others))
    except (Unsupported, Unresolved):
        return None
    return Core(tuple(members), minimal, again)


def _explains(problem: Problem, other: int, item: int) -> bool:
    """Whether some writes of another one alone explain the item, which may read all else as it was at first."""
    answer, _ = relax(problem, [other, item], {item})
    return answer is Answer.SATISFIABLE


def _first_of_each(shown: ReachableNumbers, others: list[int]) -> list[int]:
    """One of all that may write the same rows: of unknown writes there is nothing else to tell."""
    found: dict[frozenset[str], int] = {}
    for other in others:
        rows = frozenset(row.address for row, writers in shown.writers.items() if other in writers)
        found.setdefault(rows, other)
    return list(found.values())
