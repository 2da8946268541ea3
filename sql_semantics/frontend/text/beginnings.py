"""How a text begins, comments before it left out. Does not know what it says."""

from __future__ import annotations

import re

from sql_semantics.patterns import pattern

_COMMENTS = pattern(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)


def beginning(text: str) -> str:
    """A text without the blanks and comments before its first word."""
    match = _COMMENTS.match(text)
    return text if match is None else text[match.end() :]
