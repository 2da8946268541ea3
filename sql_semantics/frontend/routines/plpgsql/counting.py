"""ROW_COUNT and FOUND behind expressions (tried on PostgreSQL 18.4): one with a query in it is run as a query, of which
the row is counted, and any other leaves the count alone; arguments of a cursor are selected, which also finds a row.
Does not know statements that are counted themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Const, Expr, Subquery
from sql_semantics.ir.programs import Leave, Loop, OpenCursor, RangeLoop, ReturnNext, RowLoop
from sql_semantics.ir.statements import If, SetVariable, Statement
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.ir.walks.traverse import walk
from sql_semantics.values.types import BIGINT, BOOLEAN


def counted(statements: Sequence[Statement], count: int | None, found: int | None) -> Sequence[Statement]:
    """The statements that one of PL/pgSQL became, with ROW_COUNT and FOUND in these slots kept; None where nothing asks
    for it."""
    if found is not None:
        sets = SetVariable(found, Const(True, BOOLEAN))
        statements = [one for statement in statements for one in _found(statement, sets)]
    if count is None:
        return statements
    return [one for statement in statements for one in _counted(statement, count)]


def _found(statement: Statement, sets: SetVariable) -> list[Statement]:
    match statement:
        case OpenCursor() if statement.arguments:
            return [statement, sets]
        case RowLoop() if statement.arguments:
            return [sets, statement]
    return [statement]


def refuse_failing(body: Sequence[Statement], slot: int | None) -> None:
    """Raises Unsupported for conditions with queries in a block that may go on after an error: a condition that fails
    counts nothing."""
    if slot is not None and any(map(_tests_queries, body)):
        raise Unsupported("ROW_COUNT beside a condition with a query, in a block with EXCEPTION")


def _counted(statement: Statement, slot: int) -> list[Statement]:
    one = SetVariable(slot, Const(1, BIGINT))
    match statement:
        case SetVariable() if _has_query(statement.expression):
            return [statement, one]
        case ReturnNext() if any(map(_has_query, statement.values)):
            return [statement, one]
        case If():
            return _counted_if(statement, one)
        case Loop(condition=condition) if condition is not None and _has_query(condition):
            test = If(((condition, statement.body),), (Leave(statement.label),))
            return [Loop(statement.label, (one, test), None)]
        case RangeLoop() if any(_has_query(part) for part in (statement.low, statement.high, statement.step) if part):
            return [one, statement]
        case OpenCursor() if statement.arguments:
            return [statement, one]
        case RowLoop() if statement.arguments:
            return [one, statement]
    return [statement]


def _counted_if(statement: If, one: SetVariable) -> list[Statement]:
    """Conditions are asked for one after the other, until one is true."""
    branches, asked = [], False
    for condition, body in statement.branches:
        asked = asked or _has_query(condition)
        branches.append((condition, (one, *body) if asked else body))
    otherwise = (one, *statement.otherwise) if asked else statement.otherwise
    return [If(tuple(branches), otherwise)]


def _has_query(expr: Expr) -> bool:
    return any(isinstance(part, Subquery) for part in walk(expr))


def _tests_queries(statement: Statement) -> bool:
    match statement:
        case If() if any(_has_query(condition) for condition, _ in statement.branches):
            return True
        case RangeLoop() if any(_has_query(part) for part in (statement.low, statement.high, statement.step) if part):
            return True
    return any(map(_tests_queries, nested(statement)))
