"""Result types of operators and aggregates. Does not know the parse tree.

Sources: PostgreSQL manual 9.3 and 9.21, MySQL manual 14.6.1 and 14.19.1 (`more` is div_precision_increment), SQLite
"Expressions" 3, DuckDB's binder for DECIMAL. Operators on dates, times and intervals are functions under the operator's
symbol, found in `values.functions`.
"""

from __future__ import annotations

from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.names.scope import Context, never_changes
from sql_semantics.frontend.types.coerce import (
    DUCKDB_PRECISION,
    MYSQL_PRECISION,
    MYSQL_SCALE,
    adapted,
    as_value,
    cast,
    decimal_of,
    is_loose,
    is_text_literal,
    mismatch,
    null,
    settle,
    settle_alone,
    tells_type,
    text_number,
)
from sql_semantics.frontend.types.comparison import refuse_unordered
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import (
    Binary,
    Cast,
    Column,
    Const,
    Expr,
    Param,
    Unary,
    Variable,
)
from sql_semantics.ir.walks.traverse import can_raise
from sql_semantics.records import replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import (
    BIGINT,
    DOUBLE,
    FLOAT_KINDS,
    HUGEINT,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NUMBER_KINDS,
    NUMERIC,
    REAL,
    SQLITE_JSON,
    TEMPORAL_KINDS,
    TEXT,
    UBIGINT,
    Kind,
    SqlType,
)


def _numbers(left: Expr, right: Expr, op: str, context: Context) -> tuple[Expr, Expr]:
    """Both operands as typed numbers."""
    dialect, rules = context.dialect, context.dialect.rules.types
    left, right = as_value(left, context), as_value(right, context)
    if rules.null_operand == "double":
        left, right = (Const(None, DOUBLE) if item == null() else item for item in (left, right))
    if rules.texts_become_numbers:
        left, right = _leading_number(left, context), _leading_number(right, context)
    for item in (left, right):
        if is_text_literal(item) and not rules.untyped_texts_convert:
            raise Unsupported(f"text operand of {op}")
    if is_loose(left) and is_loose(right):
        ambiguous = not (isinstance(left, Param) or isinstance(right, Param))
        if rules.ambiguity_error is not None and ambiguous:
            raise SqlError(rules.ambiguity_error, f"operator is not unique: unknown {op} unknown")
        telling = [tells_type(item, context) for item in (left, right)]
        left, right = (
            settle_alone(item, context) if isinstance(item, Param) and (tells or not any(telling)) else item
            for item, tells in zip((left, right), telling, strict=True)
        )
        if is_loose(left) and is_loose(right):
            left, right = settle(left, INT, context), settle(right, INT, context)
    for item in (left, right):
        if not is_loose(item) and item.type.kind not in NUMBER_KINDS:
            if op == "-" and item is right and item.type.kind is Kind.TEXT and is_loose(left):
                raise Unsupported("an untyped operand of - before a text")  # PostgreSQL: jsonb - text
            raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", dialect)
    left, right = settle(left, right.type, context), settle(right, left.type, context)
    for item in (left, right):
        if item.type.kind not in NUMBER_KINDS:
            raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", dialect)
    first, second = adapted([left, right], dialect)
    return first, second


def _leading_number(one: Expr, context: Context) -> Expr:
    """A text as the number that it begins with, always a double (MySQL 14.3)."""
    if one.type.kind is Kind.TEXT and not isinstance(one, (Column, Const, Param, Variable)):
        raise Unsupported(
            f"a computed text as a number in {context.dialect.name}"
        )  # a double shown with the digits of its source
    untyped = isinstance(one, Param) and is_loose(one) and context.parameters.kinds[one.key] is Kind.TEXT
    if is_text_literal(one) or one.type.kind is Kind.TEXT or untyped:
        return text_number(settle(one, TEXT, context))
    return one


def _widest_decimal(op: str, left: SqlType, right: SqlType, more: int) -> SqlType:
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
        precision, scale = p1 + s2 + more, s1 + more
    elif op == "%":
        precision, scale = max(p1, p2), max(s1, s2)
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    if scale > MYSQL_SCALE:  # MariaDB keeps 38 digits after the point
        raise Unsupported(f"a DECIMAL with more than {MYSQL_SCALE} digits after the point")
    return SqlType(Kind.NUMERIC, min(max(precision, scale), MYSQL_PRECISION), scale)


