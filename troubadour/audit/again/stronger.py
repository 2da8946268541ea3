"""What a stronger level explains, a weaker one allows (paper §7 H4): tried where the weaker one is undecided.

A level that leaves more readings open can be the harder one to decide. The witness found at a stronger level is judged
by replay at the level that was asked for, so nothing rests on the table of levels alone. Only where all transactions
have one level and no order is bound. Does not know why the weaker level was undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from sql_semantics.errors import Unsupported
from troubadour.audit.told.verdicts import verdict_on
from troubadour.audit.witness import witness_of
from troubadour.isolation.levels import LEVELS, Level, Scope, implied_by
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.budget import BRIEFLY, EACH
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.replay.checker import check
from troubadour.search.found import Found
from troubadour.search.scheduler import Search

STRONGER = ("snapshot", "strict-snapshot", "serializable")
"""Levels whose explanations are looked for, those that allow most first."""

Remake = Callable[[str], Problem]
"""The same log as a problem at another level."""


def explained_by_stronger(problem: Problem, remake: Remake) -> Verdict | None:
    """Correct, with a witness that replay accepts at the level asked for; None where no stronger level gives one."""
    level = problem.levels[0] if problem.levels else None
    if level is None or not _applies(problem, level):
        return None
    for name in _stronger_than(level):
        try:
            other = remake(name)
            with other.budget.within(effort=_effort(problem, level)):
                found = Search(other).run()
            verdict = _judged(problem, other, found)
        except (Unsupported, OutOfTime):
            continue
        if verdict is not None:
            return verdict
    return None


def _effort(problem: Problem, level: Level) -> float | None:
    """How much of a stronger level's search is tried; None: all of it."""
    return None if level.scope is Scope.ROW else BRIEFLY + EACH * len(problem.judged)


def _applies(problem: Problem, level: Level) -> bool:
    return (
        level.scope is not Scope.STATEMENT
        and not level.dirty
        and all(other is level for other in problem.levels)
        and not problem.order_exact
        and not problem.order_recorded
        and not problem.discovery.unknown
    )


def _stronger_than(level: Level) -> Iterator[str]:
    for name in STRONGER:
        if level.name in implied_by(name) and LEVELS[name] is not level:
            yield name


def _judged(problem: Problem, other: Problem, found: Found) -> Verdict | None:
    if found.failure is not None or found.stopped is not None:
        return None
    witness = msgspec.structs.replace(witness_of(other, found), isolation=problem.isolation)
    ready = problem.preparations
    if check(problem.log, witness, problem.library, isolation=problem.isolation, prepare=ready) is not None:
        return None
    return verdict_on(problem, Status.CORRECT, found.verified, witness=witness)
