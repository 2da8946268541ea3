"""What one column of one row can ever have been, whatever wrote it, and in whatever order (paper §8.1, RQ1).

A version is a number that was set, or the initial one, in this column or in one that it was copied from, and then some
transactions added to it. Each does so at most once on the way, as it reads what others committed before it: so the
number is a sum of what some of them add. Does not know how transactions run, nor any order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from sql_semantics.ir.schema import TableColumn
from sql_semantics.records import dataclass, field
from sql_semantics.terms import TRUE, Cases, Leaf, Scalar, atom, unknown
from sql_semantics.terms.numbers import is_number
from sql_semantics.values.types import INTEGER_KINDS, Kind, SqlType
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.states.history import RowHistory, Version
from troubadour.execution.views.abstract import Summaries
from troubadour.execution.views.guarded import Alternatives
from troubadour.problem.budget import SOME
from troubadour.search.inference.values.sums import Options, Sums, sums_of

Column = tuple[RowHistory, int]
"""A row and the place of a column in it."""


@dataclass
class Reach:
    """What one column of one row may have been: `values` that were set, what each item may have added since, and by
    column what each item may have added to that in copying it; `open`: anything else, too. `joined`: what it was copied
    from is among the values and what was added."""

    type: SqlType
    values: dict[Hashable, Leaf] = field(default_factory=dict)
    added: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    set_by: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    copied: dict[Column, dict[int, set[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    open: bool = False
    joined: bool = False

    @property
    def scale(self) -> int:
        """Digits after the point; numbers are told as integers."""
        return self.type.scale or 0

    @cached_property
    def sums(self) -> Sums:
        """What may have been added to a value that was set."""
        return sums_of(self.changes)

    @property
    def changes(self) -> list[Options]:
        """What each item may have added."""
        return [tuple(sorted(options)) for options in self.added.values()]

    @cached_property
    def bases(self) -> list[int]:
        """The numbers that were set, as integers."""
        return [scaled(value, self.scale) for value in self.values.values() if is_number(value)]

    @property
    def is_fixed(self) -> bool:
        """Whether nothing ever changed it."""
        return not (self.open or self.added or self.copied or len(self.values) > 1)

    def has(self, value: int) -> bool:
        """Whether a version may have this number."""
        return self.open or any(value - base in self.sums for base in self.bases)

    def hull(self) -> tuple[Any, Any]:
        """The least and the greatest number that a version may have."""
        low = min(self.bases) + sum(min(0, *options) for options in self.changes)
        high = max(self.bases) + sum(max(0, *options) for options in self.changes)
        if self.type.kind is Kind.NUMERIC:
            return Decimal(low).scaleb(-self.scale), Decimal(high).scaleb(-self.scale)
        return low, high

    def is_like(self, other: Reach) -> bool:
        """Whether a value of one is the same in the other."""
        both_integers = self.type.kind in INTEGER_KINDS and other.type.kind in INTEGER_KINDS
        return both_integers or self.type == other.type

    def join(self, other: Reach) -> None:
        """Take over what another one that it was copied from may have been."""
        self.values.update(other.values)
        for changes in (other.added, *other.copied.values()):
            for item, options in changes.items():
                if any(options):
                    self.added[item] |= options


def scaled(value: Any, scale: int) -> int:
    """A number as the integer that a term of this scale stands for."""
    return int(Decimal(value).scaleb(scale))


class Reaches(Summaries):
    """The columns of all rows; a reader finds a number of which only its `Reach` is known."""

    def __init__(
        self,
        columns: dict[RowHistory, list[Reach]],
        types: Mapping[str, Sequence[TableColumn]],
        deleted: Collection[RowHistory],
    ) -> None:
        """`deleted`: rows that some transaction may delete."""
        self.columns = columns
        self._deleted = deleted
        self._types = types
        self._joined: dict[Column, Reach] = {}
        self.read: dict[Hashable, Column] = {}

    def add(self, row: RowHistory, version: Version) -> None:
        """What a reader writes itself says nothing of what it read."""

    def any_of(self, row: RowHistory, name: Hashable) -> Alternatives:
        """See `Summaries`."""
        reaches = self.columns.get(row)
        if reaches is None:
            return []
        values = tuple(self._value((row, place), self.reach((row, place)), name) for place in range(len(reaches)))
        return [self._with_presence(row, name, values)]

    def outline(self, row: RowHistory, name: Hashable) -> Alternatives:
        """The same, with anything in columns that were copied from others."""
        values = tuple(
            self._any_value((row, place), name) if reach.copied else self._value((row, place), reach, name)
            for place, reach in enumerate(self.columns[row])
        )
        return [self._with_presence(row, name, values)]

    def _with_presence(self, row: RowHistory, name: Hashable, values: tuple[Scalar, ...]) -> Any:
        always = row.author is None and row not in self._deleted
        return TRUE if always else atom(("present", name, row.address)), values

    def reach(self, column: Column) -> Reach:
        """What a column may have been, with what it was copied from."""
        own = self.columns[column[0]][column[1]]
        if own.open or not own.copied:
            return own
        found = self._joined.get(column)
        if found is None:
            found = self._joined[column] = Reach(own.type, joined=True)
            for row, place in self.origins(column):
                other = self.columns[row][place]
                if other.open or not other.is_like(own):
                    found.open = True
                    break
                found.join(other)
            plain = all(leaf is None or is_number(leaf) for leaf in found.values.values())
            found.open = found.open or (len(found.values) > SOME and not plain)
        return found

    def origins(self, column: Column) -> list[Column]:
        """A column, and all that something in it may have been copied from."""
        found = {column: None}
        pending = [column]
        while pending:
            row, place = pending.pop()
            for other in self.columns[row][place].copied:
                if other not in found:
                    found[other] = None
                    pending.append(other)
        return [*found]

    def _any_value(self, column: Column, name: Hashable) -> Scalar:
        row, place = column
        schema = self._types[row.table][place]
        return unknown_value(("open", name, row.address, place), schema.type, schema.not_null)

    def _value(self, column: Column, reach: Reach, name: Hashable) -> Scalar:
        row, place = column
        key = (name, row.address, place)
        if reach.open:
            return self._any_value(column, name)
        leaves = list(reach.values.values())
        if (reach.added or len(leaves) > SOME) and reach.bases:
            self.read["sum", key] = column
            number = unknown(("sum", key), reach.type.kind, reach.scale, *reach.hull())
            leaves = [number, *(leaf for leaf in leaves if leaf is None)]
        if not leaves:
            return self._any_value(column, name)
        if len(leaves) == 1:
            return leaves[0]
        return Cases(tuple((atom(("is", key, number)), leaf) for number, leaf in enumerate(leaves)))
