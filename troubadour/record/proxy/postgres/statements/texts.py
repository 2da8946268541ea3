"""The statements in a text that a client sent: where each begins and ends, and what it does to its transaction.

Texts that differ in their literals alone are read once. Does not know what was answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from troubadour.record.proxy.decode.session import Piece
from troubadour.record.statements.lexing import NAME, PUNCTUATION, Token, tokens
from troubadour.record.statements.secrets import administers, masked
from troubadour.record.statements.texts import Text, read_text

DIALECT = "postgres"
_LITERALS = re.compile(r"'[^'\\]*'|\b\d+(?:\.\d+)?\b")
_WITHIN = re.compile(r"""["$\\]|--|/\*|;.*\S""", re.DOTALL)
"""What makes it uncertain where literals begin, or that there is one statement."""
_SPACE = " \t\r\n\f\v;"


def pieces(text: str) -> Sequence[Piece]:
    """The statements of a text that are not empty."""
    if _WITHIN.search(text) is None:
        found = _alone(_LITERALS.sub(_blank, text))
        return () if found is None else (Piece(text.strip(_SPACE), *found),)
    return _several(text)


def _blank(match: re.Match[str]) -> str:
    return "''" if match.group()[0] == "'" else "0"


@lru_cache(maxsize=10_000)
def _alone(template: str) -> tuple[Text, bool] | None:
    """What a text says that is one statement, whatever its literals."""
    template = template.strip(_SPACE)
    return _read(template) if template else None


@lru_cache(maxsize=1_000)
def _several(text: str) -> tuple[Piece, ...]:
    found = []
    for sql in _split(text):
        found.append(Piece(sql, *_read(sql)))
    return tuple(found)


def _read(sql: str) -> tuple[Text, bool]:
    text = read_text(sql, DIALECT)
    secret = administers(sql)
    if text.word == "COPY":  # the rows of a table are no secret, where the text has none
        secret = masked(sql) != sql
    return text, secret


def _split(text: str) -> Iterator[str]:
    """The texts of the statements, comments before and behind them left out."""
    depth = blocks = 0
    first: Token | None = None
    last: Token | None = None
    words: list[str] = []
    for token in tokens(text, DIALECT):
        if token.kind == PUNCTUATION and token.text == ";" and depth <= 0 and not blocks:
            if first is not None and last is not None:
                yield text[first.start : last.end]
            first, depth, words = None, 0, []
            continue
        first, last = first or token, token
        if token.kind == PUNCTUATION:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        elif token.kind == NAME:
            word = token.text.upper()
            if words[:1] == ["CREATE"]:  # a body of statements: BEGIN ATOMIC ... END
                if word == "ATOMIC" and words[-1:] == ["BEGIN"]:
                    blocks = 1
                elif blocks:
                    blocks += {"CASE": 1, "END": -1}.get(word, 0)
            words.append(word)
            del words[1:-1]
    if first is not None and last is not None:
        yield text[first.start : last.end]
