"""Every order and every reading of a small log, or of one order (the search's own enumeration).

Complete where it ends within its bound; the bound is never passed over in silence. Shares the run of a transaction with
the search, and nothing with the oracle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.isolation.levels import Visible
from troubadour.problem.budget import MOST, SOME
from troubadour.problem.orders import must_precede, overtaken_by
from troubadour.problem.problem import Heuristics, Problem
from troubadour.search.schedule.placement import Candidate, TooManyRuns
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.trace import SymbolicTrace


def explained_in_order(problem: Problem, order: Sequence[int], nodes: int = MOST) -> dict[int, Choices] | None:
    """The reads that explain an order, found by looking at every reading concretely; empty where none do, None where
    they are too many, or meet rows whose values are not known."""
    tried = Everything(problem, order, (), fixed=True, nodes=nodes)
    try:
        if not tried.run():
            return {}
    except (TooManyRuns, OpenRead):
        return None
    return {p.item: p.choices for p in tried.trace.placements if p.choices is not None}


def enumerate_again(problem: Problem, order: Sequence[int], *, every_order: bool) -> bool:
    """A second decision without solver and heuristics (but for the index on long orders, where scans are out of
    reach): whether every reading (of every order) of a failing prefix was looked at and none explains it."""
    index = len(order) > SOME
    plain = problem.with_heuristics(Heuristics(index=index, window=None, concretize=False, stronger_first=False))
    if not every_order:
        return explained_in_order(plain, order) == {}
    tried = Everything(plain, plain.judged, plain.unknown)
    try:
        return not tried.run()
    except (TooManyRuns, OpenRead):
        return False


def keeps_hint_order(item: int, placed: Collection[int], committed: Sequence[int], prefix: int) -> bool:
    """Whether an item may come next where the hint order binds: the next committed one, or an unknown one whose place
    is before that and after everything placed."""
    following = committed[prefix] if prefix < len(committed) else item
    return item <= following and all(item > other for other in placed)


class EveryOrder:
    """Depth first over all orders, readings left open; raises TooManyRuns beyond a bound, and where some reading could
    not be left open."""

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
            if self._nodes > MOST:
                raise TooManyRuns
            if self.trace.place(item) is None:
                if self.run():
                    return True
                self.trace.truncate(len(placed))
            elif self.trace.doubtful:
                raise TooManyRuns
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
        nodes: int = MOST,
    ) -> None:
        self.problem = problem
        self.trace = Trace(problem)
        self.verified = 0
        self._fixed = fixed
        self._limit = nodes
        self._committed = committed
        self._unknown = unknown
        self._placed: set[int] = set()
        self._free_order = not fixed and not problem.order_recorded and keeps_no_time(problem)
        self._forgets = self._free_order and all(level.horizon.latest for level in problem.levels)
        self._failed: set[object] = set()

    def run(self) -> bool:
        """Whether everything committed can be placed; `trace` then holds it. `verified` is the longest prefix met.

        Where the level knows no times, what can write nothing takes the first place that explains it, for it is in
        no other's way there; and where all read the newest state, what follows hangs on which are placed and on what
        became of each row alone, and is looked at once."""
        pending = [self._moves()]
        nodes = 0
        while pending:
            if self.verified == len(self._committed):
                return True
            candidate = next(pending[-1], None)
            if candidate is None:
                pending.pop()
                if self._forgets:
                    self._failed.add(self._reached())
                if pending:
                    self._placed.discard(self.trace.placements[-1].item)
                    self.trace.truncate(len(self.trace) - 1)
                continue
            nodes += 1
            if nodes > self._limit:
                raise TooManyRuns
            self.trace.keep(candidate)
            self._placed.add(candidate.item)
            if self._forgets and self._reached() in self._failed:
                pending.append(iter(()))
            else:
                pending.append(self._moves())
        return self.verified == len(self._committed)

    def _reached(self) -> object:
        """Those placed, and what they made of each row, one after the other: of two that left it alike one may not be
        read by a transaction that was answered before its commit was sent."""
        trace, made = self.trace, defaultdict[str, list[object]](list)
        for position, placement in enumerate(trace.placements, 1):
            for row in trace.states.written_at(position):
                made[row.address].append((placement.item, row.at(position)))
        return frozenset(self._placed), frozenset((row, tuple(versions)) for row, versions in made.items())

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
        upcoming = [*self._committed, *self._unknown]
        if self._free_order:
            upcoming.sort(key=self._writes)
        return self._candidates(upcoming, prefix, frozenset(placed))

    def _newest(self) -> list[int]:
        return [placement.item for placement in self.trace.placements[-1:]]

    def _candidates(self, upcoming: Sequence[int], prefix: int, placed: frozenset[int]) -> Iterator[Candidate]:
        trace = self.trace
        for item in upcoming:
            if item in placed or overtaken_by(self.problem, trace.timeline, trace.item_at, item) is not None:
                continue
            if self.problem.order_recorded and not keeps_hint_order(item, placed, self._committed, prefix):
                continue
            for candidate in trace.outcomes(item):
                yield candidate
                if self._free_order and self._is_in_nobodys_way(candidate):
                    return

    def _writes(self, item: int) -> bool:
        return any(s.program is None or not s.program.read_only for s in self.problem.prepared(item).statements)

    def _is_in_nobodys_way(self, candidate: Candidate) -> bool:
        """Whether it writes nothing whatever it reads; one that wrote nothing here may have to elsewhere."""
        view = candidate.view
        unknown = candidate.item in self._unknown
        return not (unknown or self._writes(candidate.item) or view.drawn or view.picked)


def keeps_no_time(problem: Problem) -> bool:
    """Whether no level bounds by times which transaction follows which, nor what is read."""
    return not problem.order_exact and not any(
        level.real_time
        or level.session
        or level.commits
        or level.horizon.at_start
        or level.visible is not Visible.STATE
        for level in problem.levels
    )
