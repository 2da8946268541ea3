"""What an observed value says that does not fit the type found for its column (CONTRACT §2, exit status 2).

A value that a table's column cannot hold is bad input. A number of another kind than a computed column was found to
have, or any value in SQLite, where a column holds values of every class, is beyond what is modelled. Does not know how
values are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.queries import OutputColumn
from sql_semantics.ir.statements import Statement
from sql_semantics.products import PRODUCTS
from sql_semantics.values.types import NUMBER_KINDS
from troubadour.execution.observations.observation import MisfitValue


def beyond_model(error: MisfitValue, statement: Statement, dialect: str) -> Unsupported | None:
    """The refusal of a misfit that is not certainly a mistake of the log; None for bad input."""
    if PRODUCTS[dialect].values.affinities:
        return Unsupported("a value of another storage class than its column's in sqlite")
    outputs: Sequence[OutputColumn] = getattr(statement, "outputs", None) or getattr(statement, "returning", None) or ()
    if error.column >= len(outputs) or not error.number:
        return None
    expression = outputs[error.column].expression
    if isinstance(expression, Column) or expression.type.kind not in NUMBER_KINDS:
        return None
    return Unsupported(f"a number that is no {expression.type}, which {outputs[error.column].name} was found to be")
