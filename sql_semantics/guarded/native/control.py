"""Statements and procedures on guarded rows, and the door `compile_guarded` (paper Fig. 2).

Predicated execution: an IF runs every branch that its path condition allows, under that condition, and a variable
set in a branch keeps its old value elsewhere. Does not know which paths are possible beyond what guards fold to.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Inexact
from enum import Enum
from functools import cache

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.guarded.execution import Execution
from sql_semantics.guarded.lifting import Failure, too_many
from sql_semantics.guarded.native.expressions import Arguments, compile_scalar, compile_test
from sql_semantics.guarded.native.joined import compile_joined_write
from sql_semantics.guarded.native.planned import planned
from sql_semantics.guarded.native.select import NOTHING_SELECTED, compile_query, feed, result_set
from sql_semantics.guarded.native.write import NOTHING_WRITTEN, compile_write
from sql_semantics.guarded.paths.forking import assign, compile_forked, compile_forked_step
from sql_semantics.ir.definitions import Definition
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.listed import in_full
from sql_semantics.ir.programs import Perform
from sql_semantics.ir.queries import Query as IrQuery
from sql_semantics.ir.queries import Select, Series, SetOperation, Unnest, Values
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    Delete,
    If,
    Insert,
    JoinedWrite,
    NoEffect,
    Release,
    RollbackTo,
    Savepoint,
    SelectInto,
    SetVariable,
    Statement,
    Update,
)
from sql_semantics.ir.statements import Write as IrWrite
from sql_semantics.ir.walks.effects import triggers_of, writes_itself
from sql_semantics.ir.walks.traverse import has_free
from sql_semantics.outcome import GuardedOutcome
from sql_semantics.run.queries.existence import needed
from sql_semantics.run.routines.savepoints import apply_savepoint
from sql_semantics.terms import FALSE, TRUE, CaseBound, Guard, Scalar, TermLeaf, choose, conj, disj, neg
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import GuardedView

Run = Callable[[GuardedView, Arguments, Guard], GuardedOutcome]
Step = Callable[[Execution], tuple[Scalar, Scalar]]
"""Runs on an execution, answers (affected, matched)."""

_TOO_MANY_ROWS = Failure("42000", "SELECT INTO returned more than one row", False)
_NONE: tuple[Scalar, Scalar] = (None, None)


class Mode(Enum):
    """Which statements are run by paths (`forking`): those that have no native rule, or, to check one by the other,
    every statement of a procedure, or everything."""

    NATIVE = "native"
    STEPS_FORKED = "steps forked"
    FORKED = "forked"


def compile_guarded(statement: Statement, catalog: Catalog, dialect: Dialect, *, mode: Mode = Mode.NATIVE) -> Run:
    """f(view, args, path) -> GuardedOutcome, compiled once.

    The function calls `view.begin` once per SQL statement reached on a path that is not FALSE, and never raises
    SqlError: errors stand in the outcome under their guards. Guards in the outcome and those handed to the view
    contain the path. Raises Unsupported and UnknownTable; the function raises Unsupported where the answer needs
    what is not modelled of an unknown value, or too many cases.
    """
    if isinstance(statement, Insert):
        statement = in_full(statement)
    forked = cache(lambda: compile_forked(statement, catalog, dialect))
    stores_anything = dialect.lax and writes_itself(statement)
    if stores_anything or mode is Mode.FORKED or isinstance(statement, Definition) or needed(statement, catalog):
        return forked()
    try:
        native = _compile_native(statement, catalog, dialect, mode)
    except Unsupported:
        return forked()

    def run(view: GuardedView, args: Arguments, path: Guard) -> GuardedOutcome:
        mark = view.checkpoint()
        try:
            return native(view, args, path)
        except Unsupported as refused:
            view.abandon(mark)
            try:
                return forked()(view, args, path)
            except Unsupported:
                # it names the operation, not only the statement
                raise refused from None

    return run


def _compile_native(statement: Statement, catalog: Catalog, dialect: Dialect, mode: Mode) -> Run:
    step = _compile_step(statement, catalog, dialect, mode, ())

    def run(view: GuardedView, args: Arguments, path: Guard) -> GuardedOutcome:
        execution = Execution(view, args, path, path=path)
        if path is FALSE:
            return GuardedOutcome([], None, None, [])
        try:
            affected, matched = step(execution)
        except Inexact:
            raise Unsupported("exact numbers of more than 1500 digits") from None
        except CaseBound as error:
            raise too_many("a statement") from error
        except TermLeaf as error:
            raise Unsupported(f"an operation on an unknown value ({error})") from error
        return GuardedOutcome(execution.results, affected, matched, execution.errors())

    return run


def _compile_step(statement: Statement, catalog: Catalog, dialect: Dialect, mode: Mode, calls: tuple[str, ...]) -> Step:
    """`calls`: the procedures whose bodies are being compiled, outermost first."""
    inner = bool(calls) and isinstance(statement, IrQuery | SelectInto | IrWrite)
    if inner and mode is Mode.STEPS_FORKED:
        return compile_forked_step(statement, catalog, dialect)
    try:
        return _compile_native_step(statement, catalog, dialect, mode, calls)
    except Unsupported:
        if inner:
            return compile_forked_step(statement, catalog, dialect)
        raise


def _compile_native_step(
    statement: Statement, catalog: Catalog, dialect: Dialect, mode: Mode, calls: tuple[str, ...]
) -> Step:
    chosen = tuple(condition for condition, _ in statement.branches) if isinstance(statement, If) else statement
    if has_free(chosen):
        raise Unsupported("a value that the DBMS chooses")
    if triggers_of(statement, catalog):
        raise Unsupported("a trigger on symbolic rows")
    match statement:
        case Select() | SetOperation() | Values() | Series() | Unnest():
            query = planned(statement, compile_query(statement, dialect, answered=True), NOTHING_SELECTED, dialect)

            def select(execution: Execution) -> tuple[Scalar, Scalar]:
                execution.begin()
                execution.results.append(result_set(execution, query(execution)))
                return _NONE

            return select
        case SelectInto():
            return _compile_select_into(statement, dialect)
        case Perform(statement=written, slots=(), found=None, count=None) if _answers_nothing(written):
            # what is done with its answer is nothing
            return _compile_native_step(written, catalog, dialect, mode, calls)
        case Insert() | Update() | Delete():
            write = planned(statement, compile_write(statement, catalog, dialect), NOTHING_WRITTEN, dialect)

            def run_write(execution: Execution) -> tuple[Scalar, Scalar]:
                execution.begin()
                affected, matched, result = write(execution)
                if result is not None:
                    execution.results.append(result)
                return affected, matched

            return run_write
        case JoinedWrite():
            joined = planned(statement, compile_joined_write(statement, catalog, dialect), NOTHING_WRITTEN, dialect)

            def run_joined(execution: Execution) -> tuple[Scalar, Scalar]:
                execution.begin()
                affected, matched, _ = joined(execution)
                return affected, matched

            return run_joined
        case Call(procedure, arguments):
            return _compile_call(procedure, arguments, catalog, dialect, mode, calls)
        case SetVariable(slot, expression):
            evaluate = compile_scalar(expression, dialect.in_write("value"))

            def set_variable(execution: Execution) -> tuple[Scalar, Scalar]:
                value = execution.settle(TRUE, evaluate((), execution.arguments, execution.frame))
                assign(execution, slot, value)
                return _NONE

            return set_variable
        case If():
            return _compile_if(statement, catalog, dialect, mode, calls)
        case Savepoint() | RollbackTo() | Release():
            return _compile_savepoint(statement, dialect)
        case NoEffect():
            return lambda execution: _NONE
    raise Unsupported(f"statement {type(statement).__name__}")


def _compile_savepoint(statement: Savepoint | RollbackTo | Release, dialect: Dialect) -> Step:
    def savepoint(execution: Execution) -> tuple[Scalar, Scalar]:
        if execution.path is not TRUE:
            raise Unsupported("a savepoint on a path that depends on symbolic values")
        view = execution.view
        try:
            apply_savepoint(statement, view.savepoints, dialect, view.savepoint, lambda mark: view.rollback(mark, TRUE))
        except SqlError as error:
            execution.fail(TRUE, Failure(error.sqlstate, error.message, error.may))
        return _NONE

    return savepoint


def _compile_body(
    body: tuple[Statement, ...], catalog: Catalog, dialect: Dialect, mode: Mode, calls: tuple[str, ...]
) -> tuple[Step, ...]:
    return tuple(_compile_step(statement, catalog, dialect, mode, calls) for statement in body)


def _compile_select_into(statement: SelectInto, dialect: Dialect) -> Step:
    query = planned(statement.query, compile_query(statement.query, dialect), NOTHING_SELECTED, dialect)

    def select_into(execution: Execution) -> tuple[Scalar, Scalar]:
        execution.begin()
        rows = feed(execution, query(execution))
        some = FALSE
        for guard, _ in rows:
            execution.fail(conj(some, guard), _TOO_MANY_ROWS)
            some = disj(some, guard)
        for position, slot in enumerate(statement.slots):
            items: list[tuple[Guard, Scalar]] = [(guard, row[position]) for guard, row in rows]
            items.append((neg(some), execution.frame[slot]))
            assign(execution, slot, choose(items))
        return _NONE

    return select_into


def _compile_if(statement: If, catalog: Catalog, dialect: Dialect, mode: Mode, calls: tuple[str, ...]) -> Step:
    branches = tuple(
        (compile_test(condition, dialect), _compile_body(body, catalog, dialect, mode, calls))
        for condition, body in statement.branches
    )
    otherwise = _compile_body(statement.otherwise, catalog, dialect, mode, calls)

    def run(execution: Execution) -> tuple[Scalar, Scalar]:
        local, path = execution.local, execution.path
        remaining = TRUE
        for condition, body in branches:
            tested = condition((), execution.arguments, execution.frame)
            taken = execution.holds(remaining, tested)
            _branch(execution, taken, body)
            remaining = conj(remaining, neg(tested.true))
            if conj(path, remaining) is FALSE:
                break
        else:
            _branch(execution, remaining, otherwise)
        execution.local, execution.path = local, path
        return _NONE

    return run


def _branch(execution: Execution, taken: Guard, body: tuple[Step, ...]) -> None:
    """Run a branch's statements where it is taken, if it can be."""
    local, path = execution.local, execution.path
    execution.path = conj(path, taken)
    if execution.path is not FALSE:
        execution.local = local if execution.path is path else conj(local, taken)
        for step in body:
            step(execution)
    execution.local, execution.path = local, path