def arithmetic(op: str, left: Expr, right: Expr, context: Context) -> Expr:
    """``+ - * / %`` and MySQL's ``div``, operands converted. Raises SqlError 42883, 42725, 22P02; Unsupported."""
    if op in ("%", "div") and context.dialect.rules.types.null_operand == "double" and null() in (left, right):
        if can_raise(left) or can_raise(right):
            raise Unsupported(f"operator {op} of NULL and what may fail in {context.dialect.name}")
        return Const(None, DOUBLE if op == "%" else INT)
    dialect, rules = context.dialect, context.dialect.rules.types
    if rules.null_operand == "by other" and null() in (left, right):
        found = _with_null(op, left, right)
        if found is not None:
            return found
    if any(item.type.kind in TEMPORAL_KINDS for item in (left, right)):
        return _temporal(op, left, right, context)
    left, right = _numbers(left, right, op, context)
    kinds = {left.type.kind, right.type.kind}
    if rules.arithmetic == "widest":
        return _widest_arithmetic(op, left, right, dialect.quotient_digits)
    if op == "/" and rules.division_is_double:
        quotient = REAL if Kind.REAL in kinds and Kind.DOUBLE not in kinds else DOUBLE
        return Binary(op, cast(left, quotient), cast(right, quotient), quotient)
    if kinds & FLOAT_KINDS:
        if op == "%" or op == "div":
            raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", dialect)
        result = _float_result(kinds, dialect)
        if rules.arithmetic == "of values":
            return Binary(op, left, right, result)
        return Binary(op, cast(left, result), cast(right, result), result)
    if kinds <= INTEGER_KINDS:
        return Binary("/" if op == "div" else op, left, right, _integer_result(left.type, right.type, dialect))
    if op == "div":
        raise Unsupported("integer division of decimals")
    if rules.arithmetic == "of widths":
        return _decimal_of_width(op, left, right, dialect)
    if rules.arithmetic != "of types":
        raise Unsupported(f"DECIMAL operator {op} in {dialect.name}")
    return Binary(op, cast(left, NUMERIC), cast(right, NUMERIC), NUMERIC)


def _with_null(op: str, left: Expr, right: Expr) -> Expr | None:
    """A DECIMAL beside a bare NULL as an untyped NULL, a DATE or TIMESTAMP as one of its own type, two NULLs as whole
    numbers (DuckDB)."""
    if left == right:
        return Const(None, DOUBLE if op == "/" else BIGINT)
    other = right if left == null() else left
    if other.type.kind is Kind.NUMERIC and op in ("+", "-", "*", "%"):
        return null()
    if other.type.kind in (Kind.DATE, Kind.TIMESTAMP) and (op == "+" or (op == "-" and right == null())):
        return Const(None, other.type)
    return None


def _float_result(kinds: set[Kind], dialect: Dialect) -> SqlType:
    if dialect.rules.types.real_among_exact == "real":
        return DOUBLE if Kind.DOUBLE in kinds else REAL
    return REAL if kinds == {Kind.REAL} else DOUBLE


def _integer_result(left: SqlType, right: SqlType, dialect: Dialect) -> SqlType:
    arithmetic = dialect.rules.types.arithmetic
    if arithmetic == "of values":
        return BIGINT
    wider = max(left, right, key=lambda item: INTEGER_RANGE[item.kind][1])
    narrow = min(left, right, key=lambda item: INTEGER_RANGE[item.kind][1])
    if INTEGER_RANGE[wider.kind][0] > INTEGER_RANGE[narrow.kind][0] or (
        wider != narrow and INTEGER_RANGE[narrow.kind][0] == 0 and arithmetic == "of widths"
    ):
        raise Unsupported(f"arithmetic on {left} and {right}")
    return wider


