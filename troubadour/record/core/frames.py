"""Records of a recording under way, as a segment holds them behind its header until it is finished (`unroll` makes the
lines of CONTRACT §1 of them): framed, so that what a killed process left is told from what it had not finished.

A frame is a byte that begins no line of JSON, the length of what follows, its checksum, the frame's number from 1 on,
and a list of records in the marshal format of Python, version 2, which every Python reads. Does not know what the
records say.
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
    `dropped` bytes were none of a whole record: of one that was not finished, of room that was not used, of damage."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.dropped = 0

    def __iter__(self) -> Iterator[Any]:
        source = self._source
        expected = 1
        while True:
            place = source.tell()
            head = source.read(_HEAD.size)
            if len(head) == _HEAD.size:
                mark, length, checksum, number = _HEAD.unpack(head)
                if mark == MARK and length:
                    data = source.read(length)
                    records = _records(data) if len(data) == length and zlib.crc32(data) == checksum else None
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


def _records(data: bytes) -> list[Any] | None:
    """What a frame holds, if that is what `frame` makes."""
    try:
        found = marshal.loads(data)
    except (ValueError, TypeError, EOFError):
        return None
    return found if isinstance(found, list) and all(isinstance(one, tuple) and one for one in found) else None


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