def _compile_call(
    name: str, arguments: tuple[Expr, ...], catalog: Catalog, dialect: Dialect, mode: Mode, calls: tuple[str, ...]
) -> Step:
    procedure = catalog.procedures.get(name)
    if procedure is None:
        raise Unsupported(f"call of the unknown procedure {name!r}")
    if name in calls:
        raise Unsupported(f"the recursive procedure {name!r}")
    if procedure.answers or procedure.invocation is not None:
        raise Unsupported(f"OUT parameters or function calls of {name!r} on symbolic rows")
    if len(arguments) != len(procedure.parameters):
        raise Unsupported(f"call of {name!r} with {len(arguments)} arguments")
    evaluate = [compile_scalar(argument, dialect) for argument in arguments]
    body = _compile_body(procedure.body, catalog, dialect.in_routine(), mode, (*calls, name))
    locals_: list[Scalar] = [None] * (len(procedure.frame_types) - len(procedure.parameters))

    def call(execution: Execution) -> tuple[Scalar, Scalar]:
        given = [argument((), execution.arguments, execution.frame) for argument in evaluate]
        values, _ = execution.settled(TRUE, given)
        frame = [*execution.narrowed(TRUE, values), *locals_]
        inner = Execution(
            execution.view,
            (),
            execution.path,
            frame,
            path=execution.path,
            results=execution.results,
            failures=execution.failures,
        )
        for step in body:
            step(inner)
        return _NONE

    return call


def _answers_nothing(statement: Statement) -> bool:
    return isinstance(statement, Insert | Update | Delete) and statement.returning is None
