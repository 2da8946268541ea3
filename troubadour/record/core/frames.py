"""Records of a recording under way, as a segment holds them behind its header until it is finished (`unroll` makes
lines of them): framed, so that what a killed process left is told from what it had not finished.

A frame is a byte that begins no line of JSON, the length of what follows, its checksum, the frame's number from 1 on,
and a list of records in a part of the marshal format of Python, version 2. A file may have been made by others: frames
are read by a decoder of their own, which believes no size. Does not know what the records say.
"""

from __future__ import annotations

import marshal
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

MARK = 0x01
"""The first byte of a frame, which begins no line of JSON."""
_HEAD = struct.Struct("<BIII")
VERSION = 2
"""The version of marshal's format that is written."""
DEPTH = 12
"""So deep are the values of a record nested, at most."""
DIGITS = 64
"""So many digits of 15 bits an integer has, at most."""


def frame(records: list[Any], number: int) -> bytes:
    """Records of tuples, lists, dicts, texts, bytes, numbers and None; the `number`-th frame of its segment."""
    data = marshal.dumps(records, VERSION)
    return _HEAD.pack(MARK, len(data), zlib.crc32(data), number) + data


def lines_before(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a segment, header and initial rows; then `source` stands where its records begin."""
    while line := source.readline():
        if not line.isspace() and not line.startswith(b"{"):
            source.seek(-len(line), os.SEEK_CUR)
            return
        yield line


LOST = (-1,)
"""Stands among the records for frames that are missing, or cannot be read, before one that can."""


class Frames:
    """The records of a segment, from where `source` stands on, and `LOST` where frames are missing. After the last one:
    `dropped` bytes were none of a whole record: of one that was not finished, of room that was not used, of damage.
    `own`: this process wrote them, and Python's quicker decoder may read them."""

    def __init__(self, source: BinaryIO, *, own: bool = False) -> None:
        self._source = source
        self._own = own
        self.dropped = 0

    def __iter__(self) -> Iterator[Any]:
        source = self._source
        begin = source.tell()
        size = source.seek(0, os.SEEK_END)
        source.seek(begin)
        expected = 1
        while True:
            place = source.tell()
            head = source.read(_HEAD.size)
            if len(head) == _HEAD.size:
                mark, length, checksum, number = _HEAD.unpack(head)
                if mark == MARK and 0 < length <= size - place - _HEAD.size:
                    data = source.read(length)
                    records = _records(data, self._own) if zlib.crc32(data) == checksum else None
                    if records is not None:
                        if number != expected:
                            yield LOST
                        expected = number + 1
                        yield from records
                        continue
            source.seek(place)
            rest = source.read()
            following = _next_frame(rest)
            if following is None:
                self.dropped += len(rest)
                return
            self.dropped += following
            source.seek(place + following)


def _records(data: bytes, own: bool) -> list[Any] | None:
    """What a frame holds, if that is what `frame` makes; `own`: as `Frames` has it."""
    try:
        found, end = (marshal.loads(data), len(data)) if own else _decoded(data, 0, DEPTH)
    except (ValueError, TypeError, IndexError, struct.error):
        return None
    if end != len(data):
        return None
    return found if isinstance(found, list) and all(isinstance(one, tuple) and one for one in found) else None


_SIZE = struct.Struct("<i")
_DOUBLE = struct.Struct("<d")
_CONSTANTS: dict[int, Any] = {ord("N"): None, ord("T"): True, ord("F"): False}
_INT, _LONG, _FLOAT, _BYTES, _TEXT = b"ilgsu"
_TUPLE, _LIST, _DICT, _END = b"([{0"


def _decoded(data: bytes, place: int, depth: int) -> tuple[Any, int]:
    """The value that begins at `place`, and where it ends. Raises ValueError, TypeError, IndexError or struct.error for
    anything that `frame` does not make. Nothing is reserved for what is not there, and nothing is called."""
    kind = data[place]
    place += 1
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], place
    if kind == _INT:
        return _SIZE.unpack_from(data, place)[0], place + 4
    if kind == _FLOAT:
        return _DOUBLE.unpack_from(data, place)[0], place + 8
    if kind == _DICT:
        return _decoded_dict(data, place, depth)
    size = _SIZE.unpack_from(data, place)[0]
    place += 4
    if kind == _LONG:
        return _decoded_long(data, place, size)
    if not 0 <= size <= len(data) - place:  # each item takes a byte at least
        raise ValueError("a size beyond the end")
    if kind == _BYTES:
        return data[place : place + size], place + size
    if kind == _TEXT:
        return data[place : place + size].decode("utf-8", "surrogatepass"), place + size
    if kind not in (_TUPLE, _LIST) or not depth:
        raise ValueError("a value of another kind, or too deep")
    items = []
    for _ in range(size):
        item, place = _decoded(data, place, depth - 1)
        items.append(item)
    return tuple(items) if kind == _TUPLE else items, place


def _decoded_dict(data: bytes, place: int, depth: int) -> tuple[dict[Any, Any], int]:
    if not depth:
        raise ValueError("too deep")
    found = {}
    while data[place] != _END:
        key, place = _decoded(data, place, depth - 1)
        found[key], place = _decoded(data, place, depth - 1)
    return found, place + 1


def _decoded_long(data: bytes, place: int, size: int) -> tuple[int, int]:
    """An integer of so many digits of 15 bits, negative if their number is."""
    end = place + 2 * abs(size)
    if not 0 < abs(size) <= DIGITS or end > len(data):
        raise ValueError("an integer of another length")
    digits = struct.unpack_from(f"<{abs(size)}H", data, place)
    number = sum(digit << 15 * order for order, digit in enumerate(digits))
    return -number if size < 0 else number, end


def _next_frame(data: bytes) -> int | None:
    """Where a whole frame begins in `data`, its first byte left out."""
    place = data.find(MARK, 1)
    while place >= 0 and place + _HEAD.size <= len(data):
        _, length, checksum, _ = _HEAD.unpack_from(data, place)
        begin = place + _HEAD.size
        if 0 < length <= len(data) - begin and zlib.crc32(memoryview(data)[begin : begin + length]) == checksum:
            return place
        place = data.find(MARK, place + 1)
    return None