def _decimal_of_width(op: str, left: Expr, right: Expr, dialect: Dialect) -> Expr:
    """DuckDB's binder for DECIMAL."""
    a, b = decimal_of(left.type), decimal_of(right.type)
    if a.precision is None or b.precision is None or op not in ("+", "-", "*", "%"):
        raise Unsupported(f"DECIMAL operator {op} in {dialect.name}")
    s1, s2 = a.scale or 0, b.scale or 0
    if op == "*":
        width, scale = a.precision + b.precision, s1 + s2
        if scale > DUCKDB_PRECISION:
            raise Unsupported("a product of decimals beyond 38 fraction digits")
        if width > 18 and max(a.precision, b.precision) <= 18 and scale < 18:
            width = 18
    else:
        scale = max(s1, s2)
        width = max(a.precision - s1, b.precision - s2) + scale + (0 if op == "%" else 1)
    result = SqlType(Kind.NUMERIC, min(width, DUCKDB_PRECISION), scale)
    return Cast(Binary(op, cast(left, NUMERIC), cast(right, NUMERIC), NUMERIC), result)


def _widest_arithmetic(op: str, left: Expr, right: Expr, more: int) -> Expr:
    """MySQL 14.6.1: integers of 64 bits, doubles, decimals with room for every digit."""
    kinds = {left.type.kind, right.type.kind}
    if kinds & FLOAT_KINDS:
        if op in ("%", "div"):
            raise Unsupported(f"{op} of floating-point numbers")
        return Binary(op, cast(left, DOUBLE), cast(right, DOUBLE), DOUBLE)
    whole = UBIGINT if Kind.UBIGINT in kinds or kinds & _UNSIGNED else BIGINT
    if op == "div" or (kinds <= INTEGER_KINDS and op != "/"):
        if op == "div" and not kinds <= INTEGER_KINDS:
            left, right = cast(left, decimal_of(left.type)), cast(right, decimal_of(right.type))
        if op == "%" and whole is UBIGINT and not kinds <= _UNSIGNED:
            raise Unsupported("remainder of signed and unsigned integers")
        return Binary(op, left, right, whole)
    result = _widest_decimal(op, left.type, right.type, more)
    left, right = cast(left, decimal_of(left.type)), cast(right, decimal_of(right.type))
    return Binary(op, left, right, result)


_UNSIGNED = {Kind.UBIGINT, Kind.UINT, Kind.UMEDIUMINT, Kind.USMALLINT, Kind.UTINYINT}


def _temporal(op: str, left: Expr, right: Expr, context: Context) -> Expr:
    """An operator one of whose operands is a date, a time or an interval."""
    rules = context.dialect.rules.types
    if not rules.has_intervals:
        raise Unsupported(f"operator {op} on {left.type} and {right.type}")
    twofold = op == "+" and left.type.kind is right.type.kind is Kind.TIME and rules.times_are_intervals
    if twofold and rules.ambiguity_error is not None:
        raise SqlError(rules.ambiguity_error, "operator is not unique: time + time")
    return call_function(op, (left, right), context, operator=True)


def negate(operand: Expr, context: Context) -> Expr:
    """Unary minus; literals fold."""
    rules = context.dialect.rules.types
    operand = as_value(operand, context)
    if operand.type.kind is Kind.INTERVAL:
        return call_function("negate", (operand,), context)
    if isinstance(operand, Param) and is_loose(operand):
        operand = settle_alone(operand, context)
    if is_loose(operand):
        if rules.ambiguity_error is not None:
            raise SqlError(rules.ambiguity_error, "operator is not unique: - unknown")
        if rules.null_operand == "by other" and operand == null():
            return Const(None, BIGINT)
        raise Unsupported("unary minus of an untyped literal")
    if operand.type.kind is Kind.TIME:
        raise Unsupported("unary minus of a time, which is an interval then")
    if operand.type.kind not in NUMBER_KINDS:
        raise mismatch(f"operator does not exist: - {operand.type}", context.dialect)
    if isinstance(operand, Const) and operand.value is not None and not isinstance(operand.value, str):
        value = operand.value
        if value != INTEGER_RANGE.get(operand.type.kind, (None,))[0]:  # the least integer has no negative
            kind = BIGINT if operand.type.kind is Kind.UBIGINT else operand.type
            if kind is BIGINT and isinstance(value, int) and value > 2**63:
                raise Unsupported(f"the number -{value}")
            # Not -value: Decimal's operators round to the ambient context's 28 digits.
            return Const(value.copy_negate() if isinstance(value, Decimal) else -value, kind)  # type: ignore[operator]
    if operand.type.kind in _UNSIGNED:
        raise Unsupported(f"unary minus of {operand.type}")
    widest_integer = rules.arithmetic == "widest" and operand.type.kind in INTEGER_KINDS
    if widest_integer and never_changes(operand):  # a DECIMAL if the constant is negative
        raise Unsupported(f"unary minus of a constant expression in {context.dialect.name}")
    if rules.reals_compute_as_doubles and operand.type.kind is Kind.REAL:
        operand = Cast(operand, DOUBLE)
    return Unary("-", operand, BIGINT if widest_integer else operand.type)


