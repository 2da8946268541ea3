"""Logs of which nothing says how the transactions followed one another: the order is inferred from what they read.

Does not know how a failure near the end of an order is mended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sql_semantics.records import dataclass
from troubadour.execution.free.choices import Choices
from troubadour.facts.sql.totals import asks_totals
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.isolation.levels import Scope
from troubadour.order.counted_order import ordered_by_counts
from troubadour.order.engine import Steps, certain_of, infer, is_for
from troubadour.problem.budget import A_MINUTE, AT_ONCE, BRIEFLY, EACH, MANY, MOST, SEVERAL, SMALL, SOME
from troubadour.problem.problem import Problem
from troubadour.search.along import place_along, place_guided, place_seeing
from troubadour.search.found import Found
from troubadour.search.layers import place_layers
from troubadour.search.likely_order import likely_order, near_order
from troubadour.search.repair.placer import Frontier
from troubadour.search.stronger_first import serially

NEIGHBOURS = 2
"""Transactions that wait for those that come next, where it is asked whether the file's order is nearly right."""

APART = 3
"""Places from which on the file is right, where all ways to put it right are followed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the ways to run the next transaction of each session is tried: the ways that are followed at first
    and at most (None: as many as it takes), the transactions that may come next at a time, the effort of all of that
    in seconds of an idle machine, and that for each transaction besides."""

    width: int
    most: int | None
    fronts: int
    effort: float
    effort_each: float


BRIEF = Limits(width=8, most=8, fronts=24, effort=0.2, effort_each=0.001)
THOROUGH = Limits(width=8, most=None, fronts=64, effort=10.0, effort_each=0.04)

Mended = Callable[[], Found | None]
"""Explains a log whose file has most of its order."""


