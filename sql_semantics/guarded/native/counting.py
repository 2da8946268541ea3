"""How many guards hold. Does not know what is counted.

A number of few uncertain guards becomes cases, by dynamic programming over the number so far; of many, a sum of
zeros and ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from sql_semantics.guarded.lifting import under
from sql_semantics.terms import FALSE, TRUE, Guard, Leaf, Scalar, add, choose, conj, disj, if_then_else, neg

COUNT_LIMIT = 24
"""Uncertain guards up to which their number becomes cases (quadratic in size), beyond it a term (linear)."""


def count(context: Guard, guards: Iterable[Guard]) -> Scalar:
    """The number of guards that hold, wherever the context does; a plain integer where all of them are certain."""
    certain = 0
    uncertain: list[Guard] = []
    for guard in guards:
        both = conj(context, guard)
        if both is context:
            certain += 1
        elif both is not FALSE:
            uncertain.append(guard)
    if not uncertain:
        return certain
    if len(uncertain) > COUNT_LIMIT:
        total: Leaf = certain
        for guard in uncertain:
            total = add(total, if_then_else(guard, 1, 0))
        return total
    reached: dict[int, Guard] = {0: TRUE}
    for guard in uncertain:
        stays, grows = neg(guard), guard
        following: dict[int, Guard] = {}
        for number, so_far in reached.items():
            following[number] = disj(following.get(number, FALSE), conj(so_far, stays))
            following[number + 1] = disj(following.get(number + 1, FALSE), conj(so_far, grows))
        reached = {number: so_far for number, so_far in following.items() if so_far is not FALSE}
    return under(context, choose((so_far, certain + number) for number, so_far in sorted(reached.items())))
