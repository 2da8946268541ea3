"""SQL text as a small tree that can be made smaller: what the generator returns and the shrinker works on.

A piece knows what may stand in its place (`family`), whether it can go (`optional`) and whether it is a list whose
items can go one by one (`separator`). Knows no SQL beyond that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sql_semantics.records import dataclass, replace

SIMPLEST = {
    "int": "1",
    "num": "1.5",
    "text": "'a'",
    "bool": "(1 = 1)",
}
"""The plainest expression of a family."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text and pieces, one after another (between items `separator`, if given)."""

    parts: tuple[str | Piece, ...]
    family: str = ""
    optional: bool = False
    separator: str | None = None

    def __str__(self) -> str:
        return (self.separator or "").join(str(part) for part in self.parts)


def piece(*parts: str | Piece, family: str = "") -> Piece:
    """A piece that can be replaced by a simpler one of the same family."""
    return Piece(parts, family)


def clause(*parts: str | Piece) -> Piece:
    """A piece that can be left out."""
    return Piece(parts, optional=True)


def listed(items: Iterable[str | Piece], separator: str = ", ") -> Piece:
    """Items between separators; any but the last one left can go."""
    return Piece(tuple(items), separator=separator)


EMPTY = Piece(())


def _same_family(node: Piece, family: str) -> Iterator[Piece]:
    for part in node.parts:
        if isinstance(part, Piece):
            if part.family == family:
                yield part
            yield from _same_family(part, family)


def simpler(node: Piece) -> Iterator[Piece]:
    """Every tree with one step less in it, the biggest steps first."""
    if node.optional and node.parts:
        yield replace(node, parts=())
    if node.family:
        plain = SIMPLEST.get(node.family)
        if plain is not None and str(node) not in (plain, "NULL"):
            yield Piece((plain,), node.family)
        yield from _same_family(node, node.family)
    if node.separator is not None and len(node.parts) > 1:
        for place in range(len(node.parts)):
            yield replace(node, parts=node.parts[:place] + node.parts[place + 1 :])
    for place, part in enumerate(node.parts):
        if isinstance(part, Piece):
            for smaller in simpler(part):
                yield replace(node, parts=(*node.parts[:place], smaller, *node.parts[place + 1 :]))
