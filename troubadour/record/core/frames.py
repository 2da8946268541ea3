"""Records of a recording under way, as a segment holds them behind its header until it is finished (`unroll` makes the
lines of CONTRACT §1 of them): framed, so that what a killed process left is told from what it had not finished.

A frame is a byte that begins no line of JSON, the length of what follows, its checksum, and a list of records in the
marshal format of Python, version 2, which every Python reads. Does not know what the records say.
"""

from __future__ import annotations

import marshal
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from troubadour.record.errors import RecordError

MARK = 0x01
"""The first byte of a frame."""
_HEAD = struct.Struct("<BII")
VERSION = 2
"""The version of marshal's format that is written."""


def frame(records: list[Any]) -> bytes:
    """Records of tuples, lists, dicts, texts, bytes, numbers and None."""
    data = marshal.dumps(records, VERSION)
    return _HEAD.pack(MARK, len(data), zlib.crc32(data)) + data


def lines_before(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a segment, header and initial rows; then `source` stands where its records begin."""
    while line := source.readline():
        if line[0] == MARK or not line.strip(b"\0"):
            source.seek(-len(line), os.SEEK_CUR)
            return
        yield line


class Frames:
    """The records of a segment, from where `source` stands on. After the last one: `dropped` bytes follow, of a record
    that was not finished, and of room that was not used. Raises RecordError where whole records follow a broken one."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.dropped = 0

    def __iter__(self) -> Iterator[Any]:
        source = self._source
        while True:
            place = source.tell()
            head = source.read(_HEAD.size)
            if len(head) == _HEAD.size:
                mark, length, checksum = _HEAD.unpack(head)
                if mark == MARK and length:
                    data = source.read(length)
                    if len(data) == length and zlib.crc32(data) == checksum:
                        yield from marshal.loads(data)
                        continue
            break
        source.seek(place)
        rest = source.read()
        self.dropped = len(rest)
        if _any_frame(rest):
            raise RecordError(f"damaged at byte {place + 1} (only what was cut off at the end can be mended)")


def _any_frame(data: bytes) -> bool:
    """Whether a whole frame begins anywhere in `data` but at its first byte."""
    place = data.find(MARK, 1)
    while place >= 0 and place + _HEAD.size <= len(data):
        _, length, checksum = _HEAD.unpack_from(data, place)
        begin = place + _HEAD.size
        if 0 < length <= len(data) - begin and zlib.crc32(memoryview(data)[begin : begin + length]) == checksum:
            return True
        place = data.find(MARK, place + 1)
    return False
