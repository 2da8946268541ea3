"""Which errors a handler is for (SQL/PSM: the closest condition wins). Does not know what a handler does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.programs import Conditions
from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """The handlers of a block around the code being written."""

    function: str
    handlers: tuple[Conditions, ...]

    @property
    def conditions(self) -> Conditions:
        """What any of them is for."""
        found = self.handlers
        return Conditions(
            frozenset().union(*(item.states for item in found)),
            frozenset().union(*(item.classes for item in found)),
            frozenset().union(*(item.numbers for item in found)),
            any(item.others for item in found),
            frozenset().union(*(item.except_ for item in found)),
        )


def rank(conditions: Conditions, sqlstate: str, number: int | None) -> int:
    """How closely conditions fit an error: 3 by number, 2 by SQLSTATE, 1 by class, 0 not at all.

    Raises Unsupported where they name a number and the error's is not known.
    """
    if conditions.numbers:
        if number is None:
            raise Unsupported(f"a handler for error number {min(conditions.numbers)}")
        if number in conditions.numbers:
            return 3
    if sqlstate in conditions.states:
        return 2
    if sqlstate[:2] in conditions.classes:
        return 1
    if conditions.others and sqlstate not in conditions.except_ and sqlstate[:2] not in conditions.except_:
        return 1
    return 0


def matches(conditions: Conditions, sqlstate: str, number: int | None) -> bool:
    """Whether conditions are, or may be, for an error."""
    if number is None and conditions.numbers:
        return True
    return rank(conditions, sqlstate, number) > 0


def matcher(conditions: Conditions) -> Callable[[SqlError], bool]:
    """f(error): whether the clause is for it."""
    return lambda error: rank(conditions, error.sqlstate, error.number) > 0


def chooser(handlers: Sequence[Conditions]) -> Callable[[SqlError], int]:
    """f(error): the handler that fits it most closely, -1 for none."""

    def choose(error: SqlError) -> int:
        ranks = [rank(conditions, error.sqlstate, error.number) for conditions in handlers]
        best = max(ranks)
        return ranks.index(best) if best else -1

    return choose
