"""COPY, as statements that say the same: rows that came in, as INSERT; rows that went out, as a query whose answer is
not told. Source: the manual's page on COPY, *Text Format*.

Only what is certain to be the same is told so: the text format with its defaults, and the binary one where all columns
are of types that are known here, into a table without generated columns, identities and rules. COPY reads texts as
literals are read.
Does not know which tables are plain.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from troubadour.record.proxy.postgres.protocol.values import BROKEN, text_of
from troubadour.record.proxy.postgres.statements.defined import NAME, Columns, canonical

MOST = 1 << 26
"""Bytes of rows that are kept at most."""
ROWS = 1000
"""Of one INSERT."""

_FROM = re.compile(
    rf"COPY\s+(?P<table>{NAME}(?:\s*\.\s*{NAME})?)\s*(?P<columns>\(\s*{NAME}(?:\s*,\s*{NAME})*\s*\))?\s*FROM\s+STDIN"
    r"(?:\s+(?:WITH\s*)?(?:(?P<binary>\(\s*FORMAT\s+['\"]?binary['\"]?\s*\)|BINARY)"
    r"|\(\s*(?:FORMAT\s+'?text'?|FREEZE(?:\s+\w+)?)\s*\)|FREEZE"
    r"|DELIMITERS?\s+(?:AS\s+)?(?:E'\\t'|E?'\t')\s*(?:(?:WITH\s+)?NULL\s+(?:AS\s+)?(?:E'\\\\N'|'\\N'))?)?)?\s*$",
    re.IGNORECASE,
)
_TO = re.compile(
    rf"COPY\s+(?:(?P<table>{NAME}(?:\s*\.\s*{NAME})?)\s*(?P<columns>\([^()]*\))?|\((?P<query>.*)\))\s*TO\s+STDOUT\b.*",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


_SIGNATURE = b"PGCOPY\n\xff\r\n\0"


class Copy:
    """One COPY under way."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def given(self, body: bytes | None) -> None:
        """The client sent this of the rows."""
        if body is None or self._size > MOST:
            self._size, self._pieces = MOST + 1, []
        else:
            self._size += len(body)
            self._pieces.append(body)

    def statements(
        self, sql: str, codec: str | None, tables: Mapping[str, Columns]
    ) -> list[tuple[str, int | None]] | None:
        """What the COPY is, as statements with the number of rows that each is to write; None where that cannot be
        told."""
        out = _TO.fullmatch(sql)
        if out is not None:
            query = out["query"] or f"SELECT {(out['columns'] or '(*)')[1:-1]} FROM {out['table']}"
            return [(query.strip(), None)]
        into = _FROM.fullmatch(sql)
        if into is None or codec is None or self._size > MOST or canonical(into["table"]) not in tables:
            return None
        data = b"".join(self._pieces)
        try:
            if into["binary"] and codec != "utf-8":
                return None
            if into["binary"]:
                rows = list(_binary_rows(data, _types(into["columns"], tables[canonical(into["table"])])))
            else:
                rows = [_row(line, codec) for line in _lines(data)]
        except BROKEN:
            return None
        if len({len(row) for row in rows}) > 1:
            return None
        columns = f" {into['columns']}" if into["columns"] else ""
        found: list[tuple[str, int | None]] = []
        for begin in range(0, len(rows), ROWS):
            some = rows[begin : begin + ROWS]
            values = ", ".join(f"({', '.join(row)})" for row in some)
            found.append((f"INSERT INTO {into['table']}{columns} VALUES {values}", len(some)))
        return found


def _types(columns: str | None, table: Columns) -> Sequence[int]:
    """The types of the columns that a COPY names, or of all. Raises ValueError where one is not known."""
    names = list(table) if columns is None else [canonical(name) for name in re.findall(NAME, columns)]
    found = []
    for name in names:
        type = table.get(name)
        if type is None:
            raise ValueError(f"the type of {name} is not known")
        found.append(type)
    return found


def _binary_rows(data: bytes, types: Sequence[int]) -> Iterator[Sequence[str]]:
    """Rows of literals. Source: the manual's page on COPY, *Binary Format*. Raises one of `BROKEN`."""
    flags, extension = struct.unpack_from(">Ii", data, len(_SIGNATURE))
    if not data.startswith(_SIGNATURE) or flags or extension < 0:
        raise ValueError("no rows in binary")
    place = len(_SIGNATURE) + 8 + extension
    while place < len(data):
        (count,) = struct.unpack_from(">h", data, place)
        place += 2
        if count == -1:
            return
        if count != len(types):
            raise ValueError("a row of other columns")
        row = []
        for type in types:
            (length,) = struct.unpack_from(">i", data, place)
            place += 4
            text = None if length < 0 else text_of(type, data[place : place + length])
            row.append("NULL" if text is None else "'" + text.replace("'", "''") + "'")
            place += max(length, 0)
        yield row


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n") if data else ():
        if line == b"\\.":
            return
        yield line


def _row(line: bytes, codec: str) -> Sequence[str]:
    return [_literal(field, codec) for field in line.split(b"\t")]


def _literal(field: bytes, codec: str) -> str:
    if field == b"\\N":
        return "NULL"
    text = _ESCAPE.sub(_unescaped, field) if b"\\" in field else field
    return "'" + text.decode(codec).replace("'", "''") + "'"


def _unescaped(match: re.Match[bytes]) -> bytes:
    if match[1] is not None:
        return bytes([int(match[1], 8) & 0xFF])
    if match[2] is not None:
        return bytes([int(match[2], 16)])
    return _LETTERS.get(match[3], match[3])
