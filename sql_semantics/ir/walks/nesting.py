"""What stands inside a control statement: other statements, and expressions of its own (paper Fig. 2).

Does not know what SQL statements hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.programs import (
    Attempt,
    Fetch,
    Handled,
    Labelled,
    Loop,
    OpenCursor,
    Perform,
    RangeLoop,
    Return,
    ReturnNext,
    ReturnQuery,
    RowLoop,
)
from sql_semantics.ir.statements import Call, If, SelectInto, SetVariable, Statement, Together


def nested(statement: Statement) -> Iterator[Statement]:
    """The statements directly inside a control statement, or one with WITH items that write; nothing for any other."""
    match statement:
        case If(branches, otherwise):
            for _, body in branches:
                yield from body
            yield from otherwise
        case Loop() | RangeLoop() | Labelled():
            yield from statement.body
        case RowLoop():
            yield statement.query
            yield from statement.body
        case Attempt(body, clauses):
            yield from body
            for _, clause in clauses:
                yield from clause
        case Handled():
            yield from statement.body
            for handler in statement.handlers:
                yield from handler.body
        case Together(items, main):
            yield from (item.write for item in items)
            yield main
        case SelectInto(query) | OpenCursor(_, query) | ReturnQuery(query) | Perform(query):
            yield query


def expressions_of(statement: Statement) -> Iterator[Expr]:
    """The expressions that a control statement evaluates itself; not those of SQL statements inside it."""
    match statement:
        case If(branches):
            yield from (condition for condition, _ in branches)
        case SetVariable(_, expression):
            yield expression
        case Call(_, arguments):
            yield from arguments
        case Loop():
            yield from (part for part in (statement.condition, statement.until) if part is not None)
        case RangeLoop():
            yield from (part for part in (statement.low, statement.high, statement.step) if part is not None)
        case RowLoop():
            yield from (*statement.row, *(value for _, value in statement.arguments))
        case Return(values) | ReturnNext(values):
            yield from values
        case ReturnQuery() | Fetch() | Perform():
            yield from statement.row
        case OpenCursor():
            yield from (value for _, value in statement.arguments)
