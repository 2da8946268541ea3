"""Expressions made anew from changed parts. Does not know why they are changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Exists,
    Expr,
    Free,
    Function,
    InList,
    InQuery,
    Invoke,
    IsNull,
    IsTruth,
    Like,
    Outer,
    Param,
    Quantified,
    ScalarQuery,
    Unary,
    Variable,
)
from sql_semantics.ir.walks.correlation import rebuild_subquery


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with `change` applied to its direct subexpressions."""
    match expr:
        case Const() | Column() | Outer() | Param() | Variable() | Free():
            return expr
        case Binary():
            return replace(expr, left=change(expr.left), right=change(expr.right))
        case InList():
            return replace(expr, operand=change(expr.operand), items=tuple(map(change, expr.items)))
        case Like():
            return replace(expr, operand=change(expr.operand), pattern=change(expr.pattern))
        case Case():
            whens = tuple((change(condition), change(result)) for condition, result in expr.whens)
            return replace(expr, whens=whens, otherwise=change(expr.otherwise))
        case Function() | Invoke():
            return replace(expr, arguments=tuple(map(change, expr.arguments)))
        case Unary() | IsNull() | IsTruth() | Cast():
            return replace(expr, operand=change(expr.operand))
        case ScalarQuery() | Exists() | InQuery() | Quantified():
            return rebuild_subquery(expr, change)
