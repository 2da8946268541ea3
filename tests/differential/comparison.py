"""When an engine's answer and the interpreter's are one. Knows neither where statements come from nor how
they are run."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sql_semantics.errors import Unsupported
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.families.enums import EnumFamily
from sql_semantics.values.opaque import Opaque, opaque
from sql_semantics.values.types import Interval, Kind, SqlType
from tests.differential.engines import Answer


def shown(value: Any, scale: bool = True, digits: int = 17) -> str:
    """A value with everything that must agree: the family, (with `scale`) the scale of a NUMERIC, and `digits` of a
    float."""
    if isinstance(value, Decimal) and value.is_finite():
        if not scale:
            return f"n{value.normalize() if value else 0:f}"
        return f"n{value if value else abs(value):f}"
    if isinstance(value, float):
        return f"f{value + 0.0!r}" if digits >= 17 else f"f{value + 0.0:.{digits}g}"
    if isinstance(value, (memoryview, bytearray)):
        value = bytes(value)
    if isinstance(value, datetime):
        return f"t:{value.isoformat(' ')}"
    if isinstance(value, (date, time, UUID)):
        return f"{type(value).__name__}:{value}"
    if isinstance(value, timedelta):
        return f"i:{value.total_seconds()!r}"
    if isinstance(value, Interval):
        return f"i:{value.months}:{value.days}:{value.microseconds}"
    if isinstance(value, Array):
        value = list(value.items)
    if isinstance(value, Opaque):
        return "opaque"  # told from NULL, and from nothing else
    return f"{type(value).__name__}:{value!r}"


def as_stored(value: Any, type_: SqlType) -> Any:
    """A driver's value as the interpreter holds it: times of day, instants and 32-bit floats."""
    if isinstance(value, timedelta) and type_.kind is Kind.TIME and timedelta() <= value < timedelta(days=1):
        return (datetime(2000, 1, 1) + value).time()
    if isinstance(value, datetime) and type_.kind is Kind.TIMESTAMPTZ and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    if isinstance(value, float) and type_.kind is Kind.REAL and math.isfinite(value):
        return struct.unpack("f", struct.pack("f", value))[0]  # drivers print 32 bits in few digits
    if isinstance(value, str) and isinstance(type_.family, EnumFamily):
        return type_.family.given(value)
    if type_.kind is Kind.UNKNOWN:
        return None  # as every value of such a column
    if type_.kind is Kind.OPAQUE and value is not None:
        return opaque(value, type_.name, spelled=False)
    return value


def typed(
    row: Sequence[Any], types: Sequence[SqlType], dialect: str, scale: bool = True, digits: int = 17
) -> tuple[str, ...]:
    """A row as it is compared: values of drivers brought to the interpreter's Python types."""
    values = []
    for value, type_ in zip(row, types, strict=True):
        if dialect in ("sqlite", "mysql") and isinstance(value, int) and type_.kind is Kind.BOOLEAN:
            value = bool(value)
        if isinstance(value, int) and not isinstance(value, bool) and type_.kind is Kind.NUMERIC:
            value = Decimal(value)
        if isinstance(value, int) and type_.kind in (Kind.DOUBLE, Kind.REAL):
            value = float(value)
        values.append(shown(as_stored(value, type_), scale, digits))
    return tuple(values)


def rows_differ(
    result: ResultSet[Any], rows: list[tuple[Any, ...]], dialect: str, scale: bool, digits: int = 17
) -> str | None:
    """Why these rows are no possible answer, or None."""
    if rows and len(rows[0]) != len(result.types):
        return f"{len(rows[0])} columns, expected {len(result.types)}"
    ours = [typed(row, result.types, dialect, scale, digits) for row in result.rows]
    theirs = [typed(row, result.types, dialect, scale, digits) for row in rows]
    end = len(ours) if result.limit is None else min(result.offset + result.limit, len(ours))
    start = min(result.offset, len(ours))
    if len(theirs) != max(end - start, 0):
        return f"{len(theirs)} rows {theirs[:9]}, expected {max(end - start, 0)} of {ours[:9]}"
    keys: list[Any] = result.keys if result.keys is not None else [0] * len(ours)
    position = 0
    while position < len(ours):
        after = position
        while after < len(ours) and keys[after] == keys[position]:
            after += 1
        got = Counter(theirs[max(position - start, 0) : max(min(after, end) - start, 0)])
        possible = Counter(ours[position:after])
        if got - possible:
            return f"rows {dict(got - possible)} where {dict(possible - got)} are possible"
        position = after
    return None


def answers_differ(outcome: Outcome, answer: Answer, dialect: str, scale: bool = True, digits: int = 17) -> str | None:
    """Why the engine's answer is not the interpreter's, or None."""
    if answer.error is not None:
        return f"the engine failed with {answer.error} ({answer.message[:160]}), the interpreter did not"
    if answer.affected is not None and outcome.affected != answer.affected:
        return f"affected {answer.affected}, expected {outcome.affected}"
    if (answer.rows is None) != (not outcome.results):
        return "one has a result set, the other has none"
    if answer.rows is not None:
        return rows_differ(outcome.results[0], answer.rows, dialect, scale, digits)
    return None


SEVERAL_WAYS = "a choice among several ways"


def only_way(count: int) -> int:
    """For `MemoryView.picking`: which of `count` ways the engine goes is not told here."""
    assert count > 1
    raise Unsupported(SEVERAL_WAYS)
