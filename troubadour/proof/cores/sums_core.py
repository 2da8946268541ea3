"""The core of numbers that nothing adds up to (paper §8.1): the one that saw them, and all writers.

If one writer's writes are unknown, the reader can have read just these, and what the others observed is nothing: so no
writer can be left out, and the core is minimal. Decided again with heuristics off, on what the core wrote alone. Does
not know how the numbers were added.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from sql_semantics.errors import Unsupported
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import THOUSANDS
from troubadour.problem.problem import Heuristics, Problem
from troubadour.proof.cores.core import Core
from troubadour.search.inference.values.reachable_numbers import ReachableNumbers, numbers_of_all, others_of
from troubadour.search.inference.values.seen_numbers import SeenNumbers
from troubadour.search.inference.values.unreachable_rows import RowsByKey, Unreachable
from troubadour.search.symbolic.cegar import Unresolved, relax
from troubadour.solver import Answer


def core_of_sums(problem: Problem, item: int, shown: SeenNumbers) -> Core | None:
    """The core, minimal where each writer is shown to be needed; None where that is not asked: the writers observed
    something, so that fewer may be enough, or they are many. Raises OutOfTime."""
    others = _seen_among(problem, item, shown.members())
    if len(others) > THOUSANDS or problem.levels[item].scope is not Scope.ROW:
        return None
    if not all(map(problem.is_silent, others)):
        return None
    try:
        again = _decided_again(problem, item, others).seen_by(item).is_impossible()
        minimal = all(_explains(problem, other, item) for other in _first_of_each(shown, others))
    except (Unsupported, Unresolved):
        return None
    return Core((*sorted([item, *others]),), minimal, again)


def writers_of_sums(problem: Problem, item: int, shown: SeenNumbers) -> Core | None:
    """All writers of what refutes the item, or else of what it looked at, not made smaller; None where they are not
    confirmed. Raises OutOfTime."""
    for members in dict.fromkeys((shown.members(), shown.all_members())):
        others = _seen_among(problem, item, members)
        with suppress(Unsupported):
            if _decided_again(problem, item, others).seen_by(item).is_impossible():
                return Core((*sorted([item, *others]),), minimal=False, confirmed=True)
    return None


def writers_of_row(problem: Problem, item: int, shown: Unreachable) -> Core | None:
    """All writers of a row that an item saw as it never was, and of what that was copied from, not made smaller; None
    where they are not confirmed. Raises OutOfTime."""
    numbers = numbers_of_all(problem)
    assert numbers is not None
    others = _seen_among(problem, item, set().union(*(numbers.writers.get(row, ()) for row in shown.rows)))
    with suppress(Unsupported):
        again = RowsByKey(_decided_again(problem, item, others)).unreachable(problem, item)
        if again is not None:
            return Core((*sorted([item, *others]),), minimal=False, confirmed=True)
    return None


def two_readers(problem: Problem, rows: RowsByKey, shown: Unreachable) -> Core | None:
    """The reader and another one that saw the row otherwise, where one transaction alone can have written it: it has
    one version, whatever that is. None where that is not so, or not confirmed. Raises OutOfTime."""
    writer = rows.only_writer(shown)
    other = None if writer is None else rows.saw_otherwise(problem, shown)
    if writer is None or other is None:
        return None
    with suppress(Unsupported):
        if RowsByKey(_decided_again(problem, shown.item, {writer})).only_writer(shown) == writer:
            return Core((other, shown.item), minimal=False, confirmed=True)
    return None


def _seen_among(problem: Problem, item: int, members: Collection[int]) -> list[int]:
    """Those of some that an item may have seen."""
    return [other for other in others_of(problem, item) if other in members]


def _decided_again(problem: Problem, item: int, members: Collection[int]) -> ReachableNumbers:
    """What rows may have been by what the members write alone, while all others wrote anything to the rows that they
    write. Without heuristics, as far as scans of all rows allow. Raises Unsupported and OutOfTime."""
    others = others_of(problem, item)
    scans = sum(map(len, problem.initial.values())) * len(others)
    off = Heuristics(index=scans > THOUSANDS, window=None, concretize=False, stronger_first=False)
    return ReachableNumbers(problem.with_heuristics(off), others, frozenset(others) - frozenset(members))


def _explains(problem: Problem, other: int, item: int) -> bool:
    """Whether some writes of another one alone explain the item, which may read all else as it was at first."""
    answer, _ = relax(problem, [other, item], {item})
    return answer is Answer.SATISFIABLE


def _first_of_each(shown: SeenNumbers, others: list[int]) -> list[int]:
    """One of all that may write the same rows: of unknown writes there is nothing else to tell."""
    found: dict[frozenset[str], int] = {}
    for other in others:
        rows = frozenset(row.address for row, writers in shown.numbers.writers.items() if other in writers)
        found.setdefault(rows, other)
    return list(found.values())
