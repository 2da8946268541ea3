"""Bodies of PostgreSQL's messages, read and written. Does not know the order in which they come.

Each function raises ValueError, IndexError or struct.error (`bodies.BROKEN`) for a body that is not as the manual says.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from troubadour.record.proxy.bodies import cstring

_SHORT = struct.Struct(">H")
_LONG = struct.Struct(">i")
_COLUMN = struct.Struct(">IhIhih")

Values = tuple[bytes | None, ...]


class Column(NamedTuple):
    """`type`: its oid; `format`: 0 for text, 1 for binary."""

    name: str
    type: int
    format: int


class Parse(NamedTuple):
    """`types`: oids, 0 where the server is to find one."""

    name: bytes
    text: bytes
    types: tuple[int, ...]


class Bind(NamedTuple):
    """`formats` of the parameters, `results` of the columns: none (all text), one (of all), or one each."""

    portal: bytes
    statement: bytes
    formats: tuple[int, ...]
    values: Values
    results: tuple[int, ...]


def message(kind: bytes, body: bytes) -> bytes:
    """A message as it is sent."""
    return kind + _LONG.pack(len(body) + 4) + body


def parse(body: bytes) -> Parse:
    """Of Parse."""
    name, place = cstring(body)
    text, place = cstring(body, place)
    (count,) = _SHORT.unpack_from(body, place)
    return Parse(name, text, struct.unpack_from(f">{count}I", body, place + 2))


def _shorts(body: bytes, place: int) -> tuple[tuple[int, ...], int]:
    (count,) = _SHORT.unpack_from(body, place)
    return struct.unpack_from(f">{count}h", body, place + 2), place + 2 + 2 * count


def bind(body: bytes) -> Bind:
    """Of Bind."""
    portal, place = cstring(body)
    statement, place = cstring(body, place)
    formats, place = _shorts(body, place)
    values, place = _values(body, place)
    results, place = _shorts(body, place)
    return Bind(portal, statement, formats, values, results)


def execute(body: bytes) -> tuple[bytes, int]:
    """Of Execute: the portal, and how many rows are wanted at most (0: all)."""
    portal, place = cstring(body)
    return portal, _LONG.unpack_from(body, place)[0]


def named(body: bytes) -> tuple[bytes, bytes]:
    """Of Describe and Close: ``S`` or ``P``, and a name."""
    return body[:1], cstring(body, 1)[0]


def row_description(body: bytes) -> tuple[Column, ...]:
    """Of RowDescription."""
    (count,) = _SHORT.unpack_from(body)
    place, found = 2, []
    for _ in range(count):
        name, place = cstring(body, place)
        _, _, type, _, _, format = _COLUMN.unpack_from(body, place)
        place += _COLUMN.size
        found.append(Column(name.decode("utf-8", "replace"), type, format))
    return tuple(found)


def parameter_description(body: bytes) -> tuple[int, ...]:
    """Of ParameterDescription: oids."""
    (count,) = _SHORT.unpack_from(body)
    return struct.unpack_from(f">{count}I", body, 2)


def data_row(body: bytes) -> Values:
    """Of DataRow."""
    return _values(body, 0)[0]


def _values(body: bytes, place: int) -> tuple[Values, int]:
    (count,) = _SHORT.unpack_from(body, place)
    place += 2
    found: list[bytes | None] = []
    size, unpack = len(body), _LONG.unpack_from
    for _ in range(count):
        (length,) = unpack(body, place)
        place += 4
        if length < 0:
            found.append(None)
            continue
        end = place + length
        if end > size:
            raise ValueError("a value beyond the end")
        found.append(body[place:end])
        place = end
    return tuple(found), place


def fields(body: bytes) -> dict[str, str]:
    """Of ErrorResponse and NoticeResponse: by their letters."""
    found, place = {}, 0
    while body[place]:
        text, end = cstring(body, place + 1)
        found[chr(body[place])] = text.decode("utf-8", "replace")
        place = end
    return found


def parameters(body: bytes) -> dict[str, str]:
    """Of a startup packet, behind its version: names and values."""
    found, place = {}, 0
    while body[place]:
        name, place = cstring(body, place)
        value, place = cstring(body, place)
        found[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    return found


def parameter_status(body: bytes) -> tuple[str, str]:
    """Of ParameterStatus: name and value."""
    name, place = cstring(body)
    value, _ = cstring(body, place)
    return name.decode("utf-8", "replace"), value.decode("utf-8", "replace")
