"""Readings of row-scope transactions as a DBMS with statement snapshots takes them (DESIGN §8).

Each SQL statement reads one state; the rows that it changes are tested again on their newest versions. That is a guess
at read committed, which allows far more, and nearly always the right one. Does not know whether it explains anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from troubadour.audit.problem import Problem
from troubadour.execution.concrete import Choices, ConcreteView, Execution
from troubadour.execution.history import RowHistory
from troubadour.isolation.timeline import Timeline

RECHECKS = 3
"""How often a statement's changed rows are tested again on their newest versions."""


def settled_before(problem: Problem, timeline: Timeline, item: int) -> list[int]:
    """For each statement, the newest position whose commit was answered before the statement was sent: a server that
    keeps real time shows it."""
    times = problem.times[item]
    found: list[int] = []
    for statement in problem.transaction(item).statements:
        sent = statement.invoked if statement.invoked is not None else times.asked
        found.append(0 if sent is None else timeline.answered_before(times.clock, sent))
    return found


@dataclass(slots=True)
class Constraints:
    """Depth first over the states whose rows the constraints of each execution meet, at a level with one snapshot: from
    the newest down to `low`. An execution after the statement that failed is left as it is."""

    low: int
    newest: int
    newests: dict[Execution, int] = field(default_factory=dict)

    def choices(self, state: int) -> Choices:
        """The reading to be tried next, of that snapshot or an older one that is alike."""
        return Choices(min([state, *self.newests.values()]), newest=self.newest, newests=dict(self.newests))

    def advance(self, view: ConcreteView, failing: int | None, low: int) -> bool:
        """Let the last execution meet an older state; False where none is left. `low`: the lowest snapshot that is
        alike."""
        self.low = max(self.low, low)
        for execution in sorted(view.met, reverse=True):
            if failing is not None and execution[0] > failing:
                continue
            older = view.met_since(execution, self.newests.get(execution, self.newest)) - 1
            if older >= self.low:
                self.newests = {other: state for other, state in self.newests.items() if other < execution}
                self.newests[execution] = older
                return True
        return False


@dataclass(slots=True)
class Snapshots:
    """Depth first over the state that each execution reads, the newest first; what an execution reads from is changed
    only where an observation at or after it failed. `lowest` bounds them per statement."""

    high: int
    lowest: list[int]
    masks: list[frozenset[int]]
    recheck: bool
    _states: dict[Execution, int] = field(default_factory=dict)

    def choices(self, exceptions: dict[tuple[int, int, str], int] | None = None) -> Choices:
        """The reading to be tried next."""
        return Choices(self.high, exceptions, self.masks, dict(self._states))

    def rechecked(self, view: ConcreteView, exceptions: dict[tuple[int, int, str], int]) -> bool:
        """Take the newest versions of the rows that were changed in an older one; False where there are none."""
        if not self.recheck:
            return False
        found = False
        for (statement, execution, row), position in view.reads.items():
            if (statement, execution, row) not in view.changed:
                continue
            newest = row.changed_at(self.high)
            while newest in self.masks[statement]:
                newest = row.changed_at(newest - 1)
            if newest > position:
                exceptions[statement, execution, row.address] = newest
                found = True
        return found

    def advance(self, view: ConcreteView, failing: int | None) -> bool:
        """Let the last execution up to the failing statement read from an older state; False where none is left."""
        newest: dict[Execution, int] = {}
        for (statement, execution, row), _ in view.reads.items():
            unit = statement, execution
            state = self._states.get(unit, self.high)
            newest[unit] = max(newest.get(unit, 0), self._changed(row, state, statement))
        for unit in sorted(newest, reverse=True):
            if failing is not None and unit[0] > failing:
                continue
            older = newest[unit] - 1
            if older >= self.lowest[unit[0]]:
                self._states = {other: state for other, state in self._states.items() if other < unit}
                self._states[unit] = older
                return True
        return False

    def _changed(self, row: RowHistory, state: int, statement: int) -> int:
        position = row.changed_at(state)
        while position in self.masks[statement]:
            position = row.changed_at(position - 1)
        return position


def readings(
    problem: Problem, timeline: Timeline, item: int, high: int, masked: list[frozenset[int]] | None
) -> Iterator[Snapshots]:
    """The searches to go through in turn: as a server in real time with rechecks, and without either."""
    count = len(problem.prepared(item).statements)
    masks = masked or [frozenset() for _ in range(count)]
    yield Snapshots(high, settled_before(problem, timeline, item), masks, recheck=True)
    yield Snapshots(high, [0] * count, masks, recheck=True)
    yield Snapshots(high, [0] * count, masks, recheck=False)
