"""The likeliest readings where each row read may be of a state of its own.

As a server takes them: an execution sees what was answered before it was sent, and what one before it saw, and what
writes or locks takes rows in their newest versions, so that no update is lost. And as the answers tell: of each row
the newest version that holds what was observed. Both are guesses, nearly always among the right ones; neither knows
whether it explains anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troubadour.execution.free.choices import Choices, Execution
from troubadour.execution.observations.observation import ObservedValue
from troubadour.execution.states.history import RowHistory, Version
from troubadour.isolation.times import was_there
from troubadour.problem.budget import MANY, SOME
from troubadour.search.schedule.placement import Candidate, content
from troubadour.search.schedule.visible_sets import seen_at

if TYPE_CHECKING:
    from troubadour.search.schedule.trace import Trace

Masks = Sequence[frozenset[int]]

Cuts = dict[int, Execution]
"""Positions, each with the last execution that does not see it."""

Told = tuple[int | None, ObservedValue]
"""A value of an answer, with the place of the column of its name, where there is one."""

NO_EXECUTION: Execution = (-1, -1)
"""Before all executions."""

NEARLY = 3, 4
"""Part of the time between a commit's request and its answer up to which it is taken to be under way."""


def as_servers(trace: Trace, item: int, *, losing: bool = True) -> Iterator[Candidate]:
    """Readings as a server takes them in real time, those first in which fewer commits are seen late, and at the end,
    with `losing`, those in which an update is lost."""
    meanwhile = _committed_meanwhile(trace, item)
    if not any(meanwhile):
        return
    masks = trace.masked(item) or [frozenset() for _ in meanwhile]
    # rows that are gone since then are looked at, too
    watched: Cuts = {min(frozenset().union(*meanwhile)): NO_EXECUTION}
    open_: deque[tuple[Cuts, tuple[int, Execution] | None]] = deque([({}, None)])
    known: set[frozenset[tuple[int, Execution]]] = set()
    ended: set[object] = set()
    useless: set[tuple[int, Execution]] = set()
    known_by: dict[tuple[int, frozenset[tuple[int, Execution]]], Execution] = {}
    lost: list[Candidate] = []
    runs = 0
    while open_ and runs < MANY:
        cuts, last = open_.popleft()
        if last in useless or any(
            known_by.get((position, _without(cuts, position)), unit) < unit for position, unit in cuts.items()
        ):
            continue
        runs += 1
        candidate = _run(trace, item, masks, {**watched, **cuts})
        met = _met_before(candidate, cuts)
        if met:
            for position, unit in met.items():
                known_by[position, _without(cuts, position)] = unit
            continue
        end = _end(candidate)
        if end in ended:
            # a cut that changes nothing by itself hardly does with others
            if last is not None and len(cuts) == 1:
                useless.add(last)
            continue
        ended.add(end)
        if candidate.failure is None and _loses_an_update(candidate, masks):
            lost.append(candidate)
        else:
            yield candidate
        for position, unit in _later(candidate, meanwhile, cuts):
            later = {**cuts, position: unit}
            key = frozenset(later.items())
            if key not in known:
                known.add(key)
                open_.append((later, (position, unit)))
    if losing:
        yield from lost


def read_again(trace: Trace, item: int, cuts: Cuts) -> Candidate | None:
    """The reading with these cuts of a transaction to be placed next, where it is one as a server takes them."""
    masks = trace.masked(item) or [frozenset() for _ in trace.problem.prepared(item).statements]
    candidate = _run(trace, item, masks, cuts)
    if candidate.failure is not None or _met_before(candidate, cuts) or _loses_an_update(candidate, masks):
        return None
    return candidate


def _end(candidate: Candidate) -> object:
    """What a run came to."""
    failure = candidate.failure
    return failure and (failure.condition, failure.statement, failure.text), content(candidate.view.writes())


def reads_alike(trace: Trace, item: int, wrote: object, known: Masks | None = None) -> bool:
    """Whether a transaction to be placed next writes the same where it sees as little as it may, but for the rows that
    it writes: then it hardly has another reading as a server would take it. `known`: what was committed meanwhile."""
    meanwhile = _committed_meanwhile(trace, item) if known is None else known
    if not any(meanwhile):
        return True
    masks = trace.masked(item) or [frozenset() for _ in meanwhile]
    last = len(meanwhile), 0
    candidate = _run(trace, item, masks, dict.fromkeys(frozenset().union(*meanwhile), last))
    return candidate.failure is None and content(candidate.view.writes()) == wrote


