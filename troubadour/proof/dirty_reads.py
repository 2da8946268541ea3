"""Reads of what was never committed (`read-uncommitted`; Crooks et al. 2017, C_RU: any version there ever was).

Such versions are not modelled: what committed ones explain is correct, and a violation is only what no version at all
explains. To tell, a transaction is run on rows that hold anything wherever another transaction may have written,
aborted or not, before or after. Does not know levels.
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Delete, Insert, Update
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.prepared import PreparedTransaction
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder


def is_refuted_dirty(problem: Problem, item: int) -> bool:
    """Whether a transaction's observations are impossible whichever versions its reads took. False where that was not
    found out. Raises OutOfTime."""
    if problem.discovery.unknown:
        return False
    others = [other for other in range(len(problem.statuses)) if other != item]
    try:
        kinds = {other: _kinds(problem.prepared(other)) for other in others}
        inserting = [other for other in others if kinds[other] == {Insert}]
        changing = [other for other in others if kinds[other] & {Update, Delete}]
        if any(kinds[other] - {Insert, Update, Delete} for other in others):
            return False
        if any(Insert in kinds[other] for other in changing):
            # a row that comes and goes within a transaction leaves no trace of itself
            return False
        encoder = AbstractEncoder(Trace(problem), item)
        # twice, so that each has met what any other may have written
        for other in (*inserting, *changing, *changing):
            problem.budget.left()
            encoder.add(other, kept=False)
        return not encoder.add(item, kept=True)
    except Unsupported:
        return False


def _kinds(prepared: PreparedTransaction) -> set[type]:
    """The kinds of statements that wrote, or may have in part before they failed."""
    found: set[type] = set()
    for statement in prepared.statements:
        program = statement.program
        if program is None:
            # it was refused, and had no effect
            continue
        if isinstance(program.statement, Query) and program.read_only:
            continue
        written = program.statement
        plain = statement.judged.fate is Fate.RUN and not program.calls
        if isinstance(written, Insert) and (written.conflict is not None or written.query is not None):
            plain = False
        found.add(type(written) if plain else object)
    return found
