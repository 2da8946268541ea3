"""The messages of PostgreSQL's logical replication, protocol version 1 (manual, 53.9): what a transaction changed.

Knows neither logs nor certificates, and no types but by their numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sql_semantics.records import dataclass, field
from troubadour.record.errors import RecordError

UNCHANGED = object()
"""A large value that an update left as it was: the log does not repeat it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the messages that follow mean it; `columns` are (name, type's oid, whether part of its identity)."""

    name: str
    columns: tuple[tuple[str, int, bool], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """`kind` is insert, update, delete or truncate. `old` is the identity or the whole row before, where the server
    tells; values are texts, None, or `UNCHANGED`."""

    relation: Relation
    kind: str
    old: tuple[object, ...] | None
    new: tuple[object, ...] | None


@dataclass(slots=True)
class Committed:
    """A committed transaction: the place of its commit record, its 32-bit id, and its changes in order."""

    place: int
    xid: int
    changes: list[Change] = field(default_factory=list)


class Decoder:
    """Messages in, committed transactions out. Raises RecordError for a message of another protocol."""

    def __init__(self) -> None:
        self._relations: dict[int, Relation] = {}
        self._open: Committed | None = None

    def take(self, message: bytes) -> Committed | None:
        """The transaction that this message ends."""
        kind = message[:1]
        match kind:
            case b"B":
                place, _, xid = struct.unpack_from(">QqI", message, 1)
                self._open = Committed(place, xid)
            case b"C":
                ended, self._open = self._open, None
                return ended
            case b"R":
                self._relation(message)
            case b"I" | b"U" | b"D" | b"T":
                if self._open is None:
                    raise RecordError("the write-ahead log tells of a change outside a transaction")
                self._open.changes.extend(self._changes(kind, message))
            case b"O" | b"Y" | b"M":
                pass  # origins, types and messages of applications: nothing of a row
            case _:
                raise RecordError(f"the write-ahead log has a message of an unknown kind, {kind!r}")
        return None

    def _relation(self, message: bytes) -> None:
        (number,) = struct.unpack_from(">I", message, 1)
        _, at = _string(message, 5)
        name, at = _string(message, at)
        (count,) = struct.unpack_from(">H", message, at + 1)
        at += 3
        columns = []
        for _ in range(count):
            identity = message[at] & 1 == 1
            column, at = _string(message, at + 1)
            (oid,) = struct.unpack_from(">I", message, at)
            at += 8
            columns.append((column, oid, identity))
        self._relations[number] = Relation(name, tuple(columns))

    def _changes(self, kind: bytes, message: bytes) -> Iterator[Change]:
        if kind == b"T":
            (count,) = struct.unpack_from(">I", message, 1)
            for number in struct.unpack_from(f">{count}I", message, 6):
                yield Change(self._relations[number], "truncate", None, None)
            return
        (number,) = struct.unpack_from(">I", message, 1)
        relation = self._relations[number]
        at, old, new = 5, None, None
        while at < len(message):
            part = message[at : at + 1]
            row, at = _row(message, at + 1)
            if part == b"N":
                new = row
            else:
                old = row
        yield Change(relation, {b"I": "insert", b"U": "update", b"D": "delete"}[kind], old, new)


def _string(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def _row(message: bytes, at: int) -> tuple[tuple[object, ...], int]:
    (count,) = struct.unpack_from(">H", message, at)
    at += 2
    values: list[object] = []
    for _ in range(count):
        kind = message[at : at + 1]
        at += 1
        if kind == b"t":
            (length,) = struct.unpack_from(">I", message, at)
            values.append(message[at + 4 : at + 4 + length].decode())
            at += 4 + length
        elif kind == b"n":
            values.append(None)
        elif kind == b"u":
            values.append(UNCHANGED)
        else:
            raise RecordError(f"the write-ahead log has a value of an unknown kind, {kind!r}")
    return tuple(values), at
