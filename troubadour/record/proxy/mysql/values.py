"""Values that MySQL and MariaDB send and take, in text and in binary, as the recorder of PyMySQL writes them. Does not
know statements.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from troubadour.record.drivers.detection import REDACTED, mysql_placed, python_value
from troubadour.record.proxy.mysql.packets import Column, text

BYTES = 63
"""The number of the charset of what is no text."""
_UTF8 = frozenset(
    {33, 45, 46, 76, 83, 223, 246, 247, *range(192, 216), *range(224, 248), *range(255, 324), *range(576, 1216)}
)
_LATIN = frozenset({5, 8, 15, 31, 47, 48, 49, 94})
_ASCII = frozenset({11, 65})
DECIMAL, TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24, DATE, TIME, DATETIME, YEAR = range(14)
BIT, JSON, NEWDECIMAL = 16, 245, 246
_INTEGERS = {TINY: 1, SHORT: 2, YEAR: 2, LONG: 4, INT24: 4, LONGLONG: 8}
_UNSIGNED = 32


def codec(charset: int) -> str | None:
    """Python's name of a charset; None where it is not known."""
    if charset in _UTF8:
        return "utf-8"
    if charset in _LATIN:
        return "cp1252"
    return "ascii" if charset in _ASCII else None


def _written(column: Column, data: bytes) -> Any:
    """A text of a column, or bytes."""
    if column.charset == BYTES and column.type != JSON:
        return python_value(data)
    found = codec(column.charset) if column.charset != BYTES else "utf-8"
    try:
        return REDACTED if found is None else data.decode(found)
    except UnicodeDecodeError:
        return REDACTED


def text_row(columns: Sequence[Column], data: bytes) -> list[Any]:
    """A row of the text protocol, as JSON has it. Raises one of `bodies.BROKEN`."""
    place = 0
    found: list[Any] = []
    for column in columns:
        if data[place] == 0xFB:
            place += 1
            found.append(None)
            continue
        value, place = text(data, place)
        found.append(_from_text(column, value))
    return found


def _from_text(column: Column, data: bytes) -> Any:
    type = column.type
    if type in _INTEGERS:
        return python_value(int(data))
    if type in (DECIMAL, NEWDECIMAL):
        return data.decode("ascii")
    if type in (FLOAT, DOUBLE):
        return python_value(float(data))
    if type in (DATETIME, TIMESTAMP):
        return data.decode("ascii").replace(" ", "T")
    if type in (DATE, TIME):
        return data.decode("ascii")
    if type == BIT:
        return python_value(data)
    return _written(column, data)


def binary_row(columns: Sequence[Column], data: bytes) -> list[Any]:
    """A row of the binary protocol, as JSON has it. Raises one of `bodies.BROKEN`."""
    width = (len(columns) + 9) // 8
    nulls, place = data[1 : 1 + width], 1 + width
    found: list[Any] = []
    for number, column in enumerate(columns):
        if nulls[(number + 2) // 8] >> (number + 2) % 8 & 1:
            found.append(None)
            continue
        value, place = _binary(column.type, bool(column.flags & _UNSIGNED), data, place)
        if isinstance(value, bytes):
            found.append(_from_text(column, value))
        elif isinstance(value, float) and column.type == FLOAT:
            found.append(float(f"{value:.6g}"))  # as the text protocol tells it
        else:
            found.append(python_value(value))
    return found


def _binary(type: int, unsigned: bool, data: bytes, place: int) -> tuple[Any, int]:
    if type in _INTEGERS:
        end = place + _INTEGERS[type]
        if end > len(data):
            raise ValueError("a number that is cut off")
        return int.from_bytes(data[place:end], "little", signed=not unsigned and type != YEAR), end
    if type == FLOAT:
        return struct.unpack_from("<f", data, place)[0], place + 4
    if type == DOUBLE:
        return struct.unpack_from("<d", data, place)[0], place + 8
    if type in (DATE, DATETIME, TIMESTAMP):
        end = place + 1 + data[place]
        return _moment(data[place + 1 : end], type == DATE), end
    if type == TIME:
        end = place + 1 + data[place]
        return _clock(data[place + 1 : end]), end
    return text(data, place)


def _moment(data: bytes, is_date: bool) -> Any:
    year, month, day = struct.unpack_from("<HBB", data + b"\0\0\0\0")
    hour, minute, second = data[4:7] if len(data) >= 7 else (0, 0, 0)
    (micros,) = struct.unpack_from("<I", data, 7) if len(data) >= 11 else (0,)
    if not month or not day:  # a date that is none, which the text protocol tells as well
        text = f"{year:04}-{month:02}-{day:02}"
        return (text if is_date else f"{text} {hour:02}:{minute:02}:{second:02}").encode()
    return date(year, month, day) if is_date else datetime(year, month, day, hour, minute, second, micros)


def _clock(data: bytes) -> timedelta:
    if not data:
        return timedelta()
    negative, days, hours, minutes, seconds = struct.unpack_from("<BIBBB", data)
    (micros,) = struct.unpack_from("<I", data, 8) if len(data) >= 12 else (0,)
    found = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
    return -found if negative else found


def parameters(
    data: bytes, count: int, known: Sequence[tuple[int, bool]], long: dict[int, bytes]
) -> tuple[list[Any], list[tuple[int, bool]]]:
    """The values of an EXECUTE's parameters, of Python's, and their types: `known` from an earlier one, where it tells
    none. `long`: those that were sent by themselves. Raises one of `bodies.BROKEN`."""
    place = 10
    if not count:
        return [], []
    width = (count + 7) // 8
    nulls, place = data[place : place + width], place + width
    bound, place = data[place], place + 1
    types = list(known)
    if bound == 1:
        types = [(data[place + 2 * n], bool(data[place + 2 * n + 1] & 0x80)) for n in range(count)]
        place += 2 * count
    if len(types) != count:
        raise ValueError("parameters without types")
    found: list[Any] = []
    for number, (type, unsigned) in enumerate(types):
        if number in long:
            found.append(_given(type, long[number]))
        elif nulls[number // 8] >> number % 8 & 1 or type == NULL:
            found.append(None)
        else:
            value, place = _binary(type, unsigned, data, place)
            found.append(_given(type, value) if isinstance(value, bytes) else value)
    return found, types


def _given(type: int, value: bytes) -> Any:
    if type in (DECIMAL, NEWDECIMAL):
        return Decimal(value.decode("ascii"))
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value  # no text, so bytes


def placed(value: Any) -> tuple[str, Any]:
    """A parameter as `Driver.placed` has it."""
    if isinstance(value, timedelta):
        return "{}", python_value(value)
    return mysql_placed(value)
