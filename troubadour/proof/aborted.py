"""Aborted transactions: answers that no state explains, and those that were not judged (DESIGN §5, §8).

Products promise what these read, general levels do not. Where the recorded order of commits binds, it does not say
where they stood, and they are not judged. Does not know what they read, nor what made them abort.
"""

from __future__ import annotations

from troubadour.execution.observations.impossible import refuted
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.search.problem.problem import Problem, has_answers


def impossible_answer(problem: Problem) -> tuple[int, str] | None:
    """An aborted transaction with an answer that no state explains, and why; None where there is none."""
    library = problem.library
    for item, status in enumerate(problem.statuses):
        if status != "aborted" or all(s.error is None for s in problem.transaction(item).statements):
            continue
        try:
            why = refuted(problem.prepared(item), library.catalog, library.dialect.name)
        except UnsupportedStatement:
            continue
        if why is not None:
            transaction = problem.transaction(item).id
            return item, f"the aborted transaction {transaction!r}, statement {why[0] + 1}: {why[1]}"
    return None


def notes_on_aborted(problem: Problem) -> tuple[str, ...]:
    """How many aborted transactions at profiles had answers that were not judged."""
    found = [
        repr(transaction.id)
        for item, (level, transaction) in enumerate(zip(problem.levels, problem.log.transactions, strict=True))
        if transaction.status == "aborted"
        and item not in problem.aborted
        and level.dialect is not None
        and has_answers(transaction)
    ]
    if not found:
        return ()
    many = f"{len(found):,} aborted transactions (such as {found[0]})"
    return (f"what {many if len(found) > 1 else f'the aborted transaction {found[0]}'} read was not judged",)
