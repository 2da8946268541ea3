"""What an accusation says of one statement: that in none of these states it answers what was observed.

For a program that can ask the product itself whether that is so. Does not know engines.
"""

from __future__ import annotations

from troubadour.model.account import Edge
from troubadour.model.verdict import Claim
from troubadour.problem.budget import SEVERAL
from troubadour.problem.problem import Problem
from troubadour.search.found import Found


def claim_of(problem: Problem, found: Found, garbage: Edge | None = None) -> Claim | None:
    """The claim that a failure makes, None where it is not about an answer. `garbage`: as of `Claim`."""
    failure = found.failure
    if failure is None or failure.condition not in ("observation", "error") or failure.statement is None:
        return None
    states = found.trace.states
    told = []
    for state in range(states.length, max(-1, states.length - SEVERAL), -1):
        rows = {name: states.rows_at(name, state) for name in problem.library.catalog.tables}
        known = {name: tuple(row for _, row in some) for name, some in rows.items() if some is not None}
        if len(known) == len(rows) and known not in told:
            told.append(known)
    return Claim(problem.transaction(failure.item).id, failure.statement, tuple(told), garbage)


def claim_of_garbage(garbage: Edge) -> Claim | None:
    """The claim that a read is of no version, whichever state it was of."""
    return None if garbage.statement is None else Claim(garbage.later, garbage.statement, (), garbage)
