"""Rewrites placeholders of every driver style into one that the parser knows (CONTRACT §1, `params`).

``$1``, ``?``, ``%s``, ``:name`` and ``%(name)s`` become ``:bound_0``, ``:bound_1``, ...; quotes, comments and ``::``
casts are respected. Which styles are looked for follows from what the log gives: a list, an object, or nothing. Does
not know SQL grammar beyond its lexical part, nor any type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sql_semantics.errors import Unsupported

PREFIX = "bound_"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`keys` maps a placeholder's new name to the parameter it stands for: a 0-based position or a name."""

    text: str
    keys: Mapping[str, int | str]


_COMMON = r"""
    (?P<line>--[^\n]*)
  | (?P<block>/\*)
  | (?P<dollar>\$(?:[A-Za-z_][A-Za-z_0-9]*)?\$)
  | (?P<escaped>\b[eE]'(?:[^'\\]|''|\\.)*')
  | (?P<single>'(?:[^']|'')*')
  | (?P<double>"(?:[^"]|"")*")
"""
_MYSQL = r"""
    (?P<line>--(?=[\s\x00-\x1f]|$)[^\n]*|\#[^\n]*)
  | (?P<block>/\*)
  | (?P<single>'(?:[^'\\]|''|\\.)*')
  | (?P<double>"(?:[^"\\]|""|\\.)*")
  | (?P<tick>`(?:[^`]|``)*`)
"""
_PLACES = r"""
  | (?P<cast>::|:=)
  | (?P<word>[^\W\d][\w$]*|\d[\w.]*)
  | (?P<number>\$[0-9]+)
  | (?P<question>\?)
  | (?P<percents>%s)
  | (?P<percentname>%\((?P<inner>[^)]*)\)s)
  | (?P<percentpercent>%%)
  | (?P<colon>:(?P<name>[A-Za-z_]\w*))
"""
_LEXERS = {
    mysql: re.compile((_MYSQL if mysql else _COMMON) + _PLACES, re.VERBOSE | re.DOTALL) for mysql in (True, False)
}


def block_comment_end(text: str, start: int, nested: bool) -> int:
    """Where the block comment that begins at `start` ends; the text's end if it is not closed."""
    depth, place = 0, start
    while place < len(text):
        if text.startswith("/*", place) and (nested or depth == 0):
            depth, place = depth + 1, place + 2
        elif text.startswith("*/", place):
            depth, place = depth - 1, place + 2
            if depth == 0:
                return place
        else:
            place += 1
    return len(text)


def rewrite(text: str, dialect: str, positional: bool, named: bool) -> Rewritten:
    """Replace placeholders. `positional` and `named`: the log gives a list, an object.

    Raises Unsupported for a text that a DBMS or a driver reads differently from us: executable comments, percent
    placeholders inside quotes.
    """
    if not positional and not named and "/*" not in text and "$" not in text:
        return Rewritten(text, {})
    mysql = dialect == "mysql"
    lexer = _LEXERS[mysql]
    pieces: list[str] = []
    keys: dict[str, int | str] = {}
    quoted_percent = False
    percent_style = False
    ordinal = 0
    place = 0

    def put(key: int | str) -> None:
        new = f"{PREFIX}{len(keys)}"
        keys[new] = key
        pieces.append(f" :{new} ")

    while place < len(text):
        match = lexer.search(text, place)
        if match is None:
            break
        pieces.append(text[place : match.start()])
        kind, token = match.lastgroup or "", match.group()
        place = match.end()
        if match.group("percentname") is not None:
            kind = "percentname"
        elif match.group("colon") is not None:
            kind = "colon"
        if kind == "block":
            if text.startswith(("/*!", "/*M!"), match.start()):
                raise Unsupported("executable comment /*! */")
            place = block_comment_end(text, match.start(), nested=not mysql)
            pieces.append(" ")
        elif kind == "dollar":
            close = text.find(token, match.end())
            place = len(text) if close < 0 else close + len(token)
            pieces.append(text[match.start() : place])
        elif kind == "number" and (positional or not mysql):
            put(int(token[1:]) - 1)
        elif kind == "question" and positional:
            put(ordinal)
            ordinal += 1
        elif kind == "percents" and positional:
            percent_style = True
            put(ordinal)
            ordinal += 1
        elif kind == "percentname" and named:
            percent_style = True
            put(match.group("inner"))
        elif kind == "colon" and named:
            put(match.group("name"))
        else:
            if kind in ("single", "double", "escaped", "tick") and ("%s" in token or "%(" in token):
                quoted_percent = True
            pieces.append(token)
    pieces.append(text[place:])
    if percent_style and quoted_percent:
        raise Unsupported("placeholder inside quotes")
    result = "".join(pieces)
    return Rewritten(result.replace("%%", "%") if percent_style else result, keys)
