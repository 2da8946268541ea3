"""LIKE on concrete texts. Does not know which characters count as equal under a collation.

A pattern is read into the pieces between its percent signs. Each stands at the first place where it fits behind the one
before it: if any placing of the pieces works, that one does, so that no other has to be tried.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern's pieces, and how many characters each takes; a single one is the whole text."""

    pieces: tuple[re.Pattern[str], ...]
    lengths: tuple[int, ...]

    def matches(self, text: str) -> bool:
        """Whether the text is like this pattern."""
        first, last = self.pieces[0], self.pieces[-1]
        if len(self.pieces) == 1:
            return first.fullmatch(text) is not None
        place, end = self.lengths[0], len(text) - self.lengths[-1]
        if place > end or first.match(text) is None or last.match(text, end) is None:
            return False
        for piece in self.pieces[1:-1]:
            found = piece.search(text, place, end)
            if found is None:
                return False
            place = found.end()
        return True


TrailingEscape = Literal["fails where reached", "itself", "never matches", "unknown"]
"""What an escape character is that ends a pattern: an error of a match that comes there with some of the text left; a
character like another; what nothing is like; or nothing that is read here."""


@lru_cache(maxsize=4096)
def like_pattern(pattern: str, escape: str, ignore_case: bool, trailing: TrailingEscape) -> Pattern | None:
    """The LIKE pattern, read; None where it ends with the escape character, and that is none of the text's."""
    pieces: list[list[str]] = [[]]
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if escape and character == escape:
            index += 1
            if index == len(pattern) and trailing != "itself":
                return None
            index -= index == len(pattern)
            pieces[-1].append(re.escape(pattern[index]))
        elif character == "%":
            pieces.append([])
        else:
            pieces[-1].append("." if character == "_" else re.escape(character))
        index += 1
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    # what is between two percent signs beside each other is nothing
    kept = [pieces[0], *filter(None, pieces[1:-1]), *pieces[1:][-1:]]
    return Pattern(tuple(re.compile("".join(piece), flags) for piece in kept), tuple(map(len, kept)))


def like(text: str, pattern: str, escape: str, ignore_case: bool, may: bool, trailing: TrailingEscape) -> bool:
    """text LIKE pattern. Raises SqlError 22025 for a pattern that ends with the escape character, where that is an
    error."""
    if ignore_case and not (text.isascii() and pattern.isascii()):
        raise Unsupported("LIKE without case beyond ASCII")
    compiled = like_pattern(pattern, escape, ignore_case, trailing)
    if compiled is not None:
        return compiled.matches(text)
    if trailing == "unknown":
        raise Unsupported("a LIKE pattern that ends with the escape character")
    if trailing == "fails where reached":
        if ignore_case:
            text, pattern, escape = text.lower(), pattern.lower(), escape.lower()
        if _comes_to_the_end(text, 0, pattern, 0, escape, set()):
            raise SqlError("22025", "LIKE pattern must not end with escape character", may=may)
    return False  # nothing is like it


def _comes_to_the_end(
    text: str, start: int, pattern: str, index: int, escape: str, failed: set[tuple[int, int]]
) -> bool:
    """Whether PostgreSQL, which tries the rest of a pattern wherever its first character stands behind a percent sign,
    comes to the escape character that ends it (tried on 18.4). `failed`: from which places of both it does not."""
    while start < len(text) and index < len(pattern):
        character = pattern[index]
        if character == "%" and character != escape:
            index += 1
            while index < len(pattern) and pattern[index] in "%_" and pattern[index] != escape:
                if pattern[index] == "_":
                    if start == len(text):
                        return False
                    start += 1
                index += 1
            escaped = pattern[index] == escape
            if escaped and index + 1 == len(pattern):
                return True
            first = pattern[index + escaped]
            for place in range(start, len(text)):
                if text[place] == first and (place, index) not in failed:
                    if _comes_to_the_end(text, place, pattern, index, escape, failed):
                        return True
                    failed.add((place, index))
            return False
        if character == escape:
            index += 1
            if index == len(pattern):
                return True
            character = pattern[index]
        elif character == "_":
            character = text[start]
        if text[start] != character:
            return False
        start, index = start + 1, index + 1
    return False
