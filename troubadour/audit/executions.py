"""The verdict of a log all of whose executions were gone through: correct with the one that explains it, or a violation
where none does, which is decided a second time. Does not know how they are gone through.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from sql_semantics.errors import Unsupported
from troubadour.audit.told.verdicts import verdict_on
from troubadour.audit.violation import NOT_MINIMAL
from troubadour.audit.witness import witness_of
from troubadour.model.log import Statement, Transaction
from troubadour.model.verdict import CoreScope, Scope, Status, Verdict
from troubadour.problem.budget import FEWEST, THOROUGHLY, THOUSANDS, OutOfUnits
from troubadour.problem.problem import Heuristics, Problem
from troubadour.replay.checker import check
from troubadour.search.executions import Executions, applies, longest
from troubadour.search.found import Found
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.symbolic.cegar import Unresolved

_TOLD = "no execution that the times leave explains it after those before it"


def by_executions(problem: Problem, nodes: int) -> Verdict | None:
    """The verdict, with so many placements; None where the executions are too many, or not of a kind that is gone
    through. Raises OutOfTime."""
    if not applies(problem):
        return None
    try:
        with problem.budget.step("every execution") as tally, problem.budget.within(effort=THOROUGHLY):
            tried = longest(problem, nodes)
            explained = tried.verified == len(problem.judged)
            if problem.free.any_guess() is not None or problem.free.choices:
                return None
            tally.helped += 1
            return _correct(problem, tried) if explained else _violation(problem, tried, nodes)
    except (TooManyRuns, OutOfUnits, Unsupported, Unresolved):
        return None


def _correct(problem: Problem, tried: Executions) -> Verdict | None:
    witness = witness_of(problem, Found(tried.trace, tried.verified))
    ready = problem.preparations
    if check(problem.log, witness, problem.library, isolation=problem.isolation, prepare=ready) is not None:
        return None
    return verdict_on(problem, Status.CORRECT, tried.verified, witness=witness)


def _violation(problem: Problem, tried: Executions, nodes: int) -> Verdict | None:
    off = Heuristics(index=False, window=None, concretize=False, stronger_first=False)
    if Executions(problem.with_heuristics(off), tried.verified + 1, nodes).run():
        return None
    prefix = problem.judged[: tried.verified + 1]
    failing, failure = prefix[-1], tried.failure
    core, minimal = _core(problem, prefix, () if failure is None else failure.circle)
    name = problem.transaction(failing).id
    text = (
        f"{name!r}: {_TOLD}" if failure is None else f"{name!r}: {failure.text}, or else nothing explains its answers"
    )
    return verdict_on(
        problem,
        Status.VIOLATION,
        tried.verified,
        failing_transaction=name,
        core=tuple(problem.transaction(item).id for item in core),
        core_scope=CoreScope.EVERY_ORDER,
        scope=Scope.EVERY_ORDER,
        explanation=text,
        notes=() if minimal else (NOT_MINIMAL,),
    )


def _core(problem: Problem, prefix: Sequence[int], circle: Collection[int]) -> tuple[list[int], bool]:
    """The items of a prefix that contradict one another whatever the others answered, and whether each is needed."""
    everything = sorted({*prefix, *problem.unknown})
    items = {*circle, prefix[-1]}
    if not circle or not _contradicts(problem, prefix, items):
        return everything, False
    for item in sorted(items - {prefix[-1]}):
        if len(items) > 2 and _contradicts(problem, prefix, items - {item}):
            items.discard(item)
    minimal = len(items) <= FEWEST and not any(_contradicts(problem, prefix, items - {item}) for item in items)
    return sorted(items), minimal


def _contradicts(problem: Problem, prefix: Sequence[int], kept: Collection[int]) -> bool:
    """Whether no execution explains these, with the others of the prefix silent."""
    items = sorted({*prefix, *problem.unknown})
    log = problem.log.with_transactions(
        [t if item in kept else _silent(t) for item in items for t in (problem.transaction(item),)]
    )
    silenced = Problem(log, problem.library, problem.initial, isolation=problem.isolation, budget=problem.budget)
    try:
        return not Executions(silenced, len(silenced.judged), THOUSANDS).run()
    except (TooManyRuns, Unsupported):
        return False


def _silent(transaction: Transaction) -> Transaction:
    def silent(statement: Statement) -> Statement:
        if statement.error is not None:
            return statement
        # what wrote nothing may not write
        wrote_nothing = 0 if statement.affected == 0 else None
        return msgspec.structs.replace(statement, results=None, several=False, affected=wrote_nothing)

    return msgspec.structs.replace(transaction, statements=tuple(map(silent, transaction.statements)))
