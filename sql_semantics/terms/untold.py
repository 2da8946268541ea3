"""Comparisons of unknown values that no condition is built for: as a rule they are not modelled, and where it is asked
only whether something is impossible they may come out either way. Does not know values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sql_semantics.records import dataclass
from sql_semantics.terms.guards import Guard, atom, neg
from sql_semantics.terms.numbers import Leaf

_CONTRARY = {"<>": "=", ">=": "<", ">": "<=", "is_distinct": "is_not_distinct"}


@dataclass(slots=True)
class Untold:
    """How many comparisons came out either way."""

    count: int = 0


_open: Untold | None = None


@contextmanager
def either_way() -> Iterator[Untold]:
    """While the context lasts, comparisons that are not modelled come out either way, the same one always the same. So
    what is possible is possible then, too; what is found to be possible then need not be."""
    global _open
    before, _open = _open, Untold()
    try:
        yield _open
    finally:
        _open = before


def compared_either_way(op: str, left: Leaf, right: Leaf) -> Guard | None:
    """Whether two values, of which one at least is unknown and none NULL, compare so; None where that is not asked."""
    if _open is None:
        return None
    _open.count += 1
    operands = (type(left).__name__, left, type(right).__name__, right)
    if op in _CONTRARY:
        return neg(atom(("compared", _CONTRARY[op], *operands)))
    return atom(("compared", op, *operands))
