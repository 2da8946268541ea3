"""Conversions that SQL leaves implicit: untyped literals, common types, assignment (DESIGN §3).

Sources: PostgreSQL manual chapter 10 (type conversion), MySQL manual 14.3 and 14.6 (conversion, precision math). An
expression of Kind.NULL is *loose*: a string literal (in PostgreSQL's sense of `unknown`), a bare NULL or a parameter
that no context has typed yet. Does not know the parse tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.dialects import integer_booleans
from sql_semantics.frontend.scope import Context
from sql_semantics.ir.expressions import Cast, Const, Expr, Param
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.number import EXACT
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NULL,
    NUMBER_KINDS,
    NUMERIC,
    SMALLINT,
    TEXT,
    Kind,
    SqlType,
)

_RANK = {Kind.SMALLINT: 0, Kind.INT: 1, Kind.BIGINT: 2, Kind.NUMERIC: 3, Kind.DOUBLE: 4}
_BY_KIND = {Kind.SMALLINT: SMALLINT, Kind.INT: INT, Kind.BIGINT: BIGINT, Kind.NUMERIC: NUMERIC, Kind.DOUBLE: DOUBLE}
_DIGITS = {Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*\Z")
_DECIMAL = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*\Z")
_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})
MYSQL_PRECISION, MYSQL_SCALE = 65, 30


def is_loose(expr: Expr) -> bool:
    """Whether a context still has to give the expression its type."""
    return expr.type.kind is Kind.NULL


def base(kind: SqlType) -> SqlType:
    """The type without its length, precision and scale; CHAR stays CHAR."""
    if kind.kind is Kind.TEXT:
        return SqlType(Kind.TEXT, padded=kind.padded)
    return _BY_KIND.get(kind.kind, kind)


def mismatch(message: str, dialect: Dialect, state: str = "42883") -> SqlError | Unsupported:
    """A combination of types: an error in PostgreSQL, elsewhere a conversion that is not modelled."""
    return SqlError(state, message) if dialect.name == "postgres" else Unsupported(message)


def literal_value(text: str, target: SqlType, dialect: Dialect) -> Const:
    """A string literal read as a value of `target`'s family. Raises SqlError 22P02/22003, Unsupported."""
    kind = target.kind
    if kind is Kind.TEXT:
        return Const(text, base(target))
    if kind in INTEGER_KINDS and _INTEGER.match(text):
        value = int(text)
        low, high = INTEGER_RANGE[kind]
        if low <= value <= high:
            return Const(value, base(target))
        if dialect.name == "postgres":
            raise SqlError("22003", f'value "{text}" is out of range for type {kind.value}')
        return Const(Decimal(value), NUMERIC)
    exact = kind is Kind.NUMERIC or (kind in INTEGER_KINDS and dialect.name == "mysql")
    if exact and _DECIMAL.match(text):
        return Const(Decimal(text.strip()), NUMERIC)
    if kind is Kind.DOUBLE and _DECIMAL.match(text):
        return Const(float(text), DOUBLE)
    if kind is Kind.BOOLEAN and dialect.name == "postgres":
        word = text.strip().lower()
        if word in _TRUE or word in _FALSE:
            return Const(word in _TRUE, BOOLEAN)
    if dialect.name != "postgres":
        raise Unsupported(f"text literal {text!r} where {kind.value} is expected")
    if kind in (Kind.NUMERIC, Kind.DOUBLE) and text.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise Unsupported(f"numeric value {text!r}")
    if kind in NUMBER_KINDS and re.match(r"\s*[+-]?(?:0[xXoObB]|[0-9.]+_)", text):
        raise Unsupported(f"number written {text!r}")
    raise SqlError("22P02", f'invalid input syntax for type {kind.value}: "{text}"')


def _parameter(param: Param, target: SqlType, context: Context) -> Expr:
    """Type a parameter by its context and by what its value looks like in the log; the first context decides."""
    kind, wanted = context.parameters.kinds[param.key], base(target)
    final = wanted
    if kind in INTEGER_KINDS:
        if wanted.kind in (Kind.TEXT, Kind.BOOLEAN):
            raise Unsupported(f"an integer parameter where {wanted.kind.value} is expected")
        if wanted.kind is Kind.NUMERIC and context.dialect.name == "mysql":
            final = SqlType(kind)
        elif wanted.kind in INTEGER_KINDS:
            final = max(wanted, SqlType(kind), key=lambda item: _RANK[item.kind])
    elif kind is Kind.BOOLEAN and wanted.kind is not Kind.BOOLEAN:
        if not integer_booleans(context.dialect) or wanted.kind is Kind.TEXT:
            raise Unsupported(f"a boolean parameter where {wanted.kind.value} is expected")
        final = BOOLEAN
    elif kind is Kind.DOUBLE:
        if wanted.kind not in NUMBER_KINDS:
            raise Unsupported(f"a floating-point parameter where {wanted.kind.value} is expected")
        final = DOUBLE
    elif kind is Kind.TEXT and wanted.kind is Kind.BOOLEAN and context.dialect.name != "postgres":
        raise Unsupported("a text parameter where a boolean is expected")
    context.parameters.types[param.key] = final
    typed = Param(param.key, final)
    return cast(typed, INT) if final is BOOLEAN and wanted.kind in NUMBER_KINDS else typed


