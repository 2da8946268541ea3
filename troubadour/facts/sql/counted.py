"""Rows whose writers only count: what a read of one tells by its number alone.

Where every transaction that may write a row adds to one of its columns, all in one direction, and leaves the others as
they are, the number that is read says how much was added before it, by whatever transactions. Does not know any order.
"""

from __future__ import annotations

from collections.abc import Iterable

from sql_semantics.records import dataclass
from troubadour.facts.sql.effects import Known, Unknown, Written


@dataclass(frozen=True, slots=True)
class Counted:
    """The column of a row that is counted, what it was at first, and whether it goes up (1) or down (-1)."""

    column: int
    first: int
    direction: int

    def added_by(self, written: Written) -> int:
        """How far a write counts, in its direction."""
        added = written.added[self.column]
        assert added is not None
        return added * self.direction

    def added_before(self, known: Known) -> int | None:
        """How far was counted where a row was seen so; None where that is not seen."""
        value = known[self.column] if isinstance(known, tuple) else None
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return (value - self.first) * self.direction


def counted(initial: Known, writes: Iterable[Written], *, newest: bool) -> Counted | None:
    """How a row is counted by all that may write it; None where some write does something else. `newest`: each is of
    the newest version; else one that leaves the row as it was may bring back an older one, as it conflicts with none.
    """
    if not isinstance(initial, tuple):
        return None
    column: int | None = None
    direction = 0
    for written in writes:
        if len(written.added) != len(initial) or not (newest or any(added != 0 for added in written.added)):
            return None
        for place, added in enumerate(written.added):
            if added == 0:
                continue
            if added is None or column not in (None, place) or added * direction < 0:
                return None
            column, direction = place, 1 if added > 0 else -1
    first = None if column is None else initial[column]
    if column is None or isinstance(first, bool) or not isinstance(first, int):
        return None
    return Counted(column, first, direction)


def is_otherwise_as(initial: Known, seen: Known, column: int) -> bool:
    """Whether a row was seen as it was at first but for one column."""
    if not isinstance(initial, tuple) or not isinstance(seen, tuple):
        return False
    pairs = zip(initial, seen, strict=True)
    return all(place == column or two is Unknown.VALUE or two == one for place, (one, two) in enumerate(pairs))