class Unhinted:
    """A search along orders that are inferred."""

    def __init__(self, problem: Problem, steps: Steps | None) -> None:
        """`steps`: those of the engine."""
        self._problem = problem
        self._steps = steps
        self._frontier: Frontier | None = None
        self._by_key: bool | None = None
        self._limits: set[Limits] = set()
        self._before: Mapping[int, Sequence[int]] = {}

    def run(self, mended: Mended) -> Found | None:
        """Where nothing says how the transactions followed one another: an order that is nearly the file's, by running
        the next of each session, or as the engine infers it; None where none explains the log."""
        problem = self._problem
        if problem.order_recorded or problem.has_usable_order or not problem.committed:
            return None
        if len(problem.judged) + len(problem.unknown) <= SMALL:
            # every order of these is tried, which tells more of a failure
            return None
        found = self._nearly(mended) or self._by_counts() or self.along_sessions(BRIEF)
        if found is not None:
            return found
        if self.keys_tell():
            return self._ordered() or self.along_sessions(THOROUGH)
        return self.along_sessions(THOROUGH) or self._ordered()

    @property
    def follows_sessions(self) -> bool:
        """Whether the turns of sessions are tried at all."""
        problem = self._problem
        if not problem.committed or problem.discovery.unknown or problem.max_staleness is not None:
            return False
        return problem.heuristics.stronger_first and len(problem.judged) <= MOST

    def is_left(self, limits: Limits) -> bool:
        """Whether the turns of sessions are tried, and were not within these limits."""
        return self.follows_sessions and limits not in self._limits

    def keys_tell(self) -> bool:
        """Whether most transactions look at rows by their keys only, so that the engine knows what they saw; asked of
        some of them, on the initial rows. Yes where the turns of sessions are not tried at all."""
        if not self.follows_sessions:
            return True
        if self._by_key is None:
            problem = self._problem
            some = problem.committed[:: -(-len(problem.committed) // SOME)]
            with problem.guessing_readings(), problem.with_own_values():
                trace = self._anew().trace
                views = [trace.run(item, Choices(0), tolerant=True).view for item in some]
            by_key = [
                not any(view.tables_scanned()) and sum(1 for _ in view.all_rows()) <= view.lookups for view in views
            ]
            self._by_key = sum(by_key) * 2 > len(some)
        return self._by_key

    def along_sessions(self, limits: Limits) -> Found | None:
        """The next transaction of each session, or of those that may come next by clocks, after those that the engine
        knows to come before it, if it was asked before; None where no order is found, or was found no sooner."""
        problem = self._problem
        if not self.is_left(limits):
            return None
        self._limits.add(limits)
        order = likely_order(problem, problem.judged)
        for item, others in self._before.items():
            for other in others:
                if item in order.before and other in order.before:
                    order.add(other, item)

        def placed() -> bool:
            return place_layers(self._anew, order, width=limits.width, most=limits.most, fronts=limits.fronts)

        effort = min(limits.effort + limits.effort_each * len(problem.judged), A_MINUTE)
        with (
            problem.budget.step("turns of sessions") as tally,
            problem.guessing_readings(),
            problem.with_own_values() as values,
        ):
            values.kept = bool(problem.budget.tried(effort, placed))
            tally.helped += values.kept
        return self._all_placed() if values.kept else None

    def _ordered(self) -> Found | None:
        """In hint order as it stands, nearly so, or along what the engine infers."""
        problem = self._problem
        if not is_for(problem) or problem.leaves_readings_open:
            return None
        waiting = SOME if problem.levels[problem.committed[0]].scope is Scope.ROW else 0
        if self._explained(problem.committed, waiting) == len(problem.committed):
            return self._all_placed()
        budget = problem.budget
        if budget.attempt("file's order, in layers", self._nearly_in_layers):
            return self._all_placed()
        with budget.step("engine") as tally:
            found = self._inferred()
            tally.helped += found is not None
        return found

    def _by_counts(self) -> Found | None:
        """In an order in which each was told how much had been added then, where totals were told."""
        problem = self._problem
        if not is_for(problem) or problem.leaves_readings_open or not asks_totals(problem):
            return None

        def ordered() -> list[int] | None:
            accounts = accounts_for(problem, problem.levels[problem.committed[0]])
            known = certain_of(problem, self._steps, accounts).known
            return None if known is None else ordered_by_counts(problem, known, accounts)

        with problem.budget.step("order of counts") as tally:
            order = problem.budget.tried(BRIEFLY + EACH * len(problem.committed), ordered)
            explained = order is not None and self._explained(order, 0) == len(problem.judged)
            tally.helped += explained
        return self._all_placed() if explained else None

    def _nearly(self, mended: Mended) -> Found | None:
        """In the order of the file, if that is wrong in a few places, first as if all read the newest state."""
        with self._problem.budget.step("file's order, mended") as tally:
            with serially(self._problem) as stricter:
                found = self._nearly_as_held(mended) if stricter else None
            found = found or self._nearly_as_held(mended)
            tally.helped += found is not None
        return found

    def _nearly_as_held(self, mended: Mended) -> Found | None:
        """The same at the levels as they are: some of the first have to wait for their next ones, and most have not."""
        items = sorted([*self._problem.committed, *self._problem.unknown])
        if self._explained(items, NEIGHBOURS) < min(SEVERAL, len(items) // 2):
            return None
        return self._problem.budget.tried(BRIEFLY + 2 * EACH * len(self._problem.judged), mended)

    def _nearly_in_layers(self) -> bool:
        """The same by all ways to let a transaction of the file go before the last few: of values that are written
        again and again many fit where they do not belong. First of the beginning alone, which tells what is no such
        file."""
        problem, items = self._problem, self._problem.judged

        def placed() -> bool:
            return all(
                place_layers(self._anew, near_order(some, APART), width=MANY, fronts=2 * APART)
                for some in (items[:SOME], items)
            )

        with serially(problem):
            return bool(problem.budget.tried(AT_ONCE + EACH * len(items), placed))

    def _inferred(self) -> Found | None:
        """Along what the engine infers; None where that explains nothing."""
        problem = self._problem
        inferred = infer(problem, self._steps)
        self._before = inferred.before
        if inferred.contradiction is not None:
            return Found(self._anew().trace, 0, conflict=inferred.contradiction)
        if inferred.sets and place_seeing(self._anew(), inferred.sets):
            return self._all_placed()
        for order in inferred.orders:
            if place_along(self._anew(), [(place.item, place.state) for place in order]):
                return self._all_placed()
        if inferred.known is not None and place_guided(inferred.known, self._anew):
            return self._all_placed()
        return None

    def _explained(self, order: Sequence[int], waiting: int = 6) -> int:
        """Place transactions in an order; how many have a place before too many have none."""
        frontier = self._anew()
        place_along(frontier, [(item, None) for item in order], waiting)
        return len(frontier.trace)

    def _anew(self) -> Frontier:
        self._frontier = Frontier(self._problem)
        return self._frontier

    def _all_placed(self) -> Found:
        assert self._frontier is not None
        return Found(self._frontier.trace, len(self._problem.judged))
