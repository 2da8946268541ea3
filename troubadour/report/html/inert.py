"""Text of a log made inert for a page: cut, and without characters that reorder or hide what stands around them.

Escaping is the template's work. Does not know where a text comes from.
"""

from __future__ import annotations

import unicodedata

LONGEST = 600
"""Characters of one text that a page shows."""

_LABEL = 80
"""Texts that are cut to so many characters are labels: how long they were is not said."""
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def inert(text: object, longest: int = LONGEST) -> str:
    """A text of at most so many characters; control characters and marks of direction are written out."""
    whole = str(text)
    count = f" ({len(whole):,} characters)" if longest > _LABEL else ""
    shown = whole if len(whole) <= longest else f"{whole[:longest]}…{count}"
    return "".join(_written(character) for character in shown)


def _written(character: str) -> str:
    if character in "\n\t":
        return " "
    if character in _REORDERING or unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn"):
        return f"\\u{ord(character):04x}"
    return character
