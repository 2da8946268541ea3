"""Functions of numbers (PostgreSQL 9.3, MySQL 14.6.2, SQLite's core and math functions, DuckDB's numeric functions).

Functions of doubles whose last digit hangs on the C library (exp, ln) are left out. Does not know operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions import transcendental
from sql_semantics.values.functions.rule import (
    Call,
    Implementation,
    Rule,
    Slot,
    Table,
    any_of,
    exactly,
    plainly,
    refused,
    same,
)
from sql_semantics.values.numbers.floating import finite_double
from sql_semantics.values.numbers.number import (
    EXACT,
    modulo_decimals,
    modulo_integers,
    round_scale,
    scale_of,
    truncate_scale,
)
from sql_semantics.values.types import (
    BIGINT,
    DOUBLE,
    EXACT_KINDS,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NUMBER_KINDS,
    NUMERIC,
    SMALLINT,
    TINYINT,
    Kind,
    SqlType,
    Value,
)

_OVERFLOW = ("22003",)


def _finisher(result: SqlType) -> Callable[[Any], Any]:
    """Bring an exact number into the representation of the result type."""
    if result.kind is Kind.NUMERIC:
        return lambda value: value if isinstance(value, Decimal) else Decimal(value)
    return float if result.kind in FLOAT_KINDS else int


def absolute(call: Call) -> Implementation:
    """abs()."""
    if call.result.kind is Kind.NUMERIC:
        return EXACT.abs
    if call.result.kind in FLOAT_KINDS:
        return abs
    high = INTEGER_RANGE[call.result.kind][1]

    def apply(value: int) -> int:
        if abs(value) <= high:
            return abs(value)
        raise call.fail("22003", "integer out of range")

    return apply


def sign(call: Call) -> Implementation:
    """sign()."""
    finish = _finisher(call.result)

    def apply(value: Any) -> Any:
        if value != value:
            raise Unsupported("sign(NaN)")
        return finish((value > 0) - (value < 0))

    return apply


def _whole(exact: Callable[[Any], int], name: str) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        if call.arguments[0].kind not in FLOAT_KINDS:
            finish = _finisher(call.result)
            return lambda value: finish(exact(value))

        def apply(value: float) -> float:
            if isinstance(value, int) or not math.isfinite(value):
                return value  # integers stand among SQLite's floats
            return math.copysign(float(exact(value)), value)

        return apply

    return build


ceiling = _whole(math.ceil, "ceil")
floor = _whole(math.floor, "floor")


def _half_even(call: Call) -> Implementation:
    return lambda value: math.copysign(float(round(value)), value) if math.isfinite(value) else value


def _half_away(call: Call) -> Implementation:
    def apply(value: float) -> float:
        if not math.isfinite(value) or abs(value) >= 2**52:
            return value
        whole = math.floor(abs(value))
        return math.copysign(float(whole + (abs(value) - whole >= 0.5)), value)

    return apply


def _cut_float(call: Call) -> Implementation:
    return lambda value: math.copysign(float(math.trunc(value)), value) if math.isfinite(value) else value


def _scaled(cut: Callable[[Decimal, int], Decimal]) -> Callable[[Call], Implementation]:
    """round() and trunc() of exact numbers, with or without a number of digits."""

    def build(call: Call) -> Implementation:
        finish, kind = _finisher(call.result), call.result.kind
        low, high = INTEGER_RANGE.get(kind, (0, 0))
        rules = call.dialect.rules.values
        keeps, overflows = rules.rounding_keeps_digits, rules.rounding_overflows
        keep = keeps == "all" or (keeps == "decimals" and kind is Kind.NUMERIC)

        def apply(value: int | Decimal, scale: int = 0) -> Any:
            if not -2000 <= scale <= 2000:
                raise Unsupported(f"{call.name} to {scale} digits")
            number = Decimal(value)
            if keep:
                scale = min(scale, scale_of(number))
            result = finish(cut(number, scale))
            if kind in INTEGER_KINDS and not low <= result <= high:
                if not overflows:
                    raise Unsupported(f"{call.name} beyond 64 bits")
                raise call.fail("22003", "integer out of range")
            return result

        return apply

    return build


rounded = _scaled(round_scale)
truncated = _scaled(truncate_scale)


def remainder(call: Call) -> Implementation:
    """mod() as a function of its own; MySQL's is the operator."""
    modulo: Implementation = modulo_integers if call.result.kind in INTEGER_KINDS else modulo_decimals
    finish, fails = _finisher(call.result), call.dialect.rules.values.mod_by_zero_fails

    def apply(left: Any, right: Any) -> Any:
        if right:
            return finish(modulo(left, right))
        if fails:
            raise call.fail("22012", "division by zero")
        if call.dialect.null_quotients:
            return None
        raise Unsupported(f"division by zero in {call.dialect.name}")

    return apply


