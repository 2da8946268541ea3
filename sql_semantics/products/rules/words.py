"""Sets of words, as products' files write them. Does not know what any word means."""

from __future__ import annotations


def words(*lines: str) -> frozenset[str]:
    """The words of some lines, which blanks separate."""
    return frozenset(word for line in lines for word in line.split())
