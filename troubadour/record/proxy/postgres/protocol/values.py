"""Values that PostgreSQL sends and takes in binary, as the texts that it writes for them; from there the recorders' own
writer goes on (`record.postgres.wire`). Sources: the functions ``*_send`` and ``*_out`` of the server.

A type that is not known here has no text. Does not know statements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import date
from uuid import UUID

from troubadour.record.proxy import bodies

Make = Callable[[bytes], str]
BROKEN = (*bodies.BROKEN, OverflowError)
"""What a value raises that is not as its type says."""

_DAY = 86_400_000_000
_EPOCH = date(2000, 1, 1).toordinal()


def _integer(data: bytes) -> str:
    return str(int.from_bytes(data, "big", signed=True))


def _unsigned(data: bytes) -> str:
    return str(int.from_bytes(data, "big"))


def _bool(data: bytes) -> str:
    return "t" if data != b"\0" else "f"


def _special(value: float) -> str | None:
    if value != value:
        return "NaN"
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value)


def _double(data: bytes) -> str:
    (value,) = struct.unpack(">d", data)
    return _special(value) or repr(value)


def _real(data: bytes) -> str:
    (value,) = struct.unpack(">f", data)
    found = _special(value)
    digits = 6
    while found is None:
        text = f"{value:.{digits}g}"
        if digits >= 9 or struct.pack(">f", float(text)) == data:
            found = text
        digits += 1
    return found


def _numeric(data: bytes) -> str:
    count, weight, sign, scale = struct.unpack_from(">hhHh", data)
    special = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}.get(sign)
    if special is not None:
        return special
    groups = struct.unpack_from(f">{count}h", data, 8)
    whole = "".join(f"{groups[n] if n < count else 0:04d}" for n in range(weight + 1)).lstrip("0") or "0"
    if scale:
        places = range(weight + 1, weight + 1 + -(-scale // 4) + 1)
        part = "".join(f"{groups[n] if 0 <= n < count else 0:04d}" for n in places)[:scale]
        whole += "." + part.ljust(scale, "0")
    return "-" + whole if sign == 0x4000 else whole


def _date_of(days: int) -> str:
    if days == 2**31 - 1:
        return "infinity"
    if days == -(2**31):
        return "-infinity"
    return date.fromordinal(_EPOCH + days).isoformat()


def _date(data: bytes) -> str:
    return _date_of(struct.unpack(">i", data)[0])


def _clock(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{rest:06d}".rstrip("0") if rest else text


def _time(data: bytes) -> str:
    return _clock(struct.unpack(">q", data)[0])


def _time_zone(data: bytes) -> str:
    clock, west = struct.unpack(">qi", data)
    sign, east = ("-", west) if west > 0 else ("+", -west)
    zone = f"{sign}{east // 3600:02d}"
    if east % 3600:
        zone += f":{east // 60 % 60:02d}"
    return _clock(clock) + (zone if not east % 60 else f"{zone}:{east % 60:02d}")


def _timestamp(data: bytes) -> str:
    (value,) = struct.unpack(">q", data)
    if value in (2**63 - 1, -(2**63)):
        return "infinity" if value > 0 else "-infinity"
    days, clock = divmod(value, _DAY)
    return f"{_date_of(days)} {_clock(clock)}"


def _timestamp_zone(data: bytes) -> str:
    found = _timestamp(data)
    return found if found.endswith("infinity") else found + "+00"


def _interval(data: bytes) -> str:
    clock, days, months = struct.unpack(">qii", data)
    years, months = int(months / 12), months - 12 * int(months / 12)
    parts = [
        f"{value} {name}{'' if value == 1 else 's'}"
        for value, name in ((years, "year"), (months, "mon"), (days, "day"))
        if value
    ]
    # a sign behind a negative part is written out
    negative = next((value < 0 for value in (days, months, years) if value), False)
    if clock or not parts:
        parts.append(("-" if clock < 0 else "+" if negative else "") + _clock(abs(clock)))
    return " ".join(_signed(parts))


def _signed(parts: list[str]) -> list[str]:
    found, negative = [], False
    for part in parts:
        found.append(f"+{part}" if negative and part[0] not in "+-" and " " in part else part)
        negative = part.startswith("-")
    return found


def _text(data: bytes) -> str:
    return data.decode()


def _jsonb(data: bytes) -> str:
    if data[:1] != b"\1":
        raise ValueError("another version of jsonb")
    return data[1:].decode()


def _uuid(data: bytes) -> str:
    return str(UUID(bytes=data))


def _bytes(data: bytes) -> str:
    return "\\x" + data.hex()


MAKES: Mapping[int, Make] = {
    16: _bool, 17: _bytes, 18: _text, 19: _text, 20: _integer, 21: _integer, 23: _integer, 25: _text, 26: _unsigned,
    28: _unsigned, 114: _text, 700: _real, 701: _double, 705: _text, 1042: _text, 1043: _text, 1082: _date, 1083: _time,
    1114: _timestamp, 1184: _timestamp_zone, 1186: _interval, 1266: _time_zone, 1700: _numeric, 2950: _uuid,
    3802: _jsonb, 5069: _unsigned,
}  # fmt: skip
"""By the type's oid."""
_ARRAYS = frozenset({
    199, 1000, 1001, 1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1028, 1115, 1182, 1183, 1185,
    1187, 1231, 2951, 3807,
})  # fmt: skip
"""Arrays of these types; each tells the type of its elements itself."""


def text_of(type: int, data: bytes, labels: frozenset[int] = frozenset()) -> str | None:
    """The text of a value in binary, None where there is none; `labels`: types whose values are their texts, enums.
    Raises one of `BROKEN`."""
    make = MAKES.get(type)
    if make is not None:
        return make(data)
    if type in labels:
        return data.decode()
    if type in _ARRAYS:
        return _array(data)
    return None


def _array(data: bytes) -> str | None:
    dimensions, _, element = struct.unpack_from(">iiI", data)
    if dimensions == 0:
        return "{}"
    size, first = struct.unpack_from(">ii", data, 12)
    make = MAKES.get(element)
    if dimensions != 1 or first != 1 or make is None:
        return None
    place, found = 20, []
    for _ in range(size):
        (length,) = struct.unpack_from(">i", data, place)
        place += 4
        if length < 0:
            found.append("NULL")
        else:
            found.append(_element(make(data[place : place + length])))
            place += length
    return "{" + ",".join(found) + "}"


def _element(text: str) -> str:
    if text and text.upper() != "NULL" and not any(c in '{},"\\' or c.isspace() for c in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