def _quotient(call: Call) -> Implementation:
    """PostgreSQL's div(): the quotient cut to an integer."""

    def apply(left: Decimal, right: Decimal) -> Decimal:
        if not right:
            raise call.fail("22012", "division by zero")
        return EXACT.divide_int(left, right)

    return apply


def _root(call: Call) -> Implementation:
    gives = call.dialect.rules.values.root_of_negative

    def apply(value: float) -> float | None:
        if value >= 0 or value != value:
            return math.sqrt(value)
        if gives == "null":
            return None
        if gives is None:
            raise Unsupported("sqrt() of a negative number in duckdb, whose versions differ")
        raise call.fail("2201F", "cannot take square root of a negative number")

    return apply


def _power(call: Call) -> Implementation:
    errors = call.dialect.rules.values.power_errors

    def apply(base: float, exponent: float) -> float:
        if not (math.isfinite(base) and math.isfinite(exponent)):
            raise Unsupported("power() of NaN or infinity")
        if base == 0 and exponent < 0:
            if errors == "all":
                raise call.fail("2201F", "zero raised to a negative power is undefined")
            raise Unsupported("power() of zero to a negative exponent")
        if base < 0 and not float(exponent).is_integer():
            if errors == "all":
                raise call.fail("2201F", "a negative number raised to a non-integer power yields a complex result")
            raise Unsupported("power() of a negative number")
        try:
            result = math.pow(base, exponent)
        except OverflowError:
            result = math.inf
        if errors is None and math.isinf(result):
            raise Unsupported("power() beyond the range of a double")
        if result == 0 and base != 0 and errors == "all":
            raise call.fail("22003", "value out of range: underflow")
        return finite_double(result, call.may)

    return apply


_DOUBLE_SLOT = Slot(FLOAT_KINDS, DOUBLE)
_EXACT_SLOT = any_of([Kind.NUMERIC], NUMERIC)
_ANY_INTEGER = any_of(INTEGER_KINDS)


