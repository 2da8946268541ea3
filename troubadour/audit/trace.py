"""A trace under construction: transactions placed one after the other, each run concretely (paper §4, §6.4; DESIGN §7).

`Trace.place` tries the states that the level allows, the newest first, one run per distinct footprint, and keeps the
first that explains the observations. It does not know which transaction ought to come next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from sql_semantics.ir.effects import looks_once
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.audit.problem import Problem
from troubadour.audit.running import Failure, execute
from troubadour.audit.statements import RECHECKS, Constraints, Executions, bounds, likely, readings
from troubadour.audit.views import view_of
from troubadour.audit.visible import (
    NOTHING,
    Needs,
    TooManySets,
    least,
    needs_of,
    reads_any_state,
    refused_set,
    seen_at,
    sees_a_set,
    set_candidates,
)
from troubadour.execution.choices import Choices, OpenRead
from troubadour.execution.concrete import ConcreteView
from troubadour.execution.definitions import catalog_conflict, dropped_tables
from troubadour.execution.history import Guarded, RowHistory, Version, WriteMap
from troubadour.execution.invariants import broken_invariant
from troubadour.execution.prepared import PreparedTransaction, UnsupportedStatement
from troubadour.execution.statementwise import StatementView
from troubadour.execution.tagged import Address, Key
from troubadour.isolation.levels import Conflict, Level, Scope
from troubadour.isolation.timeline import Timeline
from troubadour.isolation.times import precedes_in_session

STATEMENT_RUNS = 128
"""Runs at row scope of each search in which whole statements read older states, before single rows do."""

ROW_RUNS = 512
"""Concrete runs spent on the row reads of one transaction before they are left to the solver."""


EXECUTION_RUNS = 4096
"""Runs in which each execution takes a state of its own beyond which not every reading is looked at."""

WAYS = 256
"""Runs of one reading that go other ways where the DBMS had several."""

STATEMENT_WAYS = 32
"""Runs of one reading, where each execution takes a state of its own, that go other ways."""

GUESSED_RUNS = 16
"""Runs in which executions read what times suggest, or older states, before any others."""

CONSTRAINT_RUNS = 400
"""Runs on one snapshot with constraints that meet the rows of other states."""

SEMANTIC = frozenset({"observation", "error"})
"""Conditions of failures in which the statements themselves do not fit."""


UNSUPPORTED = "unsupported"
"""Condition of a failure that says nothing: the run met what is not modelled."""


class TooManyRuns(Exception):
    """Not every reading of a transaction could be looked at."""


@dataclass(slots=True)
class Placement:
    """A placed transaction, the reads that it took (`choices` None: placed symbolically), the values that the DBMS
    chose for it, by address, and whom it needs to see (None: that is open), kept where sets are to be closed. `ways`:
    the DBMS had several to go."""

    item: int
    choices: Choices | None
    drawn: Mapping[Address, Value] = field(default_factory=dict)
    needs: Needs | None = NOTHING
    ways: bool = False


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A placement that was taken back, and what it wrote; `idle`: nothing, or perhaps nothing."""

    placement: Placement
    writes: WriteMap
    idle: bool

    @property
    def item(self) -> int:
        """Whose it is."""
        return self.placement.item

    @property
    def choices(self) -> Choices | None:
        """The reads that it took."""
        return self.placement.choices


@dataclass(slots=True)
class Candidate:
    """One concrete run: its choices, the lowest state from which on it is the same, how it ended, and the second run
    without what was sent after an answer. `asked` are the choices as they were given."""

    item: int
    choices: Choices
    since: int
    view: ConcreteView
    failure: Failure | None
    again: ConcreteView | None = None
    asked: Choices | None = None


