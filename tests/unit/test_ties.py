"""Orders that ties leave open: how many there are, without making them one by one."""

from __future__ import annotations

import random
from itertools import permutations

from sql_semantics.run.queries.ties import MOST, arranged
from sql_semantics.view import Row


def number(rows: list[Row]) -> list[list[Row]] | None:
    """All orders that may be chosen; None for too many."""
    found: list[list[Row]] = []
    count = 1
    while len(found) < count:

        def choose(options: int, what: str) -> int:
            nonlocal count
            count = options
            return len(found)

        one = arranged(rows, choose, "an order")
        if one is None:
            return None
        found.append(one)
    return found


def test_every_order_is_an_option_once() -> None:
    rng = random.Random(34)
    seen = set()
    for _ in range(300):
        rows: list[Row] = [(rng.randrange(rng.choice((1, 2, 5))),) for _ in range(rng.randrange(7))]
        right = {tuple(order) for order in permutations(rows)}
        found = number(rows)
        if len(right) > MOST:
            assert found is None
        else:
            assert found is not None and len(found) == len(right)
            assert {tuple(order) for order in found} == right
        seen.add(found is None)
    assert seen == {True, False}


def test_long_lists_are_counted_not_made() -> None:
    assert number([(1,)] * 5000) == [[(1,)] * 5000]
    assert number([(n,) for n in range(5000)]) is None
