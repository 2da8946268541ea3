"""The lexical form of statements, one tokenizer for each product: where comments, texts, names, operators and
placeholders begin and end. Sources: the chapters on lexical structure of the manuals of PostgreSQL, MariaDB, SQLite and
DuckDB (which scans as PostgreSQL does).

What MySQL executes though it stands in a comment (``/*!50000 UPDATE */``) is tokens as any. Settings that change how a
server scans (ANSI_QUOTES, NO_BACKSLASH_ESCAPES, standard_conforming_strings) are taken to be at their defaults. Does
not know what a statement does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NAME, QUOTED, TEXT, NUMBER, PLACE, OPERATOR, PUNCTUATION = (
    "name", "quoted", "text", "number", "place", "operator", "punctuation",
)  # fmt: skip


class Token(NamedTuple):
    """`kind`: one of the constants of this module. `text` is ``sql[start:end]``; of a dollar-quoted text all of it."""

    kind: str
    text: str
    start: int
    end: int


_NAME = r"(?P<name>[^\W\d][\w$]*)"
_NUMBER = r"(?P<number>0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
_DOLLARS = r"(?P<dollar>\$(?:[^\W\d]\w*)?\$)"
_STANDARD = r"'(?:[^']|'')*'"
_BACKSLASHES = r"'(?:[^'\\]|''|\\.)*'"
_PERCENT = r"%s|%\(\w+\)s"

_POSTGRES = rf"""
    (?P<line>--[^\n\r]*) | (?P<nested>/\*)
  | {_DOLLARS} | (?P<place>\$\d+)
  | (?P<text>[uU]&{_STANDARD}|[eE]{_BACKSLASHES}|[bBxXnN]?{_STANDARD})
  | (?P<quoted>(?:[uU]&)?"(?:[^"]|"")*")
  | {_NUMBER} | {_NAME}
  | (?P<operator>::|:=|(?:(?!--|/\*)[-+*/<>=~!@\#%^&|`?])+)
  | (?P<punctuation>[^\s])
"""
_MYSQL = rf"""
    (?P<line>(?:\#|--(?=[\s\x00-\x1f]|$))[^\n]*) | (?P<executed>/\*M?!\d*) | (?P<flat>/\*)
  | (?P<place>{_PERCENT}|\?)
  | (?P<text>(?:[nNxXbB]|_\w+\s*)?{_BACKSLASHES}|(?:_\w+\s*)?"(?:[^"\\]|""|\\.)*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<name>@?@?[^\W\d][\w$]*|@{_BACKSLASHES}|@`[^`]*`) | {_NUMBER}
  | (?P<operator>:=|(?:(?!--[\s\x00-\x1f]|/\*|\#|\*/)[-+*/<>=~!%^&|])+)
  | (?P<punctuation>[^\s])
"""
_SQLITE = rf"""
    (?P<line>--[^\n]*) | (?P<flat>/\*)
  | (?P<place>\?\d*|[:@$]\w+(?:::\w+)*|\#\w+)
  | (?P<text>[xX]?{_STANDARD})
  | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
  | {_NUMBER} | {_NAME}
  | (?P<operator>(?:(?!--|/\*)[-+*/<>=~!%&|])+)
  | (?P<punctuation>[^\s])
"""
_DUCKDB = rf"""
    (?P<line>--[^\n\r]*) | (?P<nested>/\*)
  | {_DOLLARS} | (?P<place>\$\w+|\?\d*)
  | (?P<text>[eE]{_BACKSLASHES}|[bBxXnN]?{_STANDARD})
  | (?P<quoted>"(?:[^"]|"")*")
  | {_NUMBER} | {_NAME}
  | (?P<operator>::|:=|(?:(?!--|/\*)[-+*/<>=~!@\#%^&|`?])+)
  | (?P<punctuation>[^\s])
"""
_PATTERNS = {
    dialect: re.compile(pattern, re.VERBOSE | re.DOTALL)
    for dialect, pattern in (
        ("postgres", _POSTGRES), ("mysql", _MYSQL), ("sqlite", _SQLITE), ("duckdb", _DUCKDB),
    )
}  # fmt: skip
_BLOCK = re.compile(r"/\*|\*/")


def tokens(sql: str, dialect: str) -> Iterator[Token]:
    """The tokens of a text, comments left out. Never raises: what no product can read comes as punctuation."""
    pattern = _PATTERNS[dialect]
    place = executed = 0
    while (match := pattern.search(sql, place)) is not None:
        kind, place = match.lastgroup or "", match.end()
        start = match.start()
        if kind == "line":
            continue
        if kind == "executed":
            executed += 1
            continue
        if kind == "flat":
            close = sql.find("*/", place)
            place = len(sql) if close < 0 else close + 2
            continue
        if kind == "nested":
            place = _after_nested(sql, place)
            continue
        if executed and sql.startswith("*/", start):
            executed, place = executed - 1, start + 2
            continue
        if kind == "dollar":
            kind, close = TEXT, sql.find(match.group(), place)
            place = len(sql) if close < 0 else close + len(match.group())
        yield Token(kind, sql[start:place], start, place)


def _after_nested(sql: str, place: int) -> int:
    """Where a comment ends that may have others in it, and whose beginning ends at `place`."""
    depth = 1
    while depth:
        match = _BLOCK.search(sql, place)
        if match is None:
            return len(sql)
        depth, place = depth + (1 if match.group() == "/*" else -1), match.end()
    return place


def name_of(token: Token) -> str:
    """The identifier that a token is, in lower case, without its quotes; empty for none."""
    if token.kind == NAME:
        return token.text.lower()
    if token.kind != QUOTED:
        return ""
    inner = token.text[token.text.index(token.text[-1]) + 1 : -1] if token.text[-1] != "]" else token.text[1:-1]
    return inner.lower()
