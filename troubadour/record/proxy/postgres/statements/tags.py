"""Which tags a PostgreSQL server may answer to which statements. Does not know transactions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from troubadour.record.proxy.decode.session import Piece

_TAGS: Mapping[str, frozenset[bytes]] = {
    "BEGIN": frozenset({b"BEGIN"}),
    "START": frozenset({b"START TRANSACTION"}),
    "COMMIT": frozenset({b"COMMIT", b"ROLLBACK", b"COMMIT PREPARED"}),
    "END": frozenset({b"COMMIT", b"ROLLBACK"}),
    "ROLLBACK": frozenset({b"ROLLBACK", b"ROLLBACK PREPARED"}),
    "ABORT": frozenset({b"ROLLBACK"}),
    "PREPARE": frozenset({b"PREPARE", b"PREPARE TRANSACTION", b"ROLLBACK"}),
}
_ENDINGS = frozenset({b"BEGIN", b"START TRANSACTION", b"COMMIT", b"ROLLBACK", b"PREPARE TRANSACTION"})
_OWN_TAGS = re.compile(
    r"(?:INSERT|UPDATE|DELETE|MERGE|CREATE|DROP|ALTER|TRUNCATE|LOCK|SET|RESET|SAVEPOINT|RELEASE|COPY)"
)


def fits(piece: Piece, tag: bytes, *, alone: bool) -> bool:
    """Whether a tag may be that of a statement. Of several in a text each is looked at, of one only whether it began or
    ended a transaction."""
    word = piece.text.word or _first_word(piece.sql)
    known = _TAGS.get(word)
    if known is not None:
        return tag in known
    if tag in _ENDINGS:
        return False
    return alone or _OWN_TAGS.fullmatch(word) is None or tag.split(b" ")[0] in (word.encode(), b"SELECT")


def _first_word(sql: str) -> str:
    match = re.match(r"[^A-Za-z]*([A-Za-z]+)", sql)
    return match[1].upper() if match else ""
