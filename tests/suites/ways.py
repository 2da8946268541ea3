"""Queries that a DBMS may answer in several ways, as in the order of GROUP_CONCAT: all of them in turn. Does not know
which one it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sql_semantics.errors import Unsupported
from sql_semantics.run import MemoryView

WAYS = 512
T = TypeVar("T")


def every_way(view: MemoryView, ask: Callable[[], T]) -> Iterator[T]:
    """What is answered on a view where the DBMS goes one way after the other; raises Unsupported past `WAYS`."""
    first, ways = view.picking, [0]
    for _ in range(WAYS):
        counts: list[int] = []

        def pick(count: int, counts: list[int] = counts, taken: tuple[int, ...] = tuple(ways)) -> int:
            counts.append(count)
            return taken[len(counts) - 1] if len(counts) <= len(taken) else 0

        view.picking = pick
        try:
            result = ask()
        finally:
            view.picking = first
        yield result
        ways = [*ways[: len(counts)], *[0] * (len(counts) - len(ways))]
        while ways and ways[-1] + 1 == counts[len(ways) - 1]:
            ways.pop()
        if not ways:
            return
        ways[-1] += 1
    raise Unsupported(f"more than {WAYS} ways that the DBMS may go")
