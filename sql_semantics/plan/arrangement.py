"""The order in which FROM items are joined, where the written one makes products (paper §7.1).

Items that join by commas, CROSS JOIN or INNER JOIN give the same rows in any order. Where an item of the written order
stands with nothing that a lookup could find its rows by, though it has an equation with a later item, the items are
taken along the equations instead: from one that a constant restricts, to those that the rows so far restrict. Does
not know how many rows an item has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.queries import Derived, Identified, Source
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import can_raise, columns_read, conjunction, conjuncts, has_queries
from sql_semantics.plan.access import equations
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect

Equation = tuple[int, frozenset[int]]
"""An item, and the items that tell the value of one of its columns."""

Fetching = TypeVar("Fetching")
Testing = TypeVar("Testing")


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The items in their new order with the conditions on them, over a row that is laid out in that order.

    `places` are the positions there of the columns of the written row; `last` is tested on that one.
    """

    sources: tuple[Source, ...]
    where: Expr | None
    places: tuple[int, ...]
    last: Expr | None

    def compiled(
        self, fetching: Callable[[tuple[Source, ...], Expr | None], Fetching], testing: Callable[[Expr], Testing]
    ) -> tuple[Fetching, Callable[[tuple[Any, ...]], tuple[Any, ...]], Testing | None]:
        """What fetches the rows in the new order, what lays a row out as it is written, and what is tested then."""
        last = None if self.last is None else testing(self.last)
        return fetching(self.sources, self.where), itemgetter(*self.places), last


def arrange(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect) -> Arrangement | None:
    """A better order than the written one, or None."""
    if len(sources) < 3 or any(not _movable(source) for source in sources):
        return None
    parts = conjuncts(where)
    last = tuple(part for part in parts if can_raise(part) or has_queries(part))
    early = [part for source in sources for part in conjuncts(source.on)]
    early += [part for part in parts if part not in last]
    if sum(source.width for source in sources) < 2:
        return None
    equated = _equations(early, sources, dialect)
    order = _order(equated, len(sources))
    if _products(order, equated) >= _products(range(len(sources)), equated):
        return None
    moved: dict[int, int] = {}
    arranged = []
    for number in order:
        source = sources[number]
        start = len(moved)
        moved.update((source.offset + i, start + i) for i in range(source.width))
        arranged.append(replace(source, offset=start, kind="cross", on=None))

    def change(part: Expr) -> Expr:
        return replace(part, index=moved[part.index]) if isinstance(part, Column) else rebuild(part, change)

    places = tuple(moved[position] for position in range(len(moved)))
    return Arrangement(tuple(arranged), conjunction(tuple(map(change, early))), places, conjunction(last))


def _movable(source: Source) -> bool:
    if source.kind not in ("cross", "inner") or isinstance(source.relation, Identified):
        return False
    if isinstance(source.relation, Derived) and source.relation.lateral:
        return False
    return not any(can_raise(part) or has_queries(part) for part in conjuncts(source.on))


def _equations(parts: Sequence[Expr], sources: tuple[Source, ...], dialect: Dialect) -> list[Equation]:
    item = {source.offset + i: number for number, source in enumerate(sources) for i in range(source.width)}
    found = []
    for part in parts:
        for column, key in equations(part, dialect):
            known = frozenset(item[position] for position in columns_read(key))
            if item[column.index] not in known:
                found.append((item[column.index], known))
    return found


def _order(equated: Sequence[Equation], count: int) -> list[int]:
    """The items one after another: of those that what stands left of them restricts the first written, else the first
    of all."""
    order: list[int] = []
    while len(order) < count:
        left = [number for number in range(count) if number not in order]
        order.append(next((number for number in left if _restricted(number, order, equated)), left[0]))
    return order


def _restricted(number: int, before: Sequence[int], equated: Sequence[Equation]) -> bool:
    return any(item == number and known.issubset(before) for item, known in equated)


def _products(order: Sequence[int], equated: Sequence[Equation]) -> int:
    """How many items, the first one left out, are joined to every row on their left."""
    return sum(not _restricted(order[i], order[:i], equated) for i in range(1, len(order)))
