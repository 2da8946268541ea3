"""The rows of VALUES as functions (paper §5.4): those of a long list are computed by one function for each form.

Does not know where the rows go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Inexact

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Const, Expr, Param
from sql_semantics.ir.listed import Listed, in_full
from sql_semantics.ir.statements import Insert
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import walk
from sql_semantics.run.expressions.expressions import EvaluateRow, Row, compile_expression, compile_row
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value


def converted(statement: Insert, dialect: Dialect) -> Insert:
    """The statement with the literals of its list as they are stored; with all its rows one by one if the conversion
    of one fails, since what the DBMS answers then hangs on which it is."""
    listed = statement.listed
    if listed is None:
        return statement
    try:
        return replace(statement, listed=_with_stored_literals(listed, dialect.in_write("value")))
    except (SqlError, Unsupported, Inexact):
        return in_full(statement)


def _with_stored_literals(listed: Listed, dialect: Dialect) -> Listed:
    width = len(listed.literals[0])
    if not width:
        return listed
    columns: list[list[Value]] = [list(column) for column in zip(*listed.literals, strict=True)]
    forms: list[tuple[Expr, ...]] = []
    for number, form in enumerate(listed.forms):
        alone = len(listed.forms) == 1
        rows = range(len(listed)) if alone else [r for r, other in enumerate(listed.which) if other == number]
        forms.append(tuple(_stored(expr, rows, columns, dialect) for expr in form))
    return Listed(forms, listed.which, list(zip(*columns, strict=True)), listed.keys)


def _stored(expr: Expr, rows: Sequence[int], columns: Sequence[list[Value]], dialect: Dialect) -> Expr:
    """What a row stores where it stores something made of a literal: the value itself, put in the literal's place."""
    cells = {part.key for part in walk(expr) if isinstance(part, Param)}
    cell = next(iter(cells), None)
    if len(cells) != 1 or not isinstance(cell, int) or cell >= len(columns):
        return expr
    if isinstance(expr, Param) and not expr.type.padded:
        return expr
    column = columns[cell]
    evaluate = compile_expression(_at_first(expr), dialect)
    for row in rows:
        column[row] = evaluate((), (column[row],), [])
    return Param(cell, replace(expr.type, padded=False))  # what of its blanks is not stored is gone


def _at_first(expr: Expr) -> Expr:
    return Param(0, expr.type) if isinstance(expr, Param) else rebuild(expr, _at_first)


def compile_values(statement: Insert, dialect: Dialect) -> list[EvaluateRow]:
    """f(row, args, frame) -> what is to be stored, for each row of VALUES."""
    dialect = dialect.in_write("value")
    listed = statement.listed
    if listed is None:
        return [compile_row(row, dialect) for row in statement.rows]
    forms = [compile_row(form, dialect) for form in listed.forms]
    alike = not listed.keys[0] and all(isinstance(expr, Const | Param) for form in listed.forms for expr in form)
    if alike:
        rows = zip(listed.which, listed.literals, strict=True)
        return [_fixed(forms[form]((), literals, [])) for form, literals in rows]
    return [_given(forms[form], listed, number) for number, form in enumerate(listed.which)]


def _fixed(values: Row) -> EvaluateRow:
    return lambda row, args, frame: values


def _given(evaluate: EvaluateRow, listed: Listed, number: int) -> EvaluateRow:
    return lambda row, args, frame: evaluate((), listed.cells(number, args), frame)
