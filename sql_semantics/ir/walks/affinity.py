"""Which expressions have an affinity that is applied to what they are compared with (SQLite, "Datatypes" 3.2 and 4.2).

A column of a table has one, and so have CAST, a subquery and a column of a query in FROM where what they give has;
anything that is computed has none, aggregates among it. Does not know which affinity it is: the type tells.
"""

from __future__ import annotations

from sql_semantics.ir.expressions import Cast, Column, Expr, Outer, ScalarQuery, Variable
from sql_semantics.ir.queries import Query, Select, SetOperation, Values
from sql_semantics.values.types import Kind


def affine(expr: Expr) -> bool | None:
    """Whether the expression has an affinity; None where that is not told here."""
    match expr:
        case Column() | Outer():
            return expr.affine
        case Variable():
            return True
        case Cast():
            return expr.operand.type.kind is not Kind.BOOLEAN  # of a truth value: it is a number there by itself
        case ScalarQuery():
            return affine_output(expr.query, 0)
    return False


def affine_output(query: Query, place: int) -> bool | None:
    """Whether a column of a query's answer has an affinity; which branch of a UNION decides hangs on the version."""
    match query:
        case Select():
            return affine(query.outputs[place].expression)
        case Values():
            found = {affine(row[place]) for row in query.rows}
        case SetOperation():
            found = {affine_output(query.left, place), affine_output(query.right, place)}
        case _:
            return None
    return found.pop() if len(found) == 1 else None
