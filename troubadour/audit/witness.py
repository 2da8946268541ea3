"""The witness that a complete search ends with. Does not know whether it is right: replay does.

What a placement took is named as a witness names it: states, exceptions, the rows that constraints met, chosen values.
"""

from __future__ import annotations

import msgspec

from troubadour.execution.free.values import json_of
from troubadour.execution.initial.discovery import complete_references
from troubadour.model.log import InitialTable
from troubadour.model.witness import FreeChoice, RowRead, StatementRead, TransactionView, Witness
from troubadour.problem.problem import Problem
from troubadour.search.found import Found
from troubadour.search.schedule.visible_sets import hidden_from_each


def witness_of(problem: Problem, found: Found) -> Witness:
    """The witness that a complete trace is."""
    order = []
    views = []
    initial, addresses = _initial_rows(problem, found.trace.problem)
    unseen = hidden_from_each(found.trace) if problem.has_sets else [frozenset[int]()] * len(found.trace)
    for placement, away in zip(found.trace.placements, unseen, strict=True):
        choices = placement.choices
        assert choices is not None
        order.append(problem.transaction(placement.item).id)
        exceptions = tuple(
            RowRead(statement, execution, addresses.get(row, row), state)
            for (statement, execution, row), state in (choices.exceptions or {}).items()
            if addresses.get(row, row)
        )
        newest = msgspec.UNSET if choices.newest is None else choices.newest
        executions = sorted({**(choices.statements or {}), **(choices.newests or {})})
        reads = tuple(
            StatementRead(
                *execution,
                (choices.statements or {}).get(execution, choices.state),
                (choices.newests or {}).get(execution, choices.newest),
            )
            for execution in executions
        )
        free = tuple(FreeChoice(*address, json_of(value)) for address, value in placement.drawn.items())
        # the state is the newest one that is seen
        state = next((state for state in range(choices.state, 0, -1) if state not in away), 0)
        hidden = tuple(sorted(position for position in away if position < state)) or msgspec.UNSET
        views.append(TransactionView(state, exceptions, newest, free or msgspec.UNSET, reads or msgspec.UNSET, hidden))
    return Witness(problem.log.digest, problem.isolation, tuple(order), tuple(views), initial=initial)


def _initial_rows(
    problem: Problem, assumed: Problem
) -> tuple[tuple[InitialTable, ...] | msgspec.UnsetType, dict[str, str]]:
    """The rows assumed of the tables where the log gives none, and what they are called where only those that were
    there are counted (a row that was not there: nothing)."""
    unknown = problem.discovery.unknown
    if not unknown:
        return msgspec.UNSET, {}
    addresses: dict[str, str] = {}
    rows = {name: list(assumed.initial[name]) for name in unknown}
    complete_references(rows, assumed.initial, problem.library.catalog)
    for name in unknown:
        count = 0
        for number, row in enumerate(rows[name]):
            addresses[f"{name}:-:{number}"] = "" if row is None else f"{name}:-:{count}"
            count += row is not None
    tables = tuple(
        InitialTable(name, None, tuple(tuple(map(json_of, row)) for row in rows[name] if row is not None))
        for name in unknown
    )
    return tables, addresses
