"""What one transaction saw of the numbers that rows can have had, and whether some of them explain it.

An observation is a guard over numbers of which only the reach is known. One that is no sum of what was added, nor the
sum of two of them, has no explanation in any order at any level that reads what was committed.
Does not know how it is known what rows can have had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Protocol

from sql_semantics.records import dataclass
from sql_semantics.terms import Guard, Leaf, Term
from sql_semantics.terms.numbers import is_number
from troubadour.execution.states.history import RowHistory
from troubadour.problem.budget import MANY
from troubadour.search.inference.values.reaches import Column, Reach, Reaches, scaled
from troubadour.search.inference.values.sums import may_add_up


class Numbers(Protocol):
    """What rows can have had: `found`, and which transactions may have written them."""

    found: Reaches
    writers: dict[RowHistory, set[int]]


@dataclass
class SeenNumbers:
    """What `item` saw: `guard` says where the numbers explain it; `looked_at` are the rows that it met."""

    numbers: Numbers
    item: int
    guard: Guard
    looked_at: frozenset[RowHistory]

    def is_impossible(self) -> bool:
        """Whether nothing that rows may have been explains the item."""
        return self.excludes(self.guard)

    def members(self) -> frozenset[int]:
        """The item, and all that may have written what refutes it, or what that was copied from; all that it looked at
        where it is not refuted."""
        rows = self._refuting(self.guard)
        return self._with_writers(self._met if rows is None else rows)

    def all_members(self) -> frozenset[int]:
        """The same for all that it looked at."""
        return self._with_writers(self._met)

    def _with_writers(self, rows: Iterable[RowHistory]) -> frozenset[int]:
        return frozenset({self.item}).union(*(self.numbers.writers[row] for row in rows if row in self.numbers.writers))

    def adds(self) -> bool:
        """Whether something is added to a row that the item looked at."""
        return any(reach.added for row in self._met for reach in self.numbers.found.columns.get(row, ()))

    @cached_property
    def _met(self) -> frozenset[RowHistory]:
        """The rows that the item looked at, and those that they may have been copied from."""
        columns = (
            (row, place) for row in self.looked_at for place in range(len(self.numbers.found.columns.get(row, ())))
        )
        return self._with_origins(columns) | self.looked_at

    def _with_origins(self, columns: Iterable[Column]) -> frozenset[RowHistory]:
        return frozenset(row for column in columns for row, _ in self.numbers.found.origins(column))

    def excludes(self, guard: Guard) -> bool:
        """Whether no numbers that rows may have had make a guard true."""
        return self._refuting(guard) is not None

    def _refuting(self, guard: Guard, known: Refuting | None = None) -> frozenset[RowHistory] | None:
        """The rows of which no numbers make a guard true; None where some may. `known`: of parts that were looked at:
        one may stand in a guard time and again."""
        known = {} if known is None else known
        if guard in known:
            return known[guard]
        found: frozenset[RowHistory] | None = None
        match guard.kind:
            case "false":
                found = self._met
            case "and":
                parts = [self._refuting(part, known) for part in guard.args]
                found = min((rows for rows in parts if rows is not None), key=len, default=None)
            case "or":
                parts = [self._refuting(part, known) for part in guard.args]
                found = None if None in parts else frozenset().union(*(rows for rows in parts if rows is not None))
            case "cmp" if guard.args[0] == "=" and self._unequal(guard.args[1], guard.args[2]):
                found = self._rows_in(guard.args[1], guard.args[2])
        known[guard] = found
        return found

    def _rows_in(self, left: Leaf, right: Leaf) -> frozenset[RowHistory]:
        terms = [term for ways, _ in linear(left, right) or () for term, _ in ways]
        places = [self.place_of(term) for term in terms]
        return self._with_origins(place for place in places if place is not None) if all(places) else self._met

    def _unequal(self, left: Leaf, right: Leaf) -> bool:
        cases = linear(left, right)
        return cases is not None and not any(self._may_come_to(*case) for case in cases)

    def _may_come_to(self, terms: Sequence[tuple[Term, int]], target: Decimal) -> bool:
        if not terms:
            return not target
        known = [reach for reach in (self.reach_of(term) for term, _ in terms) if reach is not None]
        signs, scales = {sign for _, sign in terms}, {reach.scale for reach in known}
        if len(known) < len(terms) or len(terms) > 2 or len(signs) > 1 or len(scales) > 1:
            return True
        (scale,), (sign,) = scales, signs
        if target.scaleb(scale) % 1:
            return False
        wanted = scaled(target * sign, scale)
        if len(known) == 1:
            return known[0].has(wanted)
        first, second = known
        return any(
            may_add_up(first.sums, second.sums, wanted - one - other) for one in first.bases for other in second.bases
        )

    def reach_of(self, term: Term) -> Reach | None:
        """What is known of a number that was read."""
        place = self.place_of(term)
        return None if place is None else self.numbers.found.reach(place)

    def place_of(self, term: Term) -> Column | None:
        """The row and the column of a number that was read."""
        return self.numbers.found.read.get(term.args[0]) if term.op == "var" else None


Refuting = dict[Guard, frozenset[RowHistory] | None]
"""By guard the rows of which no numbers make it true; None where some may."""
Linear = tuple[list[tuple[Term, int]], Decimal]
"""Unknowns with their signs, and the number that they come to."""


def linear(left: Leaf, right: Leaf) -> list[Linear] | None:
    """All ways in which left = right may be meant; None where one of them is not so simple, or they are many."""
    found: list[Linear] = []
    pending: list[tuple[list[tuple[Leaf, int]], list[tuple[Term, int]], Decimal]] = [
        ([(left, 1), (right, -1)], [], Decimal(0))
    ]
    while pending:
        open_leaves, terms, constant = pending.pop()
        if not open_leaves:
            found.append((terms, constant))
            continue
        leaf, sign = open_leaves.pop()
        if not isinstance(leaf, Term):
            if not is_number(leaf):
                return None
            pending.append((open_leaves, terms, constant - sign * Decimal(leaf)))  # type: ignore[arg-type]
            continue
        match leaf.op:
            case "var":
                pending.append((open_leaves, [*terms, (leaf, sign)], constant))
            case "add":
                more = [(leaf.args[0], sign), (leaf.args[1], sign)]
                pending.append(([*open_leaves, *more], terms, constant))
            case "sub":
                more = [(leaf.args[0], sign), (leaf.args[1], -sign)]
                pending.append(([*open_leaves, *more], terms, constant))
            case "neg":
                pending.append(([*open_leaves, (leaf.args[0], -sign)], terms, constant))
            case "ite":
                pending += [([*open_leaves, (branch, sign)], list(terms), constant) for branch in leaf.args[1:]]
            case _:
                return None
        if len(pending) + len(found) > MANY:
            return None
    return found
