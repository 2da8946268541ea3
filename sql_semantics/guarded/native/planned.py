"""The errors that planning raises, on guarded runs. Does not know what the statement does.

What the planner folds, and when, is the concrete runtime's knowledge (`plan.folding`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution
from sql_semantics.guarded.lifting import Failure, is_failure
from sql_semantics.guarded.native.expressions import compile_scalar
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Update
from sql_semantics.run.expressions.folding import _closed, _expressions, plan_error
from sql_semantics.terms import FALSE, TRUE, Guard, conj, disj, items_of, neg
from sql_semantics.values.dialect import Dialect

T = TypeVar("T")


def planned(
    statement: Query | Insert | Update | Delete | JoinedWrite,
    run: Callable[[Execution], T],
    nothing: T,
    dialect: Dialect,
) -> Callable[[Execution], T]:
    """`run`, with what the planner raises among its errors; `nothing` is the answer where it raises certainly.

    Where planning for these parameter values might fail although no row does, the answer is not known: Unsupported.
    """
    certain = plan_error(statement, dialect)
    if certain is not None:
        failure = Failure(certain.sqlstate, certain.message, certain.may)

        def fail(execution: Execution) -> T:
            execution.fail(TRUE, failure)
            return nothing

        return fail
    closed = [part for expr in _expressions(statement) for part in _closed(expr)]
    if not dialect.rules.running.plans_raise or not closed:
        return run
    candidates = [compile_scalar(expr, dialect) for expr in closed]

    def checked(execution: Execution) -> T:
        failing: list[tuple[Guard, Failure]] = []
        for candidate in candidates:
            for case, leaf in items_of(candidate((), execution.arguments, execution.frame)):
                if is_failure(leaf) and conj(execution.path, case) is not FALSE:
                    failing.append((case, leaf))
        if not failing:
            return run(execution)
        known, execution.failures = execution.failures, {}
        result = run(execution)
        raised = disj(*(guard for guards in execution.failures.values() for guard in guards))
        for case, failure in failing:
            if conj(execution.path, case, neg(raised)) is not FALSE:
                state = failure.sqlstate
                raise Unsupported(f"an expression over parameters that fails with {state} but is not reached")
        for failure, guards in execution.failures.items():
            known.setdefault(failure, []).extend(guards)
        execution.failures = known
        return result

    return checked
