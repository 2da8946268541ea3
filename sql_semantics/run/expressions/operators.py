"""Source of arithmetic and comparison on two non-null operands, by dialect and type.

Each function is given the operands' source (names or literals, cheap to repeat) and returns source. Does not know
NULL: the expression compiler has excluded it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.floating import checked_float
from sql_semantics.values.numbers.number import (
    EXACT,
    divide_integers,
    divide_postgres,
    divide_to_integer,
    modulo_decimals,
    modulo_integers,
    mysql_division,
)
from sql_semantics.values.order import sort_key
from sql_semantics.values.text import (
    TextRule,
    common_rule,
    equal_by_code_points,
    text_equality,
    text_order,
)
from sql_semantics.values.types import FLOAT_KINDS, INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType

if TYPE_CHECKING:
    from sql_semantics.run.expressions.expressions import Emitter

_PYTHON = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def comparison(
    emitter: Emitter,
    op: str,
    left: str,
    right: str,
    left_type: SqlType,
    right_type: SqlType,
) -> str:
    """A comparison operator on non-null operands of one family."""
    symbol = _PYTHON[op]
    kinds = (left_type.kind, right_type.kind)
    if Kind.NULL in kinds and kinds[0] is not kinds[1] and Kind.TEXT not in kinds:
        return f"({left} {symbol} {right})"
    if Kind.TEXT in kinds:
        if not {Kind.TEXT, Kind.NULL}.issuperset(kinds):
            raise Unsupported(f"comparison of {left_type} with {right_type}")
        rule = common_rule((left_type, right_type), emitter.rule)
        if op in ("=", "<>"):
            if equal_by_code_points(rule):
                return f"({left} {symbol} {right})"
            equal = emitter.name(text_equality(rule))
            return f"({'not ' if op == '<>' else ''}{equal}({left}, {right}))"
        if rule is TextRule.CODE_POINT:
            return f"({left} {symbol} {right})"
        order = emitter.name(text_order(rule))
        return f"({order}({left}, {right}) {symbol} 0)"
    of = next((found for kind in kinds if (found := sort_key(kind)) is not None), None)
    if of is not None:
        key = emitter.name(of)
        return f"({key}({left}) {symbol} {key}({right}))"
    return f"({left} {symbol} {right})"


def negation(emitter: Emitter, operand: str, type_: SqlType) -> str:
    """Unary minus."""
    if type_.kind is Kind.NUMERIC:
        return f"{emitter.name(EXACT.minus)}({operand})"
    if type_.kind in INTEGER_KINDS:
        return _checked_integer(emitter, f"-{operand}", type_)
    return f"(-{operand})"


def _checked_integer(emitter: Emitter, source: str, type_: SqlType, nullable: bool = False) -> str:
    """The integer if it fits the type, else 22003 (SQLite goes on in floating point, which is not modelled)."""
    rules = emitter.dialect.rules.values
    kind = Kind.BIGINT if rules.integers_of_64_bits else type_.kind
    low, high = INTEGER_RANGE[kind]
    if rules.overflow_to_double:
        fail = emitter.name(_sqlite_overflow)
    else:
        fail = emitter.failure("22003", f"{type_} out of range")
    name = emitter.temporary()
    if nullable:
        return f"({name} if ({name} := {source}) is None or {low} <= {name} <= {high} else {fail}())"
    return f"({name} if {low} <= ({name} := {source}) <= {high} else {fail}())"


def _sqlite_overflow() -> None:
    raise Unsupported("integer overflow in sqlite (continues in floating point)")


def arithmetic(
    emitter: Emitter,
    op: str,
    left: str,
    right: str,
    left_type: SqlType,
    right_type: SqlType,
    type_: SqlType,
) -> str:
    """``+ - * / % div`` on non-null operands, giving `type_`."""
    if type_.kind in INTEGER_KINDS and Kind.NUMERIC in (left_type.kind, right_type.kind):
        a = _as_decimal(emitter, left, left_type)
        b = _as_decimal(emitter, right, right_type)
        return _checked_integer(emitter, _decimal_arithmetic(emitter, op, a, b), type_, nullable=True)
    if type_.kind in INTEGER_KINDS:
        return _integer_arithmetic(emitter, op, left, right, type_)
    if type_.kind is Kind.NUMERIC:
        if not emitter.dialect.rules.values.exact_decimals:
            raise Unsupported("NUMERIC in sqlite (stored as floating point)")
        a = _as_decimal(emitter, left, left_type)
        b = _as_decimal(emitter, right, right_type)
        return _decimal_arithmetic(emitter, op, a, b)
    if type_.kind in FLOAT_KINDS:
        return _double_arithmetic(
            emitter, op, _as_double(emitter, left, left_type), _as_double(emitter, right, right_type), type_.kind
        )
    if type_.kind is Kind.NULL:
        return "None"
    raise Unsupported(f"{op} on {left_type} and {right_type}")


def _as_decimal(emitter: Emitter, source: str, type_: SqlType) -> str:
    return source if type_.kind is Kind.NUMERIC else f"{emitter.name(Decimal)}({source})"


def _as_double(emitter: Emitter, source: str, type_: SqlType) -> str:
    if type_.kind in FLOAT_KINDS or emitter.dialect.rules.values.affinities:
        return source
    return f"float({source})"


def _zero_divisor(emitter: Emitter, whole: bool = False) -> str:
    """What division by zero gives: an error in PostgreSQL and in MySQL's writes, NULL elsewhere.

    DuckDB's answer depends on its version: of quotients that are `whole`, and of remainders, NULL before 2.0, then an
    error, which is not modelled, as are fractions (infinity, NULL before 0.9).
    """
    gives = emitter.dialect.rules.values.zero_divisor
    if gives == "error" or emitter.dialect.writing is not None:
        may = emitter.dialect.writing == "condition"
        return f"{emitter.failure('22012', 'division by zero', may=may)}()"
    if gives is None and not (whole and emitter.dialect.null_quotients):
        return f"{emitter.name(_refuse_zero_divisor)}()"
    return "None"


def _refuse_zero_divisor() -> None:
    raise Unsupported("division by zero in duckdb")


def _integer_arithmetic(emitter: Emitter, op: str, left: str, right: str, type_: SqlType) -> str:
    if op in ("+", "-", "*"):
        return _checked_integer(emitter, f"{left} {op} {right}", type_)
    if op in ("/", "div", "%"):
        function = emitter.name(modulo_integers if op == "%" else divide_integers)
        result = f"{function}({left}, {right})"
        if op != "%":
            result = _checked_integer(emitter, result, type_)
        return f"({_zero_divisor(emitter, whole=True)} if {right} == 0 else {result})"
    raise Unsupported(f"operator {op}")


def _decimal_arithmetic(emitter: Emitter, op: str, left: str, right: str) -> str:
    exact: dict[str, Callable[[Any, Any], Decimal]] = {
        "+": EXACT.add,
        "-": EXACT.subtract,
        "*": EXACT.multiply,
    }
    if op in exact:
        return f"{emitter.name(exact[op])}({left}, {right})"
    rules = emitter.dialect.rules.values
    division = rules.decimal_division
    function: Callable[[Decimal, Decimal], Decimal | int]
    if op == "%":
        function = _modulo_mysql if rules.signed_zero_remainders else modulo_decimals
    elif op == "div" and rules.divides_to_integers:
        function = divide_to_integer
    elif op == "/" and division is not None:
        function = divide_postgres if division == "significant" else mysql_division(emitter.dialect.quotient_digits)
    else:
        raise Unsupported(f"{op} on NUMERIC in {emitter.dialect.name}")
    by_zero = _zero_divisor(emitter, whole=op == "%")
    return f"({by_zero} if {right} == 0 else {emitter.name(function)}({left}, {right}))"


def _modulo_mysql(left: Decimal, right: Decimal) -> Decimal:
    result = modulo_decimals(left, right)
    if not result and left < 0:
        raise Unsupported("a DECIMAL remainder of minus zero in mysql, which is less than zero")
    return result


def _double_arithmetic(emitter: Emitter, op: str, left: str, right: str, kind: Kind) -> str:
    if op not in ("+", "-", "*", "/"):
        raise Unsupported(f"{op} on floating-point numbers")
    function = emitter.name(_double_function(emitter.dialect, op, kind, emitter.may))
    if op == "/":
        # float8_div leaves NaN alone, which is the one number that is not equal to itself.
        nan = emitter.dialect.rules.values.nan_over_zero
        zero = f"{right} == 0 and {left} == {left}" if nan else f"{right} == 0"
        return f"({_zero_divisor(emitter)} if {zero} else {function}({left}, {right}))"
    return f"{function}({left}, {right})"


def _sqlite_function(op: str) -> Callable[[float, float], float]:
    """A number may be an integer there whatever its column says, and then counts as one."""

    def apply(left: float, right: float) -> float:
        if isinstance(left, int) and isinstance(right, int):
            whole = left + right if op == "+" else left - right if op == "-" else left * right
            if op == "/":
                whole = divide_integers(left, right)
            return whole if -(2**63) <= whole < 2**63 else apply(float(left), float(right))
        a, b = float(left), float(right)
        result = a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b
        if not math.isfinite(result):
            raise Unsupported("floating-point overflow in sqlite")
        return result

    return apply


def _double_function(dialect: Dialect, op: str, kind: Kind, may: bool) -> Callable[[float, float], float]:
    rules, name = dialect.rules.values, dialect.name
    if rules.affinities:
        return _sqlite_function(op)
    fails = rules.float_overflow == "fails" or (rules.float_overflow == "fails_in_sums" and op in ("+", "-"))

    def apply(left: float, right: float) -> float:
        try:
            return checked_float(op, left, right, kind, may)
        except SqlError as error:
            if fails:
                raise error
            raise Unsupported(f"floating-point overflow or underflow in {name}") from None

    return apply
