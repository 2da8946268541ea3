"""Scalar functions: their argument and result types (DESIGN §3). Does not know how they are computed.

Sources: PostgreSQL manual 9.3, 9.4, 9.18; MySQL manual 14.5, 14.6, 14.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.coerce import (
    MYSQL_SCALE,
    cast,
    comparable,
    is_loose,
    mismatch,
    null,
    settle,
    settle_alone,
    unify,
)
from sql_semantics.frontend.syntax import Node, only
from sql_semantics.ir.expressions import Binary, Case, Cast, Const, Expr, Function
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    INT,
    INTEGER_KINDS,
    NUMBER_KINDS,
    NUMERIC,
    TEXT,
    Kind,
    SqlType,
)

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions import Binder


def as_text(bound: Expr) -> Expr:
    """An operand of a concatenation. Raises Unsupported for what is neither text nor an integer."""
    if bound.type.kind is Kind.TEXT:
        return cast(bound, TEXT)
    if bound.type.kind in INTEGER_KINDS:
        return Cast(bound, TEXT)
    raise Unsupported(f"conversion of {bound.type} to text")


def _coalesce(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expressions")
    items, target = unify([binder.expr(item) for item in (node.this, *node.expressions)], binder.context, "COALESCE")
    return Function("coalesce", tuple(items), target)


def _extreme(binder: Binder, node: Node) -> Expr:
    # `ignore_nulls` restates the dialect's rule.
    only(node, "this", "expressions", "ignore_nulls")
    name = "greatest" if isinstance(node, exp.Greatest) else "least"
    items, target = unify([binder.expr(item) for item in (node.this, *node.expressions)], binder.context, name.upper())
    if target.kind is Kind.BOOLEAN or binder.context.dialect.name == "sqlite":
        raise Unsupported(f"{name.upper()} of {target}")
    if binder.context.dialect.name == "mysql" and len(items) < 2:
        raise SqlError("42000", f"incorrect parameter count in the call to {name}")
    return Function(name, tuple(items), target)


def _nullif(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    context = binder.context
    first, second = binder.value(node.this), binder.value(node.expression)
    left, right = comparable(first, second, context, "=")
    if is_loose(first) or context.dialect.name == "postgres":
        # PostgreSQL 9.18.3: the type of the first argument as the implied = takes it
        first = left
    return Case(((Binary("=", left, right, BOOLEAN), Const(None, first.type)),), first, first.type)


def _abs(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    operand = _number(binder, node.this, "abs")
    kind = BIGINT if binder.context.dialect.name == "mysql" and operand.type.kind in INTEGER_KINDS else operand.type
    return Function("abs", (operand,), kind)


def _number(binder: Binder, node: Node, name: str) -> Expr:
    bound = binder.value(node)
    if is_loose(bound):
        if bound != null():
            bound = settle_alone(bound, binder.context)
        else:
            raise Unsupported(f"{name}(NULL)")
    if bound.type.kind not in NUMBER_KINDS:
        if isinstance(bound, Const):
            raise Unsupported(f"{name} of a text literal")
        raise mismatch(f"function {name}({bound.type}) does not exist", binder.context.dialect)
    return bound


def _text_argument(binder: Binder, node: Node, name: str) -> Expr:
    bound = settle(binder.value(node), TEXT, binder.context)
    if bound.type.kind is not Kind.TEXT:
        raise mismatch(f"function {name}({bound.type}) does not exist", binder.context.dialect)
    return bound


def _lower_upper(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    name = "lower" if isinstance(node, exp.Lower) else "upper"
    return Function(name, (cast(_text_argument(binder, node.this, name), TEXT),), TEXT)


def _length(binder: Binder, node: Node) -> Expr:
    only(node, "this", "binary")
    dialect = binder.context.dialect.name
    operand = cast(_text_argument(binder, node.this, "length"), TEXT)
    if dialect == "mysql" and node.args.get("binary"):
        return Function("octet_length", (operand,), INT)
    return Function("length", (operand,), INT if dialect in ("postgres", "mysql") else BIGINT)


def _concat(binder: Binder, node: Node) -> Expr:
    # `safe` and `coalesce` restate the dialect's rule about NULL.
    only(node, "expressions", "safe", "coalesce")
    context = binder.context
    literals = [item for item in node.expressions if isinstance(item, exp.Literal) and item.is_string]
    if len(literals) == len(node.expressions) and "safe" not in node.args:  # 'a' 'b' is one literal in several parts
        return Const("".join(str(item.this) for item in literals), SqlType(Kind.NULL))
    if context.dialect.name == "sqlite":
        raise Unsupported("function concat() in sqlite")
    arguments = [settle(binder.value(item), TEXT, context) for item in node.expressions]
    if context.dialect.name == "postgres" and any(item.type.padded for item in arguments):
        raise Unsupported("concat() of a CHAR(n), which keeps its blanks")
    return Function("concat", tuple(as_text(item) for item in arguments), TEXT)


def _round(binder: Binder, node: Node) -> Expr:
    only(node, "this", "decimals")
    dialect = binder.context.dialect.name
    if dialect not in ("postgres", "mysql"):
        raise Unsupported(f"function round() in {dialect}")
    operand = _number(binder, node.this, "round")
    digits = node.args.get("decimals")
    places = Const(0, INT) if digits is None else settle(binder.value(digits), INT, binder.context)
    if places.type.kind not in (Kind.SMALLINT, Kind.INT):
        raise mismatch(f"function round({operand.type}, {places.type}) does not exist", binder.context.dialect)
    if operand.type.kind is Kind.DOUBLE or (operand.type.kind in INTEGER_KINDS and digits is None):
        raise Unsupported(f"round of {operand.type}")
    if dialect == "postgres":
        return Function("round", (cast(operand, NUMERIC), places), NUMERIC)
    if not isinstance(places, Const) or not isinstance(places.value, int) or operand.type.kind in INTEGER_KINDS:
        raise Unsupported("round with a computed number of digits, or of an integer")
    if operand.type.precision is None:
        raise Unsupported("round of a parameter whose scale is not known")
    scale = min(max(places.value, 0), operand.type.scale or 0, MYSQL_SCALE)
    precision = operand.type.precision - (operand.type.scale or 0) + scale + 1
    return Function("round", (operand, places), SqlType(Kind.NUMERIC, precision, scale))


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Coalesce: _coalesce,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Nullif: _nullif,
    exp.Abs: _abs,
    exp.Lower: _lower_upper,
    exp.Upper: _lower_upper,
    exp.Length: _length,
    exp.Concat: _concat,
    exp.Round: _round,
}
