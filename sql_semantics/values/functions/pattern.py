"""LIKE on concrete texts (DESIGN §3). Does not know which characters count as equal under a collation."""

from __future__ import annotations

import re
from functools import lru_cache

from sql_semantics.errors import SqlError, Unsupported


@lru_cache(maxsize=4096)
def like_pattern(pattern: str, escape: str, ignore_case: bool) -> re.Pattern[str] | None:
    """The LIKE pattern as a regular expression; None where it ends with the escape character (an error)."""
    parts = []
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if escape and character == escape:
            index += 1
            if index == len(pattern):
                return None
            parts.append(re.escape(pattern[index]))
        elif character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            parts.append(re.escape(character))
        index += 1
    return re.compile("".join(parts) + r"\Z", re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def like(text: str, pattern: str, escape: str, ignore_case: bool, may: bool) -> bool:
    """text LIKE pattern. Raises SqlError 22025 for a pattern that ends with the escape character."""
    if ignore_case and not (text.isascii() and pattern.isascii()):
        raise Unsupported("LIKE without case beyond ASCII")
    compiled = like_pattern(pattern, escape, ignore_case)
    if compiled is None:
        raise SqlError("22025", "LIKE pattern must not end with escape character", may=may)
    return compiled.match(text) is not None
