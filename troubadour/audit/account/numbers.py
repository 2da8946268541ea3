"""Numbers that were given twice, and numbers that nothing adds up to: anomalies of sequences and of counters.

Both are proofs that hold in every order; the refuters of `troubadour.proof` are asked again, for what they are about.
Does not know rows that are set rather than counted.
"""

from __future__ import annotations

from sql_semantics.library import SqlLibrary
from troubadour.audit.told.explain import name
from troubadour.execution.initial.rows import known_rows
from troubadour.model.account import Edge
from troubadour.model.log import Log, TransactionId
from troubadour.problem.budget import Budget
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.sequences import survey
from troubadour.proof.wording import value_text
from troubadour.search.inference.values.reachable_numbers import is_no_sum


def drawn_twice(log: Log, library: SqlLibrary, level: str) -> Edge | None:
    """A number that a sequence gave to two statements; None where none did."""
    problem = Problem(log, library, known_rows(log, library), isolation=level)
    repeated = survey(problem)
    if repeated is None:
        return None
    first, second = repeated.first, repeated.second
    one, other = (problem.transaction(number.item).id for number in (first, second))
    value = value_text(first.value)
    text = (
        f"sequence {first.name} gave {value} to {name(one)}'s statement {first.statement + 1} and to {name(other)}'s "
        f"statement {second.statement + 1}"
    )
    return Edge("sequence", one, other, text, statement=second.statement, key=first.name, seen=value)


def counts_wrong(log: Log, library: SqlLibrary, level: str, identifier: TransactionId, budget: Budget) -> bool:
    """Whether a transaction saw a number of a row to which others add, and no choice of what was added comes to it."""
    problem = Problem(log, library, known_rows(log, library), isolation=level, budget=budget)
    item = next((item for item in range(len(problem.statuses)) if problem.transaction(item).id == identifier), None)
    if item is None:
        return False
    try:
        shown = is_no_sum(problem, item)
    except OutOfTime:
        return False
    return shown is not None and shown.adds()
