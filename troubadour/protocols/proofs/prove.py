"""Obligations decided: by ground instances, else with quantifiers, each proof twice (VerIso §8 trusts a kernel; Z3 has
none). *Unknown* is never a proof, and what is not proved is not refuted. Does not know where obligations come from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum

from sql_semantics.records import dataclass
from troubadour.protocols.proofs.ground import Instances, elements_in
from troubadour.protocols.proofs.obligations import Obligation, negated
from troubadour.protocols.terms import FALSE, Term
from troubadour.solver.protocols import Budget, Reading
from troubadour.solver.session import Answer

STEPS = 4_000_000
"""Z3's own steps that one question about ground instances may take."""
STEPS_QUANTIFIED = 1_500_000
"""The same with quantifiers, a second try only: all proofs of the shipped models are by ground instances."""
INSTANCES = 60_000
"""Instances of quantified conditions beyond which ground instances are given up."""
ROUNDS = 2
"""How often the elements that instances name are instantiated themselves."""
SECOND_SEED = 20_011


class Way(Enum):
    """How a proof was found."""

    UNCHANGED = "what the event changes is not in it"
    GROUND = "ground instances"
    QUANTIFIED = "quantifiers"
    NOT = "not proved"


@dataclass(frozen=True)
class Decided:
    """An obligation and how it was proved; `reason` where it was not."""

    obligation: Obligation
    way: Way
    seconds: float
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether it was, by two decisions."""
        return self.way is not Way.NOT


class OutOfTime(Exception):
    """The time limit was reached."""


class Clock:
    """What is left of a time limit; None: all the time."""

    def __init__(self, seconds: float | None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds

    def part(self, share: float) -> Clock:
        """A clock that has this share of what is left."""
        return Clock(None if self._until is None else share * (self._until - time.monotonic()))

    def left(self, most: float = 60.0) -> float:
        """Seconds left, at most so many. Raises OutOfTime where there are none."""
        if self._until is None:
            return most
        left = self._until - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return min(left, most)


Second = Callable[[str, float], Answer]
"""Another solver: a question in SMT-LIB, and the seconds that it may take."""


class Prover:
    """Decides obligations that share their invariants. `second`: what decides a second time; None: another seed."""

    def __init__(self, invariants: Sequence[Term], clock: Clock, second: Second | None = None) -> None:
        self._second = second
        self._invariants = tuple(invariants)
        self._clock = clock
        self._reading = Reading()
        self._instances = Instances(clock.left)

    def decide(self, one: Obligation) -> Decided:
        """Raises OutOfTime where the clock does."""
        begun = time.perf_counter()
        way, reason = self._decided(one)
        return Decided(one, way, time.perf_counter() - begun, reason)

    def _decided(self, one: Obligation) -> tuple[Way, str]:
        against = negated(one)
        if against is FALSE:
            return Way.UNCHANGED, ""
        universal = (*one.given, *(self._invariants if one.invariants else ()))
        tried: set[tuple[Term, ...]] = set()
        reason = ""
        for chosen in self._choices(universal, one, against):
            if tuple(chosen) in tried:
                continue
            tried.add(tuple(chosen))
            conditions = self._instances.of((*universal, against), chosen, INSTANCES)
            if conditions is None:
                reason = "more instances than are tried"
                break
            answer = self._twice(conditions, STEPS)
            if answer is Answer.UNSATISFIABLE:
                return Way.GROUND, ""
            reason = "ground instances do not contradict it" if answer is Answer.SATISFIABLE else self._reading.reason
        answer = self._twice((*universal, against), STEPS_QUANTIFIED)
        if answer is Answer.UNSATISFIABLE:
            return Way.QUANTIFIED, ""
        return Way.NOT, f"{reason}; with quantifiers: {self._said(answer)}"

    def _said(self, answer: Answer) -> str:
        return "satisfiable" if answer is Answer.SATISFIABLE else f"unknown ({self._reading.reason})"

    def _choices(self, universal: Sequence[Term], one: Obligation, against: Term) -> Sequence[Sequence[Term]]:
        """Which elements are instantiated, fewer first: those that the obligation names, those that functions of
        these give, those that instances name."""
        own = elements_in((against, *one.given))
        names = [element for element in own if element.op == "var"]
        return _Growing(names, own, lambda chosen: self._instances.of((*universal, against), chosen, INSTANCES))

    def _twice(self, conditions: Sequence[Term], steps: int) -> Answer:
        """Unsatisfiable only where a second decision with another seed and order says so, too."""
        answer = self._reading.decide(conditions, Budget(steps, self._clock.left()))
        if answer is Answer.UNSATISFIABLE:
            answer = self._again(conditions, steps)
            if answer is not Answer.UNSATISFIABLE:
                self._reading.reason = f"the second decision did not confirm it: {answer.value}"
                return Answer.UNKNOWN
        self._clock.left()
        return answer

    def _again(self, conditions: Sequence[Term], steps: int) -> Answer:
        if self._second is not None:
            return self._second(self._reading.text(conditions), self._clock.left())
        return self._reading.decide(conditions, Budget(steps, self._clock.left()), SECOND_SEED)


class _Growing(Sequence[Sequence[Term]]):
    """The choices of elements, each found when it is asked for."""

    def __init__(
        self, names: Sequence[Term], own: Sequence[Term], instances: Callable[[Sequence[Term]], Sequence[Term] | None]
    ) -> None:
        self._chosen: list[Sequence[Term]] = [names, own]
        self._instances = instances

    def __len__(self) -> int:
        return 2 + ROUNDS

    def __getitem__(self, place: int) -> Sequence[Term]:  # type: ignore[override]
        if place >= len(self):
            raise IndexError
        while len(self._chosen) <= place:
            last = self._chosen[-1]
            made = self._instances(last)
            self._chosen.append(last if made is None else sorted_elements(last, elements_in(made)))
        return self._chosen[place]


def sorted_elements(known: Sequence[Term], more: Sequence[Term]) -> list[Term]:
    """The known elements, and those that are new: names before what functions give."""
    have = set(known)
    return [*known, *(one for one in more if one not in have)]
