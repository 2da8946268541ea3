"""Errors that a statement may raise although its run here does not (DESIGN §5, "what depends on the planner is may").

A DBMS is free to evaluate the operands of AND, OR, WHERE and ON in any order and on more rows than qualify in the
end. Where such an operand can fail, its failure can neither be demanded nor excluded. Does not know any row.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.ir.expressions import Binary, Cast, Expr, Function, Like, Unary
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Delete, If, Insert, Select, SelectInto, SetVariable, Statement, Update
from sql_semantics.run.traverse import can_raise, children, conjuncts, walk


def free_errors(statement: Statement, catalog: Catalog) -> frozenset[str]:
    """The SQLSTATEs with which an execution may fail whatever the interpreter answers.

    The runtime raises what fails on its own way through such an operand with `may` set; this tells what it might have
    missed on the DBMS's way.
    """
    found: set[str] = set()
    _collect(statement, catalog, found)
    return frozenset(found)


def _collect(statement: Statement, catalog: Catalog, found: set[str]) -> None:
    match statement:
        case SelectInto(query):
            _collect(query, catalog, found)
        case If(branches, otherwise):
            for condition, body in branches:
                _free(condition, False, found)
                for inner in body:
                    _collect(inner, catalog, found)
            for inner in otherwise:
                _collect(inner, catalog, found)
        case Call(procedure, arguments):
            for argument in arguments:
                _free(argument, False, found)
            if procedure in catalog.procedures:
                for inner in catalog.procedures[procedure].body:
                    _collect(inner, catalog, found)
        case SetVariable(_, expression):
            _free(expression, False, found)
        case Insert() if statement.query is not None:
            _collect(statement.query, catalog, found)
    for expr, free in _clauses(statement):
        _free(expr, free, found)


def _clauses(statement: Statement) -> Iterator[tuple[Expr, bool]]:
    """Every expression with whether it may be evaluated on rows that do not qualify."""
    match statement:
        case Select():
            joined = len(statement.sources) > 1
            for source in statement.sources:
                if source.on is not None:
                    yield source.on, True
            if statement.where is not None:
                yield statement.where, joined
            if statement.having is not None:
                yield statement.having, len(conjuncts(statement.having)) > 1
            for output in statement.outputs:
                yield output.expression, False
            for aggregate in statement.aggregates:
                for part in aggregate.expressions():
                    yield part, False
        case Insert():
            for row in statement.rows:
                for expr in row:
                    yield expr, False
        case Update():
            for _, expr in statement.assignments:
                yield expr, False
            if statement.where is not None:
                yield statement.where, False
        case Delete():
            if statement.where is not None:
                yield statement.where, False


def _free(expr: Expr, free: bool, found: set[str]) -> None:
    """Add the errors of `expr` (if it is evaluated freely) or of what stands below AND and OR in it."""
    if not can_raise(expr):
        return
    if free:
        for part in walk(expr):
            found.update(_states(part))
    elif isinstance(expr, Binary) and expr.op in ("and", "or"):
        _free(expr, True, found)
    else:
        for child in children(expr):
            _free(child, False, found)


def _states(part: Expr) -> tuple[str, ...]:
    match part:
        case Binary("/" | "%" | "div"):
            return ("22012", "22003")
        case Binary("+" | "-" | "*") | Unary("-"):
            return ("22003",)
        case Cast() if can_raise(part):
            return ("22003", "22P02", "22001")
        case Function() if can_raise(part):
            return ("22003", "22012", "22011")
        case Like() if can_raise(part):
            return ("22025",)
    return ()
