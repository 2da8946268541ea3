"""Which concrete view a transaction runs on: by its level's scope, and by what the choices ask for.

Does not know what the run finds.
"""

from __future__ import annotations

from troubadour.execution.free.choices import Choices, Reading
from troubadour.execution.given import Given
from troubadour.execution.prepared import PreparedTransaction
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.rowwise import ActingView, RowView, takes_rows_apart
from troubadour.execution.views.statementwise import StatementView
from troubadour.isolation.levels import Scope
from troubadour.problem.problem import Problem


def view_of(
    problem: Problem,
    states: StateMap,
    item: int,
    prepared: PreparedTransaction,
    choices: Choices,
    *,
    tagged: bool = False,
    complete: bool = False,
) -> ConcreteView:
    """A fresh view for the item. `tagged`: values that the DBMS chose tell where they come from, and no reads are kept.
    With `complete` the rows that it looks at are all that it can have looked at."""
    level, author = problem.levels[item], prepared.transaction.id
    given = Given(
        use_index=problem.heuristics.index,
        free=(problem.free, item),
        tags=problem.free.cells if tagged else None,
        released=prepared.released if level.locks else None,
        lately=not complete and not problem.has_sets,
        keyed=level.scope is Scope.ROW,
        once=prepared.looked_up_once(problem.library.catalog) if level.acts else None,
    )
    if level.scope is Scope.STATEMENT:
        reading = Reading(level.rechecks, prepared.released, by_row=level.by_row)
        return StatementView(states, author, choices, reading, given)
    wanted = (choices.masked is not None or choices.hidden is not None) and not tagged
    if level.acts:
        return ActingView(states, author, choices, given, wanted=wanted)
    if wanted or takes_rows_apart(choices):
        return RowView(states, author, choices, given, wanted=wanted)
    return ConcreteView(states, author, choices, given)
