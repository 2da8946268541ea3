"""Questions about expressions that are asked at compile time. Does not know how they are evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Function,
    InList,
    IsNull,
    IsTruth,
    Like,
    Param,
    Unary,
    Variable,
)
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, Kind

_TOTAL_FUNCTIONS = frozenset(
    {
        "coalesce",
        "ifnull",
        "nullif",
        "if",
        "greatest",
        "least",
        "concat",
        "length",
        "sign",
    }
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match expr:
        case Unary(_, operand) | IsNull(operand) | IsTruth(operand) | Cast(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case InList(operand, items):
            return (operand, *items)
        case Like(operand, pattern):
            return (operand, pattern)
        case Case(whens, otherwise):
            return (*(part for when in whens for part in when), otherwise)
        case Function(_, arguments):
            return arguments
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it."""
    pending = [expr]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(children(current))


def columns_read(expr: Expr) -> frozenset[int]:
    """The positions of the environment row that the expression reads."""
    return frozenset(part.index for part in walk(expr) if isinstance(part, Column))


def can_raise(expr: Expr) -> bool:
    """Whether evaluation may raise an SqlError (conservatively)."""
    return any(_raises(part) for part in walk(expr))


def _raises(expr: Expr) -> bool:
    match expr:
        case Binary(op):
            return op in ("+", "-", "*", "/", "%", "div")
        case Unary(op):
            return op == "-"
        case Like():
            return not isinstance(expr.pattern, Const)
        case Function(name):
            return name not in _TOTAL_FUNCTIONS
        case Cast(operand, type_):
            return not _total_cast(operand, type_.kind, type_.precision)
    return False


def _total_cast(operand: Expr, target: Kind, precision: int | None) -> bool:
    source = operand.type.kind
    if isinstance(operand, (Param, Variable)) and source in INTEGER_KINDS and target in INTEGER_KINDS:
        return source is target
    if source in INTEGER_KINDS and target in INTEGER_KINDS:
        return INTEGER_RANGE[source][1] <= INTEGER_RANGE[target][1] and not isinstance(operand, Const)
    if target is Kind.NUMERIC:
        return precision is None and (source in INTEGER_KINDS or source is Kind.NUMERIC)
    return source is target and target in (Kind.TEXT, Kind.BOOLEAN, Kind.DOUBLE)


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of the AND at the top, left to right; () for None."""
    return _operands(expr, "and")


def disjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of the OR at the top, left to right."""
    return _operands(expr, "or")


def _operands(expr: Expr | None, op: str) -> tuple[Expr, ...]:
    if expr is None:
        return ()
    found: list[Expr] = []
    pending = [expr]
    while pending:
        current = pending.pop()
        if isinstance(current, Binary) and current.op == op:
            pending.append(current.right)
            pending.append(current.left)
        else:
            found.append(current)
    return tuple(found)


def conjunction(expressions: tuple[Expr, ...]) -> Expr | None:
    """AND over the expressions; None for ()."""
    result: Expr | None = None
    for expression in expressions:
        result = expression if result is None else Binary("and", result, expression, expression.type)
    return result


def char_lengths(expr: Expr, inner: Sequence[Expr | None] = ()) -> frozenset[int | None]:
    """The lengths that the values of a CHAR expression may have been padded to; None for an unknown one.

    `inner`: above GROUP BY, what the columns of the environment row stand for.
    """
    match expr:
        case Const(None):
            return frozenset()
        case Column(index) if inner:
            below = inner[index]
            return frozenset({None}) if below is None else char_lengths(below, ())
        case Column() | Cast():
            return frozenset({expr.type.length})
        case Case(whens, otherwise):
            branches = (*(result for _, result in whens), otherwise)
            return frozenset().union(*(char_lengths(branch, inner) for branch in branches))
        case Function("coalesce" | "greatest" | "least", arguments):
            return frozenset().union(*(char_lengths(argument, inner) for argument in arguments))
    return frozenset({None})
