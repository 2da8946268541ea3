"""The circle of dependencies that says most: the shortest one that the level forbids (Adya 1999, §4; *Elle*, §5).

Does not know how edges are told from the rows that were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from troubadour.audit.account.edges import Edges, Possible
from troubadour.isolation.anomalies import Kind, is_forbidden
from troubadour.isolation.levels import Level
from troubadour.problem.budget import FEW, FEWEST, THOUSANDS


def best_cycle(
    edges: Edges, through: Sequence[int], level: Level, looked: Callable[[int], object]
) -> list[Possible] | None:
    """A shortest circle that the level forbids, through the first of these positions that has one; of several the one
    with the fewest anti-dependencies, and among these one of the fewest rows. `looked` is told how many edges
    were looked at, and may raise."""
    for length in range(2, FEW + 1):
        for start in through:
            found = [
                cycle
                for path in _paths(edges, start, length, looked)
                for cycle in _labelled(edges, path)
                if is_forbidden(level, [edge.kind for edge in cycle])
            ]
            if found:
                return min(found, key=_cost)
    return None


def _cost(cycle: Sequence[Possible]) -> tuple[int, ...]:
    kinds = [edge.kind for edge in cycle]
    times = sum(kind in (Kind.SESSION, Kind.REAL_TIME) for kind in kinds)
    rows = len({edge.row for edge in cycle if edge.row is not None})
    timed = any(edge.kind is Kind.RW and edge.row is None for edge in cycle)
    conflicts = timed and Kind.WW not in kinds
    return kinds.count(Kind.RW), timed, conflicts, times, sum(edge.predicate for edge in cycle), rows


def _paths(edges: Edges, start: int, length: int, looked: Callable[[int], object]) -> Iterator[list[int]]:
    """Circles through a position, as possible edges have them."""
    stack: list[list[int]] = [[start]]
    paths = 0
    while stack and paths < THOUSANDS:
        path = stack.pop()
        paths += 1
        following = edges.after(path[-1])
        if len(path) == length:
            looked(1)
            if start in following:
                yield path
            continue
        looked(1 + len(following))
        stack += [[*path, other] for other in following if other not in path]


def _labelled(edges: Edges, path: Sequence[int]) -> Iterator[list[Possible]]:
    """The circles of real edges along a path."""
    steps = [edges.between(one, other)[:FEWEST] for one, other in zip(path, [*path[1:], path[0]], strict=True)]
    if all(steps):
        yield from (list(choice) for choice in product(*steps))
