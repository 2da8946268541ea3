"""Readings of row-scope transactions as a DBMS with statement snapshots takes them.

Each SQL statement reads one state; the rows that it changes are tested again on their newest versions. That is a guess
at read committed, which allows far more, and nearly always the right one. Does not know whether it explains anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sql_semantics.records import dataclass, field
from troubadour.execution.free.choices import Choices, Execution
from troubadour.execution.states.history import RowHistory
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.statementwise import StatementView
from troubadour.isolation.timeline import Timeline
from troubadour.isolation.times import Times, was_there
from troubadour.problem.budget import MANY
from troubadour.problem.problem import Problem


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


def bounds(timeline: Timeline, states: StateMap, times: Times, oldest: int = 0) -> tuple[list[int], list[int]]:
    """The lowest and the highest state that each statement of a transaction to be placed next can have read on a server
    that keeps real time: it has what was answered before the statement was sent, nothing sent after its answer. Where
    those stand that wrote nothing does not matter. Never one before the `oldest`."""
    lows: list[int] = []
    for put in times.put:
        low = len(timeline.times)
        while low > oldest and not (states.written_at(low) and was_there(timeline.times[low - 1], times, put)):
            low -= 1
        lows.append(low)
    later = [
        [position for position in timeline.sent_later(times, number) if states.written_at(position)]
        for number in range(len(times.got))
    ]
    return lows, [min(positions) - 1 if positions else len(timeline.times) for positions in later]


def likely(timeline: Timeline, states: StateMap, times: Times, lows: list[int], highs: list[int]) -> list[int]:
    """For each statement the state that it read if it took its snapshot soon after it was sent, and if commits became
    visible shortly before they were answered: where it waited for a lock, much will have been committed since."""
    found: list[int] = []
    for put, low, high in zip(times.put, lows, highs, strict=True):
        state = high
        if put is not None:
            soon = put + MANY
            while state > low and not (states.written_at(state) and was_there(timeline.times[state - 1], times, soon)):
                state -= 1
        found.append(max(state, found[-1]) if found else state)
    return found


@dataclass(slots=True)
class Executions:
    """Depth first over the states that each execution reads and those whose rows its constraints meet, the newest
    first. An execution's states go no further back than `lows` of its statement and the execution before it. One that
    reads row by row lasts from the oldest state that it can to that of `lasts`, and takes each row from a state of its
    own in between.

    What a statement and those after it do hangs on what was written before it and on the states that they read, hardly
    ever on those of the statements before. So with `learns` states that were gone through once after the same writes
    are passed over; not every reading is looked at then."""

    lows: list[int]
    highs: list[int]
    masked: list[frozenset[int]] | None
    map: StateMap
    lasts: list[int]
    learns: bool = False
    sweeps: bool = False
    _swept: dict[Execution, int] = field(default_factory=dict)
    states: dict[Execution, int] = field(default_factory=dict)
    _newests: dict[Execution, int] = field(default_factory=dict)
    _moments: dict[Execution, dict[RowHistory, int]] = field(default_factory=dict)
    _asides: dict[Execution, int] = field(default_factory=dict)
    _explored: dict[tuple[int, object], int] = field(default_factory=dict)
    """By a statement and what was written before it, the oldest state down to which it was gone through."""

    def choices(self) -> Choices:
        """The reading to be tried next."""
        newest = max(self.highs, default=0)
        exceptions = {
            (*execution, row.address): state for execution, rows in self._moments.items() for row, state in rows.items()
        }
        return Choices(
            newest,
            exceptions,
            self.masked,
            dict(self.states),
            None,
            dict(self._newests),
            defaults=self.highs,
            acting=self.lasts,
            asides=self._asides,
        )

    def open_rows(self, view: StatementView, execution: Execution, low: int) -> list[RowHistory]:
        """What an execution that reads row by row looked at and that changed while it lasted."""
        last = self.lasts[execution[0]]
        looked = view.looked_at(execution)
        found = dict.fromkeys(row for row in looked.rows if row.changed_at(last) > low)
        if looked.tables:
            for position in range(low + 1, last + 1):
                found.update((row, None) for row in self.map.written_at(position) if row.table in looked.tables)
        return sorted(found, key=lambda row: row.address)

    def lowest(self, view: StatementView) -> dict[Execution, int] | None:
        """The oldest states that the executions of a run may read to look the same, in the order of their running; None
        where their own states cannot follow one another."""
        found: dict[Execution, int] = {}
        before = 0
        for execution, state in view.states_read():
            before = max(before, self.lows[execution[0]])
            in_moments = view.is_by_row(execution)
            aside = view.aside_since(execution) if in_moments else None
            if aside is not None:
                state = aside[0]
                before = max(before, aside[1])
            if not in_moments:
                before = max(before, view.same_since(execution, state))
            if before > state:
                return None
            found[execution] = before
            if in_moments:
                before = max(before, view.kept_until(execution))
        return found

    def explicit(self, view: StatementView) -> Choices | None:
        """What was read, execution by execution; None where their states cannot follow one another."""
        states = self.lowest(view)
        if states is None:
            return None
        read = dict(view.states_read())
        newests = {execution: self._newests.get(execution, self._last(view, execution)) for execution in view.met}
        exceptions = {
            (*execution, row.address): self._moments.get(execution, {}).get(row, read[execution])
            for execution, state in states.items()
            if view.is_by_row(execution)
            for row in self.open_rows(view, execution, state)
        }
        if any(state < states[statement, execution] for (statement, execution, _), state in exceptions.items()):
            # a row is met after the snapshot beside it
            return None
        return Choices(max(self.highs, default=0), exceptions, statements=states, newests=newests)

    def advance(self, view: StatementView, failing: int | None) -> bool:
        """Set up the next reading: the last execution up to the failing statement takes an older state; False where
        none is left."""
        before = 0
        floors: list[tuple[Execution, int, int, int]] = []
        in_turn = True
        for execution, state in view.states_read():
            floor = max(before, self.lows[execution[0]])
            in_moments = view.is_by_row(execution)
            since = floor if in_moments else view.same_since(execution, state)
            floors.append((execution, state, floor, since))
            before = max(floor, view.kept_until(execution) if in_moments else since)
            if before > state:
                in_turn = False
                break
        alone = self._alone(floors, view) if self.learns and in_turn else {}
        for execution, _, floor, since in reversed(floors):
            if failing is not None and execution[0] > failing:
                continue
            if self._meet_older(view, execution, max(floor, since)):
                return True
            if view.is_by_row(execution):
                if self._look_aside_earlier(view, execution, floor):
                    return True
                otherwise = self._sweep if self.sweeps else self._take_older_row
                if otherwise(view, execution, floor):
                    return True
                continue
            begun = alone.get(execution)
            known = since if begun is None else self._explored.get(begun, since)
            older = min(since, known) - 1
            if older >= floor:
                self._keep_before(execution, with_state=False)
                self.states[execution] = older
                return True
            if begun is not None:
                self._explored[begun] = min(known, floor)
        return False

    def _look_aside_earlier(self, view: StatementView, execution: Execution, floor: int) -> bool:
        """Let the subqueries of an UPDATE read an older state beside its rows, where there are any and one is left."""
        aside = view.aside_since(execution)
        if aside is None or aside[1] - 1 < floor:
            return False
        self._keep_before(execution, with_state=True)
        self._asides[execution] = aside[1] - 1
        return True

    def _meet_older(self, view: StatementView, execution: Execution, floor: int) -> bool:
        """Let the constraints of an execution meet an older state, where they met any and one is left."""
        if execution not in view.met:
            return False
        older = view.met_since(execution, self._newests.get(execution, self._last(view, execution))) - 1
        if older < floor:
            return False
        self._keep_before(execution, with_state=True)
        self._newests[execution] = older
        return True

    def _alone(
        self, floors: Sequence[tuple[Execution, int, int, int]], view: StatementView
    ) -> dict[Execution, tuple[int, object]]:
        """The executions that are the only ones of their statements and read one state, each with its statement and
        what had been written before."""
        counts = Counter(execution[0] for execution, *_ in floors)
        return {
            execution: (execution[0], view.written_before(execution[0]))
            for execution, *_ in floors
            if counts[execution[0]] == 1 and not view.is_by_row(execution)
        }

    def _last(self, view: StatementView, execution: Execution) -> int:
        """The newest state that an execution can have met."""
        return (self.lasts if view.is_by_row(execution) else self.highs)[execution[0]]

    def _take_older_row(self, view: StatementView, execution: Execution, floor: int) -> bool:
        """Let the last row that has one take an older version, and those after it their newest again."""
        chosen, last = self._moments.get(execution, {}), self.lasts[execution[0]]
        rows = self.open_rows(view, execution, floor)
        for place in range(len(rows) - 1, -1, -1):
            row = rows[place]
            changed = row.changed_at(chosen.get(row, last))
            if changed > floor:
                self._keep_before(execution, with_state=False)
                kept = {other: chosen[other] for other in rows[:place] if other in chosen}
                self._moments[execution] = {**kept, row: changed - 1}
                return True
        return False

    def _sweep(self, view: StatementView, execution: Execution, floor: int) -> bool:
        """Let the execution wait at another row, or see another state before."""
        rows = sorted(self.open_rows(view, execution, floor), key=self._place_in_scan)
        last = self.lasts[execution[0]]
        cuts = [
            (position - 1, place + 1)
            for place, row in enumerate(rows)
            for position in row.positions
            if floor < position <= last
        ]
        cuts.sort()
        number = self._swept.get(execution, -1) + 1
        if number >= len(cuts):
            return False
        self._keep_before(execution, with_state=False)
        state, place = cuts[number]
        self._swept[execution] = number
        self._moments[execution] = dict.fromkeys(rows[:place], state)
        return True

    def _place_in_scan(self, row: RowHistory) -> tuple[str, tuple[str, ...]]:
        """By table and clustered key, numbers by their size."""
        columns = self.map.tables[row.table].schema.clustered
        version = next((one for one in reversed(row.versions) if isinstance(one, tuple)), None)
        values = [] if version is None else [version[column] for column in columns]
        return row.table, tuple(f"{value:+020d}" if isinstance(value, int) else str(value) for value in values)

    def _keep_before(self, execution: Execution, *, with_state: bool) -> None:
        keeps = {
            other: s for other, s in self.states.items() if other < execution or (with_state and other == execution)
        }
        self.states = keeps
        self._moments = {
            other: rows
            for other, rows in self._moments.items()
            if other < execution or (with_state and other == execution)
        }
        self._newests = {other: state for other, state in self._newests.items() if other < execution}
        self._asides = {other: state for other, state in self._asides.items() if other < execution}
        self._swept = {
            other: number
            for other, number in self._swept.items()
            if other < execution or (with_state and other == execution)
        }


@dataclass(slots=True)
class Snapshots:
    """Depth first over the state that each execution reads, the newest first; what an execution reads from is changed
    only where an observation at or after it failed. `lowest` bounds them per statement."""

    high: int
    lowest: list[int]
    masks: list[frozenset[int]]
    recheck: bool
    states: dict[Execution, int] = field(default_factory=dict)

    def choices(self, exceptions: dict[tuple[int, int, str], int] | None = None) -> Choices:
        """The reading to be tried next."""
        return Choices(self.high, exceptions, self.masks, dict(self.states))

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
            state = self.states.get(unit, self.high)
            newest[unit] = max(newest.get(unit, 0), self._changed(row, state, statement))
        for unit in sorted(newest, reverse=True):
            if failing is not None and unit[0] > failing:
                continue
            older = newest[unit] - 1
            if older >= self.lowest[unit[0]]:
                self.states = {other: state for other, state in self.states.items() if other < unit}
                self.states[unit] = older
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
    oldest = problem.oldest(len(timeline.times))
    settled = [max(oldest, state) for state in settled_before(problem, timeline, item)]
    yield Snapshots(high, settled, masks, recheck=True)
    yield Snapshots(high, [oldest] * count, masks, recheck=True)
    yield Snapshots(high, [oldest] * count, masks, recheck=False)
