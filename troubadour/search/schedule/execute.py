"""One transaction's statements run on a view and compared with what was observed (paper §3.3).

Does not know which states the view reads, nor whether the writes may be placed.
"""

from __future__ import annotations

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.records import dataclass
from sql_semantics.values.types import Value
from troubadour.execution.free.tagged import Key
from troubadour.execution.free.values import bindings, told_whatever_was_read
from troubadour.execution.observations.errors import explains_error
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.locked_rows import claims
from troubadour.execution.observations.observation import mismatch
from troubadour.execution.prepared import PreparedStatement, PreparedTransaction, UnsupportedStatement
from troubadour.execution.states.history import RowHistory, Version
from troubadour.execution.views.concrete import ConcreteView
from troubadour.problem.answer_cache import reads_only
from troubadour.problem.budget import STATEMENT
from troubadour.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a transaction has no place here: `condition` is one of observation, error, NWC, keys, time, order, reads,
    serial (the `circle` of items that it would close), unsupported, real-time (it must stand before or after
    `other`)."""

    item: int
    condition: str
    text: str
    statement: int | None = None
    rows: tuple[RowHistory, ...] = ()
    source: Version = None
    other: int | None = None
    circle: tuple[int, ...] = ()


def execute(
    item: int,
    prepared: PreparedTransaction,
    view: ConcreteView,
    problem: Problem,
    told: dict[Key, Value] | None = None,
) -> Failure | None:
    """Run all statements; the first that is not explained is the failure, and what its observation says of values that
    the DBMS chose goes into `told`.

    Raises UnsupportedStatement where the DBMS may choose whether an error is raised.
    """
    problem.budget.note(STATEMENT * len(prepared.statements))
    for statement in prepared.statements:
        view.enter_statement(statement.index)
        try:
            failure = _execute_one(item, statement, view, problem, told)
        except UnsupportedStatement:
            raise
        except Unsupported as error:
            raise UnsupportedStatement(error.construct, prepared.transaction.id, statement.index) from error
        if failure is not None:
            return failure
    return None


def _execute_one(
    item: int, statement: PreparedStatement, view: ConcreteView, problem: Problem, told: dict[Key, Value] | None
) -> Failure | None:
    index = statement.index
    match statement.judged.fate:
        case Fate.IMPOSSIBLE:
            return Failure(item, "error", statement.judged.text, index)
        case Fate.REFUSED | Fate.UNKNOWN:
            view.failed()
            return None
        case Fate.FAILED:
            library = problem.library
            text = explains_error(statement, view, library.catalog, library.dialect.name)
            view.failed()
            return None if text is None else Failure(item, "error", text, index)
    try:
        if statement.program is None:
            assert isinstance(statement.failure, SqlError)
            raise statement.failure
        if told is None and not view.chose and reads_only(statement.program):
            text = problem.answers.compare((item, index), view, lambda: _compare(statement, view, None))
        else:
            text = _compare(statement, view, told)
    except SqlError as error:
        if error.may:
            raise Unsupported(f"an error that depends on the order of evaluation ({error})") from error
        return Failure(item, "error", f"succeeded, but must fail with {error}", index)
    return None if text is None else Failure(item, "observation", text, index)


def _compare(statement: PreparedStatement, view: ConcreteView, told: dict[Key, Value] | None) -> str | None:
    """Run a statement; how its outcome differs from what was observed."""
    assert statement.program is not None
    outcome = statement.program.run(view, statement.arguments)
    text = mismatch(statement.observation, outcome)
    if text is not None and told is not None:
        told |= bindings(statement.program, statement.observation, outcome)
        return text
    if text is None:
        if view.drawn:
            view.tell(told_whatever_was_read(statement.program, statement.observation, outcome))
        if view.locks:
            view.claim(claims(statement.observation, outcome))
    return text
