"""RETURNING: what a write answers of each row that it wrote. Does not know how rows are written."""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.ir.queries import OutputColumn
from sql_semantics.ir.walks.traverse import columns_read
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.expressions import Arguments, EvaluateRow, Frame, Row, compile_row
from sql_semantics.run.queries.select import compile_output, output_types
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value

Result = Callable[[list[Row]], ResultSet[Value] | None]
Project = Callable[["Row | None", "Row | None", Arguments, Frame], Row]
"""f(old row or None, new row or None, args, frame) -> the row that RETURNING makes of it."""


def compile_returning(returning: tuple[OutputColumn, ...] | None, dialect: Dialect) -> tuple[EvaluateRow, Result]:
    """What RETURNING makes of one environment row, and the result set of all of them (None without RETURNING)."""
    if returning is None:
        return lambda row, args, frame: (), lambda rows: None
    project = compile_row([output.expression for output in returning], dialect)
    types = output_types([output.expression for output in returning], dialect)
    finish = compile_output(types, dialect)

    def result(rows: list[Row]) -> ResultSet[Value]:
        return ResultSet(types, rows if finish is None else [finish(row) for row in rows])

    return project, result


def compile_row_returning(
    returning: tuple[OutputColumn, ...] | None, width: int, dialect: Dialect
) -> tuple[Project, Result]:
    """As `compile_returning` for the rows of one table of `width` columns, which RETURNING sees with OLD and NEW."""
    evaluate, result = compile_returning(returning, dialect)
    if not reads_old_and_new(returning, width):

        def project(old: Row | None, new: Row | None, args: Arguments, frame: Frame) -> Row:
            row = new if new is not None else old
            assert row is not None
            return evaluate(row, args, frame)

        return project, result
    nulls: Row = (None,) * width

    def project_versions(old: Row | None, new: Row | None, args: Arguments, frame: Frame) -> Row:
        before, after = old if old is not None else nulls, new if new is not None else nulls
        return evaluate((after if new is not None else before) + before + after, args, frame)

    return project_versions, result


def reads_old_and_new(returning: tuple[OutputColumn, ...] | None, width: int) -> bool:
    """Whether a RETURNING clause names OLD or NEW."""
    return any(place >= width for output in returning or () for place in columns_read(output.expression))