def settle(expr: Expr, target: SqlType, context: Context) -> Expr:
    """Give a loose expression the family of `target`; others are returned as they are."""
    if not is_loose(expr):
        return expr
    if target.kind is Kind.NULL:
        return settle_alone(expr, context)
    if isinstance(expr, Param):
        known = context.parameters.types.get(expr.key)
        return Param(expr.key, known) if known is not None else _parameter(expr, target, context)
    if isinstance(expr, Const):
        if isinstance(expr.value, str):
            return literal_value(expr.value, target, context.dialect)
        return Const(None, base(target))
    raise AssertionError(f"loose {type(expr).__name__}")


def settle_alone(expr: Expr, context: Context) -> Expr:
    """Type an expression that has no context: text, and a parameter by its value's looks."""
    if isinstance(expr, Param) and is_loose(expr):
        kind = context.parameters.kinds[expr.key]
        return as_value(settle(expr, TEXT if kind is Kind.NULL else SqlType(kind), context), context)
    return settle(expr, TEXT, context)


def cast(expr: Expr, target: SqlType) -> Expr:
    """An implicit conversion of families; folds what can be folded and leaves integers of another width alone."""
    source = expr.type
    if source == target or (source.kind in INTEGER_KINDS and target.kind in INTEGER_KINDS):
        return expr
    if isinstance(expr, Const):
        value = expr.value
        if value is None:
            return Const(None, target)
        if source.kind is Kind.BOOLEAN and target.kind in INTEGER_KINDS:
            return Const(int(bool(value)), target)
        if source.kind in INTEGER_KINDS and target.kind is Kind.NUMERIC and isinstance(value, int):
            return Const(Decimal(value), target)
        if source.kind is Kind.TEXT and target.kind is Kind.TEXT:
            return Const(value, target)
    if source.kind is target.kind and source.kind is not Kind.TEXT:
        return expr
    if source.kind is Kind.TEXT and target.kind is Kind.TEXT and source.padded == target.padded:
        return expr
    return Cast(expr, target)


def as_value(expr: Expr, context: Context) -> Expr:
    """The expression where a value is wanted: in MySQL and SQLite a truth value is then a number."""
    if expr.type.kind is Kind.BOOLEAN and integer_booleans(context.dialect):
        return cast(expr, INT)
    return expr


def decimal_of(kind: SqlType) -> SqlType:
    """MySQL: the DECIMAL that an exact number is when it meets one. Without a scale where none is known."""
    if kind.kind in _DIGITS:
        return SqlType(Kind.NUMERIC, _DIGITS[kind.kind], 0)
    return kind


def _join_numbers(kinds: Sequence[SqlType], dialect: Dialect) -> SqlType:
    widest = max(kinds, key=lambda item: _RANK[item.kind])
    if dialect.name == "duckdb" and widest.kind is Kind.NUMERIC and any(k.kind is not Kind.NUMERIC for k in kinds):
        raise Unsupported("DECIMAL meets another number in DuckDB")
    if widest.kind is not Kind.NUMERIC or dialect.name != "mysql":
        return _BY_KIND[widest.kind]
    exact = [decimal_of(item) for item in kinds]
    if any(item.precision is None for item in exact):
        return NUMERIC
    scale = max(item.scale or 0 for item in exact)
    whole = max((item.precision or 0) - (item.scale or 0) for item in exact)
    return SqlType(Kind.NUMERIC, min(whole + scale, MYSQL_PRECISION), scale)


def common_type(kinds: Iterable[SqlType], context: Context, what: str) -> SqlType:
    """The type that CASE, COALESCE, IN and the like convert to; TEXT where every item is loose (PostgreSQL 10.5).

    Raises SqlError 42804 (PostgreSQL) or Unsupported where there is none.
    """
    known = [item for item in kinds if item.kind is not Kind.NULL]
    if not known:
        return TEXT
    if all(item.kind in NUMBER_KINDS for item in known):
        return _join_numbers(known, context.dialect)
    if all(item.kind is Kind.TEXT for item in known):
        return SqlType(Kind.TEXT, padded=all(item.padded for item in known))
    if all(item.kind is Kind.BOOLEAN for item in known):
        return BOOLEAN
    shown = " and ".join(sorted({str(item) for item in known}))
    raise mismatch(f"{what} types {shown} cannot be matched", context.dialect, "42804")


