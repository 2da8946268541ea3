"""Splits a psql script into statements (psql's own rules: quotes, dollar quotes, comments, backslash commands).

Does not know SQL beyond its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<line>--[^\n]*)
  | (?P<block>/\*)
  | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
  | (?P<text>'(?:[^']|'')*')
  | (?P<name>"(?:[^"]|"")*")
  | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*)?\$)
  | (?P<end>;)
  | (?P<command>\\[^\n]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<open>[(\[])
  | (?P<close>[)\]])
    """,
    re.VERBOSE | re.DOTALL,
)


def _block_end(text: str, start: int) -> int:
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


def statements(script: str) -> Iterator[str]:
    """The statements, without comments before them and without the semicolon; data after COPY ... FROM STDIN and
    statements that end in a backslash command (``\\gset``) are left out."""
    position = start = 0
    parens = atomic = 0
    words: list[str] = []
    while (found := _TOKEN.search(script, position)) is not None:
        kind = found.lastgroup
        position = found.end()
        if kind == "tag":
            kind = "dollar"
        if kind in ("line", "block"):
            position = _block_end(script, found.start()) if kind == "block" else position
            if not words:
                start = position
        elif kind == "dollar":
            close = script.find(found.group(), position)
            position = len(script) if close < 0 else close + len(found.group())
        elif kind == "command":
            start, words, parens, atomic = position, [], 0, 0
        elif kind == "word":
            words.append(found.group().upper())
            atomic += words[-2:] == ["BEGIN", "ATOMIC"]
            atomic -= bool(atomic) and words[-1] == "END"
        elif kind in ("open", "close"):
            parens += 1 if kind == "open" else -1
        elif kind == "end" and parens <= 0 and not atomic:
            text = script[start : found.start()].strip()
            copies = words[:1] == ["COPY"] and "STDIN" in words
            if copies:
                finish = script.find("\n\\.", position)
                position = len(script) if finish < 0 else finish + 3
            if text:
                yield text
            start, words, parens = position, [], 0
        if kind in ("escaped", "text", "name") and not words:
            words.append("")
