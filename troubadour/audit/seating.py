"""Transactions that wrote nothing go to the earliest place that times and their reads allow (DESIGN §4 *Time*, §6).

Where a transaction reads the state at its start, all that was over by then stands before that state, readers too; so a
reader that stands late, though it saw nothing of the latest commits, would make those that begin after it see these.
Whoever wrote nothing changes no state, so what the others read stays the same. Does not know who comes next.
"""

from __future__ import annotations

import copy

from troubadour.audit.orders import must_precede
from troubadour.audit.placement import Placement
from troubadour.audit.symbolic import SymbolicTrace
from troubadour.audit.trace import Trace
from troubadour.execution.choices import Choices
from troubadour.isolation.levels import Horizon, Scope


def seat(trace: Trace, settled: int) -> None:
    """Move those that wrote nothing, of the placements after the first `settled`, as far to the front as may be."""
    problem = trace.problem
    if problem.order_recorded or problem.order_exact or isinstance(trace, SymbolicTrace):
        return
    for position in range(settled + 1, len(trace) + 1):
        placement = trace.placements[position - 1]
        level = problem.levels[placement.item]
        reads_at_start = level.horizon is Horizon.START and level.scope is Scope.TRANSACTION and not level.acts
        if reads_at_start and not trace.states.written_at(position):
            _move(trace, position, max(_earliest(trace, position, placement), trace.fixed))


def _earliest(trace: Trace, position: int, placement: Placement) -> int:
    """After how many placements one that wrote nothing could stand."""
    choices = placement.choices
    if choices is None or choices.exceptions or choices.statements or choices.hidden:
        return position - 1
    met = [*(choices.newests or {}).values(), *(() if choices.newest is None else (choices.newest,))]
    first = max(placement.since, *met) if met else placement.since
    for before in range(position - 1, first, -1):
        if must_precede(trace.problem, trace.placements[before - 1].item, placement.item):
            return before
    return first


def _move(trace: Trace, position: int, place: int) -> None:
    """Put the one at a position, which wrote nothing, right after the first `place` placements."""
    behind = [placement.choices for placement in trace.placements[place:position]]
    if place >= position - 1 or any(choices is None or not _is_listed(choices) for choices in behind):
        return
    taken = trace.take_back(place)
    moved = taken.pop(position - 1 - place)
    assert moved.choices is not None
    if moved.choices.state > place:
        moved.placement.choices = _reading(moved.choices, place)
    for one in taken:
        if one.choices is not None:
            # who must read the newest state reads the one that the moved one stands at
            first = place if trace.problem.levels[one.item].horizon.latest else place + 1
            one.placement.choices = _shifted(one.choices, first, position)
        if place < one.placement.since < position:
            one.placement.since += 1
    trace.put_back([moved, *taken])


def _is_listed(choices: Choices) -> bool:
    """Whether what is read is said by states alone."""
    return not (choices.hidden or choices.masked or choices.defaults or choices.acting)


def _reading(choices: Choices, state: int) -> Choices:
    twin = copy.copy(choices)
    twin.state = state
    return twin


def _shifted(choices: Choices, first: int, position: int) -> Choices:
    """The same reads where the states from `first` to before a position have become the next ones."""

    def state_of(state: int) -> int:
        return state + 1 if first <= state < position else state

    twin = copy.copy(choices)
    twin.state = state_of(choices.state)
    twin.newest = None if choices.newest is None else state_of(choices.newest)
    twin.newests = choices.newests and {key: state_of(state) for key, state in choices.newests.items()}
    twin.statements = choices.statements and {key: state_of(state) for key, state in choices.statements.items()}
    twin.exceptions = choices.exceptions and {key: state_of(state) for key, state in choices.exceptions.items()}
    return twin
