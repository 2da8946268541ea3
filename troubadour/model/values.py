"""JSON values of a log read as SQL values (paper §3.1, output *o*).

A value means nothing without the SQL type of its column: ``310``, ``"310"`` and ``"310.00"`` are one NUMERIC value and
three different JSON values. This module does not know which column a value stands in, nor the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal
from types import NoneType
from typing import Any, Final, final
from uuid import UUID

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dates.temporal import parse_temporal
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.numbers.floating import to_real
from sql_semantics.values.numbers.sqlite_text import narrowed
from sql_semantics.values.opaque import opaque
from sql_semantics.values.types import (
    FLOAT_KINDS,
    INTEGER_KINDS,
    INTEGER_RANGE,
    SQLITE_ANY,
    SQLITE_NUMBER,
    SQLITE_NUMERIC,
    TEMPORAL_KINDS,
    TEXT,
    ArrayShape,
    Interval,
    Kind,
    SqlType,
    Value,
)


@final
class Redacted:
    """The type of `REDACTED`; there is no other instance, and none is made by copying or pickling."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REDACTED"

    def __reduce__(self) -> str:
        return "REDACTED"


REDACTED: Final = Redacted()
"""A value that was not observed, ``{"redacted": true}`` in the file; equal to nothing but itself."""

ParamShape = tuple[Kind | ArrayShape, ...] | tuple[tuple[str, Kind | ArrayShape], ...] | None
"""What a statement's parameters look like: by position, by name (sorted), or none."""

