"""A statement together with the errors that planning it raises. Does not know what the statement does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Write
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import Arguments, Frame
from sql_semantics.run.expressions.folding import (
    compile_plan_check,
    doubtful_expressions,
    plan_error,
    spared_by_planning,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Acting, Mark, Row, RowId, View

T = TypeVar("T")


class _Discarding(DelegatingView):
    """A view whose writes go nowhere: to see how a statement would end."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.savepoints = []

    def begin(self, acting: Acting = "reads") -> None:
        """Nothing begins: the statement has begun already."""

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Discarded."""

    def delete(self, table: str, row: RowId) -> None:
        """Discarded."""

    def insert(self, table: str, values: Row) -> RowId:
        """Discarded."""
        return object()

    def savepoint(self) -> Mark:
        """Nothing to come back to."""

    def rollback(self, mark: Mark) -> None:
        """Nothing was kept."""


def planned(
    statement: Query | Write, run: Callable[[View, Arguments, Frame], T], dialect: Dialect
) -> Callable[[View, Arguments, Frame], T]:
    """`run`, preceded by what the planner raises.

    Where planning for these parameter values might fail although no row does, the answer is not known: Unsupported.
    """
    certain = plan_error(statement, dialect)
    if certain is not None:
        sqlstate, message = certain.sqlstate, certain.message

        def fail(view: View, args: Arguments, frame: Frame) -> T:
            raise SqlError(sqlstate, message)

        return fail
    doubtful = doubtful_expressions(statement, dialect)
    if doubtful:
        run = _doubted(run, doubtful, dialect)
    check = compile_plan_check(statement, dialect)
    if check is None:
        return run

    def checked(view: View, args: Arguments, frame: Frame) -> T:
        error = check(args, frame)
        if error is not None:
            run(_Discarding(view), args, frame)
            raise Unsupported(f"an expression over parameters that fails with {error.sqlstate} but is not reached")
        return run(view, args, frame)

    return checked


def _doubted(
    run: Callable[[View, Arguments, Frame], T], doubtful: Sequence[Expr], dialect: Dialect
) -> Callable[[View, Arguments, Frame], T]:
    """`run`, whose error need not come where planning for the variables' values leaves nothing that fails."""

    def doubted(view: View, args: Arguments, frame: Frame) -> T:
        try:
            return run(view, args, frame)
        except SqlError as error:
            if any(spared_by_planning(expr, frame, dialect) for expr in doubtful):
                raise SqlError(error.sqlstate, error.message, may=True, number=error.number) from error
            raise

    return doubted
