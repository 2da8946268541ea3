"""Every execution of a log whose times leave few, those that come to the same as one.

Depth first over orders and readings like `exhaustive`, for levels that keep real time. Of a beginning only that matters
to those that follow which they can still meet: those placed, the rows in the oldest state that one of the others may
read, what was written since in its order, and, where there is a serial order, which transactions lead to which. What
can only read stands right before one that must come after it, wherever else it might. So a log in which little overlaps
is gone through, however long it is. Does not know how a transaction is run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from troubadour.isolation.levels import Scope
from troubadour.isolation.times import in_snapshot
from troubadour.problem.budget import MANY, THOUSANDS
from troubadour.problem.orders import must_precede, overtaken_by
from troubadour.problem.problem import Problem
from troubadour.search.exhaustive import Everything
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import Candidate
from troubadour.search.schedule.serial import Graph


def applies(problem: Problem) -> bool:
    """Whether a log is one of which every execution may be gone through."""
    rows = sum(map(len, problem.initial.values()))
    return (
        any(level.serial for level in problem.levels)
        and all(level.real_time and level.dialect is not None for level in problem.levels)
        and rows <= MANY
        and not problem.discovery.unknown
        and not problem.order_recorded
        and not problem.order_exact
        and problem.max_staleness is None
        and problem.free.any_guess() is None
    )


def longest(problem: Problem, nodes: int) -> Executions:
    """The executions by which the longest prefix is told that is explained, together with any others: of all, where
    these are explained; else of those up to the first that is not. Raises TooManyRuns beyond a bound of placements."""
    tried = Executions(problem, len(problem.judged), nodes)
    explained = tried.run()
    while not explained:
        one_more = Executions(problem, tried.verified + 1, nodes)
        if not one_more.run():
            # with one more to be placed less may have been left out
            one_more.verified = tried.verified
            return one_more
        tried, explained = one_more, one_more.verified == len(problem.judged)
    return tried


class Executions(Everything):
    """The executions of the first so many that are judged, with any of the others; `failure` is why the transaction
    after the longest prefix has no place, where its last place was refused by the serial order. Raises TooManyRuns
    beyond a bound."""

    def __init__(self, problem: Problem, count: int, nodes: int = 2 * THOUSANDS) -> None:
        others = [*problem.judged[count:], *problem.unknown]
        super().__init__(problem, problem.judged[:count], others, nodes=nodes)
        self._forgets = True
        self._passive = frozenset(item for item in problem.judged if self._only_reads(item))
        self.failure: Failure | None = None

    def _only_reads(self, item: int) -> bool:
        """Whether it constrains no other, wherever it stands: it writes and locks nothing."""
        programs = [statement.program for statement in self.problem.prepared(item).statements]
        locks = any(" for " in f" {s.sql.lower()} " for s in self.problem.transaction(item).statements)
        return not locks and all(program is None or program.read_only for program in programs)

    def _candidates(self, upcoming: Sequence[int], prefix: int, placed: Collection[int]) -> Iterator[Candidate]:
        problem, trace = self.problem, self.trace
        wanted = [item for item in self._committed if item not in placed]
        first = wanted[0] if wanted else None
        acting: list[int] = []
        due: list[int] = []
        for item in upcoming:
            if item in placed or item in self._passive:
                continue
            # a transaction before one that must precede it has no place any more
            before = [other for other in wanted if other != item and must_precede(problem, other, item)]
            if not before:
                acting.append(item)
            elif self._passive.issuperset(before):
                due.append(self._ready(before))
        if first is not None and first in self._passive:
            due.append(self._ready([first, *(one for one in wanted if must_precede(problem, one, first))]))
        elif not any(item not in self._passive for item in wanted):
            due += wanted[:1]
        for item in dict.fromkeys([*acting, *due]):
            if overtaken_by(problem, trace.timeline, trace.item_at, item) is not None:
                continue
            failures: list[Failure] = []
            for candidate in trace.outcomes(item, failures):
                yield candidate
                if item in self._passive and (item in problem.aborted or not problem.levels[item].serial):
                    break
            if item == first and prefix == self.verified:
                self.failure = next((one for one in failures if one.condition == "serial"), self.failure)

    def _ready(self, items: Sequence[int]) -> int:
        """The first of these that none of the others must precede."""
        free = (one for one in items if not any(o != one and must_precede(self.problem, o, one) for o in items))
        return next(free, items[0])

    def _reached(self) -> object:
        trace, problem = self.trace, self.problem
        oldest = self._oldest()
        rows = frozenset(
            (row.address, row.at(oldest))
            for table in trace.states.tables.values()
            for row in table.rows
            if row.at(oldest) is not None
        )
        since = tuple(
            (
                problem.levels[trace.item_at(position)].serial and trace.item_at(position) not in problem.aborted,
                trace.item_at(position),
                frozenset((row.address, row.at(position)) for row in trace.states.written_at(position)),
            )
            for position in range(oldest + 1, len(trace) + 1)
        )
        return frozenset(self._placed), rows, since, self._leading(oldest)

    def _oldest(self) -> int:
        """The oldest state that one which is not placed may read."""
        problem, timeline = self.problem, self.trace.timeline
        lowest = len(self.trace)
        for item in (*self._committed, *self._unknown):
            if item in self._placed:
                continue
            reader = problem.times[item]
            if problem.levels[item].scope is Scope.ROW:
                return 0
            position = lowest
            while position and in_snapshot(timeline.times[position - 1], reader) is not True:
                position -= 1
            lowest = min(lowest, position)
        return lowest

    def _leading(self, oldest: int) -> object:
        """What matters of the serial order: which ones those lead to that may be missed, and what these have read."""
        graph = Graph(self.trace)
        later = [position for position in graph.nodes if position > oldest]
        described: dict[int, object] = {}
        found: list[object] = []
        for position in later:
            reached = graph.reached(position)
            for other in reached:
                if other not in described:
                    described[other] = graph.described(other, oldest)
            found.append((position - oldest, frozenset(described[other] for other in reached)))
        return tuple(found)
