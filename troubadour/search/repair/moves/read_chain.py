"""Reads that make a row's number what it was seen to be (paper §8.1, RQ1).

Where transactions only add to a number, one that was seen tells which additions it has and which were lost: those that
it has read one another's versions, in the order in which they stand, and all others are not in the way. Only where each
row read may be of a state of its own. Does not know other orders.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.errors import Unsupported
from sql_semantics.terms import Guard, Term
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.states.history import RowHistory
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import THOUSANDS
from troubadour.search.inference.values.reachable_numbers import ReachableNumbers
from troubadour.search.inference.values.reaches import Reach, scaled
from troubadour.search.inference.values.seen_numbers import SeenNumbers, linear
from troubadour.search.inference.values.sums import Sums, chosen
from troubadour.search.repair.placer import Frontier

Links = dict[int, dict[str, int | None]]
"""For each item of a chain, by the address of a row: whose version it reads (None: the initial one)."""


def read_chain(frontier: Frontier, item: int) -> bool:
    """Read the placed ones anew so that the item is explained after them; False, with all as before, where that is not
    found."""
    problem = frontier.problem
    order = [placement.item for placement in frontier.trace.placements]
    if any(problem.levels[other].scope is not Scope.ROW for other in (*order, item)):
        return False
    try:
        numbers = ReachableNumbers(problem, order).seen_by(item)
        links: Links = {}
        for row, reach, target in _wanted(numbers, numbers.guard):
            if not _link(links, item, row, reach, target):
                return False
    except Unsupported:
        return False
    try:
        with frontier.attempt(0) as attempt:
            attempt.done = bool(links) and _place(frontier, [*order, item], links)
    except OpenRead:
        # an initial row that is not known has no number to begin with
        return False
    return attempt.done


def _wanted(numbers: SeenNumbers, guard: Guard) -> Iterator[tuple[RowHistory, Reach, int]]:
    """What numbers have to be so that a guard holds, in one of the ways in which it can."""
    if guard.kind == "and":
        for part in guard.args:
            yield from _wanted(numbers, part)
    elif guard.kind == "or":
        part = next((part for part in guard.args if not numbers.excludes(part)), None)
        if part is not None:
            yield from _wanted(numbers, part)
    elif guard.kind == "cmp" and guard.args[0] == "=":
        for terms, target in linear(guard.args[1], guard.args[2]) or ():
            found = _targets(numbers, [term for term, _ in terms], [sign for _, sign in terms], target)
            if found:
                yield from found
                return


def _targets(
    numbers: SeenNumbers, terms: list[Term], signs: list[int], target: object
) -> list[tuple[RowHistory, Reach, int]]:
    places = [numbers.place_of(term) for term in terms]
    reaches = [numbers.reach_of(term) for term in terms]
    if len(terms) not in (1, 2) or len(set(signs)) > 1 or any(reach is not None and reach.joined for reach in reaches):
        return []
    known = [(place[0], reach) for place, reach in zip(places, reaches, strict=True) if place and reach]
    if len(known) < len(terms):
        return []
    wanted = scaled(target, known[0][1].scale) * signs[0]
    if len(known) == 1:
        ((row, reach),) = known
        return [(row, reach, wanted)] if reach.has(wanted) else []
    (first, one), (second, other) = known
    for base in one.bases:
        for added in _few(one.sums):
            if other.has(wanted - base - added):
                return [(first, one, base + added), (second, other, wanted - base - added)]
    return []


def _few(sums: Sums) -> Iterator[int]:
    """Some of the sums, those nearest to nothing first."""
    middle = -sums.low // sums.stride
    for distance in range(THOUSANDS):
        for step in (middle + distance, middle - distance - 1):
            if sums.low + step * sums.stride in sums:
                yield sums.low + step * sums.stride


def _link(links: Links, item: int, row: RowHistory, reach: Reach, target: int) -> bool:
    """Choose the transactions that add up to a target, and let each read the version of the one before."""
    for base in reach.bases:
        parts = chosen(reach.changes, target - base)
        if parts is None:
            continue
        first = next((setter for setter, values in reach.set_by.items() if base in values), None)
        adding = list(reach.added)
        chain = [*([] if first is None else [first]), *(adding[place] for place, _ in parts)]
        before: int | None = None
        for one in chain:
            links.setdefault(one, {})[row.address] = before
            before = one
        links.setdefault(item, {})[row.address] = before
        return True
    return False


def _place(frontier: Frontier, order: list[int], links: Links) -> bool:
    trace, problem = frontier.trace, frontier.problem
    positions: dict[int | None, int] = {None: 0}
    for item in order:
        wanted = links.get(item)
        choices = None
        if wanted is not None:
            if any(writer not in positions for writer in wanted.values()):
                # it would read what comes after it
                return False
            masks = trace.masked(item) or [frozenset() for _ in problem.prepared(item).statements]
            seen = trace.run(item, Choices(len(trace), {}, masks), 0, masks, tolerant=True).view.reads
            exceptions = {
                (statement, execution, row.address): positions[wanted[row.address]]
                for statement, execution, row in seen
                if row.address in wanted
            }
            if any(state in masks[statement] for (statement, _, _), state in exceptions.items()):
                # it was answered before that was sent
                return False
            choices = Choices(len(trace), exceptions, masks)
        failure = frontier.misplaced(item) or trace.place(item, choices)
        if failure is not None:
            return False
        frontier.placed.add(item)
        positions[item] = len(trace)
    return True
