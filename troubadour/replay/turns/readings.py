"""What one transaction may have read if it comes next: the newest states that times allow, and some older ones.

Does not know which transaction ought to come next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from troubadour.model.log import Transaction
from troubadour.model.witness import RowRead
from troubadour.replay.checker import Replay
from troubadour.replay.commit_tests.levels import Level
from troubadour.replay.commit_tests.times import Times
from troubadour.replay.refusal import Refusal
from troubadour.replay.step import Step, without_empty
from troubadour.replay.store import RowName
from troubadour.replay.witness.reads import Execution

TRIED = 24
"""Readings that are tried of a transaction at a time."""
MISSED = 8
"""Writers that a single statement may have missed, the newest, where it is at liberty to."""
REVISED = 8
"""Other readings that are looked at of a transaction that is placed, for each state that it read."""
_BY_DATA = frozenset({"observation", "error", "time"})
"""Refusals that another state may not bring about."""


class Readings:
    """Of one transaction, held to `level`; `floor`: the oldest state that may be read."""

    def __init__(self, replay: Replay, one: Transaction, level: Level, isolation: str | None, floor: int) -> None:
        self._replay, self._one, self._level, self._isolation = replay, one, level, isolation
        self._floor = floor
        self._times = replay.times_of(one)
        self._newest = replay.store.newest

    def found(self) -> Step | None:
        """The first reading that is allowed and explains it."""
        if self._level.per_statement:
            return self._by_statements()
        if self._level.latest:
            return _step(self._attempt(self._newest))
        return self._by_snapshots() if self._level.one_snapshot else self._by_rows()

    def without(self, hidden: frozenset[int]) -> bool:
        """Whether what it answered is explained by the newest states that it may read, if some of the transactions
        placed are not seen."""
        level = self._level
        reads = _Newest(self._replay, self._times, self._floor) if level.per_statement else None
        state = self.top() if level.one_snapshot and not level.latest else self._newest
        return self._run_untimed(state, reads, hidden) is not None

    def others(self, step: Step, position: int) -> Iterator[Mapping[int, int]]:
        """Readings of the transaction, which is placed at a position as in `step`, with which it would have answered
        the same and written something else: the states by statement."""
        wrote = without_empty(step.writes)
        if self._level.latest or not wrote:
            return
        known = [wrote]
        for states in self._others(step, position):
            reads = _Newest(self._replay, self._times, self._floor, states) if self._level.per_statement else None
            state = self._newest if reads is not None else next(iter(states.values()))
            other = self._run_untimed(state, reads)
            if other is None:
                continue
            wrote = without_empty(other.writes)
            if wrote not in known:
                known.append(wrote)
                yield states

    def _run_untimed(self, state: int, reads: _Newest | None, hidden: frozenset[int] = frozenset()) -> Step | None:
        """The transaction run, whatever was sent after its answers; None where it would have answered otherwise."""
        prepared = self._replay.prepared(self._one)
        step = Step(self._replay, self._one, prepared, self._level, self._times, state, None, None, None, reads, hidden)
        return step if step.run_untimed() is None else None

    def _others(self, step: Step, position: int) -> Iterator[Mapping[int, int]]:
        timeline, times, idle = self._replay.timeline, self._times, self._replay.idle
        for statement, put in enumerate(times.put):
            if not self._level.per_statement and statement:
                return
            if self._level.per_statement:
                read = [state for (one, _), (state, _) in step.taken.items() if one == statement]
                own = max(read, default=-1)
                top = _before_sent_after(self._replay, times, times.got[statement], position - 1)
            else:
                own = step.state
                top = self._top(position - 1)
            tried = 0
            for state in range(top, self._floor - 1, -1):
                if self._level.per_statement:
                    missed = timeline.missed(times, put, state, idle)
                    if missed is not None and missed < position:
                        break
                elif self._level.at_start:
                    missed = timeline.misses(times, state)
                    if missed is not None and missed < position:
                        break
                if state != own and (state == top or state + 1 not in idle):
                    tried += 1
                    if tried > REVISED:
                        break
                    yield {statement: state}

    def forced(self, states: Mapping[int, int]) -> Step | None:
        """The reading with these states by statement, if it is allowed and explains the transaction."""
        if self._level.per_statement:
            reads = _Newest(self._replay, self._times, self._floor, states)
            return _step(self._attempt(self._newest, None, reads))
        state = next(iter(states.values()))
        found = _step(self._attempt(state))
        return None if found is not None and self._clashes(found) else found

    def top(self) -> int:
        """The newest state that its snapshot can be."""
        return self._top(self._newest)

    def _top(self, state: int) -> int:
        """The newest one up to a state."""
        while (late := self._replay.timeline.foresees(self._times, state, self._replay.idle)) is not None:
            state = late - 1
        return state

    def _attempt(
        self, state: int, newest: int | None = None, reads: _Newest | None = None, rows: OlderRows | None = None
    ) -> Step | Refusal:
        return self._replay.attempt(self._one, state, rows, self._isolation, newest, None, reads)

    def _by_snapshots(self) -> Step | None:
        statements = self._replay.prepared(self._one).statements
        writes = any(one.program is None or not one.program.read_only for one in statements)
        for state in self._snapshots():
            found = self._attempt(state)
            if isinstance(found, Step) and not self._clashes(found):
                return found
            # its constraints may have met rows that its snapshot does not have
            elsewhere = isinstance(found, Step) or (writes and found.condition in _BY_DATA)
            if elsewhere and state < self._newest:
                found = self._attempt(state, self._newest)
                if isinstance(found, Step) and not self._clashes(found):
                    return found
        return None

    def _clashes(self, step: Step) -> bool:
        return self._replay.store.clashes(step.writes)

    def _snapshots(self) -> Iterator[int]:
        """States that the snapshot can be, the likeliest first; none is like one before it."""
        times, idle = self._times, self._replay.idle
        top = self.top()
        likely = _before_sent_after(self._replay, times, times.put[0] if times.put else None, top)
        states = [*range(likely, min(top, likely + TRIED) + 1)]
        states = [state for state in states if state == likely or state not in idle]
        yield from (state for state in states if state >= self._floor and not self._misses(state))
        state = likely
        for _ in range(TRIED):
            while state and state in idle:
                state -= 1
            state -= 1
            if state < self._floor or self._misses(state):
                return
            yield state

    def _misses(self, state: int) -> bool:
        """Whether a snapshot lacks what was over before it was taken."""
        return self._level.at_start and self._replay.timeline.misses(self._times, state) is not None

    def _by_rows(self) -> Step | None:
        """Where each row may come from a state of its own: all from the newest, but for one statement, or one execution
        of it, whose rows all come from an older one."""
        rows = OlderRows(self._replay, self._floor)
        for _ in range(TRIED):
            found = self._attempt(self._newest, rows=rows)
            if isinstance(found, Step):
                return found
            if found.condition not in _BY_DATA or found.statement is None:
                return None
            program = self._replay.prepared(self._one).statements[found.statement].program
            if not rows.other(found.statement, whole=program is not None and program.read_only):
                return None
        return None

    def _by_statements(self) -> Step | None:
        reads = _Newest(self._replay, self._times, self._floor)
        for _ in range(TRIED):
            reads.begin()
            found = self._attempt(self._newest, None, reads)
            if isinstance(found, Step):
                return found
            if found.condition not in _BY_DATA or found.statement is None or not reads.other(found.statement):
                return None
        return None


class OlderRows:
    """The rows that a statement, or one execution of it, takes from an older state: those that were written since. A
    `troubadour.replay.witness.reads` `Exceptions`."""

    def __init__(self, replay: Replay, floor: int) -> None:
        self._replay, self._floor = replay, floor
        self._written: dict[int, list[RowName]] = {}
        self._tries: dict[int, Iterator[tuple[int | None, int]]] = {}
        self._taken: dict[int, tuple[int | None, int]] = {}
        """By statement, the execution (None: every one), and the state."""
        self._executions: dict[int, int] = {}
        self._read: dict[Execution, Mapping[RowName, int]] = {}

    def other(self, statement: int, *, whole: bool) -> bool:
        """Let a statement read another state than so far, as a `whole` or in one of its executions; False where none is
        left that is not forgotten."""
        if statement not in self._tries:
            self._written = self._written or self._replay.store.written_since(self._floor, MISSED)
            self._tries[statement] = self._ways(None if whole else self._executions.get(statement, 0))
        way = next(self._tries[statement], None)
        if way is None:
            return False
        self._taken[statement] = way
        self._read.clear()
        return True

    def _ways(self, executions: int | None) -> Iterator[tuple[int | None, int]]:
        for later in self._written:
            for execution in (None,) if executions is None else range(executions):
                yield execution, later - 1

    def get(self, execution: Execution, /) -> Mapping[RowName, int] | None:
        """See `Exceptions`."""
        statement, number = execution
        self._executions[statement] = max(number + 1, self._executions.get(statement, 0))
        only, state = self._taken.get(statement, (-1, 0))
        if only is not None and only != number:
            return None
        rows = self._read[execution] = {
            name: state for later, names in self._written.items() if later > state for name in names
        }
        return rows

    def listed(self) -> tuple[RowRead, ...]:
        """What was asked for, as a witness lists it."""
        return tuple(RowRead(*execution, *read) for execution, rows in self._read.items() for read in rows.items())


class _Newest:
    """The newest state that each execution can read, but for statements that are to read older ones."""

    def __init__(self, replay: Replay, times: Times, floor: int, states: Mapping[int, int] | None = None) -> None:
        """`states`: those that are given, by statement."""
        self._replay, self._times, self._floor = replay, times, floor
        self._tops: dict[int, int] = {}
        self._states: dict[int, int] = dict(states or {})
        self._tried: dict[int, set[int]] = {}
        self._least = 0

    def begin(self) -> None:
        """The transaction runs from its first statement on."""
        self._least = 0

    def other(self, statement: int) -> bool:
        """Let a statement read another state than the last time: a newer one, then older ones, and those before it none
        newer; False where it cannot."""
        idle, timeline, put = self._replay.idle, self._replay.timeline, self._times.put
        tried = self._tried.setdefault(statement, set())
        state = first = self._states.get(statement, 0)
        tried.add(first)
        top = self._top(statement)
        while state <= top and (state in tried or state in idle):
            state += 1
        if state > top:
            state = min(tried)
            while state and state in idle:
                state -= 1
            state -= 1
        if state < self._floor:
            return False
        states = {other: min(known, state) for other, known in self._states.items() if other < statement}
        states[statement] = state
        if any(timeline.missed(self._times, put[other], known, idle) for other, known in states.items()):
            return False
        self._states = states
        return True

    def _top(self, statement: int) -> int:
        top = self._tops.get(statement)
        if top is None:
            newest, got = self._replay.store.newest, self._times.got[statement]
            top = self._tops[statement] = max(_before_sent_after(self._replay, self._times, got, newest), self._floor)
        return top

    def state(self, execution: Execution, default: int, /) -> int:
        """See `StatementReads`."""
        del default
        statement = execution[0]
        state = self._states.get(statement)
        if state is None:
            top = self._top(statement)
            state = max(_before_sent_after(self._replay, self._times, self._times.put[statement], top), self._floor)
            self._states[statement] = state
        self._least = max(self._least, state)
        return self._least

    def since(self, execution: Execution, default: int, kept: int, /) -> int:
        """See `StatementReads`."""
        self._least = max(self._least, kept)
        return self.state(execution, default)

    def beside(self, execution: Execution, state: int, /) -> int:
        """See `StatementReads`."""
        del execution
        return state

    def newest(self, execution: Execution, state: int, default: int | None, /) -> int | None:
        """See `StatementReads`."""
        del default
        return max(state, self._top(execution[0]))


def _before_sent_after(replay: Replay, times: Times, moment: int | None, top: int) -> int:
    """The newest state, up to the `top`, without any whose commit was sent after a moment. Of when a statement was
    answered: the newest that it can read. Of when it was sent: the likeliest reading of what tells nothing, as it may
    have waited long before its answer."""
    later = replay.timeline.sent_after(times, moment, top)
    return later[0] - 1 if later else top


def _step(found: Step | Refusal) -> Step | None:
    return found if isinstance(found, Step) else None