_NO_EXTREMES = frozenset({Kind.INTERVAL, Kind.JSONB, Kind.COMPOSITE, Kind.ANY})
"""Of which products, or versions of them, have no MIN and MAX, or whose order is not modelled."""


def aggregate_type(function: str, argument: Expr, dialect: Dialect) -> tuple[Expr, SqlType]:
    """The argument as the aggregate takes it, and the result's type; the argument is typed already."""
    kind, rules = argument.type.kind, dialect.rules.types
    if function == "count":
        return argument, BIGINT
    if function in ("min", "max"):
        if kind is Kind.JSON or (kind is Kind.BOOLEAN and not rules.extremes_of_anything):
            raise mismatch(f"function {function}({kind.value}) does not exist", dialect)
        if kind in _NO_EXTREMES or (kind in (Kind.UUID, Kind.BYTES) and not rules.extremes_of_anything):
            raise Unsupported(f"function {function}() of {argument.type}")
        if kind is Kind.ENUM and rules.enums_are_texts:  # chosen by its text, sorted by its place
            raise Unsupported(f"function {function}() of an ENUM")
        refuse_unordered([argument.type], dialect)
        if kind is Kind.TEXT and argument.type.padded:
            return argument, SqlType(Kind.TEXT, padded=True)
        plain = kind is Kind.TEXT and argument.type != SQLITE_JSON
        return argument, replace(TEXT, collation=argument.type.collation) if plain else argument.type
    if kind is Kind.REAL and rules.reals_compute_as_doubles:
        argument, kind = Cast(argument, DOUBLE), Kind.DOUBLE
    if kind in (Kind.INTERVAL, Kind.TIME, Kind.REAL) or (kind is Kind.TEXT and not rules.mismatch_is_error):
        raise Unsupported(f"function {function}() of {argument.type}")
    if kind not in NUMBER_KINDS:
        raise mismatch(f"function {function}({kind.value}) does not exist", dialect)
    if kind is Kind.DOUBLE:
        return argument, DOUBLE
    if rules.sums == "wider":
        exact = decimal_of(argument.type)
        argument = cast(argument, exact)
        if exact.precision is None:
            if function == "avg":
                raise Unsupported("AVG of a parameter whose scale is not known")
            return argument, NUMERIC
        scale, more = exact.scale or 0, 22
        if function == "avg":
            more = dialect.quotient_digits
            scale = min(scale + more, MYSQL_SCALE)
        return argument, SqlType(Kind.NUMERIC, min(exact.precision + more, MYSQL_PRECISION), scale)
    if rules.sums == "of values":
        if kind is Kind.NUMERIC:
            raise Unsupported(f"function {function}() of {argument.type} in {dialect.name}")
        return argument, BIGINT if function == "sum" else DOUBLE
    if rules.sums == "huge":
        if function == "avg":
            return argument, DOUBLE
        return argument, SqlType(Kind.NUMERIC, 38, argument.type.scale or 0) if kind is Kind.NUMERIC else HUGEINT
    if function == "sum" and kind in (Kind.SMALLINT, Kind.INT):
        return argument, BIGINT
    return cast(argument, NUMERIC), NUMERIC
