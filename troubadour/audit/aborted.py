"""What a verdict of correct leaves out about aborted transactions (DESIGN §5, §8).

Products promise what these read, general levels do not, and it is not judged. Does not know what they read, nor what
made them abort.
"""

from __future__ import annotations

from troubadour.audit.problem import Problem


def notes_on_aborted(problem: Problem) -> tuple[str, ...]:
    """How many aborted transactions at profiles had answers."""
    found = [
        repr(transaction.id)
        for level, transaction in zip(problem.levels, problem.log.transactions, strict=True)
        if transaction.status == "aborted"
        and level.dialect is not None
        and any(one.results is not None or one.affected is not None for one in transaction.statements)
    ]
    if not found:
        return ()
    many = f"{len(found):,} aborted transactions (such as {found[0]})"
    return (f"what {many if len(found) > 1 else f'the aborted transaction {found[0]}'} read was not judged",)
