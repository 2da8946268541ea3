"""Values on their way into a log: what PostgreSQL sent, as JSON.

Does not know the type of a column: a value's Python class decides. Types whose Python class would lose something
(infinite dates, days and months of an interval, the text of JSON) are fetched as the text that the server sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal

from psycopg import Connection
from psycopg.adapt import Dumper, PyFormat
from psycopg.types.numeric import Int4, Int4Dumper, Int8, Int8Dumper, IntDumper, IntNumeric, IntNumericDumper
from psycopg.types.string import TextLoader

from troubadour.record.errors import RecordError

JsonScalar = int | float | str | bool | None

FETCHED_AS_TEXT = ("date", "time", "timetz", "interval", "json", "jsonb", "uuid", "inet", "cidr")


class _TimestampLoader(TextLoader):
    """ISO 8601 puts a T where PostgreSQL puts a space."""

    def load(self, data: bytes | bytearray | memoryview) -> str:
        return bytes(data).decode("ascii").replace(" ", "T", 1)


class _LiteralIntDumper(IntDumper):
    """Integers typed as PostgreSQL types integer literals. psycopg's own choice starts at smallint, under which
    ``SELECT $1 * $2`` overflows at 300 * 300, and the log does not show that type."""

    def upgrade(self, obj: int, format: PyFormat) -> Dumper:
        if -(2**31) <= obj < 2**31:
            return Int4Dumper(Int4)
        if -(2**63) <= obj < 2**63:
            return Int8Dumper(Int8)
        return IntNumericDumper(IntNumeric)


def adapt(connection: Connection[tuple[object, ...]]) -> None:
    """Make `connection` fetch and send values so that `to_json` loses nothing."""
    for name in FETCHED_AS_TEXT:
        connection.adapters.register_loader(name, TextLoader)
    for name in ("timestamp", "timestamptz"):
        connection.adapters.register_loader(name, _TimestampLoader)
    connection.adapters.register_dumper(int, _LiteralIntDumper)


def to_json(value: object) -> JsonScalar:
    """A parameter or a fetched value as the log writes it. Raises RecordError for what has no form there."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return "\\x" + bytes(value).hex()
    raise RecordError(f"a value of type {type(value).__name__} has no form in the log; cast it to text in the SQL")


def row_to_json(row: Sequence[object]) -> list[JsonScalar]:
    """A fetched row, column by column."""
    return [to_json(value) for value in row]
