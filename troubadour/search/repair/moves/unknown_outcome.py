"""Transactions of unknown outcome taken to have happened, or not.

What a transaction read may come from one whose commit was never answered: it is put about where its commit was sent,
or a little before the reader. One that was taken to have happened may not have, or only later; several, where the
reader's answers come nearer with each that is left out. Does not know which of them the reads tell of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import inf

from troubadour.execution.free.choices import Choices
from troubadour.execution.observations.observation import rows_apart
from troubadour.problem.budget import FEW, FEWEST, MANY, SEVERAL, SOME
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


def without_several(frontier: Frontier, item: int, mended: Callable[[], bool]) -> bool:
    """Let several that were taken to have happened not have happened: those without each of which the item's answers
    are nearer to what was observed, then any few of the rest. False, with everything as before, where that does not
    give the item a place, nor `mended`, which changes the order near it."""
    trace, statuses = frontier.trace, frontier.problem.statuses
    placed = [placement.item for placement in trace.placements]
    unsure = [other for other in placed[trace.fixed :] if statuses[other] == "unknown"]
    if not 2 <= len(unsure) <= SEVERAL:
        return False
    base = placed.index(unsure[0])
    tail = placed[base:]
    best = _apart(frontier, item)
    gone: set[int] = set()
    with frontier.attempt(base) as attempt:
        for other in reversed(unsure):
            frontier.problem.budget.left()
            without = [one for one in tail if one != other and one not in gone]
            if frontier.replace(base, without) and (apart := _apart(frontier, item)) > best:
                best = apart
                gone.add(other)
        for few in _subsets([one for one in unsure if one not in gone]):
            frontier.problem.budget.left()
            left = [one for one in tail if one not in gone and one not in few]
            if frontier.replace(base, left) and (frontier.place(item, runs=SOME) is None or mended()):
                attempt.done = True
                break
    return attempt.done


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The empty set, and every other one where the items are few."""
    for size in range(len(items) + 1 if len(items) <= FEWEST else 1):
        yield from combinations(items, size)


def _apart(frontier: Frontier, item: int) -> tuple[float, float]:
    """How far an item gets at the newest state, and how near the answer is there that is not explained: the more, the
    better."""
    trace = frontier.trace
    candidate = trace.run(item, Choices(len(trace)), tolerant=True)
    if candidate.failure is None:
        return inf, 0.0
    failing = candidate.failure.statement
    if failing is None:
        return -1.0, 0.0
    statement = next(one for one in frontier.problem.prepared(item).statements if one.index == failing)
    is_answer = candidate.failure.condition == "observation"
    if not is_answer or statement.program is None or not statement.program.read_only:
        return float(failing), 0.0
    outcome = statement.program.run(candidate.view, statement.arguments)
    return float(failing), -rows_apart(statement.observation, outcome)
