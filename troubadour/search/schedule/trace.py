"""A trace under construction: transactions placed one after the other, each run concretely (paper §4, §6.4).

`Trace.place` tries the states that the level allows, the newest first, one run per distinct footprint, and keeps the
first that explains the observations. It does not know which transaction ought to come next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from sql_semantics.values.types import Value
from troubadour.execution.free.choices import Choices
from troubadour.execution.free.tagged import Address
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.execution.states.history import RowHistory, Version, WriteMap
from troubadour.isolation.levels import Scope
from troubadour.isolation.timeline import Timeline
from troubadour.isolation.times import Times, in_snapshot, precedes_in_session
from troubadour.problem.budget import MANY, THOUSANDS
from troubadour.problem.problem import Problem
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import (
    SEMANTIC,
    UNSUPPORTED,
    Candidate,
    Forgotten,
    Placement,
    TakenBack,
    content,
    cuts_of,
    fingerprint,
    looks_of,
    met_since,
)
from troubadour.search.schedule.read_candidates import candidates_for, likely_for
from troubadour.search.schedule.serial import watched
from troubadour.search.schedule.step import run_on
from troubadour.search.schedule.visible_sets import (
    NOTHING,
    Needs,
    least,
    needs_of,
    refused_set,
    sees_a_set,
)

CHANGEABLE = MANY
"""Placements, beyond those whose states may be read, that may be changed where old states are forgotten."""


class Trace:
    """Placed transactions, the states they made and the time bounds they set."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.states = problem.empty_states()
        self.timeline = Timeline()
        self.placements: list[Placement] = []
        self.fixed = 0
        """Placements that are not taken back any more: the states that they read are forgotten."""
        self.moves = 0
        """How often placements were put elsewhere without being run anew."""

    def __len__(self) -> int:
        return len(self.placements)

    def item_at(self, position: int) -> int:
        """The transaction that has a position (from 1)."""
        return self.placements[position - 1].item

    def forget(self) -> None:
        """Forget the states that are too old to be read by what may still be placed, or placed again."""
        staleness = self.problem.max_staleness
        if staleness is None:
            return
        fixed = len(self) - staleness - CHANGEABLE
        if fixed - staleness > self.states.floor:
            self.fixed = fixed
            self.states.forget(fixed - staleness)

    def clear(self) -> None:
        """Take back everything, for good."""
        self.states, self.timeline = self.problem.empty_states(), Timeline()
        self.placements.clear()
        self.fixed = 0

    def truncate(self, length: int) -> None:
        """Take back all but the first `length` placements. Raises Forgotten."""
        if length < self.fixed:
            raise Forgotten
        del self.placements[length:]
        self.states.truncate(length)
        self.timeline.truncate(length)

    def take_back(self, length: int) -> list[TakenBack]:
        """Take back all but the first `length` placements; what they were, to be put back."""
        if length < self.fixed:
            raise Forgotten
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
        self.moves += 1
        for one in taken:
            self.states.place(one.writes)
            self.timeline.append(self.problem.times[one.item], idle=one.idle)
            self.placements.append(one.placement)

    def move(self, position: int, place: int) -> None:
        """Put the one at a position, which wrote nothing, right after the first `place` placements: those between are
        the next ones now, and their states. What they read is for the caller to say."""
        if place < self.fixed:
            raise Forgotten
        self.moves += 1
        self.states.move(position, place)
        self.timeline.move(position, place)
        self.placements.insert(place, self.placements.pop(position - 1))

    def settle(self) -> None:
        """What is placed explains all that was asked for: nothing is open here."""

    def horizon(self, item: int) -> tuple[int, int]:
        """The lowest and highest state that the level lets the transaction read if it is placed next."""
        newest = self.states.length
        level, times = self.problem.levels[item], self.problem.times[item]
        if level.horizon.latest:
            return newest, newest
        # where each row is of a state of its own a session orders commits only
        sees = level.session and level.scope is Scope.TRANSACTION
        low = max(self.timeline.session_floor(times) if sees else 0, self.problem.oldest(newest))
        if not level.horizon.at_start:
            return low, newest
        if level.ordered and level.session and self._began_early(times):
            return newest + 1, newest
        start, high = self.timeline.start_interval(times)
        return max(low, start), high

    def _began_early(self, times: Times) -> bool:
        """Whether it started before its session's last commit, which is not seen then, whatever that one wrote."""
        timeline = self.timeline
        before = timeline.session_positions(times)
        return any(in_snapshot(timeline.times[position - 1], times) is False for position in before)

    def foreseen(self, item: int, state: int | None = None) -> list[tuple[int, RowHistory, Version]]:
        """What was written after the transaction's start by ones that stand before the state that it reads, where that
        must be the one at its start: all of it must have written nowhere. `state`: that one, or the highest."""
        if not self.problem.levels[item].horizon.at_start:
            return []
        _, state = self.horizon(item) if state is None else (0, state)
        return [
            (position, row, row.at(position))
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

    def place(
        self,
        item: int,
        forced: Choices | None = None,
        *,
        runs: int | None = None,
        wrote: WriteMap | None = None,
        likely: bool = False,
    ) -> Failure | None:
        """Place the transaction next, or say why its best candidate fails. `forced` are the reads to take, `runs`
        bounds the candidates, `likely` takes the likeliest only. Of those that explain it one is taken that writes what
        it `wrote`, if there is one.

        Raises OutOfTime at the deadline, and without `runs` UnsupportedStatement where the only reading that may
        explain it meets what is not modelled.
        """
        self.problem.budget.left()
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
        first: Candidate | None = None
        same = None if wrote is None else content(wrote)
        candidates = likely_for(self, item) if likely else self.candidates(item)
        for candidate in islice(candidates, runs):
            failure = candidate.failure
            if failure is None:
                if same is None or content(candidate.view.writes()) == same:
                    self.keep(candidate)
                    return None
                first = first or candidate
                continue
            if first is not None:
                continue
            if failure.condition == UNSUPPORTED:
                unsupported = unsupported or failure
                continue
            # a state that explains every observation and fails a commit test says more than one that does not
            if told is None or (told.condition in SEMANTIC and failure.condition not in SEMANTIC):
                told = failure
        if first is not None:
            self.keep(first)
            return None
        if unsupported is not None:
            if runs is None and not likely:
                assert unsupported.statement is not None
                identifier = self.problem.transaction(item).id
                raise UnsupportedStatement(unsupported.text, identifier, unsupported.statement)
            return unsupported
        return told or Failure(item, "time", "no state is allowed by its start and the commits around it")

    def outcomes(self, item: int, failures: list[Failure] | None = None, oldest: int = 0) -> list[Candidate]:
        """Every candidate that explains the observations, one per distinct write map (and, where sets are to be closed,
        per set that it needs to see), newest first; why the others fail is appended to `failures`. Snapshots before
        `oldest` are left out.

        Raises TooManyRuns where not all readings can be looked at.
        """
        found: dict[object, list[Candidate]] = {}
        serial = self.problem.levels[item].serial
        for candidate in candidates_for(self, item, all_readings=True, oldest=oldest):
            self.problem.budget.left()
            if candidate.failure is None:
                written = fingerprint(candidate.view.writes())
                # what a snapshot misses matters by itself where there is a serial order beside
                same = found.setdefault((written, candidate.choices.state) if serial else written, [])
                if not same or self.problem.closes:
                    same.append(candidate)
            elif failures is not None:
                failures.append(candidate.failure)
        return [candidate for same in found.values() for candidate in least(self, same)]

    def candidates(self, item: int, *, all_readings: bool = False) -> Iterator[Candidate]:
        """See `candidates_for`."""
        return candidates_for(self, item, all_readings=all_readings)

    def run(
        self,
        item: int,
        choices: Choices,
        low: int = 0,
        masked: list[frozenset[int]] | None = None,
        *,
        tolerant: bool = False,
    ) -> Candidate:
        """See `run_on`."""
        return run_on(self, item, choices, low, masked, tolerant=tolerant)

    def place_symbolic(self, item: int, needs: Needs | None = NOTHING) -> None:
        """Note a placement whose states and times an encoder has appended; `needs` None: which it sees is open."""
        self.placements.append(Placement(item, None, needs=needs))

    def keep(self, candidate: Candidate, writes: WriteMap | None = None) -> None:
        """Place a transaction as a candidate ran it; `writes`: what it wrote, with other new rows."""
        view = candidate.view
        cuts = cuts_of(candidate, len(self))
        needs = needs_of(self, candidate) if self.problem.closes else NOTHING
        writes = dict(view.writes()) if writes is None else writes
        if candidate.item in self.problem.aborted:
            writes = {}
        self.states.place(writes)
        self.timeline.append(self.problem.times[candidate.item], idle=not writes)
        drawn = {address: value for address, (_, _, value) in view.drawn.items()}
        ways: dict[Address, Value] = {address: number for address, (number, _) in view.picked.items()}
        since = 0 if writes else met_since(candidate)
        placement = Placement(candidate.item, candidate.choices, drawn | ways, needs, bool(ways), since)
        placement.watched = watched(self, candidate.item, candidate.choices, view, writes)
        self.placements.append(placement)
        if self.problem.levels[candidate.item].scope is Scope.ROW:
            placement.looks, placement.cuts = looks_of(view), cuts
            placement.alike = candidate.alike
            if len(self) > THOUSANDS:
                self.placements[-THOUSANDS - 1].looks = None
        if drawn:
            self.problem.free.settle(candidate.item)
            self.problem.free.cells.update(view.cells())
