"""The statements in a text that a client of MySQL or MariaDB sent. Does not know what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from troubadour.record.proxy.decode.session import Piece
from troubadour.record.statements.lexing import PUNCTUATION, name_of, tokens
from troubadour.record.statements.secrets import administers
from troubadour.record.statements.texts import read_text

DIALECT = "mysql"
_BODIES = frozenset({"function", "procedure", "trigger", "event", "package"})
_WORDS = 12
"""So far from its beginning a statement says what it creates."""


@lru_cache(maxsize=10_000)
def pieces(text: str, *, several: bool) -> Sequence[Piece]:
    """The statements of a text that are not empty; `several`: whether a semicolon ends one."""
    found: list[str] = []
    names: list[str] = []
    begin = 0
    if several:
        for token in tokens(text, DIALECT):
            if len(names) < _WORDS:
                names.append(name_of(token))
            if token.kind == PUNCTUATION and token.text == ";":
                if (names[0] == "create" and _BODIES.intersection(names)) or (
                    names[:1] == ["begin"] and len(names) > 2
                ):
                    break  # a body, which no semicolon ends
                found.append(text[begin : token.start])
                begin, names = token.end, []
    found.append(text[begin:])
    return tuple(_piece(one) for one in found if next(tokens(one, DIALECT), None) is not None)


def _piece(sql: str) -> Piece:
    sql = sql.strip().rstrip(";").rstrip()
    return Piece(sql, read_text(sql, DIALECT), administers(sql))
