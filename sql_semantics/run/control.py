"""Statements and procedures: CALL, SET, IF, SELECT INTO, and the door `compile_statement` (paper §3.1, Fig. 2).

Everything is compiled once into closures over (view, args, frame); a CALL runs its body in a new frame, and the
result sets of the SELECTs inside it are collected in order. Does not know guarded execution.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Inexact
from typing import TypeVar

from sql_semantics.errors import SqlError, SqlSemanticsError, Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    Delete,
    If,
    Insert,
    JoinedWrite,
    Procedure,
    Query,
    Release,
    RollbackTo,
    Savepoint,
    Select,
    SelectInto,
    Series,
    SetOperation,
    SetVariable,
    Statement,
    Truncate,
    Update,
    Values,
)
from sql_semantics.ir.statements import Write as WriteStatement
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.run.expressions import (
    Arguments,
    Frame,
    Row,
    compile_expression,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.frames import QueryFrame, with_queries
from sql_semantics.run.joined import compile_joined_write, compile_truncate
from sql_semantics.run.order import cut
from sql_semantics.run.planned import planned
from sql_semantics.run.queries import compile_query
from sql_semantics.run.savepoints import apply_savepoint
from sql_semantics.run.select import Execute
from sql_semantics.run.traverse import has_queries
from sql_semantics.run.write import (
    Write,
    compile_delete,
    compile_insert,
    compile_update,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View

T = TypeVar("T")
Results = list[ResultSet[Value]]
Step = Callable[[View, Arguments, Frame, Results], None]
Run = Callable[[View, Arguments], Outcome]

_NO_ARGUMENTS: tuple[Value, ...] = ()


def compile_statement(statement: Statement, catalog: Catalog, dialect: Dialect) -> Run:
    """f(view, args) -> Outcome, compiled once.

    Raises Unsupported and UnknownTable. The function raises SqlError where the DBMS would fail (nothing of the failed
    statement has been written then, except by the earlier statements of a CALL), and Unsupported where the answer
    hangs on something unknown (a collation, a choice among ties, more than 1500 digits).
    """
    match statement:
        case Select() | SetOperation() | Values() | Series():
            query = _planned_query(statement, dialect)

            def run_select(view: View, args: Arguments) -> Outcome:
                view.begin()
                try:
                    return Outcome([query(view, args, [])])
                except Inexact:
                    raise _too_many_digits() from None

            return run_select
        case Insert() | Update() | Delete() | JoinedWrite() | Truncate():
            write = _compile_write(statement, catalog, dialect)

            def run_write(view: View, args: Arguments) -> Outcome:
                view.begin()
                try:
                    affected, matched, result = write(view, args, [])
                except Inexact:
                    raise _too_many_digits() from None
                return Outcome([] if result is None else [result], affected, matched)

            return run_write
    step = _compile_step(statement, catalog, dialect, ())

    def run(view: View, args: Arguments) -> Outcome:
        results: Results = []
        try:
            step(view, args, [], results)
        except Inexact:
            raise _too_many_digits() from None
        return Outcome(results)

    return run


def _too_many_digits() -> SqlSemanticsError:
    return Unsupported("exact numbers of more than 1500 digits")


def _on_view(
    evaluate: Callable[[Row, Arguments, Frame], T], expression: object
) -> Callable[[View, Arguments, Frame], T]:
    """The evaluation of what stands outside any query; one with subqueries is a statement execution of its own."""
    if not has_queries(expression):
        return lambda view, args, frame: evaluate((), args, frame)

    def on_view(view: View, args: Arguments, frame: Frame) -> T:
        view.begin()
        return evaluate((), args, QueryFrame(view, frame))

    return on_view


def _planned_query(query: Query, dialect: Dialect) -> Execute:
    return with_queries(planned(query, compile_query(query, dialect), dialect), has_queries(query))


def _compile_write(statement: WriteStatement, catalog: Catalog, dialect: Dialect) -> Write:
    dialect = dialect.in_write("condition")
    match statement:
        case Insert():
            write = compile_insert(statement, catalog, dialect)
        case Update():
            write = compile_update(statement, catalog, dialect)
        case Delete():
            write = compile_delete(statement, catalog, dialect)
        case JoinedWrite():
            write = compile_joined_write(statement, catalog, dialect)
        case Truncate():
            return compile_truncate(statement, catalog, dialect)
    return with_queries(planned(statement, write, dialect), has_queries(statement))


def _compile_step(statement: Statement, catalog: Catalog, dialect: Dialect, calls: tuple[str, ...]) -> Step:
    """`calls`: the procedures whose bodies are being compiled, outermost first."""
    match statement:
        case Select() | SetOperation() | Values() | Series():
            query = _planned_query(statement, dialect)

            def select(view: View, args: Arguments, frame: Frame, results: Results) -> None:
                view.begin()
                results.append(query(view, args, frame))

            return select
        case SelectInto():
            return _compile_select_into(statement, dialect)
        case Insert() | Update() | Delete() | JoinedWrite() | Truncate():
            write = _compile_write(statement, catalog, dialect)

            def run_write(view: View, args: Arguments, frame: Frame, results: Results) -> None:
                view.begin()
                result = write(view, args, frame)[2]
                if result is not None:
                    results.append(result)

            return run_write
        case Call(procedure, arguments):
            return _compile_call(procedure, arguments, catalog, dialect, calls)
        case SetVariable(slot, expression):
            evaluate = _on_view(compile_expression(expression, dialect), expression)

            def assign(view: View, args: Arguments, frame: Frame, results: Results) -> None:
                frame[slot] = evaluate(view, args, frame)

            return assign
        case If():
            return _compile_if(statement, catalog, dialect, calls)
        case Savepoint() | RollbackTo() | Release():

            def savepoint(view: View, args: Arguments, frame: Frame, results: Results) -> None:
                apply_savepoint(statement, view.savepoints, dialect, view.savepoint, view.rollback)

            return savepoint
    raise Unsupported(f"statement {type(statement).__name__}")


def _compile_body(
    body: tuple[Statement, ...],
    catalog: Catalog,
    dialect: Dialect,
    calls: tuple[str, ...],
) -> tuple[Step, ...]:
    return tuple(_compile_step(statement, catalog, dialect, calls) for statement in body)


def _compile_select_into(statement: SelectInto, dialect: Dialect) -> Step:
    query = _planned_query(statement.query, dialect)
    slots = statement.slots

    def select_into(view: View, args: Arguments, frame: Frame, results: Results) -> None:
        view.begin()
        rows = cut(query(view, args, frame))
        if len(rows) > 1:
            raise SqlError("42000", "SELECT INTO returned more than one row")
        for row in rows:
            for slot, value in zip(slots, row, strict=True):
                frame[slot] = value

    return select_into


def _compile_if(statement: If, catalog: Catalog, dialect: Dialect, calls: tuple[str, ...]) -> Step:
    branches = tuple(
        (
            _on_view(compile_predicate(condition, dialect), condition),
            _compile_body(body, catalog, dialect, calls),
        )
        for condition, body in statement.branches
    )
    otherwise = _compile_body(statement.otherwise, catalog, dialect, calls)

    def run(view: View, args: Arguments, frame: Frame, results: Results) -> None:
        chosen = otherwise
        for condition, body in branches:
            if condition(view, args, frame):
                chosen = body
                break
        for step in chosen:
            step(view, args, frame, results)

    return run


def _compile_call(
    name: str,
    arguments: tuple[Expr, ...],
    catalog: Catalog,
    dialect: Dialect,
    calls: tuple[str, ...],
) -> Step:
    procedure: Procedure | None = catalog.procedures.get(name)
    if procedure is None:
        raise Unsupported(f"call of the unknown procedure {name!r}")
    if name in calls:
        raise Unsupported(f"the recursive procedure {name!r}")
    if len(arguments) != len(procedure.parameters):
        raise Unsupported(f"call of {name!r} with {len(arguments)} arguments")
    evaluate = _on_view(compile_row(arguments, dialect), arguments)
    body = _compile_body(procedure.body, catalog, dialect, (*calls, name))
    locals_ = [None] * (len(procedure.frame_types) - len(procedure.parameters))

    def call(view: View, args: Arguments, frame: Frame, results: Results) -> None:
        inner: Frame = [*evaluate(view, args, frame), *locals_]
        for step in body:
            step(view, _NO_ARGUMENTS, inner, results)

    return call
