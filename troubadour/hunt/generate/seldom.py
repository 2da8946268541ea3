"""What was seldom drawn, and of what was drawn how much was judged: of several statements the one is taken that tells
most. Does not know what a statement is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Protocol, TypeVar


class Featured(Protocol):
    """Something with constructs, by name."""

    @property
    def features(self) -> frozenset[str]:
        """What it uses."""


F = TypeVar("F", bound=Featured)


class Seldom:
    """`drawn` and `judged`: in how many runs each construct was, and in how many of these all was judged."""

    def __init__(self, drawn: Counter[str] | None = None, judged: Counter[str] | None = None) -> None:
        self.drawn, self.judged = drawn or Counter(), judged or Counter()

    def count(self, features: Iterable[str], judged: bool) -> None:
        """One more run."""
        found = set(features)
        self.drawn.update(found)
        if judged:
            self.judged.update(found)

    def weight(self, feature: str) -> float:
        """More for what was seldom drawn, less for what was drawn and not judged."""
        drawn = self.drawn[feature]
        return (self.judged[feature] + 1) / (drawn + 1) / math.sqrt(drawn + 1)

    def pick(self, random: Random, several: Sequence[F]) -> F:
        """One of several, by its seldomest construct; by chance among equals."""
        order = random.sample(range(len(several)), len(several))
        return several[max(order, key=lambda n: max(map(self.weight, several[n].features), default=0.0))]

    def as_json(self) -> dict[str, Any]:
        """For the file of the state."""
        return {"drawn": dict(self.drawn), "judged": dict(self.judged)}


def seldom_from(found: dict[str, Any]) -> Seldom:
    """What `as_json` made."""
    return Seldom(Counter(found["drawn"]), Counter(found["judged"]))
