"""A verdict's fields, filled in from what was to be decided. Does not know how anything was decided."""

from __future__ import annotations

from typing import Any

from sql_semantics.errors import Unsupported
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.model.verdict import StatementRef, Status, Verdict
from troubadour.problem.budget import OutOfUnits
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.schedule.execute import Failure
from troubadour.search.symbolic.cegar import Unresolved


def verdict_on(problem: Problem, status: Status, verified: int, **fields: Any) -> Verdict:
    """A verdict on a log, of whose judged transactions the first `verified` are explained."""
    log = problem.log
    names = sorted({level.name for level in problem.levels})
    return Verdict(
        status=status,
        isolation=problem.isolation or ", ".join(names) or log.header.isolation or "",
        total=len(log.transactions),
        committed=log.committed,
        aborted=log.aborted,
        unknown=log.unknown,
        verified_prefix=problem.committed_among(verified),
        max_staleness=problem.max_staleness,
        **fields,
    )


def undecided(problem: Problem, verified: int, why: BaseException, mended: Failure | None = None) -> Verdict:
    """Undecided, because of what stopped the search or a proof. `mended`: what the search stood at."""
    statement = None
    match why:
        case UnsupportedStatement():
            reason = f"not modelled: {why.construct}"
            statement = StatementRef(why.transaction, why.index)
        case Unsupported():
            reason = f"not modelled: {why.construct}"
        case OutOfUnits():
            reason = "a step took all the effort that it may take"
        case OutOfTime():
            reason = "the time limit was reached"
            if mended is not None:
                reason += f" at transaction {problem.transaction(mended.item).id!r}: {mended.text}"
        case Unresolved():
            reason = why.reason
        case _:
            raise why
    return verdict_on(problem, Status.UNDECIDED, verified, reason=reason, statement=statement)