def having_waited(trace: Trace, newest: Candidate) -> Candidate | None:
    """The reading in which queries did not see what was still under way, and what came after them waited until it was
    committed, if it writes something else than where the newest versions are read: so it is nearly always, where
    transactions that lock the same rows overlap."""
    item = newest.item
    if not newest.view.writes():
        return None
    meanwhile = _committed_meanwhile(trace, item)
    put = trace.problem.times[item].put
    if not any(_is_early(trace, position, put[n]) for n, seen in enumerate(meanwhile) for position in seen):
        return None
    newest.alike = reads_alike(trace, item, content(newest.view.writes()), meanwhile)
    if newest.alike:
        return None
    masks = trace.masked(item) or [frozenset() for _ in meanwhile]
    watched: Cuts = {min(frozenset().union(*meanwhile)): NO_EXECUTION}
    best, cuts = _run(trace, item, masks, watched), watched
    tried: set[tuple[Execution, int]] = set()
    for _ in range(SOME):
        found = {((unit, execution), position) for (unit, execution, _), position in best.view.reads.items()}
        open_ = sorted(
            (unit, position)
            for unit, position in found - tried
            if position in meanwhile[unit[0]]
            and unit not in best.view.acting
            and cuts.get(position, NO_EXECUTION) == NO_EXECUTION
            and _is_early(trace, position, trace.problem.times[item].put[unit[0]])
        )
        if not open_:
            break
        unit, position = open_[0]
        tried.add((unit, position))
        later = {**cuts, position: unit}
        candidate = _run(trace, item, masks, later)
        if candidate.failure is not None or _met_before(candidate, later) or _loses_an_update(candidate, masks):
            continue
        if _waits_for(candidate, position, unit) and _end(candidate) != _end(best):
            best, cuts = candidate, later
    return None if cuts is watched else best


def _is_early(trace: Trace, position: int, put: int | None) -> bool:
    """Whether a statement was sent while a commit was not nearly answered yet."""
    writer = trace.timeline.times[position - 1]
    if put is None or writer.sent is None or writer.answered is None:
        return True
    return (put - writer.sent) * NEARLY[1] <= (writer.answered - writer.sent) * NEARLY[0]


def _waits_for(candidate: Candidate, position: int, unit: Execution) -> bool:
    """Whether an execution that writes or locks, after one that does not see a commit, meets what it wrote."""
    view = candidate.view
    return any(
        met == position and (statement, execution) in view.acting and (statement, execution) > unit
        for (statement, execution, _), met in view.reads.items()
    )


def _committed_meanwhile(trace: Trace, item: int) -> list[frozenset[int]]:
    """For each statement the positions that a server in real time may or may not have shown it; none at all where these
    are many, as without times. They need not be the last ones: what was committed is seen in another order than that of
    its timestamps."""
    timeline, states, times = trace.timeline, trace.states, trace.problem.times[item]
    first = next(iter(times.put), None)
    oldest = trace.problem.oldest(len(trace))
    found: list[int] = []
    quiet = 0
    for position in range(len(trace), oldest, -1):
        if was_there(timeline.times[position - 1], times, first):
            quiet += 1
            if quiet == SOME:
                break
        else:
            quiet = 0
            if states.written_at(position):
                found.append(position)
                if len(found) > SOME:
                    return []
    return [
        frozenset(position for position in found if not was_there(timeline.times[position - 1], times, put))
        for put in times.put
    ]


def _run(trace: Trace, item: int, masks: Masks, cuts: Cuts) -> Candidate:
    """A run with these cuts; what writes or locks takes the newest versions."""
    trace.problem.budget.left()
    return trace.run(item, Choices(len(trace), None, masks, cuts=cuts), 0, list(masks), tolerant=True)


def _later(candidate: Candidate, meanwhile: Sequence[frozenset[int]], cuts: Cuts) -> Iterator[tuple[int, Execution]]:
    """What may be seen later than in a run, with the last query that then does not see it, the latest first."""
    failing = None if candidate.failure is None else candidate.failure.statement
    found = {
        ((statement, execution), position)
        for (statement, execution, _), position in candidate.view.reads.items()
        if position in meanwhile[statement] and (failing is None or statement <= failing)
    }
    for unit, position in sorted(found, reverse=True):
        if unit > cuts.get(position, NO_EXECUTION) and unit not in candidate.view.acting:
            yield position, unit


def _without(cuts: Cuts, position: int) -> frozenset[tuple[int, Execution]]:
    return frozenset(cut for cut in cuts.items() if cut[0] != position)


def _met_before(candidate: Candidate, cuts: Cuts) -> dict[int, Execution]:
    """Of commits that a query does not see though an execution before it that writes or locks met what they wrote, that
    execution: they were there by then."""
    view = candidate.view
    met: dict[int, Execution] = {}
    for (statement, execution, _), position in view.reads.items():
        unit = statement, execution
        if position in cuts and unit in view.acting and unit < cuts[position]:
            met[position] = min(unit, met.get(position, unit))
    return met


def _loses_an_update(candidate: Candidate, masks: Masks) -> bool:
    """Whether it read a row that it writes in an older version than the newest."""
    written = candidate.view.writes()
    return any(
        row in written and row.positions and seen_at(row, row.positions[-1], masks[statement]) > position
        for (statement, _, row), position in candidate.view.reads.items()
    )


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
