"""Edges that some circle may have, told by an order of the events (`order.objects.arrays.in_blocks`): all that one has
stay."""

from __future__ import annotations

import random

import numpy as np

from troubadour.order.objects.arrays import Links, circling, in_blocks


def test_no_circle_is_lost_and_much_else_goes() -> None:
    rng = random.Random(7)
    kept = total = 0
    for _ in range(300):
        events, count = rng.randrange(2, 30), rng.randrange(1, 40)
        source = np.array([rng.randrange(events) for _ in range(count)], np.int64)
        ahead = np.array([rng.randrange(-2, 6) for _ in range(count)], np.int64)
        links = Links(events, source, (source + ahead) % events, np.zeros(count, np.int64))
        order = np.array(rng.sample(range(events), events) if rng.random() < 0.5 else range(events), np.int64)
        some = in_blocks(links, order)
        assert set(circling(links).tolist()) == set(some[circling(links.only(some))].tolist())
        kept, total = kept + len(some), total + count
    assert kept < total


def test_an_order_that_all_edges_keep_leaves_none() -> None:
    links = Links(4, np.array([0, 1, 0]), np.array([1, 3, 2]), np.zeros(3, np.int64))
    assert len(in_blocks(links, np.arange(4))) == 0
