"""What passed the proxy, as it is written down before it is passed on: frames behind the header and the initial rows of
a log that is under way (`core.segments`), until the log is made of them.

A frame is a byte that begins no line of JSON, its kind, the connection's number, a time of the monotonic clock in
nanoseconds, the length of what follows and a checksum of all that. Does not know what the bytes mean.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

MARK = 0x02
"""The first byte of a frame: no line of JSON begins so, nor a record of the other recorders."""
OPENED, CLIENT, SERVER, ASKED, CLOSED, UNWRITTEN, RESUMED, ENDED = range(8)
"""Kinds of frames: a connection is ready for its first statement, and what is known of it, as JSON; what its client
sent; what the server sent; what the proxy asked for itself; the connection is closed; from here on what passed is not
written, and why; until here; the proxy has ended, and all is told."""
_HEAD = struct.Struct("<BBIqII")
_CHECKED = struct.Struct("<BBIqI")
_SUM = struct.Struct("<I")
LONGEST = 1 << 26
"""No frame has more bytes."""
_BLOCK = 1 << 17

Read = Callable[[int, int], bytes]
"""So many bytes from a place on, fewer where the file ends: as `os.pread` does."""


class Frame(NamedTuple):
    """`time`: when it came, before it was passed on."""

    kind: int
    connection: int
    time: int
    data: bytes


def frame(kind: int, connection: int, time: int, data: bytes) -> bytes:
    """A frame as it is written."""
    head = _CHECKED.pack(MARK, kind, connection, time, len(data))
    return head + _SUM.pack(zlib.crc32(data, zlib.crc32(head))) + data


class Damage(NamedTuple):
    """Bytes between frames that are none: what came there is lost."""

    length: int


def frames(read: Read, begin: int, wait: Callable[[], bool] = lambda: False) -> Iterator[Frame | Damage]:
    """The frames from the place `begin` on, as far as they are whole. Where no more are there yet, `wait` is asked
    whether it is worth to look again; it may sleep. What was not finished, and room that was not used, ends them; in
    front of a frame that can be read it is damage."""
    block, place = b"", 0
    waiting = True
    while True:
        found = _frame_in(block, place)
        if found is None:
            begin, place = begin + place, 0
            block = _block(read, begin)
            found = _frame_in(block, 0)
        if found is not None:
            place += _HEAD.size + len(found.data)
            yield found
            if found.kind == ENDED:
                return
        elif waiting:
            waiting = wait()  # after the last time it is looked for once more
        else:
            following = _next_frame(read, begin)
            if following is None:
                return
            yield Damage(following - begin)
            begin, block = following, b""


def _block(read: Read, begin: int) -> bytes:
    """What stands there: the whole of a frame, if one begins there, and more."""
    block = read(_BLOCK, begin)
    if len(block) >= _HEAD.size:
        mark, _, _, _, length, _ = _HEAD.unpack_from(block)
        if mark == MARK and len(block) < _HEAD.size + length <= _HEAD.size + LONGEST:
            return read(_HEAD.size + length, begin)
    return block


def _frame_in(block: bytes, place: int) -> Frame | None:
    if len(block) < place + _HEAD.size:
        return None
    mark, kind, connection, time, length, checksum = _HEAD.unpack_from(block, place)
    begin, place = place, place + _HEAD.size
    if mark != MARK or kind > ENDED or len(block) < place + length:
        return None
    data = block[place : place + length]
    found = zlib.crc32(data, zlib.crc32(block[begin : begin + _CHECKED.size]))
    return Frame(kind, connection, time, data) if found == checksum else None


def _next_frame(read: Read, begin: int) -> int | None:
    """Where a whole frame begins behind `begin`."""
    place = begin + 1
    while block := read(_BLOCK, place):
        offset = block.find(MARK)
        while offset >= 0:
            if _may_begin(block, offset) and _frame_in(_block(read, place + offset), 0) is not None:
                return place + offset
            offset = block.find(MARK, offset + 1)
        place += len(block)
    return None


def _may_begin(block: bytes, offset: int) -> bool:
    """Whether a frame may begin there, as far as its head tells. (One that the block cuts off is not ruled out.)"""
    if len(block) < offset + _HEAD.size:
        return True
    _, kind, _, _, length, _ = _HEAD.unpack_from(block, offset)
    return bool(kind <= ENDED and length <= LONGEST)
