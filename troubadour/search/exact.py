"""A prefix decided exactly: one order with all reads open, or every order of a small log (paper §7).

Does not know how an order is mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from sql_semantics.errors import Unsupported
from troubadour.execution.free.choices import Choices
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import A_MINUTE, LONGER, SOME
from troubadour.problem.orders import is_allowed, must_precede
from troubadour.problem.problem import Problem
from troubadour.search.exhaustive import EveryOrder, Everything, explained_in_order
from troubadour.search.found import Found
from troubadour.search.repair.placer import Frontier, out_of_place
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import refuting_set
from troubadour.search.symbolic.cegar import Contradiction, Readings, Unresolved, refine
from troubadour.search.symbolic.trace import SymbolicTrace


def untold_choice(problem: Problem, item: int) -> str:
    """Why nothing is known of an item that no guess of the free values explains."""
    key = problem.free.any_guess()
    assert key is not None
    chooser = problem.transaction(key[0]).id
    return (
        f"no choice of the values that the DBMS was free to choose (such as in transaction {chooser!r}, statement "
        f"{key[1][0] + 1}) was found that explains {problem.transaction(item).id!r}"
    )


class Exact:
    """Decides prefixes of the `judged` items of a problem, in hint order, with those of `unknown` outcome; what it
    explains is placed on the frontier that is given."""

    def __init__(self, problem: Problem, judged: list[int], unknown: list[int]) -> None:
        self._problem = problem
        self._judged = judged
        self._unknown = unknown

    def reconsider(self, frontier: Frontier, order: list[int]) -> Contradiction | None:
        """Decide the order with all reads open; re-place it where that explains it."""
        concrete = None
        open_rows = bool(self._problem.discovery.unknown)
        if isinstance(frontier.trace, SymbolicTrace) and not open_rows:
            # case analysis first: readings are many here
            with suppress(Unsupported):
                refuting = refuting_set(self._problem, order)
                if refuting is not None:
                    return Contradiction(refuting)
        if not open_rows and all(self._problem.levels[item].scope is not Scope.ROW for item in order):
            # a view is one of few states, so looking at all of them is often enough
            concrete = explained_in_order(self._problem, order, 4 * len(order) + 200)
        result: Contradiction | Readings
        if concrete:
            result = Readings(concrete)
        else:
            try:
                seconds = LONGER if self._problem.free.any_guess() is None else A_MINUTE
                result = refine(self._problem, order, seconds=None if concrete is None else seconds)
            except (Unsupported, Unresolved):
                if concrete is None and not open_rows:
                    concrete = explained_in_order(self._problem, order)
                if concrete is None:
                    raise
                if not concrete and self._problem.free.any_guess() is not None:
                    raise Unresolved(untold_choice(self._problem, order[-1])) from None
                result = Readings(concrete) if concrete else Contradiction(frozenset(order), enumerated=True)
        if isinstance(result, Contradiction):
            return result
        self._place_anew(frontier, order, result.choices)
        return None

    def every_order(self, frontier: Frontier, failure: Failure, order: list[int]) -> Found | None:
        """Try every order and reading; None where that is too much."""
        tried = self._tried_everything(frontier)
        if tried is None:
            return None
        explained = tried.verified == len(self._judged)
        if explained:
            return Found(tried.trace, len(self._judged))
        if self._problem.free.any_guess() is not None:
            # every order and reading, but not every value that the DBMS may have chosen
            return None
        if self._problem.discovery.unknown:
            # nor rows that nothing names
            again = EveryOrder(self._problem.in_open_world(), self._judged, self._unknown)
            try:
                if again.run() or again.verified != tried.verified:
                    return None
            except (TooManyRuns, Unsupported):
                return None
        return self._first_unexplained(frontier, tried.verified, failure, order)

    def _tried_everything(self, frontier: Frontier) -> EveryOrder | Everything | None:
        """Every order and reading, tried; None where that is too much. With rows that are open, or many readings, these
        are left to the solver, if they can be."""
        ways: list[type[EveryOrder | Everything]] = [] if self._problem.discovery.unknown else [Everything]
        if isinstance(frontier.trace, SymbolicTrace):
            ways.insert(0, EveryOrder)
        for way in ways:
            tried = way(self._problem, self._judged, self._unknown)
            with suppress(TooManyRuns), self._problem.budget.step("every order") as tally:
                tried.run()
                tally.helped += 1
                return tried
        return None

    def _first_unexplained(self, frontier: Frontier, verified: int, failure: Failure, order: list[int]) -> Found:
        """How the transaction after the longest explained prefix fails, at the end of an order that explains that
        prefix, with some later ones where it needs them."""
        later = [item for item in self._judged[verified + 1 :] if self._writes(item)]
        item = self._judged[verified]
        for others in ([], later) if later else ([],):
            every = EveryOrder if self._problem.discovery.unknown else Everything
            prefix = every(self._problem, self._judged[:verified], [*self._unknown, *others])
            explained = False
            with suppress(TooManyRuns):
                explained = prefix.run()
            if not explained:
                continue
            placed = [placement.item for placement in prefix.trace.placements]
            overtaken = next((other for other in placed if must_precede(self._problem, item, other)), None)
            if overtaken is None:
                last = prefix.trace.place(item)
            else:
                last = out_of_place(self._problem, item, overtaken, "after")
            if last is not None:
                return Found(prefix.trace, verified, last, [*placed, item], None, every_order=True)
        return Found(frontier.trace, verified, failure, order, None, every_order=True)

    def _writes(self, item: int) -> bool:
        statements = self._problem.prepared(item).statements
        return any(one.program is None or not one.program.read_only for one in statements)

    def is_explained_as_recorded(self, frontier: Frontier, index: int, order: list[int]) -> bool:
        """Whether the hint order explains the prefix, where it was left and the order that took its place fails; the
        prefix is placed in it then. Raises Unresolved and Unsupported where that is not known of a short one."""
        hint = self._judged[: index + 1]
        if hint == order or not is_allowed(self._problem, hint):
            return False
        if len(hint) <= SOME:
            return self.reconsider(frontier, hint) is None
        if self._problem.discovery.unknown or any(self._problem.levels[item].scope is Scope.ROW for item in hint):
            return False
        concrete = explained_in_order(self._problem, hint, 4 * len(hint) + 200)
        if concrete:
            self._place_anew(frontier, hint, concrete)
        return bool(concrete)

    def _place_anew(self, frontier: Frontier, order: Sequence[int], choices: Mapping[int, Choices]) -> None:
        if isinstance(frontier.trace, SymbolicTrace) and not self._problem.discovery.unknown:
            # what was taken to read its newest state is said, too: nothing would hold it to that here
            trace = Trace(self._problem)
            if all(trace.place(item, choices.get(item)) is None for item in order):
                choices = {p.item: p.choices for p in trace.placements if p.choices is not None}
        frontier.rebuild(0, [(item, choices.get(item)) for item in order])
        frontier.placed = set(order)