_PLAIN_KINDS = {
    NoneType: Kind.NULL,
    bool: Kind.BOOLEAN,
    str: Kind.TEXT,
    Decimal: Kind.DOUBLE,
    float: Kind.DOUBLE,
}
ARRAYS = frozenset({list, tuple})
"""What an array is read as."""
_INTEGER = pattern(r"[+-]?[0-9]{1,4000}", re.ASCII)
_DECIMAL = pattern(r"[+-]?(?:[0-9]{1,150000}(?:\.[0-9]{0,20000})?|\.[0-9]{1,20000})(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)
_DOUBLE_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_HEXADECIMAL = pattern(r"\\x(?:[0-9a-fA-F]{2})*", re.ASCII)
_UUID = pattern(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", re.ASCII)
NO_DECIMALS = frozenset({"Infinity", "-Infinity", "NaN"})
"""Values of PostgreSQL's NUMERIC that are no decimal numbers."""
_LARGEST_EXPONENT = 131_072
"""Digits that PostgreSQL's NUMERIC has before the point; keeps ``1e999999999`` from eating the memory."""
_WIDE = Context(prec=300_000, rounding=ROUND_HALF_UP)


def read_value(json: Any, type: SqlType, *, stored: bool = False) -> Value:
    """The SQL value that `json` stands for in a column of `type`; NULL fits every type.

    With `stored` (initial rows) precision, scale and length must be kept too, and a NUMERIC gets its column's scale.
    Raises ValueError with the reason where the value does not fit, `Unsupported` for a NUMERIC that is infinite or NaN.
    `REDACTED` fits nothing: a comparison of values asks for it first.
    """
    kind = type.kind
    if json is None or kind is Kind.UNKNOWN:
        return None
    if kind is Kind.OPAQUE and not isinstance(json, Redacted):
        return opaque(json, type.name, spelled=type.spelled)
    if kind in INTEGER_KINDS:
        return _integer(json, kind)
    if kind is Kind.NUMERIC:
        number = _numeric(json)
        return _at_scale(number, type) if stored else number
    if kind is Kind.TEXT:
        if not isinstance(json, str):
            raise _misfit(json, type)
        if stored and type.length is not None and len(json.rstrip(" ")) > type.length:
            raise ValueError(f"{_shown(json)} is longer than {type} allows")
        return json
    if kind is Kind.BOOLEAN:
        # MySQL and SQLite answer comparisons with 1 and 0.
        if isinstance(json, bool) or (isinstance(json, int) and json in (0, 1)):
            return bool(json)
        raise _misfit(json, type)
    if kind is Kind.ANY and isinstance(json, str):
        if _HEXADECIMAL.fullmatch(json):
            raise Unsupported("a text that may be a blob, in a column of any class")
        return json
    if kind is Kind.ANY or type in (SQLITE_NUMERIC, SQLITE_NUMBER):
        low, high = INTEGER_RANGE[Kind.BIGINT]
        found = json if _is_integer(json) and low <= json <= high else _double(json, type)
        return narrowed(found) if type in (SQLITE_NUMERIC, SQLITE_ANY) else found
    if kind in FLOAT_KINDS:
        return to_real(_double(json, type)) if kind is Kind.REAL else _double(json, type)
    if kind in TEMPORAL_KINDS:
        return _temporal(json, type)
    if kind is Kind.BYTES:
        return _bytes(json, type)
    if kind is Kind.UUID:
        return _uuid(json, type)
    if kind is Kind.JSON and isinstance(json, str):
        return json
    if type.family is not None and not isinstance(json, Redacted):
        if isinstance(type.family, ArrayFamily | CompositeFamily):
            return _by_text(json, type)
        given: Value = type.family.given(json)
        return given
    raise _misfit(json, type)


def param_kind(json: Any) -> Kind:
    """What a parameter looks like, before anything is known of its place: integers are INT where 32 bits hold them,
    else BIGINT, else NUMERIC; other numbers DOUBLE. Raises `Unsupported` for a redacted one."""
    if type(json) is int:
        if -(2**31) <= json < 2**31:
            return Kind.INT
        return Kind.BIGINT if -(2**63) <= json < 2**63 else Kind.NUMERIC
    found = _PLAIN_KINDS.get(type(json))
    if found is not None:
        return found
    raise Unsupported(f"a parameter of value {_shown(json)}")


def param_shape(params: Sequence[Any] | Mapping[str, Any] | None) -> ParamShape:
    """The shape of a statement's parameters, hashable; names sorted. Raises as `param_kind`."""
    if params is None:
        return None
    if type(params) is not tuple and isinstance(params, Mapping):
        return tuple((name, _looks(params[name])) for name in sorted(params))
    return tuple(map(_looks, params))


def _looks(json: Any) -> Kind | ArrayShape:
    return ArrayShape(tuple(map(param_kind, json))) if type(json) in ARRAYS else param_kind(json)


def _is_integer(json: Any) -> bool:
    return isinstance(json, int) and not isinstance(json, bool)


def _integer(json: Any, kind: Kind) -> int:
    if type(json) is int:
        number: int = json
    elif isinstance(json, str) and _INTEGER.fullmatch(json):
        number = int(json)
    else:
        raise _misfit(json, SqlType(kind))
    low, high = INTEGER_RANGE[kind]
    if not low <= number <= high:
        raise ValueError(f"{_shown(number)} is out of range for {kind.value}")
    return number


def _numeric(json: Any) -> Decimal:
    if isinstance(json, bool):
        raise _misfit(json, SqlType(Kind.NUMERIC))
    if isinstance(json, str):
        if json in NO_DECIMALS:
            # a NaN is equal to itself and above all numbers there, and no Decimal is
            raise Unsupported("a NUMERIC that is infinite or NaN")
        if not _DECIMAL.fullmatch(json):
            raise _misfit(json, SqlType(Kind.NUMERIC))
        number = Decimal(json)
    elif isinstance(json, (int, Decimal)):
        number = Decimal(json)
    elif isinstance(json, float):
        number = Decimal(repr(json))
    else:
        raise _misfit(json, SqlType(Kind.NUMERIC))
    if number.is_infinite() or (number.is_finite() and abs(number.adjusted()) > _LARGEST_EXPONENT):
        raise ValueError(f"{_shown(json)} is out of range for numeric")
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent > 0:
        # The exponent of a Decimal is its SQL scale, which is never negative in a stored value.
        number = number.quantize(Decimal(1), context=_WIDE)
    return number


def _at_scale(number: Decimal, type: SqlType) -> Decimal:
    """`number` with exactly the fraction digits of its column; raises ValueError where digits would be lost."""
    if type.precision is None:
        return number
    scale = type.scale or 0
    scaled = number.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    if scaled != number or (scaled and scaled.adjusted() >= type.precision - scale):
        raise ValueError(f"{_shown(str(number))} has more digits than {type} holds")
    return scaled


def _double(json: Any, type: SqlType) -> float:
    if isinstance(json, str):
        if json in _DOUBLE_WORDS:
            return _DOUBLE_WORDS[json]
        raise _misfit(json, type)
    if isinstance(json, bool) or not isinstance(json, (int, float, Decimal)):
        raise _misfit(json, type)
    try:
        number = float(json)
    except OverflowError:
        number = float("inf")
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{_shown(json)} is out of range for {type}")
    if type.name and type.scale is not None:  # the answer to a prepared statement has all digits
        return float(f"{number:.{type.scale}f}")
    return number


def _temporal(json: Any, type: SqlType) -> date | time | datetime | Interval:
    """ISO 8601 (a space for the T is read too); an instant without an offset is in UTC."""
    if not isinstance(json, str):
        raise _misfit(json, type)
    try:
        return parse_temporal(json, type.kind)
    except SqlError:
        raise _misfit(json, type) from None


def _bytes(json: Any, type: SqlType) -> bytes:
    if isinstance(json, str) and _HEXADECIMAL.fullmatch(json):
        return bytes.fromhex(json[2:])
    raise _misfit(json, type)


def _uuid(json: Any, type: SqlType) -> UUID:
    if isinstance(json, str) and _UUID.fullmatch(json):
        return UUID(json)
    raise _misfit(json, type)


def _by_text(json: Any, type: SqlType) -> Value:
    """An array or a row by the text that the server sends (PostgreSQL 8.15.6, 8.16.6)."""
    if not isinstance(json, str):
        raise _misfit(json, type)
    convert = caster(TEXT, type, False, _POSTGRES)
    assert convert is not None
    try:
        return convert(json)
    except SqlError:
        raise _misfit(json, type) from None


_POSTGRES = Dialect("postgres")


def _misfit(json: Any, type: SqlType) -> ValueError:
    return ValueError(f"{_shown(json)} does not fit a column of type {type}")


def _shown(json: Any) -> str:
    """A value as a person would write it, cut short."""
    if isinstance(json, int) and not isinstance(json, bool) and json.bit_length() > 10_000:
        return "an integer of more than 3,000 digits"
    text = {True: "true", False: "false"}[json] if isinstance(json, bool) else repr(json)
    if isinstance(json, Decimal):
        text = str(json)
    return text if len(text) <= 60 else text[:57] + "..."
