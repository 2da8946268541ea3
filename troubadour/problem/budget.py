"""What an audit may spend, and what its steps spent.

A user's limit is one of wall-clock time. Every bound of a step's own is one of *units*, which follow from the log and
the options alone, so that a verdict does not hang on how busy a machine is: statements run, operands of conditions
built, the solver's own steps, and looks at the budget in loops. A unit is about a microsecond of an idle machine. Does
not know which steps there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sql_semantics.records import dataclass
from troubadour.model.bounds import OutOfTime

_T = TypeVar("_T")

SECOND = 1_000_000
"""Units that an idle machine does in about a second."""

LOOK = 20
"""Units of what is done between two looks at a budget."""

STATEMENT = 50
"""Units of running one statement concretely."""

OPERAND = 10
"""Units of an operand of a condition that is built, with what is run to build it."""

CHECK = 150
"""Units of asking the solver anything."""

SOLVER_STEPS = 2
"""Steps of the solver, by its own count, in a unit."""


FEWEST = 4
FEW = 8
SEVERAL = 16
SOME = 64
MANY = 256
HUNDREDS = 1_000
THOUSANDS = 4_000
MOST = 20_000
"""How many a step tries, looks at or keeps: transactions, states, rows, readings, placements, rounds."""

AT_ONCE = 0.25
BRIEFLY = 2.0
LONGER = 6.0
THOROUGHLY = 30.0
A_MINUTE = 60.0
"""Efforts of a step, in seconds of an idle machine."""


EACH = 0.005
"""More effort for each transaction."""

SMALL = 7
"""Transactions up to which every order of a log is tried."""


class OutOfUnits(OutOfTime):
    """A step spent what it may; the user's limit was not reached."""


@dataclass(slots=True)
class Tally:
    """What one step came to: how often it was tried and how often it gave what it is for, the units and the processor
    seconds that it spent itself, without the steps within it."""

    name: str
    tried: int = 0
    helped: int = 0
    units: int = 0
    seconds: float = 0.0


class Budget:
    """The units spent, the bounds that hold, and a tally of each step. One for an audit and all that it asks."""

    __slots__ = ("_end", "_limit", "_steps", "_tallies", "spent")

    def __init__(self, seconds: float | None = None) -> None:
        """`seconds`: the user's limit, of wall-clock time; None: there is none."""
        self.spent = 0
        self._end = None if seconds is None else time.monotonic() + seconds
        self._limit: float = float("inf")
        self._tallies: dict[str, Tally] = {}
        self._steps: list[_Open] = []

    def left(self) -> float | None:
        """Seconds of the user's limit that are left; None: there is none. Counts as a look. Raises OutOfTime where none
        are left, OutOfUnits where a step spent what it may."""
        self.spent += LOOK
        if self.spent > self._limit:
            raise OutOfUnits
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left

    def note(self, units: int) -> None:
        """Units were spent; the next look tells whether that was too much."""
        self.spent += units

    def note_operands(self, operands: int) -> None:
        """Conditions with so many operands were built."""
        self.spent += OPERAND * operands

    def spend_operands(self, operands: int) -> None:
        """The same, as a look: raises OutOfUnits where a step spent what it may, though never OutOfTime."""
        self.spent += OPERAND * operands
        if self.spent > self._limit:
            raise OutOfUnits

    def units_left(self) -> int | None:
        """Units that the innermost bound leaves, at least 1; None: there is none."""
        return None if self._limit == float("inf") else max(1, int(self._limit) - self.spent)

    @contextmanager
    def within(self, *, effort: float | None = None, seconds: float | None = None) -> Iterator[None]:
        """A look in this block raises OutOfUnits after `effort` seconds of an idle machine, counted in units, and
        OutOfTime after so many `seconds` by the clock, if bounds around it do not hold before."""
        limit, end = self._limit, self._end
        if effort is not None:
            self._limit = min(limit, self.spent + effort * SECOND)
        if seconds is not None:
            ends = time.monotonic() + seconds
            self._end = ends if end is None else min(end, ends)
        try:
            yield
        finally:
            self._limit, self._end = limit, end

    def tried(self, effort: float, step: Callable[[], _T]) -> _T | None:
        """What a step gives within an effort, in seconds of an idle machine; None where that is not enough. Bounds
        around it hold: raises OutOfUnits and OutOfTime where one of these is reached."""
        try:
            with self.within(effort=effort):
                return step()
        except OutOfUnits:
            self.left()
            return None

    def attempt(self, name: str, step: Callable[[], bool]) -> bool:
        """What a step says, with its tally: it helped where it says yes."""
        with self.step(name) as tally:
            helped = step()
            tally.helped += helped
        return helped

    @contextmanager
    def step(self, name: str) -> Iterator[Tally]:
        """The tally of a step, to which what is spent in this block is added, but for the steps within it."""
        tally = self._tallies.get(name)
        if tally is None:
            tally = self._tallies[name] = Tally(name)
        tally.tried += 1
        own = _Open(self.spent, time.process_time())
        self._steps.append(own)
        try:
            yield tally
        finally:
            self._steps.pop()
            units, seconds = self.spent - own.units, time.process_time() - own.seconds
            tally.units += units - own.units_within
            tally.seconds += seconds - own.seconds_within
            if self._steps:
                around = self._steps[-1]
                around.units_within += units
                around.seconds_within += seconds

    def tallies(self) -> tuple[Tally, ...]:
        """All steps so far, those first that spent most."""
        return tuple(sorted(self._tallies.values(), key=lambda tally: (-tally.units, tally.name)))


@dataclass(slots=True)
class _Open:
    """A step that is under way: what had been spent when it began, and what the steps within it spent."""

    units: int
    seconds: float
    units_within: int = 0
    seconds_within: float = 0.0
