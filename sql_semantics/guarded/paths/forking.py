"""The generic symbolic run: the concrete program along every path of its decisions.

For every statement that the native guarded compiler has no rule for. The concrete program runs on a view that decides
which rows exist and what their values are as it looks at them; outcomes and writes of all paths are merged again under
their conditions. Beyond a bound on paths, or where a value without cases would have to be looked into, the answer is
Unsupported. Does not know what the statement means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Inexact
from typing import cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.guarded.execution import Execution
from sql_semantics.guarded.lifting import Failure
from sql_semantics.guarded.native.expressions import Arguments
from sql_semantics.guarded.paths.deciding import DecidingView
from sql_semantics.guarded.paths.merging import End, errors, failed, outcome, results, write
from sql_semantics.guarded.paths.opaque import LazyFrame, cells, plain, scalars_of
from sql_semantics.guarded.paths.running import Explorer
from sql_semantics.ir.queries import SetOperation
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    Delete,
    Insert,
    JoinedWrite,
    Merge,
    SelectInto,
    Statement,
    Together,
    Update,
)
from sql_semantics.outcome import GuardedOutcome, Outcome, ResultSet
from sql_semantics.run.routines.control import compile_statement
from sql_semantics.run.routines.program import compile_step
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, ite
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import GuardedView

Run = Callable[[GuardedView, Arguments, Guard], GuardedOutcome]


def compile_forked(statement: Statement, catalog: Catalog, dialect: Dialect) -> Run:
    """f(view, args, path) -> GuardedOutcome, as `compile_guarded` promises; all of the statement is run by paths."""
    run = compile_statement(statement, catalog, dialect)
    what = name_of(statement)

    def forked(view: GuardedView, args: Arguments, path: Guard) -> GuardedOutcome:
        if path is FALSE:
            return GuardedOutcome([], None, None, [])
        explorer = Explorer(path, what)
        deciding = DecidingView(view, explorer)

        def program() -> End:
            deciding.restart()
            try:
                return _end(deciding, run(deciding, args))
            except SqlError as error:
                return End(deciding.written(), error)

        paths = explorer.explore(program)
        write(paths, view)
        return outcome(paths)

    return forked


def compile_forked_step(
    statement: Statement, catalog: Catalog, dialect: Dialect
) -> Callable[[Execution], tuple[Scalar, Scalar]]:
    """One statement of a procedure's body by paths, the rest of the body being run natively."""
    run = compile_step(statement, catalog, dialect)
    what = name_of(statement)

    def step(execution: Execution) -> tuple[Scalar, Scalar]:
        explorer = Explorer(execution.path, what)
        deciding = DecidingView(execution.view, explorer)

        def program() -> End:
            deciding.restart()
            frame = LazyFrame(cells(explorer, execution.frame, "variables"))
            given: list[ResultSet[Value]] = []
            try:
                run(deciding, frame, given)
            except Inexact:
                raise Unsupported("exact numbers of more than 1500 digits") from None
            except SqlError as error:
                return End(deciding.written(), error)
            if deciding.begun > 1:
                raise Unsupported(f"several executions in one {what} of a procedure")
            end = _end(deciding, Outcome(given))
            end.frame = scalars_of(frame)
            return end

        paths = explorer.explore(program)
        write(paths, execution.view)
        execution.results.extend(results(paths))
        for guard, error in errors(paths):
            execution.failures.setdefault(Failure(error.sqlstate, error.message, error.may), []).append(guard)
        failing = failed(paths)
        sound = [(path, end.frame) for path, end in enumerate(paths.ends) if path not in failing]
        for slot, before in enumerate(execution.frame):
            if any(frame[slot] is not before for _, frame in sound):
                assign(execution, slot, paths.choose([(path, frame[slot]) for path, frame in sound]))
        return None, None

    return step


def assign(execution: Execution, slot: int, value: Scalar) -> None:
    """A variable takes the value on this path and keeps its own elsewhere."""
    (narrowed,) = execution.narrowed(TRUE, (value,))
    execution.frame[slot] = ite(execution.local, narrowed, execution.frame[slot])


def _end(view: DecidingView, given: Outcome) -> End:
    return End(view.written(), None, [_result(result) for result in given.results], given.affected, given.matched)


def _result(result: ResultSet[Value]) -> ResultSet[Scalar]:
    keys = None if result.keys is None else [tuple(plain(value) for value in key) for key in result.keys]
    rows = [scalars_of(row) for row in result.rows]
    return replace(cast("ResultSet[Scalar]", result), rows=rows, keys=keys)


def name_of(statement: Statement) -> str:
    """What refusals call a statement."""
    match statement:
        case Insert(table) | Update(table) | Delete(table):
            return f"{type(statement).__name__.upper()} {table}"
        case Merge(table):
            return f"MERGE INTO {table}"
        case JoinedWrite():
            return f"{'DELETE' if statement.deletes else 'UPDATE'} with a join"
        case Together():
            return "WITH items that change data"
        case Call(procedure):
            return f"CALL {procedure}"
        case SelectInto():
            return "SELECT INTO"
        case SetOperation(op):
            return op.upper()
    return type(statement).__name__.upper()
