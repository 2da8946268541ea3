"""What the definitions of a database say that decoding needs: the tables into which COPY writes as INSERT does, with
the types of their columns, and whether anything that is defined may make a text of an interval. Does not know
statements that read and write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

NAME = r'(?:[A-Za-z_][\w$]*|"(?:[^"]|"")+")'
_TYPES: Mapping[str, int] = {
    "boolean": 16, "bytea": 17, "bigint": 20, "smallint": 21, "integer": 23, "text": 25, "json": 114, "real": 700,
    "double precision": 701, "character": 1042, "character varying": 1043, "date": 1082, "time without time zone": 1083,
    "timestamp without time zone": 1114, "timestamp with time zone": 1184, "numeric": 1700, "uuid": 2950, "jsonb": 3802,
}  # fmt: skip
_COLUMN = re.compile(
    rf"\s*(?P<name>{NAME})\s+(?P<type>[a-z][a-z ]*?)(?:\([\d, ]*\))?(?P<rest> with(?:out)? time zone)?"
    r"(?:\s+(?:DEFAULT|NOT NULL|COLLATE)\b.*)?",
    re.DOTALL,
)
_NESTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[(),]|[^'\"(),]+")

Columns = Mapping[str, int | None]
"""By a column's name the oid of its type, None where that is not known here; in their order."""


_INTERVALS = re.compile(r"\b(?:interval|age|justify_\w+|make_interval|reltime|to_char)\b|->|json", re.IGNORECASE)
_TEXTS = re.compile(
    r"::|\bcast\b|\|\||\bconcat|\bformat\b|_agg\b|to_string|\bINSERT\b|\bUPDATE\b|\bDO\b|\bCALL\b", re.IGNORECASE
)
_RUNS = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE|TRIGGER|AGGREGATE|OPERATOR|CAST)\b", re.IGNORECASE
)


def may_write_intervals(sql: str) -> bool:
    """Whether a statement may make a text of an interval, whose form is IntervalStyle's: it makes intervals, or
    subtracts what may be moments, and makes texts."""
    return _INTERVALS.search(sql) is not None or ("-" in sql and _TEXTS.search(sql) is not None)


class Defined:
    """Of one log, whatever session changes it. `tables`: into which COPY writes as INSERT does; `intervals`: whether a
    definition may make a text of an interval, as far as statements do not show it."""

    def __init__(self, schema: Iterable[str] = (), procedures: Iterable[str] = ()) -> None:
        texts = list(schema)
        self.tables = plain_tables(texts)
        self.intervals = any(True for _ in procedures) or any(map(_makes_intervals, texts))

    def executed(self, sql: str) -> None:
        """A definition was executed: the tables that it names are no longer as the log began."""
        self.intervals = self.intervals or _makes_intervals(sql)
        words = {word.lower() for word in re.findall(r"[^\W\d][\w$]*", sql)}
        for table in [name for name in self.tables if name.rpartition(".")[2].strip('"').lower() in words]:
            del self.tables[table]


def _makes_intervals(sql: str) -> bool:
    return _RUNS.match(sql) is not None or may_write_intervals(sql)


def plain_tables(schema: Iterable[str]) -> dict[str, Columns]:
    """Of a log's schema, the tables into which COPY writes what INSERT would."""
    texts = list(schema)
    if any(text.startswith("CREATE RULE") for text in texts):
        return {}
    found: dict[str, Columns] = {}
    for text in texts:
        match = re.match(rf"CREATE TABLE ({NAME}(?:\.{NAME})?) ", text)
        if match is not None and " GENERATED " not in text:
            found[match[1]] = _columns(text[match.end() :])
    return found


def _columns(text: str) -> Columns:
    """The columns of a table, of what stands between its parentheses."""
    depth, one, parts = 0, "", []
    for match in _NESTED.finditer(text):
        piece = match.group()
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if (piece == "," and depth == 1) or not depth:
            parts.append(one)
            one = ""
        elif piece != "(" or depth > 1:
            one += piece
        if not depth:
            break
    found: dict[str, int | None] = {}
    for part in parts:
        if re.match(r"\s*(?:CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN|EXCLUDE)\b", part):
            continue
        column = _COLUMN.fullmatch(part)
        if column is None:
            name = re.match(rf"\s*({NAME})", part)
            if name is not None:
                found[canonical(name[1])] = None
        else:
            found[canonical(column["name"])] = _TYPES.get(column["type"] + (column["rest"] or ""))
    return found


def canonical(table: str) -> str:
    """A table's name as the schema of a log has it."""
    parts = re.findall(NAME, table)
    plain = [part[1:-1] if re.fullmatch(r'"[a-z_][a-z0-9_$]*"', part) else part for part in parts]
    return ".".join(part if part.startswith('"') else part.lower() for part in plain)
