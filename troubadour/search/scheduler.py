"""The search for a witness (paper §4.1, §7; DESIGN §6): the hint order, its repairs, and every order of a small log.

Prefix by prefix: each transaction is placed concretely where that explains it; where it does not, later or overlapping
transactions are transposed, then the reads guessed before are reconsidered. Does not know how a failure is explained
to people.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from sql_semantics.errors import Unsupported
from troubadour.execution.free.choices import Choices
from troubadour.isolation.levels import Scope
from troubadour.search.aligned_clocks import aligned_order
from troubadour.search.along import place_along, place_guided, place_seeing
from troubadour.search.engine.engine import Contradiction as Conflict
from troubadour.search.engine.engine import Steps, contradiction_of, infer, is_for, may_contradict
from troubadour.search.engine.history import applies
from troubadour.search.engine.visibility import Unseen
from troubadour.search.exhaustive import SHORT, EveryOrder, Everything, explained_in_order
from troubadour.search.inference.effects import Accounts
from troubadour.search.inference.reachable_numbers import is_no_sum
from troubadour.search.inference.view_accounts import accounts_for
from troubadour.search.postponed import Late
from troubadour.search.problem.budget import OutOfUnits
from troubadour.search.problem.orders import is_allowed, must_precede
from troubadour.search.problem.problem import OutOfTime, Problem
from troubadour.search.repair.mending import repair
from troubadour.search.repair.moves.read_chain import read_chain
from troubadour.search.repair.placer import Frontier, out_of_place
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import Forgotten, TooManyRuns
from troubadour.search.schedule.trace import Trace
from troubadour.search.stronger_first import Tightened
from troubadour.search.symbolic.abstract_refutation import refuting_set
from troubadour.search.symbolic.cegar import Contradiction, Readings, Unresolved, refine
from troubadour.search.symbolic.trace import SymbolicTrace

SMALL = 7
"""Transactions up to which every order of a log is tried."""

FIRST_RUNS = 64
"""Readings that are tried of a transaction before the order is mended; the others after what is mended cheaply."""

FEW_TO_WAIT = 40
"""Transactions up to which none waits for later ones, but the aborted."""

SUMS = 8
"""Failures of one search of which it is asked whether numbers explain or exclude them."""

UNKNOWN_RUNS = 8
"""Readings that are tried of a transaction of unknown outcome before anybody has seen it."""

FIRST_CONTRADICTION_SECONDS = 5.0
"""Effort in which it is asked, before the order is mended for the first time, whether the log contradicts itself, in
seconds of an idle machine."""

CONTRADICTION_SECONDS = 60.0
"""Effort for the same before it is mended thoroughly."""

SMALL_CONTRADICTION = 4.0
"""Seconds spent on finding few transactions that clash where it is known already that the prefix fails."""

GUESSED_CONTRADICTION = 60.0
"""Seconds spent on it where looking at every state proves nothing, because the DBMS chose values that nobody told."""


@dataclass(slots=True)
class Found:
    """How a search ended. `failure` None: everything is placed. `verified` counts the committed transactions of the
    longest explained prefix of the hint order; `order` is the order in which the failure was met, its transaction
    last, `contradiction` the items that contradict each other under it, `every_order` whether all were excluded,
    `enumerated` whether the contradiction was found by looking at every state of a long order.
    `stopped` says what kept the search from deciding (then there is no failure). `conflict` is what the engine found to
    contradict itself, whatever the order; then there is neither."""

    trace: Trace
    verified: int
    failure: Failure | None = None
    order: list[int] = field(default_factory=list)
    contradiction: frozenset[int] | None = None
    every_order: bool = False
    enumerated: bool = False
    stopped: BaseException | None = None
    conflict: Conflict | Unseen | None = None


class Search:
    """One search over a problem; `limit` cuts the log after that many items of the hint order. A `brief` one mends no
    order: what is not explained along the hint order fails."""

    def __init__(
        self,
        problem: Problem,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
        steps: Steps | None = None,
        *,
        brief: bool = False,
    ) -> None:
        """`steps`: those of the engine."""
        self.problem = problem
        self._steps = steps
        self.frontier = Frontier(problem)
        self._limit = len(problem.statuses) if limit is None else limit
        self._judged = [item for item in problem.judged if item < self._limit]
        self._unknown = [item for item in problem.unknown if item < self._limit]
        self._untried = deque(self._unknown)
        self._progress = progress
        self._brief = brief
        self._sums_left = SUMS
        self._accounts: Accounts | None = None
        self._is_contradiction_asked = False
        self.verified = 0
        self._farthest: tuple[int, Failure, list[int]] | None = None
        self._tightened = Tightened(problem)
        self._late = Late(self.frontier)

    def run(self) -> Found:
        """Search; never raises for what stops it, but for LogError."""
        try:
            inferred = self._without_hints()
            if inferred is not None:
                return inferred
            self._tightened.tighten()
            found = self._along_hint_order()
            return self._concrete(found) if isinstance(found.trace, SymbolicTrace) else found
        except (Unsupported, OutOfTime, Unresolved) as error:
            return Found(self.frontier.trace, self.verified, stopped=error)
        except Forgotten:
            staleness = self.problem.max_staleness
            reason = f"no order was found in which only the places near the end differ (--max-staleness {staleness})"
            return Found(self.frontier.trace, self.verified, stopped=Unresolved(reason))
        finally:
            self._tightened.loosen()

    def _without_hints(self) -> Found | None:
        """Where nothing says how the transactions followed one another: in hint order as it stands, else in one that
        the engine infers; None where neither explains the log."""
        problem = self.problem
        whole = self._limit == len(problem.statuses)
        if not whole or not is_for(problem) or problem.leaves_readings_open or problem.has_usable_order:
            return None
        if len(self._judged) + len(self._unknown) <= SMALL:
            # every order of these is tried, which tells more of a failure
            return None
        if self._explained(problem.committed, waiting=0) == len(problem.committed):
            return self._all_placed()
        step = problem.budget.step
        with step("clocks aligned") as tally:
            aligned = aligned_order(problem, self._explained) is not None
            tally.helped += aligned
        if aligned:
            return self._all_placed()
        with step("engine") as tally:
            found = self._inferred()
            tally.helped += found is not None
        return found

    def _inferred(self) -> Found | None:
        """Along what the engine infers; None where that explains nothing."""
        problem = self.problem
        inferred = infer(problem, self._steps)
        if inferred.contradiction is not None:
            return Found(self._anew().trace, 0, conflict=inferred.contradiction)
        if inferred.sets and place_seeing(self._anew(), inferred.sets):
            return self._all_placed()
        for order in inferred.orders:
            if place_along(self._anew(), [(place.item, place.state) for place in order]):
                return self._all_placed()
        if inferred.known is not None and place_guided(inferred.known, self._anew):
            return self._all_placed()
        self._anew()
        return None

    def _explained(self, order: Sequence[int], waiting: int = 6) -> int:
        """Place transactions in an order; how many have a place before too many have none."""
        place_along(self._anew(), [(item, None) for item in order], waiting)
        return len(self.frontier.trace)

    def _anew(self) -> Frontier:
        self.frontier = Frontier(self.problem)
        self._late = Late(self.frontier)
        return self.frontier

    def _all_placed(self) -> Found:
        self.verified = len(self._judged)
        return Found(self.frontier.trace, self.verified)

    def _concrete(self, found: Found) -> Found:
        """The same with a trace that says which states were read."""
        symbolic = found.trace
        assert isinstance(symbolic, SymbolicTrace)
        readings, initial = symbolic.readings()
        trace = Trace(self.problem.assuming(initial) if initial else self.problem)
        for placement in symbolic.placements:
            failure = trace.place(placement.item, readings.get(placement.item))
            if failure is not None:
                raise Unresolved(f"a model was refused by the concrete run: {failure.text}")
        found.trace = trace
        return found

    def _along_hint_order(self) -> Found:
        number, late = 0, self._late
        while True:
            ended = number == len(self._judged)
            waited = late.due(None if ended else number)
            if waited is None and ended:
                break
            index = number if waited is None else waited
            if waited is None:
                self.verified = max(self.verified, late.verified(number))
                if self._progress is not None and not number & 63:
                    self._progress(number)
                number += 1
            found, again = self._advance(index, may_wait=waited is None)
            if again:
                number = 0
                late.clear()
            elif found is not None:
                return self._farthest_failure(index, found)
        self.verified = len(self._judged)
        return Found(self.frontier.trace, self.verified)

    def _advance(self, index: int, *, may_wait: bool) -> tuple[Found | None, bool]:
        """Place the item at a place in hint order, and change the order where that takes it. How the search ends where
        that fails, and whether it begins again because values are known now that the DBMS chose."""
        item = self._judged[index]
        if item in self.frontier.placed:
            return None, False
        self.frontier.first_open = self._late.verified(index)
        self._place_unknown(item)
        self.problem.free.pending.clear()
        failure = self._placed_tightly(item)
        if failure is not None and (self._brief or self.problem.levels[item].scope is Scope.ROW):
            added = self._add_up(index, failure)
            if added is not None or item in self.frontier.placed:
                return added, False
        if failure is not None and not self.problem.order_recorded:
            conflict = self._contradiction(FIRST_CONTRADICTION_SECONDS)
            if conflict is not None:
                return Found(self.frontier.trace, self.verified, conflict=conflict), False
            if self._late.verified(index) == index and self._contradicts_itself(item):
                order = [*(placement.item for placement in self.frontier.trace.placements), item]
                return Found(self.frontier.trace, index, failure, order, frozenset({item})), False
        if failure is not None and may_wait and self._may_wait(item):
            hindered = item in self.problem.aborted or failure.other is not None
            if hindered or not self._is_mended(item, thorough=False):
                self._late.wait(index, item)
                return None, False
            failure = None
        if failure is not None:
            self._note(index, failure)
            if self._rechoose():
                return None, True
            found = self._mend_or_stop(index, failure)
            if found is not None:
                return found, self._rechoose()
        self._late.place()
        self.frontier.settle()
        self._tightened.tighten()
        return None, False

    def _add_up(self, index: int, failure: Failure) -> Found | None:
        """Read those before anew where numbers tell how; how the search ends where numbers exclude the item, or where
        it is brief."""
        if self._sums_left <= 0 and not self._brief:
            return None
        self._sums_left -= 1
        if is_no_sum(self.problem, failure.item) is None:
            chain = partial(read_chain, self.frontier, failure.item)
            if not self.problem.order_recorded and self.problem.budget.attempt("mend: read a chain", chain):
                return None
            if not self._brief:
                return None
        order = [*(placement.item for placement in self.frontier.trace.placements), failure.item]
        return Found(self.frontier.trace, index, failure, order)

    def _may_wait(self, item: int) -> bool:
        """Whether an item waits until others have their places. Where statements read states of their own, those that
        come next tell more of what it saw than a thorough search without them."""
        problem = self.problem
        many = problem.has_own_states and not problem.order_recorded and len(self._judged) > FEW_TO_WAIT
        return many or item in problem.aborted

    def _placed_tightly(self, item: int) -> Failure | None:
        """Place an item, under tighter rules than its level's first; why that fails at its own."""
        failure = self.frontier.place(item, runs=FIRST_RUNS)
        rules = self._tightened
        if failure is None or not rules.some:
            return failure
        if self._brief:
            rules.loosen()
            return self.frontier.place(item, runs=FIRST_RUNS)
        if self._is_mended(item, thorough=rules.patient):
            return None
        off = rules.let_off(item)
        if off and (self.frontier.place(item, runs=FIRST_RUNS) is None or self._is_mended(item, thorough=False)):
            return None
        rules.loosen()
        return self.frontier.place(item, runs=FIRST_RUNS)

    def _is_mended(self, item: int, *, thorough: bool) -> bool:
        """Whether the order could be changed so that the item has a place; not, where that meets what is not
        modelled."""
        try:
            return repair(self.frontier, item, self._unknown, thorough=thorough)
        except Unsupported:
            return False

    def _place_unknown(self, item: int) -> None:
        """Take those of unknown outcome before an item to have happened where their observations allow it: their
        commits were sent, after all. Repair takes them back where that was wrong."""
        if self.problem.order_recorded or isinstance(self.frontier.trace, SymbolicTrace):
            return
        while self._untried and self._untried[0] < item:
            other = self._untried.popleft()
            if other not in self.frontier.placed:
                self.frontier.place(other, runs=UNKNOWN_RUNS)

    def _note(self, index: int, failure: Failure) -> None:
        """Remember the failure that the longest prefix met, before other values are guessed."""
        if self.problem.free.pending and (self._farthest is None or index > self._farthest[0]):
            order = [placement.item for placement in self.frontier.trace.placements] + [failure.item]
            self._farthest = (index, failure, order)

    def _farthest_failure(self, index: int, found: Found) -> Found:
        """Where nothing that was guessed last helps: whether the longest prefix met contradicts itself, whatever values
        the DBMS chose."""
        if self._farthest is None or self._farthest[0] <= index:
            return found
        index, failure, order = self._farthest
        try:
            contradiction = self._reconsider(order)
        except (Unresolved, Unsupported):
            return found
        if contradiction is None:
            return found
        return Found(
            self.frontier.trace, index, failure, order, contradiction.kept, enumerated=contradiction.enumerated
        )

    def _mend_or_stop(self, index: int, failure: Failure) -> Found | None:
        try:
            return self._mend(index, failure)
        except (Unresolved, Unsupported) as error:
            return Found(self.frontier.trace, self.verified, stopped=error)

    def _mend(self, index: int, failure: Failure) -> Found | None:
        """Find the item that failed a place after all; how the search ends where that fails."""
        item = self._judged[index]
        conflict = self._contradiction(CONTRADICTION_SECONDS)
        if conflict is not None:
            return Found(self.frontier.trace, self.verified, conflict=conflict)
        if self.problem.order_recorded:
            if self.frontier.place(item) is None:
                return None
        elif repair(self.frontier, item, self._unknown):
            return None
        elif self.frontier.half_tried == item:
            who = self.problem.transaction(item).id
            reason = f"no order was found that explains {who!r}, and not every state was tried that it may have read"
            return Found(self.frontier.trace, index, stopped=Unresolved(reason))
        if self.problem.free.pending:
            # what was learned on the way is tried first
            return Found(self.frontier.trace, index, stopped=Unresolved(self._guessed(item)))
        order = [placement.item for placement in self.frontier.trace.placements] + [item]
        open_choice = not self.problem.order_recorded or self._unknown
        if open_choice and len(self._judged) + len(self._unknown) <= SMALL:
            found = self._every_order(failure, order)
            if found is not None:
                return found
        if failure.other is not None:
            return self._out_of_place(index, failure, order)
        contradiction = self._reconsider(order)
        if contradiction is None or self._is_explained_as_recorded(index, order):
            return None
        return Found(
            self.frontier.trace, index, failure, order, contradiction.kept, enumerated=contradiction.enumerated
        )

    def _contradiction(self, seconds: float) -> Conflict | None:
        """What of the whole log contradicts itself, whatever the order, as far as an effort of so many seconds
        tells; None where nothing does, or it was asked."""
        problem = self.problem
        whole = self._limit == len(problem.statuses)
        if self._brief or not whole or len(self._judged) <= SMALL or not may_contradict(problem):
            return None
        if self._is_contradiction_asked:
            return None
        self._accounts = self._accounts or accounts_for(problem, problem.levels[problem.committed[0]])
        try:
            with problem.budget.step("contradiction") as tally, problem.budget.within(effort=seconds):
                found = contradiction_of(problem, self._steps, self._accounts)
                tally.helped += found is not None
        except OutOfUnits:
            return None
        self._is_contradiction_asked = True
        return found

    def _contradicts_itself(self, item: int) -> bool:
        """Whether no states give the answers of an item, whatever they hold, so that no mending helps."""
        problem, accounts = self.problem, self._accounts
        level = problem.levels[item]
        if accounts is None or item in problem.aborted or not applies(problem, level):
            return False
        return accounts.of(item).contradicts

    def _is_explained_as_recorded(self, index: int, order: list[int]) -> bool:
        """Whether the hint order explains the prefix, where it was left and the order that took its place fails; the
        prefix is placed in it then. Raises Unresolved and Unsupported where that is not known of a short one."""
        hint = self._judged[: index + 1]
        if hint == order or not is_allowed(self.problem, hint):
            return False
        if len(hint) <= SHORT:
            return self._reconsider(hint) is None
        if self.problem.discovery.unknown or any(self.problem.levels[item].scope is Scope.ROW for item in hint):
            return False
        concrete = explained_in_order(self.problem, hint, 4 * len(hint) + 200)
        if concrete:
            self._place_anew(hint, concrete)
        return bool(concrete)

    def _place_anew(self, order: Sequence[int], choices: Mapping[int, Choices]) -> None:
        if isinstance(self.frontier.trace, SymbolicTrace) and not self.problem.discovery.unknown:
            # what was taken to read its newest state is said, too: nothing would hold it to that here
            trace = Trace(self.problem)
            if all(trace.place(item, choices.get(item)) is None for item in order):
                choices = {p.item: p.choices for p in trace.placements if p.choices is not None}
        self.frontier.rebuild(0, [(item, choices.get(item)) for item in order])
        self.frontier.placed = set(order)

    def _rechoose(self) -> bool:
        """Take back those whose free values are known now, and all after them; False where nothing new is known."""
        changed = self.problem.free.apply()
        if not changed:
            return False
        placements = self.frontier.trace.placements
        base = next((n for n, placement in enumerate(placements) if placement.item in changed), len(placements))
        self.frontier.truncate(base)
        return True

    def _guessed(self, item: int) -> str:
        """Why nothing is known of an item that no guess of the free values explains."""
        key = self.problem.free.any_guess()
        assert key is not None
        chooser = self.problem.transaction(key[0]).id
        return (
            f"no choice of the values that the DBMS was free to choose (such as in transaction {chooser!r}, statement "
            f"{key[1][0] + 1}) was found that explains {self.problem.transaction(item).id!r}"
        )

    def _out_of_place(self, index: int, failure: Failure, order: list[int]) -> Found:
        """Times put another transaction before or after this one. That is a contradiction where the order is bound, or
        where they also put it the other way round; else it is only an order that was not found."""
        item, other = failure.item, failure.other
        assert other is not None
        both = must_precede(self.problem, item, other) and must_precede(self.problem, other, item)
        if self.problem.order_recorded or both:
            return Found(self.frontier.trace, index, failure, order, frozenset({item, other}))
        reason = f"no order was found that has {self.problem.transaction(item).id!r} in its place: {failure.text}"
        return Found(self.frontier.trace, index, stopped=Unresolved(reason))

    def _reconsider(self, order: list[int]) -> Contradiction | None:
        """Decide the order with all reads open; re-place it where that explains it."""
        concrete = None
        open_rows = bool(self.problem.discovery.unknown)
        if isinstance(self.frontier.trace, SymbolicTrace) and not open_rows:
            # case analysis first: readings are many here
            with suppress(Unsupported):
                refuting = refuting_set(self.problem, order)
                if refuting is not None:
                    return Contradiction(refuting)
        if not open_rows and all(self.problem.levels[item].scope is not Scope.ROW for item in order):
            # a view is one of few states, so looking at all of them is often enough
            concrete = explained_in_order(self.problem, order, 4 * len(order) + 200)
        result: Contradiction | Readings
        if concrete:
            result = Readings(concrete)
        else:
            try:
                seconds = SMALL_CONTRADICTION if self.problem.free.any_guess() is None else GUESSED_CONTRADICTION
                result = refine(self.problem, order, seconds=None if concrete is None else seconds)
            except (Unsupported, Unresolved):
                if concrete is None and not open_rows:
                    concrete = explained_in_order(self.problem, order)
                if concrete is None:
                    raise
                if not concrete and self.problem.free.any_guess() is not None:
                    raise Unresolved(self._guessed(order[-1])) from None
                result = Readings(concrete) if concrete else Contradiction(frozenset(order), enumerated=True)
        if isinstance(result, Contradiction):
            return result
        self._place_anew(order, result.choices)
        return None

    def _every_order(self, failure: Failure, order: list[int]) -> Found | None:
        """Try every order and reading; None where that is too much."""
        tried = self._tried_everything()
        if tried is None:
            return None
        explained = tried.verified == len(self._judged)
        if explained:
            self.verified = len(self._judged)
            return Found(tried.trace, self.verified)
        if self.problem.free.any_guess() is not None:
            # every order and reading, but not every value that the DBMS may have chosen
            return None
        if self.problem.discovery.unknown:
            # nor rows that nothing names
            again = EveryOrder(self.problem.in_open_world(), self._judged, self._unknown)
            try:
                if again.run() or again.verified != tried.verified:
                    return None
            except (TooManyRuns, Unsupported):
                return None
        return self._first_unexplained(tried.verified, failure, order)

    def _tried_everything(self) -> EveryOrder | Everything | None:
        """Every order and reading, tried; None where that is too much. With rows that are open, or many readings, these
        are left to the solver, if they can be."""
        ways: list[type[EveryOrder | Everything]] = [] if self.problem.discovery.unknown else [Everything]
        if isinstance(self.frontier.trace, SymbolicTrace):
            ways.insert(0, EveryOrder)
        for way in ways:
            tried = way(self.problem, self._judged, self._unknown)
            with suppress(TooManyRuns), self.problem.budget.step("every order") as tally:
                tried.run()
                tally.helped += 1
                return tried
        return None

    def _first_unexplained(self, verified: int, failure: Failure, order: list[int]) -> Found:
        """How the transaction after the longest explained prefix fails, at the end of an order of that prefix."""
        every = EveryOrder if self.problem.discovery.unknown else Everything
        prefix = every(self.problem, self._judged[:verified], self._unknown)
        item = self._judged[verified]
        if prefix.run():
            last = prefix.trace.place(item)
            for placement in prefix.trace.placements:
                if must_precede(self.problem, item, placement.item):
                    last = out_of_place(self.problem, item, placement.item, "after")
            if last is not None:
                order = [placement.item for placement in prefix.trace.placements] + [item]
                return Found(prefix.trace, verified, last, order, None, every_order=True)
        return Found(self.frontier.trace, verified, failure, order, None, every_order=True)
