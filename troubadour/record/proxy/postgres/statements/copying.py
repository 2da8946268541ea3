"""COPY, as statements that say the same: rows that came in, as INSERT; rows that went out, as a query whose answer is
not told. Source: the manual's page on COPY, *Text Format*.

Only what is certain to be the same is told so: the text format with its defaults, into a table without generated
columns, identities and rules. Does not know the table's types: COPY reads texts as literals are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

MOST = 1 << 26
"""Bytes of rows that are kept at most."""
ROWS = 1000
"""Of one INSERT."""

_NAME = r'(?:[A-Za-z_][\w$]*|"(?:[^"]|"")+")'
_FROM = re.compile(
    rf"COPY\s+(?P<table>{_NAME}(?:\s*\.\s*{_NAME})?)\s*(?P<columns>\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\))?\s*FROM\s+STDIN"
    r"(?:\s+(?:WITH\s*)?(?:\(\s*(?:FORMAT\s+'?text'?|FREEZE(?:\s+\w+)?)\s*\)|FREEZE"
    r"|DELIMITER\s+(?:AS\s+)?(?:E'\\t'|'\t')\s*(?:NULL\s+(?:AS\s+)?(?:E'\\\\N'|'\\N'))?)?)?\s*$",
    re.IGNORECASE,
)
_TO = re.compile(
    rf"COPY\s+(?:(?P<table>{_NAME}(?:\s*\.\s*{_NAME})?)\s*(?P<columns>\([^()]*\))?|\((?P<query>.*)\))\s*TO\s+STDOUT\b.*",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def plain_tables(schema: Iterable[str]) -> frozenset[str]:
    """Of a log's schema, the tables into which COPY writes what INSERT would."""
    texts = list(schema)
    if any(text.startswith("CREATE RULE") for text in texts):
        return frozenset()
    found = set()
    for text in texts:
        match = re.match(rf"CREATE TABLE ({_NAME}(?:\.{_NAME})?) ", text)
        if match is not None and " GENERATED " not in text:
            found.add(match[1])
    return frozenset(found)


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

    def statements(self, sql: str, codec: str | None, tables: frozenset[str]) -> list[tuple[str, int | None]] | None:
        """What the COPY is, as statements with the number of rows that each is to write; None where that cannot be
        told."""
        out = _TO.fullmatch(sql)
        if out is not None:
            query = out["query"] or f"SELECT {(out['columns'] or '(*)')[1:-1]} FROM {out['table']}"
            return [(query.strip(), None)]
        into = _FROM.fullmatch(sql)
        if into is None or codec is None or self._size > MOST or _canonical(into["table"]) not in tables:
            return None
        try:
            rows = [_row(line, codec) for line in _lines(b"".join(self._pieces))]
        except ValueError:
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


def _canonical(table: str) -> str:
    """A table's name as the schema of a log has it."""
    parts = re.findall(_NAME, table)
    plain = [part[1:-1] if re.fullmatch(r'"[a-z_][a-z0-9_$]*"', part) else part for part in parts]
    return ".".join(part if part.startswith('"') else part.lower() for part in plain)


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
