"""Readings of a transaction as a server takes them in real time: its executions read states that ascend.

Of the executions of one transaction those before some moment read an older state, those after it the newest. So there
are about as many readings as executions that look at what changed meanwhile, where the readings of each execution by
itself are as many as their product. Does not know which of them is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from troubadour.execution.free.choices import Execution
from troubadour.execution.states.history import Guarded
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.statementwise import StatementView
from troubadour.isolation.levels import Scope
from troubadour.search.schedule.placement import Candidate
from troubadour.search.schedule.read_candidates import candidates_for, one_reading, rechecked
from troubadour.search.schedule.statement_reads import Executions, Snapshots, bounds

if TYPE_CHECKING:
    from troubadour.search.schedule.trace import Trace

Run = Callable[[dict[Execution, int]], Candidate]


def in_real_time(trace: Trace, item: int) -> Iterator[Candidate]:
    """Runs of the transaction to be placed next: on the newest states, then with the executions up to one of them on
    older ones, the last ones first. Where it reads one state, every state (see `candidates_for`)."""
    problem = trace.problem
    scope = problem.levels[item].scope
    if scope is Scope.TRANSACTION or any(isinstance(version, Guarded) for _, _, version in trace.foreseen(item)):
        yield from candidates_for(trace, item)
        return
    lows, highs = bounds(trace.timeline, trace.states, problem.times[item], problem.oldest(len(trace)))
    if any(low > high for low, high in zip(lows, highs, strict=True)):
        return
    run = _by_rows(trace, item, lows) if scope is Scope.ROW else _by_statements(trace, item, lows, highs)
    first = run({})
    yield first
    executions = list(_looked_since(first.view))
    for place in range(len(executions) - 1, -1, -1):
        execution, since = executions[place]
        while since > lows[execution[0]]:
            older = since - 1
            candidate = run({other: max(older, lows[other[0]]) for other, _ in executions[: place + 1]})
            yield candidate
            since = min(older, dict(_looked_since(candidate.view)).get(execution, 0))


def _by_rows(trace: Trace, item: int, lows: list[int]) -> Run:
    _, high = trace.horizon(item)
    masked = trace.masked(item)
    masks = masked or [frozenset() for _ in lows]

    def run(states: dict[Execution, int]) -> Candidate:
        return rechecked(trace, item, Snapshots(high, lows, masks, True, states), masked)

    return run


def _by_statements(trace: Trace, item: int, lows: list[int], highs: list[int]) -> Run:
    masked = trace.masked(item)

    def run(states: dict[Execution, int]) -> Candidate:
        own = {execution: min(state, highs[execution[0]]) for execution, state in states.items()}
        search = Executions(lows, highs, masked, trace.states, highs, states=own)
        return one_reading(trace, item, search, masked, tolerant=True)[0]

    return run


def _looked_since(view: ConcreteView) -> Iterator[tuple[Execution, int]]:
    """The executions of a run and the state since which each would look at the same."""
    if isinstance(view, StatementView):
        for execution, state in view.states_read():
            yield execution, view.same_since(execution, state)
        return
    newest: dict[Execution, int] = {}
    for (statement, ordinal, _), position in view.reads.items():
        unit = statement, ordinal
        newest[unit] = max(newest.get(unit, 0), position)
    yield from sorted(newest.items())
