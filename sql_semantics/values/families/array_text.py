"""Arrays as texts: ``{1,NULL,"a b"}`` (PostgreSQL 8.15.2 and 8.15.6). Does not know the type of the items."""

from __future__ import annotations

import re

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.patterns import pattern

_ITEM = pattern(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s{},"\\](?:[^{},"\\]*[^\s{},"\\])?))\s*', re.DOTALL)


def read_array(text: str, may: bool) -> list[str | None]:
    """The items of an array of one dimension. Raises SqlError 22P02 for what is none, Unsupported for more dimensions
    and bounds."""
    inside = text.strip()
    if inside[:1] == "[" or inside[:2] == "{{":
        raise Unsupported("an array of several dimensions, or with bounds")
    if inside[:1] != "{" or inside[-1:] != "}" or len(inside) < 2:
        raise SqlError("22P02", "malformed array literal", may=may)
    inside = inside[1:-1]
    items: list[str | None] = []
    if not inside.strip():
        return items
    place = 0
    while True:
        found = _ITEM.match(inside, place)
        if found is None:
            if "\\" in inside or "{" in inside:
                raise Unsupported(f"the array {text[:40]!r}")
            raise SqlError("22P02", "malformed array literal", may=may)
        quoted, plain = found[1], found[2]
        if quoted is not None:
            items.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        else:
            items.append(None if plain.upper() == "NULL" else plain)
        place = found.end()
        if place == len(inside):
            return items
        if inside[place] != ",":
            raise SqlError("22P02", "malformed array literal", may=may)
        place += 1
