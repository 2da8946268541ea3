"""Aborted transactions: answers that no state explains, and those that were not judged.

Products promise what these read, general levels do not. Where the recorded order of commits binds, it does not say
where they stood, and they are not judged. Does not know what they read, nor what made them abort.
"""

from __future__ import annotations

from troubadour.execution.observations.impossible import refuted, refuted_by_keys
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.problem.problem import Problem, has_answers


def impossible_answer(problem: Problem) -> tuple[int, str] | None:
    """An aborted transaction with an answer that no state explains, or any one with an error that names a key as it
    cannot, and why; None where there is none."""
    library = problem.library
    for item in problem.erring:
        status = problem.statuses[item]
        try:
            prepared = problem.prepared(item)
            why = refuted(prepared, library.catalog, library.dialect.name) if status == "aborted" else None
            why = why or refuted_by_keys(prepared, problem.keys)
        except UnsupportedStatement:
            continue
        if why is not None:
            transaction = problem.transaction(item).id
            which = "the aborted transaction" if status == "aborted" else "transaction"
            return item, f"{which} {transaction!r}, statement {why[0] + 1}: {why[1]}"
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