class Trace:
    """Placed transactions, the states they made and the time bounds they set."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.states = problem.empty_states()
        self.timeline = Timeline()
        self.placements: list[Placement] = []

    def __len__(self) -> int:
        return len(self.placements)

    def truncate(self, length: int) -> None:
        """Take back all but the first `length` placements."""
        del self.placements[length:]
        self.states.truncate(length)
        self.timeline.truncate(length)

    def take_back(self, length: int) -> list[TakenBack]:
        """Take back all but the first `length` placements; what they were, to be put back."""
        found = [
            TakenBack(
                self.placements[position - 1],
                {row: row.at(position) for row in self.states.written_at(position)},
                self.timeline.idle[position - 1],
            )
            for position in range(length + 1, len(self) + 1)
        ]
        self.truncate(length)
        return found

    def put_back(self, taken: Sequence[TakenBack]) -> None:
        """Place again, as they were, what was taken back from after the placements that there are now."""
        for one in taken:
            self.states.place(one.writes)
            self.timeline.append(self.problem.times[one.item], idle=one.idle)
            self.placements.append(one.placement)

    def horizon(self, item: int) -> tuple[int, int]:
        """The lowest and highest state that the level lets the transaction read if it is placed next."""
        newest = self.states.length
        level, times = self.problem.levels[item], self.problem.times[item]
        if level.horizon.latest:
            return newest, newest
        low = self.timeline.session_floor(times) if level.session else 0
        if not level.horizon.at_start:
            return low, newest
        start, high = self.timeline.start_interval(times)
        return max(low, start), high

    def foreseen(self, item: int, state: int | None = None) -> list[tuple[RowHistory, Version]]:
        """What was written after the transaction's start by ones that stand before the state that it reads, where that
        must be the one at its start: all of it must have written nowhere. `state`: that one, or the highest."""
        if not self.problem.levels[item].horizon.at_start:
            return []
        _, state = self.horizon(item) if state is None else (0, state)
        return [
            (row, row.at(position))
            for position in self.timeline.foreseen(self.problem.times[item])
            if position <= state
            for row in self.states.written_at(position)
        ]

    def follows_in_session(self, earlier: int, later: int) -> bool:
        """Whether the one placed at `later` comes after the one at `earlier` in their session."""
        return precedes_in_session(self.timeline.times[earlier - 1], self.timeline.times[later - 1])

    def masked(self, item: int) -> list[frozenset[int]] | None:
        """Per statement, the positions sent after its answer; None where there are none at all."""
        times = self.problem.times[item]
        found = [frozenset(self.timeline.sent_later(times, n)) for n in range(len(times.got))]
        return found if any(found) else None

    def place(self, item: int, forced: Choices | None = None, *, runs: int | None = None) -> Failure | None:
        """Place the transaction next, or say why its best candidate fails. `forced` are the reads to take, `runs`
        bounds the candidates.

        Raises OutOfTime at the deadline, and without `runs` UnsupportedStatement where the only reading that may
        explain it meets what is not modelled.
        """
        self.problem.deadline.left()
        if forced is not None:
            refused = refused_set(self, item, forced)
            if refused is not None:
                return refused
            chosen = self.run(item, forced, masked=self.masked(item) if sees_a_set(self.problem, item) else None)
            if chosen.failure is None:
                self.keep(chosen)
            return chosen.failure
        told: Failure | None = None
        unsupported: Failure | None = None
        for candidate in islice(self.candidates(item), runs):
            failure = candidate.failure
            if failure is None:
                self.keep(candidate)
                return None
            if failure.condition == UNSUPPORTED:
                unsupported = unsupported or failure
                continue
            # a state that explains every observation and fails a commit test says more than one that does not
            if told is None or (told.condition in SEMANTIC and failure.condition not in SEMANTIC):
                told = failure
        if unsupported is not None:
            if runs is None:
                assert unsupported.statement is not None
                identifier = self.problem.transaction(item).id
                raise UnsupportedStatement(unsupported.text, identifier, unsupported.statement)
            return unsupported
        return told or Failure(item, "time", "no state is allowed by its start and the commits around it")

    def outcomes(self, item: int, failures: list[Failure] | None = None) -> list[Candidate]:
        """Every candidate that explains the observations, one per distinct write map (and, where sets are to be closed,
        per set that it needs to see), newest first; why the others fail is appended to `failures`.

        Raises TooManyRuns where not all readings can be looked at.
        """
        found: dict[object, list[Candidate]] = {}
        for candidate in self.candidates(item, all_readings=True):
            self.problem.deadline.left()
            if candidate.failure is None:
                same = found.setdefault(fingerprint(candidate.view.writes()), [])
                if not same or self.problem.closes:
                    same.append(candidate)
            elif failures is not None:
                failures.append(candidate.failure)
        return [candidate for same in found.values() for candidate in least(self, same)]

    def candidates(self, item: int, *, all_readings: bool = False) -> Iterator[Candidate]:
        """Runs on the states of the horizon, newest first, one per distinct footprint; at row scope then single rows
        from older states, up to a bound (with `all_readings`: TooManyRuns beyond it). Each of them is followed by those
        that go other ways where the DBMS had several."""
        several = self.problem.levels[item].scope is not Scope.STATEMENT and not self.problem.closes
        for candidate in self._readings(item, all_readings):
            yield candidate
            if any(count > 1 for _, count in candidate.view.picked.values()):
                if several:
                    yield from self._other_ways(candidate, all_readings)
                elif all_readings:
                    raise TooManyRuns
                else:
                    self.problem.free.choices[item] = "another way where it had several"

    def _other_ways(self, first: Candidate, all_readings: bool) -> Iterator[Candidate]:
        """The same reading, going every other way, depth first; the last choice up to the failing statement first."""
        item, asked = first.item, first.asked
        assert asked is not None
        masked = self.masked(item)
        current = first
        for _ in range(WAYS):
            failing = None if current.failure is None else current.failure.statement
            picks = next_way(current.view.picked, failing)
            if picks is None:
                return
            current = self.run(item, asked.picking(picks), 0, masked, tolerant=not all_readings)
            first.since = max(first.since, current.since)
            if all_readings and not _looked_alike(first.view, current.view):
                raise TooManyRuns
            yield current
        if all_readings:
            raise TooManyRuns
        self.problem.free.choices[item] = "one of more ways than were tried"

    def _readings(self, item: int, all_readings: bool) -> Iterator[Candidate]:
        """The candidates that go the first way."""
        low, high = self.horizon(item)
        masked = self.masked(item)
        for row, version in self.foreseen(item):
            if not isinstance(version, Guarded):
                return
            raise OpenRead(row)
        if self.problem.levels[item].scope is Scope.ROW:
            if not all_readings:
                yield self.run(item, Choices(high, masked=masked), low, masked, tolerant=True)
                yield from self._statement_candidates(item, high, masked)
            yield from self._row_candidates(item, high, masked, all_readings)
            return
        if self.problem.levels[item].scope is Scope.STATEMENT:
            yield from self._execution_candidates(item, masked, all_readings)
            return
        if sees_a_set(self.problem, item) and all_readings:
            yield from self._set_candidates(item, masked, all_readings)
            return
        if self.problem.levels[item].horizon.latest:
            yield self.run(item, Choices(high), low, masked, tolerant=not all_readings)
            return
        spans = [(low, high)] if all_readings else self._likely_first(item, low, high)
        for oldest, newest in spans:
            state = newest
            while state >= oldest:
                # what constraints meet is the state at the moment of the statement: any from the snapshot on
                constraints = Constraints(low, self.states.length)
                for runs in count(1):
                    candidate = self.run(item, constraints.choices(state), low, masked, tolerant=not all_readings)
                    if self.problem.closes and reads_any_state(self.problem, item):
                        # the less it sees, the less those have to see that see it
                        candidate.choices.state = candidate.since
                    yield candidate
                    failing = candidate.failure.statement if candidate.failure is not None else None
                    if not constraints.advance(candidate.view, failing, candidate.since):
                        break
                    if runs == CONSTRAINT_RUNS:
                        if all_readings:
                            raise TooManyRuns
                        break
                state = constraints.low - 1
        if sees_a_set(self.problem, item):
            yield from self._set_candidates(item, masked, all_readings)

    def _likely_first(self, item: int, low: int, high: int) -> list[tuple[int, int]]:
        """The horizon in spans of states: first those that can be the one at its start. At the levels that know no
        start that is only likely."""
        oldest, newest = self.timeline.start_interval(self.problem.times[item])
        oldest, newest = max(low, oldest), min(high, newest)
        if self.problem.levels[item].horizon.at_start or oldest > newest:
            return [(low, high)]
        return [(oldest, newest), (newest + 1, high), (low, oldest - 1)]

    def _set_candidates(
        self, item: int, masked: list[frozenset[int]] | None, all_readings: bool
    ) -> Iterator[Candidate]:
        """Sets that are no states."""
        try:
            yield from set_candidates(self, item, masked, exhaustive=all_readings)
        except TooManySets:
            if all_readings:
                raise TooManyRuns from None

    def _execution_candidates(
        self, item: int, masked: list[frozenset[int]] | None, all_readings: bool
    ) -> Iterator[Candidate]:
        """Readings in which each execution takes a state of its own, depth first."""
        times = self.problem.times[item]
        lows, highs = bounds(self.timeline, self.states, times)
        if any(low > high for low, high in zip(lows, highs, strict=True)):
            return
        guess = highs if all_readings else likely(self.timeline, self.states, times, lows, highs)
        if guess != highs:
            guesses = Executions(lows, guess, masked, self.states, highs)
            yield from self._executed(item, guesses, masked, GUESSED_RUNS)
        limit = EXECUTION_RUNS if all_readings else STATEMENT_RUNS
        search = Executions(lows, highs, masked, self.states, highs)
        yield from self._executed(item, search, masked, limit, complete=all_readings)

    def _executed(
        self,
        item: int,
        search: Executions,
        masked: list[frozenset[int]] | None,
        limit: int,
        *,
        complete: bool = False,
    ) -> Iterator[Candidate]:
        """The readings of a search, so many at most; with `complete` TooManyRuns beyond that."""
        for runs in count(1):
            candidate, view = self._one_reading(item, search, masked, tolerant=not complete)
            if complete and self._may_have_changed_between(item, search, view):
                raise TooManyRuns
            yield candidate
            if not complete:
                yield from self._executed_otherwise(item, search, masked, candidate, view)
            if not search.advance(view, _last_to_change(candidate.failure, view)):
                return
            if runs == limit:
                if complete:
                    raise TooManyRuns
                return

    def _one_reading(
        self,
        item: int,
        search: Executions,
        masked: list[frozenset[int]] | None,
        *,
        tolerant: bool,
        picks: Mapping[Address, int] | None = None,
    ) -> tuple[Candidate, StatementView]:
        """The reading that a search is at, going by `picks` where the DBMS had several ways."""
        candidate = self.run(item, search.choices().picking(picks), 0, masked, tolerant=tolerant)
        view = candidate.view
        assert isinstance(view, StatementView)
        if candidate.failure is None:
            explicit = search.explicit(view)
            if explicit is None:
                text = "its statements would read states that go back in time"
                candidate.failure = Failure(item, "time", text)
            else:
                candidate.choices = explicit.picking(picks)
        return candidate, view

    def _executed_otherwise(
        self,
        item: int,
        search: Executions,
        masked: list[frozenset[int]] | None,
        candidate: Candidate,
        view: StatementView,
    ) -> Iterator[Candidate]:
        """The same reading going some of the other ways that the DBMS had."""
        for _ in range(STATEMENT_WAYS):
            picks = next_way(view.picked, _last_to_change(candidate.failure, view))
            if picks is None:
                return
            candidate, view = self._one_reading(item, search, masked, tolerant=True, picks=picks)
            yield candidate

    def _may_have_changed_between(self, item: int, search: Executions, view: StatementView) -> bool:
        """Whether an execution that reads row by row may have come by a row twice, and met it in two versions: the
        readings are not all there are then."""
        if not self.problem.levels[item].by_row:
            return False
        statements, catalog = self.problem.prepared(item).statements, self.problem.library.catalog
        for execution, _ in view.states_read():
            program = statements[execution[0]].program
            if program is None or not view.is_by_row(execution) or looks_once(program.statement, catalog):
                continue
            if search.open_rows(view, execution, search.lows[execution[0]]):
                return True
        return False

    def _statement_candidates(self, item: int, high: int, masked: list[frozenset[int]] | None) -> Iterator[Candidate]:
        """Readings as a DBMS with statement snapshots takes them."""
        for search in readings(self.problem, self.timeline, item, high, masked):
            for _ in range(STATEMENT_RUNS):
                exceptions: dict[tuple[int, int, str], int] = {}
                candidate = self.run(item, search.choices(), 0, masked, tolerant=True)
                for _ in range(RECHECKS):
                    if not search.rechecked(candidate.view, exceptions):
                        break
                    candidate = self.run(item, search.choices(exceptions), 0, masked, tolerant=True)
                yield candidate
                failure = candidate.failure
                if not search.advance(candidate.view, failure.statement if failure is not None else None):
                    break

    def _row_candidates(
        self, item: int, high: int, masked: list[frozenset[int]] | None, all_readings: bool
    ) -> Iterator[Candidate]:
        """Every reading of every row, depth first: the last read that has an older version left takes it next."""
        masks = masked or [frozenset() for _ in self.problem.prepared(item).statements]
        exceptions: dict[tuple[int, int, str], int] = {}
        for _ in range(ROW_RUNS):
            candidate = self.run(item, Choices(high, exceptions, masks), 0, masked, tolerant=not all_readings)
            yield candidate
            reads = list(candidate.view.reads.items())
            while reads:
                (statement, execution, row), position = reads.pop()
                older = _older(row, position, masks[statement])
                if older is not None:
                    exceptions = {(s, e, r.address): max(p, 0) for (s, e, r), p in reads}
                    exceptions[statement, execution, row.address] = older
                    break
            else:
                return
        if all_readings:
            raise TooManyRuns

    def run(
        self,
        item: int,
        choices: Choices,
        low: int = 0,
        masked: list[frozenset[int]] | None = None,
        *,
        tolerant: bool = False,
    ) -> Candidate:
        """Run concretely and check the observations, the write rules and the keys. What is not modelled raises
        UnsupportedStatement; where the run is `tolerant` of it, it is a failure like others."""
        problem = self.problem
        prepared = problem.prepared(item)
        level = problem.levels[item]
        asked = choices
        view, failure = self._attempt(item, prepared, choices, tolerant)
        again: ConcreteView | None = None
        since = low if level.scope is Scope.STATEMENT else max(low, view.valid_since(choices.state))
        if failure is None:
            failure = self._check_writes(item, level, view, choices)
        if failure is None and masked is not None and level.scope is Scope.TRANSACTION:
            failure, again = self._check_masked(item, prepared, view, choices, masked)
            since = max(since, again.valid_since(choices.state) if again is not None else 0)
        if failure is None and view.overtaken is not None:
            text = "it writes or locks a row of a commit that was sent after its answer had arrived"
            failure = Failure(item, "time", text, view.overtaken)
        if choices.masked is not None and failure is None and level.scope is not Scope.STATEMENT:
            choices = self._explicit(choices, view)
        if choices.newest is not None and not view.met and level.scope is Scope.TRANSACTION:
            choices = Choices(choices.state, choices.exceptions, hidden=choices.hidden, picks=choices.picks)
        return Candidate(item, choices, since, view, failure, again, asked)

    def _attempt(
        self, item: int, prepared: PreparedTransaction, choices: Choices, tolerant: bool
    ) -> tuple[ConcreteView, Failure | None]:
        """A run; where the observations tell values that the DBMS chose, with these."""
        free = self.problem.free
        complete = not tolerant and self.problem.levels[item].scope is Scope.ROW
        while True:
            view = view_of(self.problem, self.states, item, prepared, choices, complete=complete)
            try:
                failure = execute(item, prepared, view, self.problem)
            except UnsupportedStatement as error:
                if not tolerant:
                    raise
                return view, Failure(item, UNSUPPORTED, error.construct, error.index)
            if failure is None or failure.condition != "observation" or free.any_guess() is None:
                return view, failure
            told: dict[Key, Value] = {}
            tagged = view_of(self.problem, self.states, item, prepared, choices, tagged=True, complete=complete)
            execute(item, prepared, tagged, self.problem, told)
            if not free.learn(item, told):
                return view, failure

    def _explicit(self, choices: Choices, view: ConcreteView) -> Choices:
        """The same reads with every deviation from the one state named."""
        exceptions = dict(choices.exceptions or {})
        for (statement, execution, row), position in view.reads.items():
            if position != row.changed_at(choices.state):
                exceptions[statement, execution, row.address] = max(position, 0)
        return Choices(choices.state, exceptions, picks=choices.picks)

    def _check_masked(
        self,
        item: int,
        prepared: PreparedTransaction,
        view: ConcreteView,
        choices: Choices,
        masked: list[frozenset[int]],
    ) -> tuple[Failure | None, ConcreteView | None]:
        """No statement may depend on a commit that was sent after its answer. With it the run that tells, where one is
        needed."""
        late = frozenset().union(*masked)
        state, hidden = choices.state, choices.hidden
        met = view.met.values()
        touched = (
            any(seen_at(row, state, hidden or ()) in late for row in view.plainly.rows)
            or any(position in late for row in view.acted.rows for position in row.positions)
            or any(position in late for looked in met for row in looked.rows for position in row.positions)
            or any(
                change in late
                for table in view.plainly.tables.union(view.acted.tables, *(looked.tables for looked in met))
                for change in self.states.tables[table].changes
            )
        )
        if not touched:
            return None, None
        late_out = Choices(
            state, masked=masked, newest=choices.newest, newests=choices.newests, hidden=hidden, picks=choices.picks
        )
        again = view_of(self.problem, self.states, item, prepared, late_out)
        failure = execute(item, prepared, again, self.problem)
        if failure is None and fingerprint(again.writes()) == fingerprint(view.writes()):
            return None, again
        text = "it depends on a commit that was sent after its answer had arrived"
        return Failure(item, "time", text), again

    def _check_writes(self, item: int, level: Level, view: ConcreteView, choices: Choices) -> Failure | None:
        for row in view.locked:
            if row.positions[-1] > choices.state:
                text = f"locks {row.address}, which had been changed since its snapshot"
                return Failure(item, "NWC", text, rows=(row,), source=row.at(choices.state))
        writes = view.writes()
        if not writes:
            return None
        states, library = self.states, self.problem.library
        state, newest, hidden = choices.state, states.length, choices.hidden or ()
        dropped = dropped_tables(writes, library.catalog)
        for row, values in writes.items():
            if row.positions:
                last = row.at(newest)
                conflicts = level.write_conflict and row.table not in dropped
                if conflicts and (row.positions[-1] > state or row.positions[-1] in hidden):
                    source = row.at(seen_at(row, state, hidden))
                    if level.conflict is Conflict.VERSIONS or (values != source and source != last):
                        if level.dialect == "duckdb" and not _of_one_column(source, values, last):
                            # DuckDB keeps both, column by column, and an update of a row that is gone
                            self.problem.free.choices[item] = "what becomes of a row that another writes too"
                        return Failure(
                            item,
                            "NWC",
                            f"changes {row.address}, which had been changed since its snapshot",
                            rows=(row,),
                            source=source,
                        )
                if self.problem.order_exact and level.horizon.latest and values != last:
                    other = self._last_commit(row)
                    own = self.problem.times[item].commit
                    if other is not None and own is not None and other > own:
                        text = f"it would write {row.address} after a later commit"
                        return Failure(item, "order", text, rows=(row,))
        broken = None
        if level.scope is Scope.TRANSACTION and not level.horizon.latest:
            met = [state]
            if library.dialect.name == "postgres":
                newests = ((choices.newests or {}).get(address, choices.newest) for address in view.met)
                met += [newest for newest in newests if newest is not None]
            broken = catalog_conflict(states, writes, library.catalog, max(met))
        broken = broken or broken_invariant(states, writes, library)
        if broken is not None:
            row, text = broken
            return Failure(item, "keys", text, rows=(row,))
        return None

    def _last_commit(self, row: RowHistory) -> int | None:
        """The commit time of the last transaction that changed a row."""
        for index in range(len(row.positions) - 1, -1, -1):
            before = row.versions[index - 1] if index else None
            commit = self.timeline.times[row.positions[index] - 1].commit if row.positions[index] else None
            if commit is not None and row.versions[index] != before:
                return commit
        return None

    def place_symbolic(self, item: int, needs: Needs | None = NOTHING) -> None:
        """Note a placement whose states and times an encoder has appended; `needs` None: whom it sees is open."""
        self.placements.append(Placement(item, None, needs=needs))

    def keep(self, candidate: Candidate) -> None:
        """Place a transaction as a candidate ran it."""
        view = candidate.view
        needs = needs_of(self, candidate) if self.problem.closes else NOTHING
        self.states.place(dict(view.writes()))
        self.timeline.append(self.problem.times[candidate.item], idle=not view.writes())
        drawn = {address: value for address, (_, _, value) in view.drawn.items()}
        ways: dict[Address, Value] = {address: number for address, (number, _) in view.picked.items()}
        self.placements.append(Placement(candidate.item, candidate.choices, drawn | ways, needs, bool(ways)))
        if drawn:
            self.problem.free.settle(candidate.item)
            self.problem.free.cells.update(view.cells())


def _of_one_column(source: Version, one: Version, other: Version) -> bool:
    """Whether two writers of a row both deleted it, or both changed one of its columns."""
    if one is None or other is None:
        return one is other
    if not isinstance(source, tuple) or not isinstance(one, tuple) or not isinstance(other, tuple):
        return False
    return any(old not in (mine, theirs) for old, mine, theirs in zip(source, one, other, strict=True))


def _last_to_change(failure: Failure | None, view: StatementView) -> int | None:
    """The last statement that may go otherwise so that the failure goes away; None for any. One that holds a row which
    it cannot have met does so whatever the statements after it read."""
    places = [place for place in (view.overtaken, None if failure is None else failure.statement) if place is not None]
    return min(places, default=None)


def next_way(picked: Mapping[Address, tuple[int, int]], failing: int | None) -> dict[Address, int] | None:
    """The picks that come next; None after the last. A choice after the failing statement is left as it is."""
    for address in sorted(picked, reverse=True):
        number, count = picked[address]
        if number + 1 < count and (failing is None or address[0] <= failing):
            return {**{other: picked[other][0] for other in picked if other < address}, address: number + 1}
    return None


def _looked_alike(first: ConcreteView, other: ConcreteView) -> bool:
    """Whether the reads and what constraints met of one run are among those of the first."""
    return (
        set(other.footprint) <= set(first.footprint)
        and other.scanned <= first.scanned
        and other.reads.keys() <= first.reads.keys()
        and all(
            execution in first.met
            and set(looked.rows) <= set(first.met[execution].rows)
            and looked.tables <= first.met[execution].tables
            for execution, looked in other.met.items()
        )
    )


def _older(row: RowHistory, position: int, masked: frozenset[int]) -> int | None:
    """The state from which a row read takes the next older version (or no row); None where there is none."""
    if position < 0:
        return None
    older = row.changed_at(position - 1)
    while older in masked:
        older = row.changed_at(older - 1)
    if older >= 0:
        return older
    return 0 if row.positions[0] > 0 else None


def fingerprint(writes: dict[RowHistory, Row | None]) -> object:
    """What tells two write maps apart: rows inserted anew are the same if table and ordinal are."""
    return frozenset((row if row.positions else (row.table, row.ordinal), values) for row, values in writes.items())
