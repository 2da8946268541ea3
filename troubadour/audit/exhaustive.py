"""Every order and every reading of a small log, or of one order (DESIGN §6.3; the search's own enumeration).

Complete where it ends within its bound; the bound is never passed over in silence. Shares the run of a transaction with
the search, and nothing with the oracle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from troubadour.audit.orders import must_precede, overtaken_by
from troubadour.audit.placement import Candidate, TooManyRuns
from troubadour.audit.problem import Heuristics, Problem
from troubadour.audit.symbolic import SymbolicTrace
from troubadour.audit.trace import Trace
from troubadour.execution.choices import Choices

SHORT = 60
"""Length of an order up to which the second decision scans tables whole."""

NODES = 20_000
"""Placements spent on trying every order."""


def explained_in_order(problem: Problem, order: Sequence[int], nodes: int = NODES) -> dict[int, Choices] | None:
    """The reads that explain an order, found by looking at every reading concretely; empty where none do, None where
    they are too many."""
    tried = Everything(problem, order, (), fixed=True, nodes=nodes)
    try:
        if not tried.run():
            return {}
    except TooManyRuns:
        return None
    return {p.item: p.choices for p in tried.trace.placements if p.choices is not None}


def enumerate_again(problem: Problem, order: Sequence[int], *, every_order: bool) -> bool:
    """A second decision without solver and heuristics (but for the index on long orders, where scans are out of
    reach): whether every reading (of every order) of a failing prefix was looked at and none explains it."""
    index = len(order) > SHORT
    plain = problem.with_heuristics(Heuristics(index=index, window=None, concretize=False, stronger_first=False))
    if not every_order:
        return explained_in_order(plain, order) == {}
    tried = Everything(plain, plain.judged, plain.unknown)
    try:
        return not tried.run()
    except TooManyRuns:
        return False


def keeps_hint_order(item: int, placed: Collection[int], committed: Sequence[int], prefix: int) -> bool:
    """Whether an item may come next where the hint order binds: the next committed one, or an unknown one whose place
    is before that and after everything placed."""
    following = committed[prefix] if prefix < len(committed) else item
    return item <= following and all(item > other for other in placed)


class EveryOrder:
    """Depth first over all orders, readings left open; raises TooManyRuns beyond a bound."""

    def __init__(self, problem: Problem, committed: Sequence[int], unknown: Sequence[int]) -> None:
        self.problem = problem
        self.trace = SymbolicTrace(problem)
        self.verified = 0
        self._committed = committed
        self._items = [*committed, *unknown]
        self._nodes = 0

    def run(self) -> bool:
        """Whether everything committed can be placed; `trace` then holds it."""
        placed = [placement.item for placement in self.trace.placements]
        prefix = next((n for n, item in enumerate(self._committed) if item not in placed), len(self._committed))
        self.verified = max(self.verified, prefix)
        if prefix == len(self._committed):
            return True
        for item in self._items:
            if item in placed or any(must_precede(self.problem, item, other) for other in placed):
                continue
            if self.problem.order_recorded and not keeps_hint_order(item, placed, self._committed, prefix):
                continue
            self._nodes += 1
            if self._nodes > NODES:
                raise TooManyRuns
            if self.trace.place(item) is None:
                if self.run():
                    return True
                self.trace.truncate(len(placed))
        return False


class Everything:
    """Depth first over all orders (or one), readings and fates of unknown transactions; raises TooManyRuns beyond a
    bound."""

    def __init__(
        self,
        problem: Problem,
        committed: Sequence[int],
        unknown: Sequence[int],
        *,
        fixed: bool = False,
        nodes: int = NODES,
    ) -> None:
        self.problem = problem
        self.trace = Trace(problem)
        self.verified = 0
        self._fixed = fixed
        self._limit = nodes
        self._committed = committed
        self._unknown = unknown
        self._placed: set[int] = set()

    def run(self) -> bool:
        """Whether everything committed can be placed; `trace` then holds it. `verified` is the longest prefix met."""
        pending = [self._moves()]
        nodes = 0
        while pending:
            if self.verified == len(self._committed):
                return True
            candidate = next(pending[-1], None)
            if candidate is None:
                pending.pop()
                if pending:
                    self._placed.discard(self.trace.placements[-1].item)
                    self.trace.truncate(len(self.trace) - 1)
                continue
            nodes += 1
            if nodes > self._limit:
                raise TooManyRuns
            self.trace.keep(candidate)
            self._placed.add(candidate.item)
            pending.append(self._moves())
        return self.verified == len(self._committed)

    def _moves(self) -> Iterator[Candidate]:
        """What can be placed next; notes the prefix reached."""
        placed = self._placed
        start = len(placed) if self._fixed else 0
        prefix = next(
            (n for n in range(start, len(self._committed)) if self._committed[n] not in placed), len(self._committed)
        )
        self.verified = max(self.verified, prefix)
        if self._fixed:
            # each was checked against the one before it
            return self._candidates(self._committed[prefix : prefix + 1], prefix, frozenset(self._newest()))
        return self._candidates([*self._committed, *self._unknown], prefix, frozenset(placed))

    def _newest(self) -> list[int]:
        return [placement.item for placement in self.trace.placements[-1:]]

    def _candidates(self, upcoming: Sequence[int], prefix: int, placed: frozenset[int]) -> Iterator[Candidate]:
        trace = self.trace
        for item in upcoming:
            if item in placed or overtaken_by(self.problem, trace.timeline, trace.item_at, item) is not None:
                continue
            if self.problem.order_recorded and not keeps_hint_order(item, placed, self._committed, prefix):
                continue
            yield from trace.outcomes(item)
