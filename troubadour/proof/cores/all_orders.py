"""Whether a few transactions contradict each other in every order of a small log.

Orders that begin alike are decided together: what cannot stand at their beginning stands in none of them. Does not know
how the orders were chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sql_semantics.terms import FALSE, TRUE, Guard, conj
from troubadour.problem.budget import OutOfUnits
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.encoder import Encoder
from troubadour.solver import Answer, Session

Order = tuple[int, ...]


class InEveryOrder:
    """The orders in question; the one that explained a set last is tried first with the next. One solver serves the
    orders of one set."""

    def __init__(self, problem: Problem, orders: Iterable[Sequence[int]], seconds: float) -> None:
        """`seconds`, of an idle machine, bound the decision of one set."""
        self._problem = problem
        self._orders: list[Order] = [tuple(order) for order in orders]
        self._seconds = seconds
        self._explaining: Order | None = None

    def contradicts(self, kept: Collection[int]) -> bool | None:
        """Whether these are unsatisfiable in every order while the others may write anything; None where that could not
        be decided. Raises Unsupported and OutOfTime."""
        try:
            if self._explaining is not None and not self._decide(kept, [self._explaining]).refuted:
                return False
            decision = self._decide(kept, self._orders)
        except OutOfUnits:
            return None
        if decision.refuted:
            return None if decision.unknown else True
        self._explaining = decision.explaining
        return False

    def _decide(self, kept: Collection[int], orders: Sequence[Order]) -> _Decision:
        decision = _Decision(self._problem, kept)
        with self._problem.budget.within(effort=self._seconds):
            decision.refuted = decision.refutes(orders, 0, Answer.SATISFIABLE)
        return decision


class _Decision:
    """One set; `refuted`: no order is known to be satisfiable; `explaining` is an order that it is satisfiable in;
    `unknown`: some order could not be decided."""

    def __init__(self, problem: Problem, kept: Collection[int]) -> None:
        self._encoder = Encoder(Trace(problem), Session())
        self._kept = kept
        self.explaining: Order | None = None
        self.refuted = False
        self.unknown = False

    def refutes(self, orders: Sequence[Order], length: int, answer: Answer) -> bool:
        """Whether no order that begins as placed, and goes on as these do, is known to be satisfiable; `answer` is what
        is known of the beginning."""
        encoder = self._encoder
        following: dict[int, list[Order]] = {}
        for order in orders:
            if len(order) > length:
                following.setdefault(order[length], []).append(order)
            elif answer is Answer.SATISFIABLE:
                self.explaining = order
                return False
            else:
                self.unknown = True
        for item, longer in following.items():
            encoder.trace.problem.budget.left()
            further = answer
            if item in self._kept:
                further = self._with(conj(*encoder.keep(item).guards), answer)
            else:
                # it may write anything: what was satisfiable stays so
                encoder.leave_open(item)
            refuted = further is Answer.UNSATISFIABLE or self.refutes(longer, length + 1, further)
            encoder.take_back(length)
            if not refuted:
                return False
        return True

    def _with(self, guard: Guard, answer: Answer) -> Answer:
        """What is known of the placed ones once the last one's guard is; only what is open is asked."""
        if guard is FALSE:
            return Answer.UNSATISFIABLE
        if guard is TRUE:
            return answer
        return self._encoder.check()
