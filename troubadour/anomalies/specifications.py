"""Which circles of dependencies have which name, as a table (Adya 1999; Alvaro and Kingsbury 2020, *Elle*, section 6;
Cerone and Gotsman 2018 for anti-dependencies that are not adjacent).

Does not know how circles are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from sql_semantics.records import dataclass
from troubadour.isolation.models import PLAIN, PROCESS, REALTIME, TIMESTAMP
from troubadour.order.objects.known import Why


class Misses(Enum):
    """How many anti-dependencies (rw) a circle has."""

    NONE = "none"
    ONE = "one"
    APART = "two or more, none right after another"
    ANY = "one or more"


@dataclass(frozen=True, slots=True)
class Specification:
    """Circles of one name: of edges `allowed`, one of them at least `required`, with so many `misses`."""

    name: str
    allowed: frozenset[Why]
    required: frozenset[Why]
    misses: Misses


_WW, _WR, _RW = frozenset({Why.WW}), frozenset({Why.WR}), frozenset({Why.RW})
_PLAIN = (
    Specification("G0", _WW, _WW, Misses.NONE),
    Specification("G1c", _WW | _WR, _WR, Misses.NONE),
    Specification("G-single", _WW | _WR | _RW, _RW, Misses.ONE),
    Specification("G-nonadjacent", _WW | _WR | _RW, _RW, Misses.APART),
    Specification("G2-item", _WW | _WR | _RW, _RW, Misses.ANY),
)

EXTRA = {
    PLAIN: (),
    PROCESS: (Why.SESSION,),
    TIMESTAMP: (Why.TIMESTAMP,),
    REALTIME: (Why.REAL_TIME, Why.TIMESTAMP),
}
"""The edges beside dependencies, by the end of a name; the first kind is one that such a circle has."""


def _with(one: Specification, suffix: str, kinds: Sequence[Why]) -> Specification:
    if not kinds:
        return one
    return Specification(f"{one.name}{suffix}", one.allowed.union(kinds), frozenset(kinds[:1]), one.misses)


SPECIFICATIONS = {suffix: tuple(_with(one, suffix, kinds) for one in _PLAIN) for suffix, kinds in EXTRA.items()}
"""By the end of their names, the worst first."""


def name_of(kinds: Sequence[Why], suffix: str) -> str | None:
    """The name of a circle by its edges in order; None where it has none of that suffix."""
    for one in SPECIFICATIONS[suffix]:
        if one.allowed.issuperset(kinds) and not one.required.isdisjoint(kinds) and _fits(kinds, one.misses):
            return one.name
    return None


def _fits(kinds: Sequence[Why], misses: Misses) -> bool:
    count = sum(kind is Why.RW for kind in kinds)
    match misses:
        case Misses.NONE:
            return count == 0
        case Misses.ONE:
            return count == 1
        case Misses.APART:
            return count > 1 and not any(
                kind is Why.RW and kinds[place - 1] is Why.RW for place, kind in enumerate(kinds)
            )
        case Misses.ANY:
            return count > 0
