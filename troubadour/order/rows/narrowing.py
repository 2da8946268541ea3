"""Which shares of rows an answer leaves, where each row has one of some: by counting, and by adding up.

Does not know what a share is, nor what follows from its being excluded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from decimal import Decimal
from math import inf

from sql_semantics.records import dataclass
from troubadour.facts.rows.told import Counted, Share, Summed, Told

SUMS = 20_000
"""Sums that are kept apart, beyond which an answer is not added up."""

Possible = dict[int, set[Share]]
"""By row the shares that it may have."""


@dataclass(frozen=True, slots=True)
class Excess:
    """Nothing that the rows may show is what was answered: of a `kind` there are `found` rows at least or at most
    (`most`), and `wanted` were seen; or no numbers add up (`kind` None). `rows`: those that may be so; `what` was
    counted, see `Counted`."""

    kind: Hashable
    found: float
    wanted: float
    most: bool
    rows: tuple[int, ...]
    what: str = "sum"


def narrowed(told: Told, possible: Possible, loose: bool) -> Excess | None:
    """Exclude from `possible` what cannot be; why nothing is left, where that is so. `loose`: further rows may have any
    share."""
    changed = True
    while changed:
        changed = False
        for counted in told.counted:
            found = _counted(counted, possible, loose)
            if isinstance(found, Excess):
                return found
            changed = changed or found
        for summed in () if loose else told.summed:
            found = _summed(summed, possible)
            if isinstance(found, Excess):
                return found
            changed = changed or found
    return None


def _counted(counted: Counted, possible: Possible, loose: bool) -> bool | Excess:
    kinds: dict[int, dict[Hashable, set[Share]]] = {}
    may: Counter[Hashable] = Counter()
    must: Counter[Hashable] = Counter()
    holders: dict[Hashable, list[int]] = defaultdict(list)
    for row, shares in possible.items():
        of_row: dict[Hashable, set[Share]] = {}
        for share in shares:
            of_row.setdefault(counted.kind(share), set()).add(share)
        kinds[row] = of_row
        for kind in of_row:
            may[kind] += 1
            holders[kind].append(row)
        if len(of_row) == 1:
            must[next(iter(of_row))] += 1
    changed = False
    for kind in [*may, *(kind for kind in counted.low if kind not in may)]:
        if kind is None:
            continue
        low, high = counted.low.get(kind, 0), counted.high.get(kind, counted.other)
        if must[kind] > high:
            return Excess(kind, must[kind], high, False, tuple(holders[kind]), counted.what)
        if may[kind] < low and not loose:
            return Excess(kind, may[kind], low, True, tuple(holders[kind]), counted.what)
        if must[kind] == high:
            for row in holders[kind]:
                if len(kinds[row]) > 1:
                    possible[row] -= kinds[row][kind]
                    changed = True
        elif may[kind] == low and not loose:
            for row in holders[kind]:
                if len(kinds[row]) > 1:
                    possible[row] = set(kinds[row][kind])
                    changed = True
        if changed:
            return True
    return False


def _summed(summed: Summed, possible: Possible) -> bool | Excess:
    wanted = summed.total
    vectors: dict[int, dict[tuple[int | Decimal, ...], set[Share]]] = {}
    fixed: tuple[int | Decimal, ...] = tuple([0] * len(wanted))
    for row, shares in possible.items():
        of_row: dict[tuple[int | Decimal, ...], set[Share]] = {}
        for share in shares:
            of_row.setdefault(summed.numbers(share), set()).add(share)
        if len(of_row) == 1:
            fixed = _plus(fixed, next(iter(of_row)))
        else:
            vectors[row] = of_row
    rows = list(vectors)
    ways = [{fixed}]
    for row in rows:
        following = {_plus(one, other) for one in ways[-1] for other in vectors[row]}
        if len(following) > SUMS:
            return False
        ways.append(following)
    if wanted not in ways[-1]:
        return Excess(None, inf, inf, False, tuple(possible))
    changed = False
    goals = {wanted}
    for place in range(len(rows) - 1, -1, -1):
        row, before = rows[place], ways[place]
        useful = {vector for vector in vectors[row] if any(_minus(goal, vector) in before for goal in goals)}
        for vector, shares in vectors[row].items():
            if vector not in useful:
                possible[row] -= shares
                changed = True
        goals = {rest for goal in goals for vector in useful if (rest := _minus(goal, vector)) in before}
    return changed


def _plus(one: tuple[int | Decimal, ...], other: tuple[int | Decimal, ...]) -> tuple[int | Decimal, ...]:
    return tuple([left + right for left, right in zip(one, other, strict=True)])


def _minus(one: tuple[int | Decimal, ...], other: tuple[int | Decimal, ...]) -> tuple[int | Decimal, ...]:
    return tuple([left - right for left, right in zip(one, other, strict=True)])