def _wide_integer(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """MySQL's integers: 64 bits, unsigned where an argument is."""
    return SqlType(Kind.UBIGINT) if any(type_.kind is Kind.UBIGINT for type_ in types) else BIGINT


def _rounded_whole(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """MySQL's ROUND of an integer to tens or hundreds: a DECIMAL where a digit more need not fit."""
    places = values[1]
    if types[0].kind in (Kind.BIGINT, Kind.UBIGINT) and not (isinstance(places, int) and places >= 0):
        raise Unsupported("round() of a BIGINT to tens in mysql")
    return _wide_integer(types, values)


def _whole_of_decimal(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """MySQL's CEIL and FLOOR of a DECIMAL: BIGINT where its digits fit."""
    type_ = types[0]
    if type_.precision is None:
        raise Unsupported("ceil or floor of a parameter whose scale is not known")
    digits = type_.precision - (type_.scale or 0)
    return BIGINT if digits < 18 else SqlType(Kind.NUMERIC, digits + 1, 0)


def _rounded_decimal(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """MySQL's and DuckDB's ROUND of a DECIMAL: its scale is the number of digits asked for, never more than it had."""
    type_ = types[0]
    places = values[1] if len(values) > 1 else 0
    if type_.precision is None or not isinstance(places, int):
        raise Unsupported("round with a computed number of digits, or of a parameter whose scale is not known")
    if places > (type_.scale or 0):
        raise Unsupported("round to more digits than there are, on which MySQL and MariaDB differ")
    scale = min(max(places, 0), type_.scale or 0)
    return SqlType(Kind.NUMERIC, type_.precision - (type_.scale or 0) + scale + 1, scale)


def _rounded_duckdb(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """DuckDB's ROUND keeps the precision, and the scale where more digits are asked for than there are."""
    type_ = types[0]
    if type_.precision is None or not isinstance(values[1], int):
        raise Unsupported("round with a computed number of digits in duckdb")
    return SqlType(Kind.NUMERIC, type_.precision, min(max(values[1], 0), type_.scale or 0))


def _rounded_integer(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    if not isinstance(values[1], int):
        raise Unsupported("round with a computed number of digits in duckdb")
    return types[0]


def _rounded_mysql(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """Asked for more places than there are, MySQL 8 keeps those there are and MariaDB appends zeros."""
    places = values[1] if len(values) > 1 else 0
    if isinstance(places, int) and places > (types[0].scale or 0):
        raise Unsupported("round or truncate to more places than the operand has in mysql")
    return _rounded_decimal(types, values)


def _pair(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """The wider of two signed integers."""
    order = [Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT]
    if any(type_.kind not in order for type_ in types):
        raise Unsupported("mod() of unsigned or huge integers")
    return max(types, key=lambda item: order.index(item.kind))


_POSTGRES_WHOLE = {
    name: (Rule((_DOUBLE_SLOT,), DOUBLE, build), Rule((_EXACT_SLOT,), NUMERIC, exact))
    for name, build, exact in (
        ("ceil", ceiling, ceiling), ("ceiling", ceiling, ceiling), ("floor", floor, floor),
        ("round", _half_even, rounded), ("trunc", _cut_float, truncated),
    )
}  # fmt: skip

POSTGRES: Table = {
    **_POSTGRES_WHOLE,
    "round": (*_POSTGRES_WHOLE["round"], Rule(exactly(NUMERIC, INT), NUMERIC, rounded)),
    "trunc": (*_POSTGRES_WHOLE["trunc"], Rule(exactly(NUMERIC, INT), NUMERIC, truncated)),
    "abs": (Rule((any_of(NUMBER_KINDS, DOUBLE),), same, absolute, errors=_OVERFLOW),),
    "sign": (Rule((_DOUBLE_SLOT,), DOUBLE, sign), Rule((_EXACT_SLOT,), NUMERIC, sign)),
    "sqrt": (Rule((_DOUBLE_SLOT,), DOUBLE, _root, errors=("2201F",)), transcendental.SQRT),
    "power": (
        Rule((_DOUBLE_SLOT, _DOUBLE_SLOT), DOUBLE, _power, errors=("2201F", "22003")),
        transcendental.POWER,
    ),
    "mod": (
        *(Rule(exactly(kind, kind), kind, remainder, errors=("22012",)) for kind in (SMALLINT, INT, BIGINT)),
        Rule(exactly(NUMERIC, NUMERIC), NUMERIC, remainder, errors=("22012",)),
    ),
    "div": (Rule(exactly(NUMERIC, NUMERIC), NUMERIC, _quotient, errors=("22012",)),),
}
POSTGRES["pow"] = POSTGRES["power"]
for _name, _exact in (
    ("ln", transcendental.LN),
    ("exp", transcendental.EXP),
    ("log", transcendental.LOG),
    ("log10", transcendental.LOG),
):
    # the last digit of a double hangs on the C library
    POSTGRES[_name] = (Rule((_DOUBLE_SLOT,), refused(f"{_name}() of a double"), _root), _exact)
for _name, _overloads in transcendental.POSTGRES.items():
    POSTGRES[_name] = POSTGRES.get(_name, ()) + _overloads
POSTGRES["width_bucket"] = (
    Rule((*(_DOUBLE_SLOT,) * 3, *exactly(INT)), refused("width_bucket() of doubles"), _root),
    *POSTGRES["width_bucket"],
)

_MYSQL_PLACES = any_of(INTEGER_KINDS)
MYSQL: Table = {
    "abs": (
        Rule((_ANY_INTEGER,), _wide_integer, absolute, errors=_OVERFLOW),
        Rule((any_of([Kind.NUMERIC]),), same, absolute),
        Rule((_DOUBLE_SLOT,), DOUBLE, absolute),
    ),
    "sign": (Rule((any_of(NUMBER_KINDS, DOUBLE),), INT, sign),),
    **{
        name: (
            Rule((_ANY_INTEGER,), _wide_integer, build),
            Rule((any_of([Kind.NUMERIC]),), _whole_of_decimal, build),
            Rule((_DOUBLE_SLOT,), DOUBLE, build),
        )
        for name, build in (("ceil", ceiling), ("ceiling", ceiling), ("floor", floor))
    },
    "round": (
        Rule((_ANY_INTEGER,), _wide_integer, rounded),
        Rule((_ANY_INTEGER, _MYSQL_PLACES), _rounded_whole, rounded, errors=_OVERFLOW),
        Rule((any_of([Kind.NUMERIC]),), _rounded_mysql, rounded),
        Rule((any_of([Kind.NUMERIC]), _MYSQL_PLACES), _rounded_mysql, rounded),
        Rule((_DOUBLE_SLOT,), DOUBLE, _half_even),
    ),
    "truncate": (
        Rule((_ANY_INTEGER, _MYSQL_PLACES), _wide_integer, truncated),
        Rule((any_of([Kind.NUMERIC]), _MYSQL_PLACES), _rounded_mysql, truncated),
    ),
    "sqrt": (Rule((_DOUBLE_SLOT,), DOUBLE, _root),),
    "power": (Rule((_DOUBLE_SLOT, _DOUBLE_SLOT), DOUBLE, _power, errors=_OVERFLOW),),
}
MYSQL["pow"] = MYSQL["power"]


def _double_rounded(value: float, digits: int) -> float:
    """The double nearest to a number rounded to some digits. Raises Unsupported where products, or their versions,
    compute another one: near a half, and where a longer float in between would show."""
    number = Fraction(float(value)) if math.isfinite(value) else None
    if number is None or not 0 <= digits <= _PLACES or abs(number) * 10**digits >= _ROUNDED:
        raise Unsupported("round() of such a double")
    scaled = number * 10**digits
    whole = math.floor(abs(scaled) + Fraction(1, 2))
    if abs(abs(scaled) % 1 - Fraction(1, 2)) < _NEAR:
        raise Unsupported("round() of a double near a half")
    exact = Fraction(whole, 10**digits)
    found = float(exact)
    unit = Fraction(math.ulp(found))
    if unit / 2 - abs(exact - Fraction(found)) < unit / 512:
        raise Unsupported("round() of a double that two doubles are as near to")
    return math.copysign(found, value) if found else 0.0


_ROUNDED, _PLACES, _NEAR = 10**10, 6, Fraction(1, 10**4)
"""The largest number of last digits, how many digits behind the point there are at most, and how near to a half
products differ."""

SQLITE: Table = {
    "abs": (
        Rule((_ANY_INTEGER,), BIGINT, absolute, errors=_OVERFLOW),
        Rule((_DOUBLE_SLOT,), DOUBLE, absolute),
    ),
    "round": (
        Rule((any_of(EXACT_KINDS | FLOAT_KINDS, DOUBLE),), DOUBLE, lambda call: _sqlite_round),
        Rule((_DOUBLE_SLOT, _ANY_INTEGER), DOUBLE, plainly(_double_rounded)),
    ),
    "sign": (Rule((any_of(NUMBER_KINDS, DOUBLE),), BIGINT, sign),),
    **{
        name: (Rule((_ANY_INTEGER,), BIGINT, build), Rule((_DOUBLE_SLOT,), DOUBLE, build))
        for name, build in (("ceil", ceiling), ("ceiling", ceiling), ("floor", floor))
    },
    "sqrt": (Rule((_DOUBLE_SLOT,), DOUBLE, _root),),
    "power": (Rule((_DOUBLE_SLOT, _DOUBLE_SLOT), DOUBLE, _power),),
}
SQLITE["pow"] = SQLITE["power"]


def _sqlite_round(value: float) -> float:
    number = float(value)
    if abs(number) >= 2**52:
        return number
    return float(int(number + (0.5 if number >= 0 else -0.5)))


_DUCK_SIGNED = any_of([Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT])
DUCKDB: Table = {
    "abs": (
        Rule((_DUCK_SIGNED,), same, absolute, errors=_OVERFLOW),
        Rule((any_of([Kind.NUMERIC]),), same, absolute),
        Rule((any_of(FLOAT_KINDS, DOUBLE),), same, absolute),
    ),
    "sign": (Rule((any_of(NUMBER_KINDS, DOUBLE),), TINYINT, sign),),
    **{
        name: (
            Rule((any_of([Kind.NUMERIC]),), lambda types, values: SqlType(Kind.NUMERIC, types[0].precision, 0), exact),
            Rule((any_of(FLOAT_KINDS, DOUBLE),), same, build),
        )
        for name, build, exact in (
            ("ceil", ceiling, ceiling), ("ceiling", ceiling, ceiling), ("floor", floor, floor),
            ("round", _half_away, rounded),
        )
    },
    "mod": (Rule((_DUCK_SIGNED, _DUCK_SIGNED), _pair, remainder),),
    "trunc": (
        Rule((_DUCK_SIGNED,), same, plainly(lambda value: value)),
        Rule((any_of([Kind.NUMERIC]),), lambda types, values: SqlType(Kind.NUMERIC, types[0].precision, 0), truncated),
        Rule((any_of(FLOAT_KINDS, DOUBLE),), same, _cut_float),
    ),
    "sqrt": (Rule((any_of([Kind.DOUBLE], DOUBLE),), DOUBLE, _root),),
    "power": (Rule((any_of([Kind.DOUBLE], DOUBLE),) * 2, DOUBLE, _power, errors=_OVERFLOW),),
}  # fmt: skip
DUCKDB["pow"] = DUCKDB["power"]
DUCKDB["round"] = (
    Rule((_DUCK_SIGNED,), same, plainly(lambda value: value)),
    *DUCKDB["round"],
    Rule((any_of([Kind.DOUBLE]), exactly(INT)[0]), DOUBLE, plainly(_double_rounded)),
    Rule((any_of([Kind.NUMERIC]), exactly(INT)[0]), _rounded_duckdb, rounded),
    Rule((_DUCK_SIGNED, exactly(INT)[0]), _rounded_integer, rounded, errors=_OVERFLOW),
)
