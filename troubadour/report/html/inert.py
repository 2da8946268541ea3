"""Text of a log made inert for a page: cut, and without characters that reorder or hide what stands around them.

Escaping is the template's work. Does not know where a text comes from.
"""

from __future__ import annotations

from troubadour.model.visible import one_line

LONGEST = 600
"""Characters of one text that a page shows."""

_LABEL = 80
"""Texts that are cut to so many characters are labels: how long they were is not said."""


def inert(text: object, longest: int = LONGEST) -> str:
    """A text of at most so many characters; hidden characters are written out."""
    whole = str(text)
    count = f" ({len(whole):,} characters)" if longest > _LABEL else ""
    shown = whole if len(whole) <= longest else f"{whole[:longest]}…{count}"
    return one_line(shown.replace("\n", " ").replace("\t", " "))
