"""Transactions that wrote nothing go to the earliest place that times and their reads allow.

Where a transaction reads the state at its start, all that was over by then stands before that state, readers too; so a
reader that stands late, though it saw nothing of the latest commits, would make those that begin after it see these.
A read-only transaction changes no state, so what the others read stays the same. Does not know which comes next.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from troubadour.execution.free.choices import Choices
from troubadour.isolation.levels import Horizon
from troubadour.problem.budget import MANY
from troubadour.problem.orders import must_precede
from troubadour.search.schedule.placement import Placement
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.trace import SymbolicTrace


def seat(trace: Trace, settled: int) -> None:
    """Move those that wrote nothing, of the placements after the first `settled`, as far to the front as may be."""
    if not _may_move(trace):
        return
    for position in range(settled + 1, len(trace) + 1):
        if _moves(trace, position):
            placement = trace.placements[position - 1]
            place = _earliest(trace, position, placement, max(placement.since, trace.fixed, position - MANY))
            _move(trace, position, place)


def _may_move(trace: Trace) -> bool:
    """Whether places are open, and all that is read is said by states alone."""
    problem = trace.problem
    return not (
        problem.order_recorded
        or problem.order_exact
        or isinstance(trace, SymbolicTrace)
        or not problem.reads_whole_states
        or problem.has_sets
    )


def _moves(trace: Trace, position: int) -> bool:
    """Whether the one at a position wrote nothing and reads the state at its start."""
    level = trace.problem.levels[trace.placements[position - 1].item]
    return level.horizon is Horizon.START and not level.acts and not trace.states.written_at(position)


def _earliest(trace: Trace, position: int, placement: Placement, first: int) -> int:
    """After how many placements one could stand, the `first` at least."""
    for before in range(position - 1, first, -1):
        if must_precede(trace.problem, trace.placements[before - 1].item, placement.item):
            return before
    return first


def _move(trace: Trace, position: int, place: int) -> None:
    """Put the one at a position, which wrote nothing, right after the first `place` placements."""
    if place >= position - 1:
        return
    moved = trace.placements[position - 1]
    assert moved.choices is not None
    moved.choices = _reading(moved.choices, place)
    trace.move(position, place)
    _shift(trace, trace.placements[place + 1 :], place, position)


def _shift(trace: Trace, placements: Sequence[Placement], place: int, position: int) -> None:
    """Let others read what they read, though the one at a position stands behind `place` now."""
    levels = trace.problem.levels
    for one in placements:
        assert one.choices is not None
        # a transaction that must read the newest state reads the one that the moved one stands at
        first = place if levels[one.item].horizon.latest else place + 1
        one.choices = _shifted(one.choices, first, position)
        if place < one.since < position:
            one.since += 1


def _reading(choices: Choices, last: int) -> Choices:
    """The same reads where no state after the `last` is there yet."""
    twin = copy.copy(choices)
    twin.state = min(choices.state, last)
    twin.newest = None if choices.newest is None else min(choices.newest, last)
    twin.newests = choices.newests and {key: min(state, last) for key, state in choices.newests.items()}
    return twin


def _shifted(choices: Choices, first: int, position: int) -> Choices:
    """The same reads where the states from `first` to before a position have become the next ones."""
    if not (
        first <= choices.state < position
        or choices.newest is not None
        or choices.newests
        or choices.statements
        or choices.exceptions
    ):
        return choices

    def state_of(state: int) -> int:
        return state + 1 if first <= state < position else state

    twin = copy.copy(choices)
    twin.state = state_of(choices.state)
    twin.newest = None if choices.newest is None else state_of(choices.newest)
    twin.newests = choices.newests and {key: state_of(state) for key, state in choices.newests.items()}
    twin.statements = choices.statements and {key: state_of(state) for key, state in choices.statements.items()}
    twin.exceptions = choices.exceptions and {key: state_of(state) for key, state in choices.exceptions.items()}
    return twin
