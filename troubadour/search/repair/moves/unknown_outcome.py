"""Transactions of unknown outcome taken to have happened, or not.

What a transaction read may come from one whose commit was never answered: it is put about where its commit was sent,
or a little before the reader. One that was taken to have happened may not have, or only later. Several at once are
tried by the window of the order (`window`). Does not know which of them the reads tell of.
"""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.problem.budget import FEW, MANY
from troubadour.search.repair.placer import Frontier


def with_one(frontier: Frontier, item: int, pending: Sequence[int]) -> bool:
    """Let one of `pending` have happened: about where its commit was sent, or a little before the item. False, with
    everything as before, where none gives the item a place."""
    length = len(frontier.trace)
    for other in pending:
        sent = next((n for n, placement in enumerate(frontier.trace.placements) if placement.item > other), length)
        near = [sent + step for distance in range(FEW) for step in (distance, -distance)]
        for base in dict.fromkeys([*near, *range(length, length - FEW, -1)]):
            if frontier.trace.fixed <= base <= length:
                tail = [placement.item for placement in frontier.trace.placements[base:]]
                if frontier.replace(base, [other, *tail, item]):
                    return True
    return False


def without_one(frontier: Frontier, item: int) -> bool:
    """Let one that was taken to have happened lately not have happened, or only later. False, with everything as
    before, where that does not give the item a place."""
    trace, statuses = frontier.trace, frontier.problem.statuses
    placed = [placement.item for placement in trace.placements]
    for place in range(len(placed) - 1, max(len(placed) - MANY, trace.fixed) - 1, -1):
        other, tail = placed[place], placed[place + 1 :]
        if statuses[other] == "unknown" and (
            frontier.replace(place, [*tail, item]) or frontier.replace(place, [*tail, other, item])
        ):
            return True
    return False
