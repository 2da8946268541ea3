"""The likeliest readings where each row read may be of a state of its own (DESIGN §4, *scope* row; §7 H4).

As a server takes them: its executions read states that ascend, no older than what was answered before they were sent,
and rows that the transaction writes are in their newest version, so that no update is lost. And as the answers tell: of
each row the newest version that holds what was observed. Both are guesses, nearly always among the right ones; neither
knows whether it explains anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troubadour.execution.free.choices import Choices, Execution
from troubadour.execution.observations.observation import ObservedValue
from troubadour.execution.states.history import RowHistory, Version
from troubadour.search.schedule.placement import Candidate
from troubadour.search.schedule.statement_reads import RECHECKS, Snapshots, settled_before

if TYPE_CHECKING:
    from troubadour.search.schedule.trace import Trace

Masks = Sequence[frozenset[int]]

Told = tuple[int | None, ObservedValue]
"""A value of an answer, with the place of the column of its name, where there is one."""

NEAR = 256
"""States between what was there for certain and the newest one up to which executions are taken apart."""

CUTS = 48
"""Runs in which executions up to some read states that are older than the newest."""


def as_servers(trace: Trace, item: int) -> Iterator[Candidate]:
    """Readings as a server takes them in real time, those first in which fewer executions read older states, and at
    the end those in which an update is lost."""
    problem = trace.problem
    _, high = trace.horizon(item)
    oldest = problem.oldest(len(trace))
    lows = [max(oldest, state) for state in settled_before(problem, trace.timeline, item)]
    if not lows or high - min(lows) > NEAR:
        return
    masks = trace.masked(item) or [frozenset() for _ in lows]
    open_: deque[dict[Execution, int]] = deque([{}])
    known: set[frozenset[tuple[Execution, int]]] = set()
    losing: list[Candidate] = []
    for _ in range(CUTS):
        if not open_:
            break
        search = Snapshots(high, lows, list(masks), recheck=True, states=open_.popleft())
        for candidate in _held(trace, item, search):
            if candidate.failure is None and _loses_an_update(candidate, masks):
                losing.append(candidate)
            else:
                yield candidate
        for states in _older(candidate, search):
            key = frozenset(states.items())
            if key not in known:
                known.add(key)
                open_.append(states)
    yield from losing


def _held(trace: Trace, item: int, search: Snapshots) -> list[Candidate]:
    """The reading that a search is at, with what it writes in the newest versions: of all its reads, or else of those
    by which it writes."""
    exceptions: dict[tuple[int, int, str], int] = {}
    masked = list(search.masks)
    candidate = trace.run(item, search.choices(), 0, masked, tolerant=True)
    for _ in range(RECHECKS):
        if not search.rechecked(candidate.view, exceptions):
            break
        candidate = trace.run(item, search.choices(exceptions), 0, masked, tolerant=True)
    written = candidate.view.writes()
    older = {
        (statement, execution, row.address): newest
        for (statement, execution, row), position in candidate.view.reads.items()
        if row in written and (newest := _newest(row, search.high, search.masks[statement])) > position
    }
    if not older:
        return [candidate]
    return [trace.run(item, search.choices({**exceptions, **older}), 0, masked, tolerant=True), candidate]


def _loses_an_update(candidate: Candidate, masks: Masks) -> bool:
    """Whether it read a row that it writes in an older version than the newest."""
    written = candidate.view.writes()
    return any(
        row in written and row.positions and _newest(row, row.positions[-1], masks[statement]) > position
        for (statement, _, row), position in candidate.view.reads.items()
    )


def _older(candidate: Candidate, search: Snapshots) -> Iterator[dict[Execution, int]]:
    """What the executions read where those up to one of them see a commit less, the last ones first."""
    failing = None if candidate.failure is None else candidate.failure.statement
    since: dict[Execution, int] = {}
    for (statement, execution, _), position in candidate.view.reads.items():
        unit = statement, execution
        if failing is None or statement <= failing:
            state = search.states.get(unit, search.high)
            since[unit] = max(since.get(unit, 0), position if position <= state else 0)
    units = sorted(since)
    for place in range(len(units) - 1, -1, -1):
        older = since[units[place]] - 1
        if older < search.lowest[units[place][0]]:
            continue
        earlier = {
            unit: max(min(search.states.get(unit, search.high), older), search.lowest[unit[0]])
            for unit in units[: place + 1]
        }
        yield {**search.states, **earlier}


def _newest(row: RowHistory, state: int, masked: frozenset[int]) -> int:
    """The newest position, up to a state, whose version of a row may be taken."""
    position = row.changed_at(state)
    while position in masked:
        position = row.changed_at(position - 1)
    return position


def as_told(trace: Trace, item: int) -> Candidate:
    """The reading in which each statement that is not explained by the newest versions takes of each row the newest
    one that holds a row of its answer, or none where no version does."""
    _, high = trace.horizon(item)
    statements = trace.problem.prepared(item).statements
    masks = trace.masked(item) or [frozenset() for _ in statements]
    oldest = trace.problem.oldest(len(trace))
    exceptions: dict[tuple[int, int, str], int] = {}
    last = -1
    while True:
        candidate = trace.run(item, Choices(high, exceptions, masks), 0, masks, tolerant=True)
        failure = candidate.failure
        if failure is None or failure.condition != "observation" or failure.statement is None:
            return candidate
        statement = failure.statement
        results = statements[statement].observation.results
        if statement <= last or not results:
            return candidate
        last = statement
        answers = [
            tuple(zip((name.lower() for name in result.observed.columns), row, strict=True))
            for result in results
            for row in result.rows or ()
        ]
        for (number, execution, row), position in candidate.view.reads.items():
            if number == statement:
                columns = [column.name.lower() for column in trace.states.tables[row.table].schema.columns]
                wanted = [[(_place_of(name, columns), value) for name, value in answer] for answer in answers if answer]
                state = _telling(row, position, wanted, masks[statement], oldest)
                if state is not None:
                    exceptions[number, execution, row.address] = state


def _place_of(name: str, columns: Sequence[str]) -> int | None:
    return columns.index(name) if name in columns else None


def _has(version: Version, place: int | None, value: ObservedValue) -> bool:
    """Whether a version has a value in a column, or in any where that is not known."""
    return isinstance(version, tuple) and (value in version if place is None else version[place] == value)


def _telling(
    row: RowHistory, newest: int, answers: Sequence[Sequence[Told]], masked: frozenset[int], oldest: int
) -> int | None:
    """The state from which a row is taken in the newest version that holds one of the answers, or is absent where none
    does; None where it is so in its `newest` one, or never."""
    absent: int | None = None
    for index in range(len(row.positions) - 1, -1, -1):
        position, version = row.positions[index], row.versions[index]
        if position > newest or position in masked:
            continue
        if version is None:
            absent = position if absent is None else absent
        elif any(all(_has(version, *told) for told in answer) for answer in answers):
            return None if position == newest else position
        if position <= oldest:
            break
    else:
        if absent is None and row.positions and row.positions[0] > 0:
            absent = max(oldest, 0) if row.changed_at(oldest) < 0 else None
    return None if absent is None or absent == newest else absent
