"""Choices that ties leave the DBMS inside a statement: which of several rows, which order.

Options are listed by the values of the rows, in an order of their own, so that an option has the same number whatever
order a view has its rows in. Does not know how one is chosen: `View.choose` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain, combinations, groupby
from math import comb
from typing import Any, TypeVar
from uuid import UUID

from sql_semantics.errors import Unsupported
from sql_semantics.outcome import ResultSet
from sql_semantics.values.types import Value

Row = tuple[Value, ...]
Choose = Callable[[int, str], int]
"""(number of options, what is chosen) -> one of them, from 0; see `View.choose`."""
T = TypeVar("T")

MOST = 64
"""Options of one choice that are told apart."""

_KINDS: tuple[type, ...] = (bool, int, float, Decimal, str, bytes, datetime, date, time, UUID)


def canonical(row: Sequence[Value]) -> tuple[tuple[int, Any], ...]:
    """A key by which any rows of one shape can be sorted."""
    return tuple([(-1, 0) if value is None else _key(value) for value in row])


def _key(value: Value) -> tuple[int, Any]:
    for place, kind in enumerate(_KINDS):
        if isinstance(value, kind):
            return place, value
    return len(_KINDS), str(value)


def differ(rows: Sequence[Row]) -> bool:
    """Whether the rows are not all the same."""
    return any(row != rows[0] for row in rows)


def one_of(rows: Sequence[Row], choose: Choose, what: str) -> Row:
    """One of the rows. Raises Unsupported for too many different ones."""
    options = sorted(dict.fromkeys(rows), key=canonical)
    return options[_number(len(options), choose, what)]


def some_of(items: Sequence[T], row_of: Callable[[T], Row], count: int, choose: Choose | None, what: str) -> list[T]:
    """`count` of the items, of which those with equal rows are interchangeable. Raises Unsupported for too many ways,
    and without `choose` for several."""
    if not 0 < count < len(items):
        return list(items[:count])
    ordered = sorted(items, key=lambda item: canonical(row_of(item)))
    groups: list[list[T]] = []
    for item in ordered:
        if groups and row_of(groups[-1][0]) == row_of(item):
            groups[-1].append(item)
        else:
            groups.append([item])
    if len(groups) == 1:
        return list(items[:count])
    if choose is None or (len(groups) > MOST or comb(len(groups), min(count, len(groups))) > MOST):
        raise Unsupported(what)
    options: list[tuple[int, ...]] = []
    for option in _shares([len(group) for group in groups], count):
        options.append(option)
        if len(options) > MOST:
            raise Unsupported(what)
    taken = options[_number(len(options), choose, what)]
    return [item for group, share in zip(groups, taken, strict=True) for item in group[:share]]


def _shares(sizes: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Every way to take `count` items, as how many of each group."""
    if not sizes:
        if count == 0:
            yield ()
        return
    for share in range(min(sizes[0], count), max(0, count - sum(sizes[1:])) - 1, -1):
        for rest in _shares(sizes[1:], count - share):
            yield (share, *rest)


def arranged(rows: Sequence[Row], choose: Choose, what: str) -> list[Row] | None:
    """The rows in some order; None for too many orders."""
    ordered = sorted(rows, key=canonical)
    ways, placed = 1, 0
    for size in (len(list(group)) for _, group in groupby(ordered)):
        placed += size
        ways *= comb(placed, size)
        if ways > MOST:
            return None
    return ordered if ways == 1 else list(_orders(ordered))[_number(ways, choose, what)]


def _orders(rows: list[Row]) -> Iterator[list[Row]]:
    """Every different order of sorted rows."""
    if not rows:
        yield []
    for place, row in enumerate(rows):
        if place == 0 or row != rows[place - 1]:
            for rest in _orders(rows[:place] + rows[place + 1 :]):
                yield [row, *rest]


def _number(count: int, choose: Choose, what: str) -> int:
    if count > MOST:
        raise Unsupported(what)
    return 0 if count == 1 else choose(count, what)


def cut(result: ResultSet[Value], choose: Choose | None) -> list[Row]:
    """The rows that LIMIT and OFFSET leave. Where ties let the DBMS choose among unequal rows, `choose` does; without
    it that is Unsupported."""
    if result.subset and result.rows:
        return _unlocked(result, choose)
    rows, keys = result.rows, result.keys
    start = min(result.offset, len(rows))
    end = len(rows) if result.limit is None else min(start + result.limit, len(rows))
    if end <= start:
        return []
    if not any(0 < edge < len(rows) and (keys is None or keys[edge - 1] == keys[edge]) for edge in (start, end)):
        return rows[start:end]
    kept: list[Row] = []
    place = 0
    while place < end:
        after = len(rows) if keys is None else place + 1
        while keys is not None and after < len(rows) and keys[after] == keys[place]:
            after += 1
        inside = min(after, end) - max(place, start)
        if inside == after - place:
            kept += rows[place:after]
        elif inside > 0:
            tied = rows[place:after]
            kept += some_of(tied, lambda row: row, inside, choose, "LIMIT with ties inside a statement")
        place = after
    return kept


_SKIPPED = "which rows SKIP LOCKED leaves out inside a statement"
_LOCKED = 4096
"""Ways that SKIP LOCKED may go; more than search tries one after the other."""


def _unlocked(result: ResultSet[Value], choose: Choose | None) -> list[Row]:
    """The rows of a query with SKIP LOCKED: any of them may be locked, and LIMIT counts those that are not. The fewest
    left out come first among the ways, then none left; past `_LOCKED` ways the last one is refused if it is taken."""
    if choose is None or result.offset:
        raise Unsupported("SKIP LOCKED with OFFSET or in a correlated subquery")
    keys = result.keys or [()] * len(result.rows)
    pairs = list(zip(keys, result.rows, strict=True))
    rows: list[Row] = []
    for _, tied in groupby(pairs, key=lambda pair: pair[0]):
        rows += sorted((row for _, row in tied), key=canonical)
    most = len(rows) if result.limit is None else min(result.limit, len(rows))
    sizes = (most, 0, *range(most - 1, 0, -1)) if most else (0,)
    ways: dict[tuple[Row, ...], None] = {}
    for kept in chain.from_iterable(combinations(rows, size) for size in sizes):
        ways[kept] = None
        if len(ways) == _LOCKED:
            break
    number = choose(len(ways), _SKIPPED) if len(ways) > 1 else 0
    if number == _LOCKED - 1:
        raise Unsupported(f"SKIP LOCKED inside a statement with more than {_LOCKED} ways")
    return list(list(ways)[number])
