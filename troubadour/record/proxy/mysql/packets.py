"""Packets of MySQL's protocol, cut out of a stream that comes in pieces, and the fields in them. Does not know the
order in which they come.

The functions raise one of `bodies.BROKEN` for a packet that is not as the manual says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 1 << 24
"""Of longer payloads nothing is kept: memory is bounded, whatever a client sends."""
_FULL = 0xFFFFFF
"""A packet of this length goes on in the next one."""

Packet = tuple[int, bytes | None]
"""The number of a packet, that of the last of its parts, and its payload: None where it was longer than `LONGEST`."""


class Framing:
    """One direction of a connection."""

    __slots__ = ("_parts", "_rest", "_size")

    def __init__(self) -> None:
        self._rest = b""
        self._parts: list[bytes] = []
        self._size = 0
        """How long the payload is so far."""

    @property
    def missing(self) -> int:
        """How many bytes there are to come of what has begun: of its head, before that is whole."""
        if len(self._rest) < 4:
            return 4 - len(self._rest)
        return 4 + int.from_bytes(self._rest[:3], "little") - len(self._rest)

    def feed(self, data: bytes) -> Iterator[Packet]:
        """The packets that end in this piece."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        place = 0
        while len(data) - place >= 4:
            length = int.from_bytes(data[place : place + 3], "little")
            end = place + 4 + length
            if end > len(data):
                break
            if self._size <= LONGEST:
                self._parts.append(data[place + 4 : end])
            self._size += length
            if length < _FULL:
                payload = b"".join(self._parts) if self._size <= LONGEST else None
                yield data[place + 3], payload
                self._parts, self._size = [], 0
            place = end
        self._rest = data[place:]


def packet(number: int, payload: bytes) -> bytes:
    """A packet as it is sent; the payload is shorter than one part may be."""
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


def integer(data: bytes, place: int) -> tuple[int, int]:
    """A number of a length that it tells itself, and where the next thing begins."""
    first = data[place]
    if first < 0xFB:
        return first, place + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first] if first in (0xFC, 0xFD, 0xFE) else 0
    if not width or place + 1 + width > len(data):
        raise ValueError("a number that is cut off")
    return int.from_bytes(data[place + 1 : place + 1 + width], "little"), place + 1 + width


def text(data: bytes, place: int) -> tuple[bytes, int]:
    """A text with its length in front, and where the next thing begins."""
    length, place = integer(data, place)
    if place + length > len(data):
        raise ValueError("a text that is cut off")
    return data[place : place + length], place + length


class Column(NamedTuple):
    """`charset`: a number, 63 for bytes; `type`: the protocol's; `flags`: 32 for no sign."""

    name: str
    charset: int
    type: int
    flags: int


def column(data: bytes) -> Column:
    """A column's definition."""
    place = 0
    for _ in range(4):
        _, place = text(data, place)
    name, place = text(data, place)
    _, place = text(data, place)
    _, place = integer(data, place)
    charset, _, type, flags = struct.unpack_from("<HIBH", data, place)
    return Column(name.decode("utf-8", "replace"), charset, type, flags)


class Ok(NamedTuple):
    """How a statement ended: rows affected, and the session's status."""

    affected: int
    status: int


def ok(data: bytes) -> Ok:
    """Of an OK packet, whichever its first byte is."""
    affected, place = integer(data, 1)
    _, place = integer(data, place)
    return Ok(affected, struct.unpack_from("<H", data, place)[0])


def end_of_rows(data: bytes) -> Ok:
    """Of an EOF packet."""
    return Ok(0, struct.unpack_from("<H", data, 3)[0])


class Error(NamedTuple):
    """What a server says went wrong."""

    code: int
    state: str
    message: str


def error(data: bytes) -> Error:
    """Of an ERR packet."""
    code = struct.unpack_from("<H", data, 1)[0]
    if data[3:4] == b"#":
        return Error(code, data[4:9].decode("ascii", "replace"), data[9:].decode("utf-8", "replace"))
    return Error(code, "HY000", data[3:].decode("utf-8", "replace"))
