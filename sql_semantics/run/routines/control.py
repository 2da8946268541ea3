"""The door `compile_statement`: SQL statements, CALL, savepoints (paper §3.1, Fig. 2).

Does not know guarded execution, nor what happens inside a routine.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Inexact

from sql_semantics.errors import SqlError, SqlSemanticsError, Unsupported
from sql_semantics.ir.definitions import ChangeTables, CreateTable, Definition
from sql_semantics.ir.queries import Query
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, NoEffect, Release, RollbackTo, Savepoint, Statement, Together, Write
from sql_semantics.ir.walks.effects import NOT_STRICT, acting_of, routine_writes, routines_in, writes_itself, writing_of
from sql_semantics.ir.walks.traverse import has_queries
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.plan.freedom import avoidable_errors
from sql_semantics.run.expressions.expressions import Arguments, compile_expression, compile_row
from sql_semantics.run.expressions.frames import with_queries
from sql_semantics.run.queries.existence import Check, compile_check, compile_definition, compile_moves
from sql_semantics.run.routines.routines import Invocation, caller, compile_rows, compile_writing, handle
from sql_semantics.run.routines.savepoints import apply_savepoint
from sql_semantics.run.writes.together import compile_together
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View

Run = Callable[[View, Arguments], Outcome]


def compile_statement(statement: Statement, catalog: Catalog, dialect: Dialect, *, rounds: bool = False) -> Run:
    """f(view, args) -> Outcome, compiled once. `rounds`: values that it shows may be `Rounded`.

    Raises Unsupported and UnknownTable. The function raises SqlError where the DBMS would fail (nothing of the failed
    statement has been written then, except by the earlier statements of a CALL), and Unsupported where the answer
    hangs on something unknown (a collation, a choice among ties, more than 1500 digits).
    """
    run = _compile(statement, catalog, dialect, rounds)
    stores_anything = dialect.lax and writes_itself(statement)
    if any(map(routine_writes, routines_in(statement))) and not isinstance(statement, Call):
        run = _undone(run)

    def checked(view: View, args: Arguments) -> Outcome:
        try:
            return run(view, args)
        except Inexact:
            raise _too_many_digits() from None
        except SqlError as error:
            if stores_anything:
                raise Unsupported(NOT_STRICT) from error
            if not error.may and error.sqlstate in avoidable_errors(statement, catalog):
                # What fails here stands where the DBMS need not go: in a derived table, beside an AND, ...
                raise SqlError(error.sqlstate, error.message, may=True) from None
            raise

    return checked


def _compile_change(statement: ChangeTables, catalog: Catalog, dialect: Dialect) -> Run:
    """Each definition of a table is a table of its own: the rows move. In PostgreSQL a reference that is new is
    checked; SQLite checks none."""
    if not dialect.rules.running.changes_check_references:
        catalog = catalog.without_references()
    moves = [
        (move.source, None if move.filling is None else compile_writing(move.filling, catalog, dialect))
        for move in statement.moves
    ]

    holds = compile_moves(statement, catalog, dialect)

    def change(view: View, args: Arguments) -> Outcome:
        view.begin("acts")
        holds(view)
        for source, fill in moves:
            if fill is not None:
                fill(view, args, [])
            if source is not None:
                for identity, _ in list(view.rivals(source, (), ())):
                    view.delete(source, identity)
        return Outcome([])

    return change


def _too_many_digits() -> SqlSemanticsError:
    return Unsupported("exact numbers of more than 1500 digits")


def _compile(statement: Statement, catalog: Catalog, dialect: Dialect, rounds: bool) -> Run:
    if isinstance(statement, ChangeTables):
        return _compile_change(statement, catalog, dialect)
    if isinstance(statement, Definition):
        filling = statement.filling if isinstance(statement, CreateTable) else None
        fill = None if filling is None else compile_writing(filling, catalog, dialect)
        return compile_definition(statement, catalog, dialect, fill)
    check = compile_check(statement, catalog, dialect)
    if check is not None:
        return _compile_checked(statement, check, catalog, dialect)
    if isinstance(statement, Query):
        query = compile_rows(statement, dialect, rounds=rounds)

        acting = acting_of(statement)

        def run_query(view: View, args: Arguments) -> Outcome:
            view.begin(acting)
            return Outcome([query(view, args, [])])

        return run_query
    if isinstance(statement, Write):
        write = compile_writing(statement, catalog, dialect)
        acting = writing_of(statement)

        def run_write(view: View, args: Arguments) -> Outcome:
            view.begin(acting)
            affected, matched, result = write(view, args, [])
            return Outcome([] if result is None else [result], affected, matched)

        return run_write
    if isinstance(statement, Together):
        return _compile_whole(statement, lambda view: view, catalog, dialect)
    if isinstance(statement, Call):
        return _compile_call(statement, catalog, dialect)
    if isinstance(statement, Savepoint | RollbackTo | Release):
        moved = statement

        def savepoint(view: View, args: Arguments) -> Outcome:
            apply_savepoint(moved, view.savepoints, dialect, view.savepoint, view.rollback)
            return Outcome([])

        return savepoint
    if isinstance(statement, NoEffect):
        checks = [compile_expression(check, dialect) for check in statement.checks]

        def do_nothing(view: View, args: Arguments) -> Outcome:
            for check in checks:
                check((), args, [])
            return Outcome([])

        return do_nothing
    raise Unsupported(f"statement {type(statement).__name__}")


def _compile_checked(statement: Statement, check: Check, catalog: Catalog, dialect: Dialect) -> Run:
    """A statement whose tables need not exist."""
    if isinstance(statement, Query):
        query = compile_rows(statement, dialect)

        acting = acting_of(statement)

        def run_query(view: View, args: Arguments) -> Outcome:
            view.begin(acting)
            return Outcome([query(check(view), args, [])])

        return run_query
    if isinstance(statement, Write):
        write = compile_writing(statement, catalog, dialect)
        acting = writing_of(statement)

        def run_write(view: View, args: Arguments) -> Outcome:
            view.begin(acting)
            affected, matched, result = write(check(view), args, [])
            return Outcome([] if result is None else [result], affected, matched)

        return run_write
    if isinstance(statement, Together):
        return _compile_whole(statement, check, catalog, dialect)
    raise Unsupported("a CALL with a query of a table which transactions create or drop")


def _compile_whole(statement: Together, check: Check, catalog: Catalog, dialect: Dialect) -> Run:
    run = compile_together(statement, catalog, dialect)

    def run_together(view: View, args: Arguments) -> Outcome:
        view.begin("acts")
        return run(check(view), args, [])

    return run_together


def _compile_call(statement: Call, catalog: Catalog, dialect: Dialect) -> Run:
    routine = handle(statement.procedure, catalog)
    row = compile_row(statement.arguments, dialect)
    reads = has_queries(statement.arguments)
    evaluate = with_queries(lambda view, args, frame: row((), args, frame), reads)
    call = caller(routine, dialect)
    types = tuple(parameter.type for parameter in routine.signature.answered)
    begins, optional = dialect.rules.running.expressions_begin, dialect.rules.running.optional_answers

    def run(view: View, args: Arguments) -> Outcome:
        results: list[ResultSet[Value]] = []
        if reads:
            view.begin(begins)
        answers = call(view, evaluate(view, args, []), Invocation(results), False)
        if types:
            results.append(ResultSet(types, [answers], optional=optional))
        return Outcome(results)

    return run


def _undone(run: Run) -> Run:
    """A failed statement leaves nothing behind, whatever its functions wrote."""

    def undone(view: View, args: Arguments) -> Outcome:
        mark = view.savepoint()
        try:
            return run(view, args)
        except SqlError:
            view.rollback(mark)
            raise

    return undone
