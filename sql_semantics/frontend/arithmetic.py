"""Result types of operators and aggregates (DESIGN §3). Does not know the parse tree.

Sources: PostgreSQL manual 9.3 and 9.21, MySQL manual 14.6.1 and 14.19.1 (div_precision_increment is 4).
"""

from __future__ import annotations

from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.coerce import (
    MYSQL_PRECISION,
    MYSQL_SCALE,
    as_value,
    cast,
    decimal_of,
    is_loose,
    mismatch,
    settle,
    settle_alone,
)
from sql_semantics.frontend.scope import Context
from sql_semantics.ir.expressions import Binary, Const, Expr, Param, Unary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import (
    BIGINT,
    DOUBLE,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NUMBER_KINDS,
    NUMERIC,
    SMALLINT,
    TEXT,
    Kind,
    SqlType,
)

_INTEGERS = (SMALLINT, INT, BIGINT)


def _numbers(left: Expr, right: Expr, op: str, context: Context) -> tuple[Expr, Expr]:
    """Both operands as typed numbers."""
    dialect = context.dialect
    left, right = as_value(left, context), as_value(right, context)
    for item in (left, right):
        if isinstance(item, Const) and isinstance(item.value, str) and is_loose(item) and dialect.name != "postgres":
            raise Unsupported(f"text operand of {op}")
    if is_loose(left) and is_loose(right):
        if dialect.name == "postgres" and not (isinstance(left, Param) or isinstance(right, Param)):
            raise SqlError("42725", f"operator is not unique: unknown {op} unknown")
        left = settle_alone(left, context) if isinstance(left, Param) else left
        right = settle_alone(right, context) if isinstance(right, Param) else right
        if is_loose(left) and is_loose(right):
            left, right = settle(left, INT, context), settle(right, INT, context)
    left, right = settle(left, right.type, context), settle(right, left.type, context)
    for item in (left, right):
        if item.type.kind not in NUMBER_KINDS:
            raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", dialect)
    return left, right


def _mysql_decimal(op: str, left: SqlType, right: SqlType) -> SqlType:
    """DECIMAL's precision and scale; unconstrained where a parameter's scale is unknown."""
    left, right = decimal_of(left), decimal_of(right)
    if left.precision is None or (right.precision is None and op != "/"):
        if op == "/":
            raise Unsupported("division of a parameter whose scale is not known")
        return NUMERIC
    p1, s1, p2, s2 = left.precision, left.scale or 0, right.precision or MYSQL_PRECISION, right.scale or 0
    if op == "*":
        precision, scale = p1 + p2, s1 + s2
    elif op == "/":
        precision, scale = p1 + s2 + 4, s1 + 4
    elif op == "%":
        precision, scale = max(p1, p2), max(s1, s2)
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    return SqlType(Kind.NUMERIC, min(max(precision, scale), MYSQL_PRECISION), min(scale, MYSQL_SCALE))


def arithmetic(op: str, left: Expr, right: Expr, context: Context) -> Expr:
    """``+ - * / %`` and MySQL's ``div``, operands converted. Raises SqlError 42883, 42725, 22P02; Unsupported."""
    dialect = context.dialect
    left, right = _numbers(left, right, op, context)
    kinds = {left.type.kind, right.type.kind}
    integers = kinds <= INTEGER_KINDS
    if Kind.DOUBLE in kinds:
        if op in ("%", "div"):
            raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", dialect)
        return Binary(op, cast(left, DOUBLE), cast(right, DOUBLE), DOUBLE)
    if dialect.name == "mysql":
        if op == "div":
            if not integers:
                raise Unsupported("DIV of decimals")
            return Binary(op, left, right, BIGINT)
        if integers and op != "/":
            return Binary(op, left, right, BIGINT)
        result = _mysql_decimal(op, left.type, right.type)
        return Binary(op, cast(left, decimal_of(left.type)), cast(right, decimal_of(right.type)), result)
    if op == "/" and dialect.name == "duckdb":
        raise Unsupported("operator / in DuckDB")
    if integers:
        wider = max(left.type, right.type, key=_INTEGERS.index)
        return Binary(op, left, right, BIGINT if dialect.name == "sqlite" else wider)
    if dialect.name != "postgres":
        raise Unsupported(f"DECIMAL operator {op} in {dialect.name}")
    return Binary(op, cast(left, NUMERIC), cast(right, NUMERIC), NUMERIC)


def negate(operand: Expr, context: Context) -> Expr:
    """Unary minus; literals fold."""
    operand = as_value(operand, context)
    if isinstance(operand, Param) and is_loose(operand):
        operand = settle_alone(operand, context)
    if is_loose(operand):
        raise Unsupported("unary minus of an untyped literal")
    if operand.type.kind not in NUMBER_KINDS:
        raise mismatch(f"operator does not exist: - {operand.type}", context.dialect)
    if isinstance(operand, Const) and operand.value is not None and not isinstance(operand.value, str):
        value = operand.value
        if value != INTEGER_RANGE.get(operand.type.kind, (None,))[0]:  # the least integer has no negative
            # Not -value: Decimal's operators round to the ambient context's 28 digits.
            return Const(value.copy_negate() if isinstance(value, Decimal) else -value, operand.type)
    mysql_integer = context.dialect.name == "mysql" and operand.type.kind in INTEGER_KINDS
    return Unary("-", operand, BIGINT if mysql_integer else operand.type)


def aggregate_type(function: str, argument: Expr, dialect: Dialect) -> tuple[Expr, SqlType]:
    """The argument as the aggregate takes it, and the result's type; the argument is typed already."""
    kind = argument.type.kind
    if function == "count":
        return argument, BIGINT
    if function in ("min", "max"):
        if kind is Kind.BOOLEAN:
            raise mismatch(f"function {function}(boolean) does not exist", dialect)
        if kind is Kind.TEXT and argument.type.padded:
            return argument, SqlType(Kind.TEXT, padded=True)
        return argument, TEXT if kind is Kind.TEXT else argument.type
    if kind not in NUMBER_KINDS:
        raise mismatch(f"function {function}({kind.value}) does not exist", dialect)
    if kind is Kind.DOUBLE:
        return argument, DOUBLE
    if dialect.name == "mysql":
        exact = decimal_of(argument.type)
        argument = cast(argument, exact)
        if exact.precision is None:
            if function == "avg":
                raise Unsupported("AVG of a parameter whose scale is not known")
            return argument, NUMERIC
        scale, more = exact.scale or 0, 22
        if function == "avg":
            scale, more = min(scale + 4, MYSQL_SCALE), 4
        return argument, SqlType(Kind.NUMERIC, min(exact.precision + more, MYSQL_PRECISION), scale)
    if dialect.name == "sqlite":
        if kind is Kind.NUMERIC:
            raise Unsupported(f"function {function}() of {argument.type} in sqlite")
        return argument, BIGINT if function == "sum" else DOUBLE
    if dialect.name == "duckdb":
        if function == "avg":
            return argument, DOUBLE
        # An integer sum is a HUGEINT, which a DECIMAL(38,0) holds but for its last values.
        return argument, SqlType(Kind.NUMERIC, 38, (argument.type.scale or 0) if kind is Kind.NUMERIC else 0)
    if dialect.name != "postgres":
        raise Unsupported(f"function {function}() in {dialect.name}")
    if function == "sum" and kind in (Kind.SMALLINT, Kind.INT):
        return argument, BIGINT
    return cast(argument, NUMERIC), NUMERIC
