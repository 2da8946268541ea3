"""Domains: places that hold the same values because statements compare them or hand them from one to the other, and
what statements do with these values beyond that. Does not know statements (`flow` does).

A domain in which values are only compared may have other values in their place: any if they are compared for equality
alone, else such as are in the same order.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Hashable, Mapping

from sql_semantics.records import dataclass, field

Place = Hashable
"""A column, parameter, variable, or column of a result or cursor, anywhere in a log."""
Span = tuple[int, int]
ANY: Span = (-(2**128), 2**128)
SPREAD = 1000
"""Two values that others may lie between have others between them afterwards, so many at most."""


@dataclass(slots=True)
class Domain:
    """`ordered`: its values are compared for more than equality. `kept`: why they have to stay, the first reason met.
    `span`: all casts in its way take these. `nonzero`: a 0 stands for no value."""

    ordered: bool = False
    kept: str = ""
    span: Span = ANY
    nonzero: bool = False


@dataclass(slots=True)
class Domains:
    """The domains of all places, which are made as they are met."""

    _parents: dict[Place, Place] = field(default_factory=dict)
    _domains: dict[Place, Domain] = field(default_factory=dict)
    _made: int = 0

    def another(self, kept: str = "") -> Place:
        """A place of no other's knowledge: the value of an expression."""
        self._made += 1
        place = ("value", self._made)
        if kept:
            self.keep(place, kept)
        return place

    def of(self, place: Place) -> Domain:
        """The domain that a place is in."""
        return self._domains[self._root(place)]

    def root(self, place: Place) -> Place:
        """The same place for all places of one domain."""
        return self._root(place)

    def keep(self, place: Place, reason: str) -> None:
        """Its values are used for more than comparing."""
        domain = self.of(place)
        domain.kept = domain.kept or reason

    def order(self, place: Place) -> None:
        """Its values are compared for more than equality."""
        self.of(place).ordered = True

    def narrow(self, place: Place, span: Span) -> None:
        """Its values are cast to a type that takes these."""
        domain = self.of(place)
        domain.span = max(domain.span[0], span[0]), min(domain.span[1], span[1])

    def join(self, one: Place, other: Place) -> Place:
        """The two hold the same values."""
        one, other = self._root(one), self._root(other)
        if one != other:
            left, right = self._domains[one], self._domains.pop(other)
            self._parents[other] = one
            left.ordered |= right.ordered
            left.kept = left.kept or right.kept
            left.nonzero |= right.nonzero
            left.span = max(left.span[0], right.span[0]), min(left.span[1], right.span[1])
        return one

    def _root(self, place: Place) -> Place:
        if place not in self._parents:
            self._parents[place] = place
            self._domains[place] = Domain()
        root = place
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[place] != root:
            self._parents[place], place = root, self._parents[place]
        return root


def renamed(values: Collection[int], domain: Domain) -> Mapping[int, int] | None:
    """Other values for those of a domain, all of them positive and within its span; None where there are none."""
    low, high = domain.span
    ordered = sorted(values)
    if ordered and (ordered[0] < low or ordered[-1] > high or (domain.nonzero and 0 in values)):
        return None
    for spread in (SPREAD, 2):
        found = _spread(ordered, spread) if domain.ordered else _shuffled(ordered, spread)
        if not found or max(found.values()) + spread <= high:
            return found
    return None


def _spread(ordered: list[int], spread: int) -> dict[int, int]:
    found: dict[int, int] = {}
    last = before = 0
    for value in ordered:
        last += min(value - before, spread) if found else spread
        found[value], before = last, value
    return found


def _shuffled(ordered: list[int], spread: int) -> dict[int, int]:
    images = list(range(spread, spread + len(ordered)))
    secrets.SystemRandom().shuffle(images)
    return dict(zip(ordered, images, strict=True))