def unify(items: Sequence[Expr], context: Context, what: str) -> tuple[list[Expr], SqlType]:
    """Convert all items to their common type; a loose parameter among only loose items keeps its own looks."""
    values = [as_value(item, context) for item in items]
    if all(is_loose(item) for item in values):
        values = [settle_alone(item, context) if isinstance(item, Param) else item for item in values]
    target = common_type([item.type for item in values], context, what)
    values = [settle(item, target, context) for item in values]
    target = common_type([item.type for item in values], context, what)
    return [cast(item, target) for item in values], target


def check_families(left: Expr, right: Expr, context: Context, op: str) -> None:
    """Refuse a comparison across families of types: SqlError 42883 in PostgreSQL, elsewhere Unsupported."""
    families = {
        "number" if item.type.kind in NUMBER_KINDS else item.type.kind.value
        for item in (as_value(left, context), as_value(right, context))
        if not is_loose(item)
    }
    if len(families) > 1:
        if isinstance(left, Param) or isinstance(right, Param):
            raise Unsupported(f"a parameter used as {left.type} and as {right.type}")
        raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", context.dialect)


def comparable(left: Expr, right: Expr, context: Context, op: str) -> tuple[Expr, Expr]:
    """Both operands of a comparison, converted. Raises SqlError 42883 (PostgreSQL) for types that do not compare."""
    check_families(left, right, context, op)
    (left, right), _ = unify([left, right], context, f"operator {op}")
    return left, right


def assign(expr: Expr, target: SqlType, context: Context, what: str) -> Expr:
    """The expression stored into a column or variable of type `target` (PostgreSQL 10.4; MySQL 11.1).

    Raises SqlError 42804 for a conversion that PostgreSQL has no assignment cast for.
    """
    expr = settle(expr, target, context)
    source, goal = expr.type, target.kind
    if source == target:
        return expr
    if isinstance(expr, Const):
        if expr.value is None:
            return Const(None, target)
        if goal in INTEGER_KINDS and source.kind in INTEGER_KINDS and isinstance(expr.value, int):
            low, high = INTEGER_RANGE[goal]
            if low <= expr.value <= high:
                return Const(expr.value, target)
    numbers = source.kind in NUMBER_KINDS and goal in NUMBER_KINDS
    texts = source.kind is Kind.TEXT and goal is Kind.TEXT
    to_text = source.kind in INTEGER_KINDS and goal is Kind.TEXT
    if numbers or texts or to_text:
        return Cast(expr, target, assignment=True)
    if source.kind is Kind.BOOLEAN and integer_booleans(context.dialect) and goal in NUMBER_KINDS:
        return Cast(cast(expr, INT), target, assignment=True)
    if isinstance(expr, Param):
        raise Unsupported(f"a parameter used as {source} and as {target}")
    if goal is Kind.TEXT:
        raise Unsupported(f"conversion of {source} to text")
    raise mismatch(f"{what} is of type {target} but expression is of type {source}", context.dialect, "42804")


def null() -> Const:
    """A bare NULL."""
    return Const(None, NULL)


def signed_literal(literal: Const, dialect: Dialect) -> Const:
    """A numeric literal together with its sign, typed by PostgreSQL's rules; elsewhere as it is."""
    value = literal.value
    if dialect.name != "postgres" or isinstance(value, (str, float)) or value is None:
        return literal
    if isinstance(value, Decimal) and value.as_tuple().exponent != 0:
        return literal
    number = int(value)
    for kind in (INT, BIGINT):
        low, high = INTEGER_RANGE[kind.kind]
        if low <= number <= high and (literal.type.kind is not Kind.NUMERIC or abs(number) > high):
            return Const(number, kind)
    return literal


def number_literal(text: str, dialect: Dialect) -> Const:
    """A numeric literal by the dialect's rules (PostgreSQL 4.1.2.6, MySQL 11.1.2)."""
    if text.isdigit():
        value = int(text)
        if value <= INTEGER_RANGE[Kind.INT][1]:
            return Const(value, INT)
        if value <= INTEGER_RANGE[Kind.BIGINT][1]:
            return Const(value, BIGINT)
        if dialect.name != "postgres":
            raise Unsupported(f"integer literal {text} beyond 64 bits")
        return Const(Decimal(value), NUMERIC)
    if not _DECIMAL.match(text):
        raise Unsupported(f"number written {text}")
    if dialect.name == "sqlite" or ("e" in text.lower() and dialect.name in ("mysql", "duckdb")):
        return Const(float(text), DOUBLE)
    number = Decimal(text)
    if abs(number.adjusted()) > EXACT.prec:
        raise Unsupported(f"exact numbers of more than {EXACT.prec} digits")
    if (exponent := number.as_tuple().exponent) == 0 or (isinstance(exponent, int) and exponent > 0):
        number = Decimal(int(number))
    if dialect.name == "postgres":
        return Const(number, NUMERIC)
    scale = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    return Const(number, SqlType(Kind.NUMERIC, max(len(number.as_tuple().digits), scale, 1), scale))
