"""Rewrites placeholders of every driver style into one that the parser knows.

``$1``, ``?``, ``%s``, ``:name`` and ``%(name)s`` become ``:bound_0``, ``:bound_1``, ...; quotes, comments and ``::``
casts are respected. Which styles are looked for follows from what the log gives: a list, an object, or nothing. Does
not know SQL grammar beyond its lexical part, nor any type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import count

from sql_semantics.errors import MisfitParameters, Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass

PREFIX = "bound_"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`keys` maps a placeholder's new name to the parameter it stands for: a 0-based position or a name. `hidden`: what
    looks like a placeholder stands where none is looked for, in quotes or in a routine's body."""

    text: str
    keys: Mapping[str, int | str]
    hidden: bool = False


_COMMON = r"""
    (?P<line>--[^\n]*)
  | (?P<block>/\*)
  | (?P<dollar>\$(?:[A-Za-z_][A-Za-z_0-9]*)?\$)
  | (?P<escaped>\b[eE]'(?:[^'\\]|''|\\.)*')
  | (?P<single>'(?:[^']|'')*')
  | (?P<double>"(?:[^"]|"")*")
"""
_BACKSLASHES = r"""
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
_LOOKS = pattern(r"\$[0-9]|[?]|%s|%\(|:[A-Za-z_]")
_LEXERS = {
    backslashes: pattern((_BACKSLASHES if backslashes else _COMMON) + _PLACES, re.VERBOSE | re.DOTALL)
    for backslashes in (True, False)
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


def rewrite(text: str, dialect: str, positional: bool, named: bool, ordinals: Iterator[int] | None = None) -> Rewritten:
    """Replace placeholders. `positional` and `named`: the log gives a list, an object. `ordinals`: the parameters that
    placeholders without number and name stand for, where they are not those of the list in order.

    Raises Unsupported for a text that a DBMS or a driver reads differently from us: executable comments, percent
    placeholders inside quotes.
    """
    if not positional and not named and "/*" not in text and "$" not in text:
        return Rewritten(text, {})
    rules = PRODUCTS[dialect].text
    lexer = _LEXERS[rules.backslash_escapes]
    pieces: list[str] = []
    keys: dict[str, int | str] = {}
    quoted_percent = hidden = False
    percent_style = False
    # beside placeholders of another style a question mark is PostgreSQL's operator
    kinds = (match.lastgroup for match in lexer.finditer(text)) if positional and "?" in text else ()
    operators = rules.question_mark_operators and any(kind in ("number", "percents") for kind in kinds)
    ordinals = count() if ordinals is None else ordinals
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
            place = block_comment_end(text, match.start(), nested=rules.nested_comments)
            pieces.append(" ")
        elif kind == "dollar":
            close = text.find(token, match.end())
            place = len(text) if close < 0 else close + len(token)
            pieces.append(text[match.start() : place])
            hidden = hidden or _LOOKS.search(pieces[-1]) is not None
        elif kind == "number" and (positional or rules.numbers_are_places):
            put(int(token[1:]) - 1)
        elif kind == "question" and positional and not operators:
            put(next(ordinals))
        elif kind == "percents" and positional:
            percent_style = True
            put(next(ordinals))
        elif kind == "percentname" and named:
            percent_style = True
            put(match.group("inner"))
        elif kind == "colon" and named:
            put(match.group("name"))
        else:
            if kind in ("single", "double", "escaped", "tick") and ("%s" in token or "%(" in token):
                quoted_percent = True
            hidden = hidden or (kind != "line" and _LOOKS.search(token) is not None)
            pieces.append(token)
    pieces.append(text[place:])
    if percent_style and quoted_percent:
        raise Unsupported("placeholder inside quotes")
    result = "".join(pieces)
    return Rewritten(result.replace("%%", "%") if percent_style else result, keys, hidden)


def check_parameters(rewritten: Rewritten, given: Collection[int | str]) -> None:
    """Raises MisfitParameters unless there is a parameter for each placeholder, and a placeholder for each positional
    parameter."""
    wanted = set(rewritten.keys.values())
    missing = sorted(str(key + 1) if isinstance(key, int) else key for key in wanted.difference(given))
    if missing:
        known = "no parameters are given" if not given else f"{len(given)} parameters are given"
        raise MisfitParameters(f"the statement has a placeholder for parameter {missing[0]}, but {known}: `params`")
    spare = [key + 1 for key in given if isinstance(key, int) and key not in wanted]
    if spare and not rewritten.hidden:
        raise MisfitParameters(
            f"parameter {spare[0]} has no placeholder: a list in `params` has one value for each of $1, $2, ..., or "
            "each ? or %s, of the statement, an object those of :name or %(name)s"
        )
