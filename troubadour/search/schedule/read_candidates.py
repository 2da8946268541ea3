"""The readings of the transaction to be placed next, each run concretely.

One run per distinct footprint; first the states that times suggest, then newer and older ones. Does not know what is
placed before it, nor which reading will be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING

from sql_semantics.ir.walks.effects import looks_once
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.free.tagged import Address
from troubadour.execution.states.history import Guarded, RowHistory
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.statementwise import StatementView
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import FEWEST, HUNDREDS, MANY, SEVERAL, SOME, THOUSANDS
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import Candidate, TooManyRuns
from troubadour.search.schedule.row_scope.readings import as_servers, as_told, having_waited
from troubadour.search.schedule.statement_reads import Constraints, Executions, Snapshots, bounds, likely, readings
from troubadour.search.schedule.step import refused
from troubadour.search.schedule.visible_sets import (
    TooManySets,
    reads_any_state,
    sees_a_set,
    set_candidates,
)

if TYPE_CHECKING:
    from troubadour.search.schedule.trace import Trace

MET_TWICE = "it may have met a row in two versions"


def candidates_for(trace: Trace, item: int, *, all_readings: bool = False, oldest: int = 0) -> Iterator[Candidate]:
    """Runs on the states of the horizon, newest first, one per distinct footprint; at row scope then single rows
    from older states, up to a bound (with `all_readings`: TooManyRuns beyond it). Each is followed by those that go
    other ways where the DBMS had several, unless statements have states of their own. None reads before `oldest`."""
    apart = trace.problem.levels[item].scope is Scope.STATEMENT and len(set(trace.horizon(item))) > 1
    several = not apart and not trace.problem.closes
    for candidate in _readings(trace, item, all_readings, oldest):
        yield candidate
        if any(count > 1 for _, count in candidate.view.picked.values()):
            if several:
                yield from _other_ways(trace, candidate, all_readings)
            elif all_readings:
                raise TooManyRuns
            else:
                trace.problem.free.choices[item] = "another way where it had several"


def likely_for(trace: Trace, item: int, *, losing: bool = True) -> Iterator[Candidate]:
    """Where each row read may be of a state of its own, the runs in which it waited for locks, on the newest state and
    as a server would take them otherwise, at the end with `losing` those in which an update is lost; at other scopes,
    those of `candidates_for`."""
    if trace.problem.levels[item].scope is not Scope.ROW:
        yield from candidates_for(trace, item)
        return
    low, high = trace.horizon(item)
    masked = trace.masked(item)
    newest = trace.run(item, Choices(high, masked=masked), low, masked, tolerant=True)
    if newest.failure is None:
        waited = having_waited(trace, newest)
        if waited is not None:
            yield waited
    yield newest
    yield from as_servers(trace, item, losing=losing)


def _other_ways(trace: Trace, first: Candidate, all_readings: bool) -> Iterator[Candidate]:
    """The same reading, going every other way, depth first; the last choice up to the failing statement first."""
    item, asked = first.item, first.asked
    assert asked is not None
    masked = trace.masked(item)
    current = first
    for _ in range(MANY):
        failing = None if current.failure is None else current.failure.statement
        picks = next_way(current.view.picked, failing)
        if picks is None:
            return
        current = trace.run(item, asked.picking(picks), 0, masked, tolerant=not all_readings)
        first.since = max(first.since, current.since)
        if all_readings and not _looked_alike(first.view, current.view):
            raise TooManyRuns
        yield current
    if all_readings:
        raise TooManyRuns
    trace.problem.free.choices[item] = "one of more ways than were tried"


def _readings(trace: Trace, item: int, all_readings: bool, eldest: int) -> Iterator[Candidate]:
    """The candidates that go the first way."""
    low, high = trace.horizon(item)
    low = min(max(low, eldest), high) if low <= high else low
    masked = trace.masked(item)
    for _, row, version in trace.foreseen(item):
        if not isinstance(version, Guarded):
            return
        raise OpenRead(row)
    if trace.problem.levels[item].scope is Scope.ROW:
        if not all_readings:
            first = trace.run(item, Choices(high, masked=masked), low, masked, tolerant=True)
            yield first
            if first.failure is not None:
                yield as_told(trace, item)
            yield from _statement_candidates(trace, item, high, masked)
        yield from _row_candidates(trace, item, (low, high), masked, all_readings)
        return
    if trace.problem.levels[item].scope is Scope.STATEMENT:
        yield from _execution_candidates(trace, item, masked, all_readings)
        return
    if sees_a_set(trace.problem, item) and all_readings:
        yield from _set_candidates(trace, item, masked, all_readings)
        return
    if trace.problem.levels[item].horizon.latest:
        yield trace.run(item, Choices(high), low, masked, tolerant=not all_readings)
        return
    spans = [(low, high)] if all_readings else _likely_first(trace, item, low, high)
    for oldest, newest in spans:
        state = newest
        while state >= oldest:
            # what constraints meet is the state at the moment of the statement: any from the snapshot on
            constraints = Constraints(low, trace.states.length)
            for runs in count(1):
                candidate = trace.run(item, constraints.choices(state), low, masked, tolerant=not all_readings)
                if trace.problem.closes and reads_any_state(trace.problem, item):
                    # the less it sees, the less those have to see that see it
                    candidate.choices.state = candidate.since
                yield candidate
                failing = candidate.failure.statement if candidate.failure is not None else None
                if not constraints.advance(candidate.view, failing, candidate.since):
                    break
                if runs == MANY:
                    if all_readings:
                        raise TooManyRuns
                    break
            state = constraints.low - 1
    if sees_a_set(trace.problem, item):
        yield from _set_candidates(trace, item, masked, all_readings)


def _likely_first(trace: Trace, item: int, low: int, high: int) -> list[tuple[int, int]]:
    """The horizon in spans of states: first those that can be the one at its start. At the levels that know no
    start that is only likely."""
    oldest, newest = trace.timeline.start_interval(trace.problem.times[item])
    oldest, newest = max(low, oldest), min(high, newest)
    if trace.problem.levels[item].horizon.at_start or oldest > newest:
        return [(low, high)]
    return [(oldest, newest), (newest + 1, high), (low, oldest - 1)]


def _set_candidates(
    trace: Trace, item: int, masked: list[frozenset[int]] | None, all_readings: bool
) -> Iterator[Candidate]:
    """Sets that are no states."""
    try:
        yield from set_candidates(trace, item, masked, exhaustive=all_readings)
    except TooManySets:
        if all_readings:
            raise TooManyRuns from None


def _execution_candidates(
    trace: Trace, item: int, masked: list[frozenset[int]] | None, all_readings: bool
) -> Iterator[Candidate]:
    """Readings in which each execution takes a state of its own, depth first."""
    times = trace.problem.times[item]
    lows, highs = bounds(trace.timeline, trace.states, times, trace.problem.oldest(len(trace)))
    if any(low > high for low, high in zip(lows, highs, strict=True)):
        return
    guess = highs if all_readings else likely(trace.timeline, trace.states, times, lows, highs)
    if guess != highs:
        guesses = Executions(lows, guess, masked, trace.states, highs, learns=True)
        yield from _executed(trace, item, guesses, masked, SEVERAL)
    if trace.problem.levels[item].by_row and not all_readings:
        sweeps = Executions(lows, highs, masked, trace.states, highs, learns=True, sweeps=True)
        yield from _executed(trace, item, sweeps, masked, MANY)
    limit = THOUSANDS if all_readings else MANY
    search = Executions(lows, highs, masked, trace.states, highs, learns=not all_readings)
    yield from _executed(trace, item, search, masked, limit, complete=all_readings)


def _executed(
    trace: Trace,
    item: int,
    search: Executions,
    masked: list[frozenset[int]] | None,
    limit: int,
    *,
    complete: bool = False,
) -> Iterator[Candidate]:
    """The readings of a search, so many at most; with `complete` TooManyRuns beyond that."""
    for runs in count(1):
        candidate, view = one_reading(trace, item, search, masked, tolerant=not complete)
        if complete and _may_have_changed_between(trace, item, search, view):
            raise TooManyRuns
        yield candidate
        if not complete:
            yield from _executed_otherwise(trace, item, search, masked, candidate, view)
        if not search.advance(view, _last_to_change(candidate.failure, view)):
            return
        if runs == limit:
            if complete:
                raise TooManyRuns
            return


def one_reading(
    trace: Trace,
    item: int,
    search: Executions,
    masked: list[frozenset[int]] | None,
    *,
    tolerant: bool,
    picks: Mapping[Address, int] | None = None,
) -> tuple[Candidate, StatementView]:
    """The reading that a search is at, going by `picks` where the DBMS had several ways."""
    candidate = trace.run(item, search.choices().picking(picks), 0, masked, tolerant=tolerant)
    view = candidate.view
    assert isinstance(view, StatementView)
    if candidate.failure is None:
        explicit = search.explicit(view)
        if explicit is None:
            text = "its statements would read states that go back in time"
            candidate.failure = Failure(item, "time", text)
        else:
            candidate.choices = explicit.picking(picks)
            candidate.failure = refused(trace, item, candidate.choices)
    return candidate, view


def _executed_otherwise(
    trace: Trace,
    item: int,
    search: Executions,
    masked: list[frozenset[int]] | None,
    candidate: Candidate,
    view: StatementView,
) -> Iterator[Candidate]:
    """The same reading going some of the other ways that the DBMS had."""
    for _ in range(SOME):
        picks = next_way(view.picked, _last_to_change(candidate.failure, view))
        if picks is None:
            return
        candidate, view = one_reading(trace, item, search, masked, tolerant=True, picks=picks)
        yield candidate


def _may_have_changed_between(trace: Trace, item: int, search: Executions, view: StatementView) -> bool:
    """Whether an execution that reads row by row may have come by a row twice, and met it in two versions, or not at
    all, as it was moved in an index meanwhile: the readings are not all there are then."""
    if not trace.problem.levels[item].by_row:
        return False
    statements, catalog = trace.problem.prepared(item).statements, trace.problem.library.catalog
    for execution, _ in view.states_read():
        program = statements[execution[0]].program
        if program is None or not view.is_by_row(execution):
            continue
        if looks_once(program.statement, catalog) and not trace.problem.may_pass_over(item, program):
            continue
        if search.open_rows(view, execution, search.lows[execution[0]]):
            return True
    return False


def _statement_candidates(
    trace: Trace, item: int, high: int, masked: list[frozenset[int]] | None
) -> Iterator[Candidate]:
    """Readings as a DBMS with statement snapshots takes them."""
    for search in readings(trace.problem, trace.timeline, item, high, masked):
        for _ in range(MANY):
            candidate = rechecked(trace, item, search, masked)
            yield candidate
            failure = candidate.failure
            if not search.advance(candidate.view, failure.statement if failure is not None else None):
                break


def rechecked(trace: Trace, item: int, search: Snapshots, masked: list[frozenset[int]] | None) -> Candidate:
    """The reading that a search is at, with the rows that it changes tested again on their newest versions."""
    exceptions: dict[tuple[int, int, str], int] = {}
    candidate = trace.run(item, search.choices(), 0, masked, tolerant=True)
    for _ in range(FEWEST):
        if not search.rechecked(candidate.view, exceptions):
            break
        candidate = trace.run(item, search.choices(exceptions), 0, masked, tolerant=True)
    return candidate


def _row_candidates(
    trace: Trace, item: int, states: tuple[int, int], masked: list[frozenset[int]] | None, all_readings: bool
) -> Iterator[Candidate]:
    """Every reading of every row, depth first: the last read that has an older version left takes it next."""
    oldest, high = states
    masks = masked or [frozenset() for _ in trace.problem.prepared(item).statements]
    exceptions: dict[tuple[int, int, str], int] = {}
    for _ in range(HUNDREDS):
        candidate = trace.run(item, Choices(high, exceptions, masks), 0, masked, tolerant=not all_readings)
        _note_two_versions(trace, item, candidate.view, masks)
        yield candidate
        reads = list(candidate.view.reads.items())
        while reads:
            (statement, execution, row), position = reads.pop()
            older = _older(row, position, masks[statement], oldest)
            if older is not None:
                exceptions = {(s, e, r.address): max(p, 0) for (s, e, r), p in reads}
                exceptions[statement, execution, row.address] = older
                break
        else:
            return
    if all_readings:
        raise TooManyRuns


def _note_two_versions(trace: Trace, item: int, view: ConcreteView, masks: list[frozenset[int]]) -> None:
    """Readings take each row once for each execution; a statement that acts on the newest rows and reads the same ones
    by itself may meet one in two versions. Where one has several, the readings are not all that a DBMS may do."""
    statements = trace.problem.prepared(item).statements
    for statement, _, row in view.reads:
        program = statements[statement].program
        if program is None or not row.positions or not program.meets_twice():
            continue
        if _older(row, row.positions[-1], masks[statement], trace.problem.oldest(len(trace))) is not None:
            trace.problem.free.choices[item] = MET_TWICE
            return


def next_way(picked: Mapping[Address, tuple[int, int]], failing: int | None) -> dict[Address, int] | None:
    """The picks that come next; None after the last. A choice after the failing statement is left as it is."""
    for address in sorted(picked, reverse=True):
        number, count = picked[address]
        if number + 1 < count and (failing is None or address[0] <= failing):
            return {**{other: picked[other][0] for other in picked if other < address}, address: number + 1}
    return None


def _last_to_change(failure: Failure | None, view: StatementView) -> int | None:
    """The last statement that may go otherwise so that the failure goes away; None for any. One that holds a row which
    it cannot have met does so whatever the statements after it read."""
    places = [place for place in (view.overtaken, None if failure is None else failure.statement) if place is not None]
    return min(places, default=None)


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


def _older(row: RowHistory, position: int, masked: frozenset[int], oldest: int) -> int | None:
    """The state from which a row read takes the next older version (or no row); None where there is none in the
    `oldest` state or later ones."""
    if position <= oldest:
        return None
    older = row.changed_at(position - 1)
    while older in masked:
        older = row.changed_at(older - 1)
    if older >= 0:
        return older
    return 0 if row.positions[0] > 0 else None
