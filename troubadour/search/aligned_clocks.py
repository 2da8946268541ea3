"""The order of transactions whose clients read several clocks: how far apart these are is tried out (DESIGN §6).

Clocks of one run tick alike, so that one number for each clock after the first says where its transactions lie. The
wrong number soon leaves a transaction unexplained, the right one explains far more; the best few are tried again in
finer steps. What comes of it is a hint. Does not know how a transaction is explained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from troubadour.isolation.times import Times
from troubadour.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Scan:
    """How offsets are tried: so many on each side of where the clocks would begin together, then so many around the
    best, `rounds` times, each round in as many parts of the last one's step."""

    steps: int = 40
    finer: int = 5
    rounds: int = 3


def aligned_order(
    problem: Problem, explains: Callable[[Sequence[int]], int], scan: Scan | None = None
) -> Sequence[int] | None:
    """The order of the committed transactions, by clocks put where most are explained. `explains` says how many of an
    order are; None where the best leaves some out, or clocks say nothing."""
    scan = scan or Scan()
    times = problem.times
    clocks: dict[str | None, list[int]] = defaultdict(list)
    for item in problem.committed:
        if times[item].over is None or times[item].begun is None:
            return None
        clocks[times[item].clock].append(item)
    if len(clocks) < 2:
        return None
    begun = {clock: min(_begun(times[item]) for item in items) for clock, items in clocks.items()}
    span = max(_over(times[item]) - begun[times[item].clock] for item in problem.committed)
    offsets: dict[str | None, float] = dict.fromkeys(clocks, 0.0)

    def ordered() -> list[int]:
        return sorted(
            problem.committed,
            key=lambda item: (_over(times[item]) - begun[times[item].clock] + offsets[times[item].clock], item),
        )

    for clock in [*clocks][1:]:
        centre, step = 0.0, span / scan.steps
        count = scan.steps
        for _ in range(scan.rounds):
            tried: list[tuple[int, float]] = []
            for number in sorted(range(-count, count + 1), key=abs):
                offsets[clock] = centre + number * step
                order = ordered()
                explained = explains(order)
                if explained == len(order):
                    return order
                tried.append((explained, offsets[clock]))
            best = max(tried)[0]
            good = [offset for explained, offset in tried if explained == best]
            # several are as good: the middle one
            centre = offsets[clock] = sorted(good)[len(good) // 2]
            step, count = step / scan.finer, 2 * scan.finer
    return None


def _over(times: Times) -> int:
    return times.over or 0


def _begun(times: Times) -> int:
    return times.begun or 0
