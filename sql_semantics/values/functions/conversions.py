"""Conversions that a product makes by rules of its own, as functions (MySQL 14.3, SQLite 3 and 4).

A text becomes the number that it begins with. Where MySQL only warns (a query), the prefix counts; where it stores
(strict mode), anything after it is an error. Does not know SQLite's affinity, which the front end applies.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from decimal import Decimal

from sql_semantics.errors import Unsupported
from sql_semantics.values.casts.numbers import prefix_number
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, exactly, plainly, same
from sql_semantics.values.numbers.number import round_scale, scale_of
from sql_semantics.values.numbers.sqlite_text import leading_real, whole_number
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGER_KINDS,
    TEXT,
    Kind,
    SqlType,
    Value,
)

_LARGEST_EXPONENT = 308
"""The power of ten beyond which no double reaches."""


def _check(call: Call, text: str, what: str) -> None:
    """A text that is more than a number: a warning in a query, an error where it is stored (MySQL 5.1.11)."""
    writing = call.dialect.writing
    if writing == "value" and not call.name.startswith("compared"):
        raise call.fail("22007", f"truncated incorrect {what} value: {text!r}")
    if writing is not None:
        raise Unsupported(f"the text {text!r} as a number in a statement that stores")


def _number(call: Call) -> Implementation:
    def apply(text: str) -> float:
        number, clean = prefix_number(text)
        if not clean:
            _check(call, text, "DOUBLE")
        if call.name.startswith("compared") and number.adjusted() > _LARGEST_EXPONENT:
            return math.copysign(sys.float_info.max, number)  # with a warning only
        if len(number.as_tuple().digits) > 15 or abs(number.adjusted()) > 300:
            raise Unsupported(f"the text {text!r} as a number")  # compared as a double or as a DECIMAL: versions differ
        return float(number)

    return apply


def _integer(call: Call) -> Implementation:
    def apply(text: str) -> int:
        number, clean = prefix_number(text)
        if "." in text or "e" in text.lower() or number.adjusted() >= 18:
            raise Unsupported(f"the text {text!r} as an integer")
        if not clean:
            _check(call, text, "INTEGER")
        return int(number)

    return apply


def _storage_class(value: Value) -> int:
    if isinstance(value, (int, float)):
        return 0
    return 1 if isinstance(value, str) else 2


def _compare_classes(left: Value, right: Value) -> int:
    """SQLite's order of values of any class: numbers, then text, then blobs."""
    first, second = _storage_class(left), _storage_class(right)
    if first != second:
        return -1 if first < second else 1
    return (left > right) - (left < right)  # type: ignore[operator]


def _leading_real(call: Call) -> Implementation:
    """SQLite's CAST of a text to REAL."""
    return lambda text: leading_real(text, call.dialect.version)


def _compare_numbers(call: Call) -> Implementation:
    """SQLite 3.1, numeric affinity: a text that is all a number is one."""

    def numeric(value: Value) -> Value:
        number = whole_number(value, call.dialect.version) if isinstance(value, str) else None
        return value if number is None else number

    return lambda left, right: _compare_classes(numeric(left), numeric(right))


def _compare_decimals(call: Call) -> Implementation:
    """MariaDB rounds both sides of a comparison to their scales, other versions compare all digits they have."""
    scales = [type_.scale for type_ in call.arguments]

    def apply(left: Decimal | int, right: Decimal | int) -> int:
        sides = [Decimal(left), Decimal(right)]
        short = [
            side if scale is None or scale_of(side) <= scale else round_scale(side, scale)
            for side, scale in zip(sides, scales, strict=True)
        ]
        order = (sides[0] > sides[1]) - (sides[0] < sides[1])
        if order != (short[0] > short[1]) - (short[0] < short[1]):
            raise Unsupported("a comparison that hangs on digits beyond the scale of a DECIMAL in mysql")
        return order

    return apply


def _declared_digits(call: Call) -> Implementation:
    """MariaDB sums the digits that a value has, or those of its type where it groups in a temporary table."""
    scale = call.arguments[0].scale

    def apply(value: Decimal) -> Decimal:
        if scale is not None and scale_of(value) > scale and round_scale(value, scale) != value:
            raise Unsupported("SUM or AVG of a DECIMAL with more digits than its type in mysql")
        return value

    return apply


def _class_type(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    if types[0].kind is Kind.NUMERIC or (types[0].kind is Kind.DOUBLE and types[0].scale is not None):
        raise Unsupported("typeof() of a number of either class")
    return TEXT


def _class_of(value: Value) -> str:
    """SQLite 2.1: the storage class of a value."""
    if value is None:
        return "null"
    for type_, name in ((bool, ""), (int, "integer"), (float, "real"), (str, "text"), (bytes, "blob")):
        if name and type(value) is type_:
            return name
    raise Unsupported("typeof() of such a value")


_ANYTHING = any_of(list(Kind))
_EXACT = any_of([*INTEGER_KINDS, Kind.NUMERIC])
MYSQL: Table = {
    "text number": (Rule(exactly(TEXT), DOUBLE, _number, errors=("22007",)),),
    "compared number": (Rule(exactly(TEXT), DOUBLE, _number, errors=("22007",)),),
    "text integer": (Rule(exactly(TEXT), BIGINT, _integer, errors=("22007",)),),
    "declared digits": (Rule((_EXACT,), same, _declared_digits),),
    "compare decimals": (Rule((_EXACT, _EXACT), INT, _compare_decimals),),
    "stored alike": (Rule((_ANYTHING, _ANYTHING), BOOLEAN, plainly(lambda a, b: a == b), strict=False),),
    "xor": (Rule(exactly(BOOLEAN, BOOLEAN), BOOLEAN, plainly(lambda a, b: bool(a) != bool(b))),),
}
SQLITE: Table = {
    "text number": (Rule(exactly(TEXT), DOUBLE, _number),),
    "leading real": (Rule(exactly(TEXT), DOUBLE, _leading_real),),
    "typeof": (Rule((_ANYTHING,), _class_type, plainly(_class_of), strict=False),),
    "compare classes": (Rule((_ANYTHING, _ANYTHING), INT, plainly(_compare_classes)),),
    "compare numbers": (Rule((_ANYTHING, _ANYTHING), INT, _compare_numbers),),
}
