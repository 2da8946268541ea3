"""The search for a witness (paper §4.1, §7): the hint order, its repairs, and every order of a small log.

Prefix by prefix: each transaction is placed concretely where that explains it; where it does not, the order near it is
mended, and the reads guessed before are reconsidered. Does not know how a failure is explained to people.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import inf

from sql_semantics.errors import Unsupported
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.facts.sql.effects import Accounts
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.isolation.levels import Scope
from troubadour.order.engine import Conflict, Steps, certain_of, completed, may_contradict
from troubadour.order.history import applies
from troubadour.order.rows.balance import may_be_unbalanced
from troubadour.order.rows.propagation import MOST_KNOWN, RowContradiction, Rows
from troubadour.order.saturation import Known
from troubadour.problem.budget import A_MINUTE, BRIEFLY, FEW, LONGER, MANY, SEVERAL, SMALL, SOME, THOROUGHLY, OutOfUnits
from troubadour.problem.orders import is_only_order, must_precede
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.exact import Exact, untold_choice
from troubadour.search.found import Found
from troubadour.search.inference.values.reachable_numbers import is_no_sum
from troubadour.search.likely_order import in_turns, locks_all
from troubadour.search.postponed import Late
from troubadour.search.repair.mending import repair, repair_nearby
from troubadour.search.repair.moves.read_chain import read_chain
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import SEMANTIC, UNSUPPORTED, Forgotten
from troubadour.search.schedule.trace import Trace
from troubadour.search.stronger_first import Tightened
from troubadour.search.symbolic.cegar import Unresolved
from troubadour.search.symbolic.trace import SymbolicTrace
from troubadour.search.unhinted import THOROUGH, Unhinted

FEW_TO_WAIT = 40
"""Transactions up to which none waits for later ones along the hint order, but the aborted, and up to which no order is
looked for that goes by the turns of sessions instead."""

ROWS_SECONDS_EACH = 0.007

KNOWN_SECONDS = THOROUGHLY
"""Effort for following an order that has all that the engine knows, in seconds of an idle machine."""


class Search:
    """One search over a problem; `limit` cuts the log after that many items of the hint order. A `brief` one mends no
    order: what is not explained along the hint order fails. One that stays `near` mends it briefly only."""

    def __init__(
        self,
        problem: Problem,
        limit: int | None = None,
        progress: Callable[[int], None] | None = None,
        steps: Steps | None = None,
        *,
        brief: bool = False,
        near: bool = False,
        order: Sequence[int] | None = None,
    ) -> None:
        """`steps`: those of the engine; `order`: what takes the place of the hint order, if that is given."""
        self.problem = problem
        self._steps = steps
        self.frontier = Frontier(problem)
        self._limit = len(problem.statuses) if limit is None else limit
        self._hinted = [item for item in problem.judged if item < self._limit]
        self._judged = self._hinted if order is None else list(order)
        self._first_open = 0
        self._unknown = [item for item in problem.unknown if item < self._limit]
        self._is_whole = self._limit == len(problem.statuses)
        self._exact = Exact(problem, self._judged, self._unknown)
        self._untried = deque(self._unknown)
        self._progress = progress
        self._brief = brief
        self._rows_asked = False
        self._near = near
        self._sums_left = FEW
        self._unhinted = Unhinted(problem, steps)
        self._accounts: Accounts | None = None
        self._known: Known | None = None
        self._contradiction_asked = 0.0
        self._unlikely = 0
        self._turns_left = True
        self.verified = 0
        self._farthest: tuple[int, Failure, list[int]] | None = None
        self._mended: Failure | None = None
        self._tightened = Tightened(problem)
        self._late = Late(self.frontier, None) if self._is_patient else Late(self.frontier)

    def run(self) -> Found:
        """Search; never raises for what stops it, but for LogError."""
        try:
            is_asked = self._is_whole and not self._near
            inferred = self._unhinted.run(self._nearby) if is_asked else None
            if inferred is not None:
                self.verified = inferred.verified
                return inferred
            found = self._in_turns() if is_asked and locks_all(self.problem) else None
            if found is not None:
                return found
            self._tightened.tighten()
            found = self._along_hint_order()
            return self._concrete(found) if isinstance(found.trace, SymbolicTrace) else found
        except (Unsupported, OutOfTime, Unresolved) as error:
            return Found(self.frontier.trace, self.verified, stopped=error, mended=self._mended)
        except Forgotten:
            staleness = self.problem.max_staleness
            reason = f"no order was found in which only the places near the end differ (--max-staleness {staleness})"
            return Found(self.frontier.trace, self.verified, stopped=Unresolved(reason))
        finally:
            self._tightened.loosen()

    def _in_turns(self) -> Found | None:
        """How a search ends along the ends of transactions that keep their locks, once; None where that does not
        explain the log, or is the hint order."""
        problem = self.problem
        usable = self._is_whole and not (self._brief or self._near or problem.order_recorded)
        usable = usable and self._turns_left and not problem.leaves_readings_open
        self._turns_left = False
        turns = in_turns(problem) if usable else None
        if turns is None or turns == self._judged:
            return None
        with problem.budget.step("turns of locks") as tally:
            found = self._nearby(turns)
            tally.helped += found is not None
        return found

    def _nearby(self, order: Sequence[int] | None = None) -> Found | None:
        """How a search ends that mends the hint order, or another one, briefly only; None where that does not explain
        the log."""
        with self.problem.with_own_values() as values:
            search = Search(self.problem, steps=self._steps, near=True, order=order)
            try:
                found = search._along_hint_order()
                values.kept = found.is_explained
            finally:
                search._tightened.loosen()
        return found if values.kept else None

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
        self.frontier.first_open = self._placed_in_hint_order(index)
        self._place_unknown(item)
        self.problem.free.pending.clear()
        if may_wait and self._waits_at_once(item):
            self._late.wait(index, item)
            return None, False
        may_wait = may_wait and self._may_wait(item)
        placed = None if item in self.frontier.placed else self._placed_tightly(item)
        if isinstance(placed, Found):
            return placed, False
        failure = self._mended = placed
        if failure is not None and self._has_one_state(item, failure):
            order = [*(placement.item for placement in self.frontier.trace.placements), item]
            return Found(self.frontier.trace, index, failure, order), False
        if failure is not None and (self._brief or self.problem.levels[item].scope is Scope.ROW):
            added = self._add_up(index, failure)
            if added is not None or item in self.frontier.placed:
                return added, False
        waits_first = item in self.problem.aborted or (failure is not None and failure.other is not None)
        if failure is not None and may_wait and (waits_first or self._is_patient):
            self._late.wait(index, item)
            return None, False
        if failure is not None and self._is_mended_nearby(item):
            failure = None
        if failure is not None and self._near:
            if may_wait:
                self._late.wait(index, item)
                return None, False
            return Found(self.frontier.trace, index, failure), self._rechoose()
        if failure is not None and not self.problem.order_recorded:
            conflict = self._contradiction(LONGER)
            if conflict is not None:
                return Found(self.frontier.trace, self.verified, conflict=conflict), False
            if self._late.verified(index) == index and self._contradicts_itself(item):
                order = [*(placement.item for placement in self.frontier.trace.placements), item]
                return Found(self.frontier.trace, index, failure, order, frozenset({item})), False
        if failure is not None and may_wait:
            if not self._is_mended(item, thorough=False):
                self._late.wait(index, item)
                return None, False
            failure = None
        if failure is not None:
            self._note(index, failure)
            if self._rechoose():
                return None, True
            found = self._mend_or_stop(index, failure)
            if found is not None:
                return found, not found.is_explained and self._rechoose()
        self._mended = None
        self._late.place()
        self.frontier.settle()
        if not self._is_followed:
            # commit times and real time are what an inferred order does not keep
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

    @property
    def _is_followed(self) -> bool:
        """Whether the order was inferred."""
        return self._judged is not self._hinted

    @property
    def _is_patient(self) -> bool:
        """Whether what has no place along an order that was inferred waits for all others, as each reads one state."""
        return self._is_followed and self.problem.reads_whole_states

    def _may_wait(self, item: int) -> bool:
        """Whether an item waits until others have their places. Where statements read states of their own, those that
        come next tell more of what it saw than a thorough search without them; and an order that was inferred does not
        know what was seen of rows that no key names."""
        problem = self.problem
        if self._is_patient:
            return item in problem.aborted or len(self._late) < SEVERAL
        many = problem.has_own_states and not problem.order_recorded and len(self._judged) > FEW_TO_WAIT
        return many or item in problem.aborted

    def _is_mended_nearby(self, item: int) -> bool:
        """Whether the order could be changed so that an item has a place, before it is asked whether there is any: that
        takes longer, and most failures of logs that are correct need no more. Where statements read states of their
        own only what is near the item is changed: the rest takes longer still."""
        problem = self.problem
        if problem.order_recorded or self._brief or isinstance(self.frontier.trace, SymbolicTrace):
            return False
        if problem.free.pending:
            # what was learned of values that the DBMS chose is tried first
            return False
        if not problem.has_own_states:
            return self._is_mended(item, thorough=False)
        try:
            return repair_nearby(self.frontier, item, self._unknown)
        except Unsupported:
            return False

    def _placed_tightly(self, item: int) -> Failure | Found | None:
        """Place an item, under tighter rules than its level's first; why that fails at its own, or how the search ends
        that goes by the turns of sessions instead."""
        if self._is_likely(item):
            return None
        failure = self.frontier.place(item, runs=SOME)
        rules = self._tightened
        if failure is None or not rules.some:
            return failure
        if self._brief or self._has_one_state(item, failure):
            rules.loosen()
            return self.frontier.place(item, runs=SOME)
        goes_by_sessions = rules.patient and self._goes_by_sessions()
        if self._is_mended(item, thorough=rules.patient and not goes_by_sessions):
            return None
        if goes_by_sessions:
            with rules.loosened():
                explained = self._along_sessions()
            if explained is not None:
                return explained
            if self._is_mended(item, thorough=True):
                return None
        off = rules.let_off(item)
        if off and (self.frontier.place(item, runs=SOME) is None or self._is_mended(item, thorough=False)):
            return None
        rules.loosen()
        return self.frontier.place(item, runs=SOME)

    def _has_one_state(self, item: int, failure: Failure) -> bool:
        """Whether nothing overlaps an item, nor those before it, all of which happened, so that no mending helps. Not
        where some of these come after it in the hint order: the prefix up to it may be explained without them."""
        trace = self.frontier.trace
        if self._is_followed or failure.condition not in SEMANTIC or isinstance(trace, SymbolicTrace):
            return False
        open_choice = self.problem.free.pending or not self.frontier.placed.isdisjoint(self._unknown)
        if open_choice or item in self.problem.aborted:
            return False
        placed = (one.item for one in reversed(trace.placements) if one.item not in self.problem.aborted)
        if not is_only_order(self.problem, item, placed):
            return False
        # not where the DBMS may have chosen otherwise
        return not any(one.item > item or one.ways or one.drawn for one in trace.placements)

    def _is_likely(self, item: int) -> bool:
        """Where each row read may be of a state of its own, whether the item has a place as servers would have it, also
        where an earlier one read otherwise than it was first taken to. Some go without."""
        problem = self.problem
        if not self._prefers_likely(item):
            return False
        if self.frontier.place(item, likely=True) is None:
            return True
        reread = partial(self.frontier.place_rereading, item)
        if problem.budget.attempt("mend: read what is touched anew", reread):
            return True
        self._unlikely += 1
        return False

    def _prefers_likely(self, item: int) -> bool:
        """Whether an item is read as servers would have it, if it can be."""
        problem = self.problem
        usable = not (problem.order_recorded or self._brief or isinstance(self.frontier.trace, SymbolicTrace))
        if not usable or problem.levels[item].scope is not Scope.ROW or not problem.heuristics.stronger_first:
            return False
        allowed = SEVERAL + len(self.frontier.trace) // MANY
        return len(self._judged) > FEW_TO_WAIT and self._unlikely < allowed

    def _waits_at_once(self, item: int) -> bool:
        """Whether an item that only reads has no place as servers would have it: those that come next may be what it
        saw, and no other transaction needs it."""
        problem = self.problem
        programs = [statement.program for statement in problem.prepared(item).statements]
        if any(program is None or program.can_write() for program in programs):
            return False
        if not self._prefers_likely(item) or problem.levels[item].session or problem.levels[item].real_time:
            return False
        return self.frontier.place(item, likely=True) is not None

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
                self.frontier.place(other, runs=FEW)

    def _note(self, index: int, failure: Failure) -> None:
        """Remember the failure that the longest prefix met, before other values are guessed."""
        if self.problem.free.pending and (self._farthest is None or index > self._farthest[0]):
            order = [placement.item for placement in self.frontier.trace.placements] + [failure.item]
            self._farthest = (index, failure, order)

    def _farthest_failure(self, index: int, found: Found) -> Found:
        """Where nothing that was guessed last helps: whether the longest prefix met contradicts itself, whatever values
        the DBMS chose."""
        if found.is_explained or self._farthest is None or self._farthest[0] <= index:
            return found
        index, failure, order = self._farthest
        try:
            contradiction = self._exact.reconsider(self.frontier, order)
        except (Unresolved, Unsupported):
            return found
        if contradiction is None:
            return found
        return Found(
            self.frontier.trace, index, failure, order, contradiction.kept, enumerated=contradiction.enumerated
        )

    def _placed_in_hint_order(self, index: int) -> int:
        """How many of the hint order are placed without a gap, where those before an index of the order had their
        turn."""
        if not self._is_followed:
            return self._late.verified(index)
        self._first_open = min(self._first_open, index)
        while self._first_open < index and self._hinted[self._first_open] in self.frontier.placed:
            self._first_open += 1
        return self._first_open

    def _mend_or_stop(self, index: int, failure: Failure) -> Found | None:
        try:
            return self._mend(index, failure)
        except Unresolved as error:
            return Found(self.frontier.trace, self.verified, stopped=error)
        except Unsupported as error:
            return Found(self.frontier.trace, self.verified, stopped=self._own_reason(failure) or error)

    def _own_reason(self, failure: Failure) -> Unsupported | None:
        """What is not modelled of the item that failed, if that is why: what mending met elsewhere may be modelled."""
        if failure.condition != UNSUPPORTED or failure.statement is None:
            return None
        return UnsupportedStatement(failure.text, self.problem.transaction(failure.item).id, failure.statement)

    def _mend(self, index: int, failure: Failure) -> Found | None:
        """Find the item that failed a place after all; how the search ends where that fails."""
        item = self._judged[index]
        is_open = self.problem.has_own_states and self._contradiction_asked < A_MINUTE
        if is_open and not self.problem.order_recorded and self._is_mended(item, thorough=False):
            return None
        conflict = self._contradiction(A_MINUTE)
        if conflict is not None:
            return Found(self.frontier.trace, self.verified, conflict=conflict)
        explained = self._in_turns() or self._along_known() or self._along_sessions()
        if explained is not None:
            return explained
        if self.problem.order_recorded:
            if self.frontier.place(item) is None:
                return None
        elif repair(self.frontier, item, self._unknown):
            return None
        elif self.frontier.half_tried == item:
            one = self.problem.transaction(item).id
            reason = f"no order was found that explains {one!r}, and not every state was tried that it may have read"
            return Found(self.frontier.trace, index, stopped=Unresolved(reason))
        if self.problem.free.pending:
            # what was learned on the way is tried first
            return Found(self.frontier.trace, index, stopped=Unresolved(untold_choice(self.problem, item)))
        order = [placement.item for placement in self.frontier.trace.placements] + [item]
        open_choice = not self.problem.order_recorded or self._unknown
        if open_choice and len(self._judged) + len(self._unknown) <= SMALL:
            found = self._exact.every_order(self.frontier, failure, order)
            if found is not None:
                return found
        if failure.other is not None:
            return self._out_of_place(index, failure, order)
        contradiction = self._exact.reconsider(self.frontier, order)
        if contradiction is None or self._exact.is_explained_as_recorded(self.frontier, index, order):
            return None
        return Found(
            self.frontier.trace, index, failure, order, contradiction.kept, enumerated=contradiction.enumerated
        )

    def _contradiction(self, seconds: float) -> Conflict | None:
        """What of the whole log contradicts itself, whatever the order, as far as an effort of so many seconds
        tells; None where nothing does, or as much effort was spent before."""
        problem = self.problem
        if self._brief or not self._is_whole or len(self._judged) <= SMALL or not may_contradict(problem):
            return None
        if self._contradiction_asked >= seconds:
            return None
        self._contradiction_asked = seconds
        # a circle of what is read by key names two or three
        return self._unbalanced(seconds) or self._keys_contradict(seconds) or self._rows_contradict()

    def _unbalanced(self, seconds: float) -> Conflict | None:
        """A row whose versions do not add up, of more transactions than keys or all rows tell of: these tell of a
        shorter prefix."""
        problem = self.problem
        if not MOST_KNOWN < len(problem.committed) <= (self._steps or Steps()).events:
            return None
        self._accounts = self._accounts or accounts_for(problem, problem.levels[problem.committed[0]])
        try:
            with problem.budget.step("balance") as tally, problem.budget.within(effort=seconds):
                seems = may_be_unbalanced(self._accounts, problem.committed)
                conflict = self._rows.imbalance() if seems else None
                tally.helped += conflict is not None
        except OutOfUnits:
            return None
        return None if conflict is None else RowContradiction(self._rows, conflict)

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self.problem)

    def _keys_contradict(self, seconds: float) -> Conflict | None:
        """Whether what is read by key contradicts itself whatever the order."""
        problem = self.problem
        self._accounts = self._accounts or accounts_for(problem, problem.levels[problem.committed[0]])
        try:
            with problem.budget.step("contradiction") as tally, problem.budget.within(effort=seconds):
                found = certain_of(problem, self._steps, self._accounts)
                tally.helped += found.contradiction is not None
        except OutOfUnits:
            return None
        self._contradiction_asked = inf
        self._known = found.known
        return found.contradiction

    def _rows_contradict(self) -> Conflict | None:
        """Whether the answers about rows contradict each other whatever the order, looked at once."""
        problem = self.problem
        if self._rows_asked:
            return None
        self._rows_asked = True
        effort = BRIEFLY + ROWS_SECONDS_EACH * len(self._judged)
        try:
            with problem.budget.step("rows") as tally, problem.budget.within(effort=effort):
                derived = self._rows.derive()
                conflict = None if derived is None else derived.conflict
                tally.helped += conflict is not None
        except OutOfUnits:
            problem.budget.left()
            return None
        return None if conflict is None else RowContradiction(self._rows, conflict)

    def _along_known(self) -> Found | None:
        """How the search ends that follows an order which has all that is known, once, with brief mending; None where
        that does not explain the log."""
        problem, known, self._known = self.problem, self._known, None
        if known is None:
            return None

        def explained() -> Found | None:
            order = completed(known, self._steps)
            return None if order is None else self._nearby(_with_aborted(order, problem.judged))

        with problem.budget.step("engine's order") as tally:
            found = problem.budget.tried(KNOWN_SECONDS, explained)
            tally.helped += found is not None
        return found

    def _along_sessions(self) -> Found | None:
        """How the search ends that goes by the turns of sessions and by clients' clocks only: the hint order may be
        wrong. None where that is not tried, or does not explain the log."""
        return self._unhinted.along_sessions(THOROUGH) if self._goes_by_sessions() else None

    def _goes_by_sessions(self) -> bool:
        """Whether that is tried, and was not before: not of a short log, not where each statement reads for itself, and
        not where keys tell what was read: then the engine knows an order, if there is one."""
        problem, unhinted = self.problem, self._unhinted
        usable = self._is_whole and not (self._brief or self._near or problem.order_recorded)
        usable = usable and problem.reads_whole_states and len(self._judged) > FEW_TO_WAIT
        return usable and unhinted.is_left(THOROUGH) and not unhinted.keys_tell()

    def _contradicts_itself(self, item: int) -> bool:
        """Whether no states give the answers of an item, whatever they hold, so that no mending helps."""
        problem, accounts = self.problem, self._accounts
        level = problem.levels[item]
        if accounts is None or item in problem.aborted or not applies(problem, level):
            return False
        return accounts.of(item).contradicts

    def _rechoose(self) -> bool:
        """Take back those whose free values are known now, and all after them; False where nothing new is known."""
        changed = self.problem.free.apply()
        if not changed:
            return False
        placements = self.frontier.trace.placements
        base = next((n for n, placement in enumerate(placements) if placement.item in changed), len(placements))
        self.frontier.truncate(base)
        return True

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


def _with_aborted(order: Sequence[int], judged: Sequence[int]) -> list[int]:
    """Items in an order, with those that are judged besides, each after the one before it in hint order."""
    placed = set(order)
    following: dict[int | None, list[int]] = defaultdict(list)
    last: int | None = None
    for item in judged:
        if item in placed:
            last = item
        else:
            following[last].append(item)
    return [*following[None], *(one for item in order for one in (item, *following.get(item, ())))]
