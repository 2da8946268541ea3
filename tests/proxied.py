"""Conversations of PostgreSQL's protocol 3 as a proxy sees them, for tests. Does not know what becomes of them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Sequence

from troubadour.record.proxy import raw
from troubadour.record.proxy.postgres.carried.asking import OF_SESSION, STARTED, of_transaction
from troubadour.record.proxy.postgres.protocol.messages import message
from troubadour.record.proxy.raw import Frame

INT, TEXT = 23, 25
Turn = tuple[int, bytes]
"""A kind of frame, and its bytes."""


def query(text: str) -> bytes:
    return message(b"Q", text.encode() + b"\0")


def parse(text: str, name: str = "", types: Sequence[int] = ()) -> bytes:
    given = struct.pack(f">H{len(types)}I", len(types), *types)
    return message(b"P", name.encode() + b"\0" + text.encode() + b"\0" + given)


def bind(values: Sequence[bytes | None] = (), name: str = "", portal: str = "", binary: bool = False) -> bytes:
    body = portal.encode() + b"\0" + name.encode() + b"\0" + struct.pack(">HHH", 1, binary, len(values))
    for value in values:
        body += struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return message(b"B", body + struct.pack(">HH", 1, binary))


def describe(name: str = "", kind: bytes = b"P") -> bytes:
    return message(b"D", kind + name.encode() + b"\0")


def execute(portal: str = "", rows: int = 0) -> bytes:
    return message(b"E", portal.encode() + b"\0" + struct.pack(">i", rows))


SYNC = message(b"S", b"")
PARSED, BOUND, CLOSED, NO_DATA, SUSPENDED = (message(kind, b"") for kind in (b"1", b"2", b"3", b"n", b"s"))
EMPTY = message(b"I", b"")


def done(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


def ready(status: str) -> bytes:
    return message(b"Z", status.encode())


def columns(*of: tuple[str, int], binary: bool = False) -> bytes:
    body = struct.pack(">H", len(of))
    for name, type in of:
        body += name.encode() + b"\0" + struct.pack(">IhIhih", 0, 0, type, -1, -1, binary)
    return message(b"T", body)


def row(*values: bytes | None) -> bytes:
    body = struct.pack(">H", len(values))
    for value in values:
        body += struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return message(b"D", body)


def error(state: str, text: str = "no", severity: str = "ERROR") -> bytes:
    return message(b"E", f"S{severity}\0V{severity}\0C{state}\0M{text}\0\0".encode())


NOTICE = message(b"N", b"SNOTICE\0VNOTICE\0C00000\0Mwell\0\0")
QUESTION = of_transaction()


def answer(xid: int, level: str = "read committed") -> bytes:
    """What the server says to `QUESTION`."""
    return PARSED + BOUND + row(str(xid).encode(), level.encode()) + done("SELECT 1") + CLOSED + CLOSED + ready("T")


SESSION: tuple[Turn, ...] = (
    (raw.ASKED, OF_SESSION),
    (
        raw.SERVER,
        columns(("lower", TEXT), ("setting", TEXT)) + row(STARTED.encode(), b"now") + done("SELECT 1") + ready("I"),
    ),
)


SHORT_SESSION = ((raw.ASKED, query("SELECT")), SESSION[1])
"""The same, of a shorter question."""


def transaction(*turns: bytes, xid: int | None = None) -> list[Turn]:
    """Requests and answers in turns; with `xid` the last request is a COMMIT in front of which the proxy asks."""
    found: list[Turn] = []
    for place, data in enumerate(turns):
        sent = place % 2 == 0
        if xid is not None and place == len(turns) - 2:
            found.append((raw.ASKED, QUESTION))
        if xid is not None and place == len(turns) - 1:
            data = answer(xid) + data
        found.append((raw.CLIENT if sent else raw.SERVER, data))
    return found


def frames_of(turns: Iterable[Turn], number: int = 1, time: int = 1_000_000) -> list[Frame]:
    """A connection from beginning to end, one millisecond from turn to turn."""
    told = {"parameters": {"client_encoding": "UTF8", "DateStyle": "ISO, MDY", "IntervalStyle": "postgres"}}
    found = [Frame(raw.OPENED, number, time, json.dumps(told).encode())]
    for place, (kind, data) in enumerate((*SESSION, *turns), 1):
        found.append(Frame(kind, number, time + place * 1_000_000, data))
    found.append(Frame(raw.CLOSED, number, time + (len(found) + 1) * 1_000_000, b""))
    return found


def split(frames: Iterable[Frame], size: Callable[[int], int]) -> list[Frame]:
    """The same, in pieces; `size`: how long the next one is, of so many bytes."""
    found = []
    for frame in frames:
        data = frame.data
        if frame.kind not in (raw.CLIENT, raw.SERVER, raw.ASKED):
            found.append(frame)
            continue
        while data:
            length = size(len(data))
            found.append(frame._replace(data=data[:length]))
            data = data[length:]
    return found
