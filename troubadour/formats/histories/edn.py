"""Clojure's data notation (EDN), as far as histories use it: read form by form.

Keywords and symbols become `Word`, vectors and lists Python lists, sets `Set`, maps dicts, tagged elements their
value; a record (`#jepsen.history.Op{...}`) its map. Does not know what a history is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from sql_semantics.patterns import pattern

_TOKEN = pattern(
    r"""[\s,]+|;[^\n]*            # blanks and comments
    |(?P<discard>\#_)
    |(?P<open>\#\{|[\[({])
    |(?P<close>[\])}])
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<char>\\(?:newline|space|tab|return|formfeed|backspace|u[0-9a-fA-F]{4}|.))
    |(?P<tag>\#[^\s,;()\[\]{}"]+)
    |(?P<atom>[^\s,;()\[\]{}"\\]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = pattern(r"[+-]?\d+(?:N|/\d+|(?:\.\d*)?(?:[eE][+-]?\d+)?M?)?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_CHARACTERS = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r", "formfeed": "\f", "backspace": "\b"}
_CLOSES = {"[": "]", "(": ")", "{": "}", "#{": "}"}


class EdnError(ValueError):
    """Text that is no EDN. `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line = line
        self.text = text


class Word(str):
    """A keyword, without its colon, or a symbol."""

    __slots__ = ()


class Set(list[Any]):
    """The elements of a set, in the text's order."""

    __slots__ = ()


class _Tag:
    __slots__ = ()


_TAG: Final = _Tag()
_DISCARD: Final = object()


class _Open:
    """A collection that is not closed yet. `pending` are the tags and discards that wait for the next element."""

    __slots__ = ("items", "kind", "line", "pending")

    def __init__(self, kind: str, line: int) -> None:
        self.kind = kind
        self.line = line
        self.items: list[Any] = []
        self.pending: list[object] = []

    def add(self, value: object) -> None:
        while self.pending:
            if self.pending.pop() is _DISCARD:
                return
        self.items.append(value)


def forms(text: str) -> Iterator[Any]:
    """The forms of a text. Of one vector or list that holds all: its elements. Raises EdnError."""
    stack = [_Open("", 1)]
    whole = _holds_all(text)
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise EdnError(line, f"no EDN: {text[position : position + 30]!r}")
        position = match.end()
        kind, token = match.lastgroup, match[0]
        if kind is not None:
            _take(stack, kind, token, line)
        line += token.count("\n")
        level = stack[1] if whole and len(stack) == 2 else stack[0] if not whole and len(stack) == 1 else None
        if level is not None and level.items:
            yield from level.items
            level.items = []
    if len(stack) > 1:
        raise EdnError(stack[-1].line, f"{stack[-1].kind} is not closed: the text ends within it")
    if stack[0].pending:
        raise EdnError(line, "the text ends behind a tag")
    if whole and len(stack[0].items) > 1:
        raise EdnError(line, "more behind the vector that holds the history")


def _holds_all(text: str) -> bool:
    """Whether the first form is a vector or a list."""
    return re.match(r"(?:[\s,]|;[^\n]*(?:\n|\Z))*[\[(]", text) is not None


def _take(stack: list[_Open], kind: str, token: str, line: int) -> None:
    top = stack[-1]
    match kind:
        case "open":
            stack.append(_Open(token, line))
        case "close":
            if len(stack) == 1 or _CLOSES[top.kind] != token:
                raise EdnError(line, f"{token} closes nothing")
            if top.pending:
                raise EdnError(line, f"{token} behind a tag")
            stack.pop()
            stack[-1].add(_closed(top, line))
        case "discard":
            top.pending.append(_DISCARD)
        case "tag":
            top.pending.append(_TAG)
        case "string":
            top.add(_string(token, line))
        case "char":
            name = token[1:]
            top.add(_CHARACTERS.get(name) or (chr(int(name[1:], 16)) if len(name) == 5 else name))
        case _:
            top.add(_atom(token, line))


def _closed(top: _Open, line: int) -> object:
    if top.kind in ("[", "("):
        return top.items
    if top.kind == "#{":
        return Set(top.items)
    if len(top.items) % 2:
        raise EdnError(line, "a map with a key and no value")
    return {_key(key): value for key, value in zip(top.items[::2], top.items[1::2], strict=True)}


def _key(value: object) -> object:
    """As a key of a dict."""
    if isinstance(value, list):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return tuple((key, _key(one)) for key, one in value.items())
    return value


def _string(token: str, line: int) -> str:
    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name[0] == "u" and len(name) == 5:
            return chr(int(name[1:], 16))
        if name not in _ESCAPES:
            raise EdnError(line, f"\\{name} in a string")
        return _ESCAPES[name]

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", replaced, token[1:-1], flags=re.DOTALL) if "\\" in token else token[1:-1]


def _atom(token: str, line: int) -> object:
    if token[0] == ":":
        return Word(token[1:])
    if token in ("nil", "true", "false"):
        return {"nil": None, "true": True, "false": False}[token]
    if _NUMBER.fullmatch(token) is None:
        if token[0].isdigit() or (token[0] in "+-" and token[1:2].isdigit()):
            raise EdnError(line, f"no number: {token[:30]}")
        return Word(token)
    if token[-1] == "N" or token.lstrip("+-").isdigit():
        return int(token.rstrip("N"))
    if token[-1] == "M":
        return Decimal(token[:-1])
    return token if "/" in token else float(token)
