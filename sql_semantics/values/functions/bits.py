"""Bit operators, under their symbols (PostgreSQL 9.3, MySQL 14.12, SQLite, DuckDB). Does not know their precedence."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, exactly
from sql_semantics.values.types import BIGINT, INT, INTEGER_KINDS, SMALLINT, TINYINT, UBIGINT, Kind, SqlType

_BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64, Kind.UBIGINT: 64}


def signed(number: int, bits: int) -> int:
    """Two's complement of the low `bits` bits."""
    low = number & (2**bits - 1)
    return int(low - 2**bits if low >= 2 ** (bits - 1) else low)


def _logic(function: Callable[[int, int], int]) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        if call.result.kind is Kind.UBIGINT:
            return lambda left, right: function(left, right) & (2**64 - 1)
        return function

    return build


def _invert(call: Call) -> Implementation:
    if call.result.kind is Kind.UBIGINT:
        return lambda value: ~value & (2**64 - 1)
    return operator.invert


def _shift(left: bool) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        bits = _BITS[call.result.kind]

        def modulo_width(value: int, count: int) -> int:
            # C shifts: the count modulo 32, for bigint modulo 64; a smallint is shifted as an int.
            count %= max(bits, 32)
            return signed(value << count, bits) if left else value >> count

        def unsigned(value: int, count: int) -> int:
            count &= 2**64 - 1
            if count >= 64:
                return 0
            return (value << count if left else (value & (2**64 - 1)) >> count) & (2**64 - 1)

        def either_way(value: int, count: int) -> int:
            leftwards = left if count >= 0 else not left
            count = abs(count)
            if count >= 64:
                return 0 if leftwards or value >= 0 else -1
            return signed(value << count, 64) if leftwards else value >> count

        def checked(value: int, count: int) -> int:
            if not left:
                return value >> count if 0 <= count < bits else 0
            if value < 0 or count < 0:
                raise call.fail("22003", "left shift of or by a negative number")
            shifted = value << min(count, bits)
            if shifted >= 1 << (bits - 1):
                raise call.fail("22003", "overflow in left shift")
            return shifted

        match call.dialect.rules.values.shifts:
            case "modulo_width":
                return modulo_width
            case "unsigned":
                return unsigned
            case "either_way":
                return either_way
            case "checked":
                return checked

    return build


_LOGIC = {"&": operator.and_, "|": operator.or_}


def _typed(types: Sequence[SqlType], symbols: dict[str, Callable[[int, int], int]]) -> Table:
    table: Table = {symbol: tuple(Rule(exactly(t, t), t, _logic(op)) for t in types) for symbol, op in symbols.items()}
    table["~"] = tuple(Rule(exactly(t), t, _invert) for t in types)
    return table


POSTGRES: Table = {
    **_typed((SMALLINT, INT, BIGINT), {**_LOGIC, "xor": operator.xor}),
    **{
        symbol: tuple(Rule(exactly(t, INT), t, _shift(symbol == "<<")) for t in (SMALLINT, INT, BIGINT))
        for symbol in ("<<", ">>")
    },
}
_ANY = any_of(INTEGER_KINDS)
MYSQL: Table = {
    **{symbol: (Rule((_ANY, _ANY), UBIGINT, _logic(op)),) for symbol, op in {**_LOGIC, "xor": operator.xor}.items()},
    **{symbol: (Rule((_ANY, _ANY), UBIGINT, _shift(symbol == "<<")),) for symbol in ("<<", ">>")},
    "~": (Rule((_ANY,), UBIGINT, _invert),),
}
SQLITE: Table = {
    **{symbol: (Rule((_ANY, _ANY), BIGINT, _logic(op)),) for symbol, op in _LOGIC.items()},
    **{symbol: (Rule((_ANY, _ANY), BIGINT, _shift(symbol == "<<")),) for symbol in ("<<", ">>")},
    "~": (Rule((_ANY,), BIGINT, _invert),),
}
_DUCKDB_INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
DUCKDB: Table = {
    **_typed((SMALLINT, INT, BIGINT), _LOGIC),
    "<<": tuple(Rule(exactly(t, t), t, _shift(True), errors=("22003",)) for t in _DUCKDB_INTEGERS),
    ">>": tuple(Rule(exactly(t, t), t, _shift(False)) for t in _DUCKDB_INTEGERS),
}
