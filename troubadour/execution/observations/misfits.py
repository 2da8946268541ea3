"""Observations that no DBMS gives of a statement over the schema, whatever state it reads: what they say of the log.

A value that a table's column cannot hold is bad input. A number of another kind than a computed column was found to
have, or any value in SQLite, where a column holds values of every class, is beyond what is modelled. An answer of
another shape than the statement has was recorded wrongly, or the schema is older than the log. Does not know how values
are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.queries import OutputColumn
from sql_semantics.ir.statements import Statement as BoundStatement
from sql_semantics.library import SqlLibrary
from sql_semantics.products import PRODUCTS
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import NUMBER_KINDS
from troubadour.execution.observations.observation import MisfitValue, ResultTypes, without_empty
from troubadour.model.log import Statement

OTHER_CLASS = "a value of another storage class than its column's in sqlite"
INCOMPLETE_DATE = "a date without a year, a month or a day, as 0000-00-00"


def lacks_column(error: SqlError, library: SqlLibrary) -> bool:
    """Whether a statement that the DBMS took is refused here for a column that the log's schema does not tell of.

    Where the log itself changes its definitions, the column may have been there before: that is for the audit.
    """
    return error.sqlstate == library.dialect.rules.text.unknown_column_error and not library.stepwise


def counted(statement: Statement, types: Sequence[ResultTypes] | None, dialect: Dialect) -> Statement:
    """The statement with the count of a write or a definition as one, where the DBMS gives it as a row (DuckDB)."""
    results = statement.results
    if not dialect.rules.running.counts_are_rows or types is None or len(types) or results is None:
        return statement
    if len(results) != 1 or [name.lower() for name in results[0].columns] not in (["count"], ["success"]):
        return statement
    rows = results[0].rows
    if not rows:
        return msgspec.structs.replace(statement, results=None)
    count = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None
    if not isinstance(count, int) or isinstance(count, bool) or statement.affected not in (None, count):
        return statement
    return msgspec.structs.replace(statement, results=None, affected=count)


def misshapen(statement: Statement, types: Sequence[ResultTypes] | None) -> str | None:
    """What is wrong with the number of result sets or of columns; None for nothing, or where it is not known."""
    results = statement.results
    if results is None or types is None:
        return None
    results = without_empty(results, len(types))
    if len(results) > len(types) and not types:
        return "rows were observed of a statement that gives none: the recording is at fault, not the DBMS"
    for observed, expected in zip(results, types, strict=False):
        widths = {len(observed.columns), *(len(row) for row in observed.rows)} - {len(expected)}
        if widths:
            shown = f"a result of {min(widths)} columns was observed of a statement that gives {len(expected)}"
            return f"{shown}: the recording is at fault, or the schema is older than the log"
    return None


def beyond_model(error: MisfitValue, statement: BoundStatement, dialect: str) -> Unsupported | None:
    """The refusal of a misfit that is not certainly a mistake of the log; None for bad input."""
    if PRODUCTS[dialect].values.affinities:
        return Unsupported(OTHER_CLASS)
    if PRODUCTS[dialect].values.dates_lack_parts and error.lacks_parts:
        return Unsupported(INCOMPLETE_DATE)
    outputs: Sequence[OutputColumn] = getattr(statement, "outputs", None) or getattr(statement, "returning", None) or ()
    if error.column >= len(outputs) or not error.number:
        return None
    expression = outputs[error.column].expression
    if isinstance(expression, Column) or expression.type.kind not in NUMBER_KINDS:
        return None
    return Unsupported(f"a number that is no {expression.type}, which {outputs[error.column].name} was found to be")
