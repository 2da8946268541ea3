"""States that forget which value belongs to which version.

A reader of these states may find in each column any value that the row ever had there, independently of everything
else. That admits more than any level does, so what is impossible here is impossible; and it costs the number of
distinct values, not of versions times values. Does not know levels.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal

from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Leaf, Scalar, Term, atom, items_of, unknown
from sql_semantics.terms.numbers import bounds_of, is_number, kind_of, leaf_key, scale_of
from sql_semantics.values.types import Kind, Value
from sql_semantics.view import GuardedRow
from troubadour.execution.states.history import RowHistory, SymbolicRow, Version, alternatives_of
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.guarded import Alternatives, GuardedStates, ReadId

VALUES = 32
"""Distinct values of one column of one row beyond which only their hull is remembered."""


class ValueSet:
    """The values that one column of one row ever had: listed, or beyond a bound their hull."""

    __slots__ = ("_leaves",)

    def __init__(self) -> None:
        self._leaves: dict[Hashable, Leaf] = {}

    def add(self, scalar: Scalar) -> None:
        """Admit every case of a scalar."""
        open_number = False
        for guard, leaf in items_of(scalar):
            if guard is not FALSE:
                self._leaves.setdefault(leaf_key(leaf), leaf)
                open_number = open_number or (isinstance(leaf, Term) and is_number(leaf))
        if open_number or len(self._leaves) > VALUES:
            self._join(open_number)

    def join(self, other: ValueSet) -> None:
        """Admit every value of another set."""
        self._leaves = {**self._leaves, **other._leaves}
        if len(self._leaves) > VALUES:
            self._join(False)

    def is_apart(self, other: ValueSet) -> bool:
        """Whether both are listed, and have no value in common."""
        leaves = [*self._leaves.values(), *other._leaves.values()]
        if any(isinstance(leaf, Term) for leaf in leaves):
            return False
        return not any(mine == theirs for mine in self._leaves.values() for theirs in other._leaves.values())

    def _join(self, open_number: bool) -> None:
        numbers = [leaf for leaf in self._leaves.values() if is_number(leaf)]
        others = {key: leaf for key, leaf in self._leaves.items() if not is_number(leaf)}
        if open_number or len(numbers) > VALUES // 2:
            hull = _hull(numbers)
            others[leaf_key(hull)] = hull
            self._leaves = others

    def listed(self) -> frozenset[Hashable]:
        """What tells two sets apart."""
        return frozenset(self._leaves)

    def unbind(self) -> None:
        """Let the numbers of the set be any."""
        numbers = [leaf for leaf in self._leaves.values() if is_number(leaf)]
        if numbers:
            kind = Kind.NUMERIC if any(kind_of(leaf) is Kind.NUMERIC for leaf in numbers) else Kind.BIGINT
            hull = unknown("hull", kind, max(scale_of(leaf) for leaf in numbers))
            others = {key: leaf for key, leaf in self._leaves.items() if not is_number(leaf)}
            self._leaves = {**others, leaf_key(hull): hull}

    def any_of(self, name: Hashable) -> Scalar:
        """Some value of the set; `name` tells apart the choices."""
        leaves = [_renamed(leaf, (name, index)) for index, leaf in enumerate(self._leaves.values())]
        if len(leaves) == 1:
            return leaves[0]
        # the atoms are not tied to be exclusive: that only admits more
        return Cases(tuple((atom(("is", name, index)), leaf) for index, leaf in enumerate(leaves)))


def _hull(numbers: list[Leaf]) -> Term:
    lows = [bounds_of(leaf)[0] for leaf in numbers]
    highs = [bounds_of(leaf)[1] for leaf in numbers]
    low = None if any(bound is None for bound in lows) else min(Decimal(b) for b in lows if b is not None)
    high = None if any(bound is None for bound in highs) else max(Decimal(b) for b in highs if b is not None)
    kind = Kind.NUMERIC if any(kind_of(leaf) is Kind.NUMERIC for leaf in numbers) else Kind.BIGINT
    scale = max(scale_of(leaf) for leaf in numbers)
    if kind is not Kind.NUMERIC:
        low, high = None if low is None else int(low), None if high is None else int(high)  # type: ignore[assignment]
    return unknown("hull", kind, scale, low, high)


def _renamed(leaf: Leaf, name: Hashable) -> Leaf:
    """A fresh unknown with the bounds of a term: two reads need not find the same value."""
    if not isinstance(leaf, Term):
        return leaf
    return unknown(("any", name), leaf.kind, leaf.scale, leaf.low, leaf.high)


class Summaries:
    """What every row may have been, over all placed positions. `may_be_absent`: in some of them it did not exist."""

    def __init__(self, states: StateMap) -> None:
        self._columns: dict[RowHistory, list[ValueSet]] = {}
        self._absent: set[RowHistory] = set()
        for table in states.tables.values():
            for row in table.rows:
                for version in row.versions:
                    self.add(row, version)

    def add(self, row: RowHistory, version: Version) -> None:
        """A version was placed."""
        if row not in self._columns and row.positions[0] > 0:
            self._absent.add(row)
        for guard, values in alternatives_of(version):
            if guard is FALSE:
                continue
            if values is None:
                self._absent.add(row)
                continue
            columns = self._columns.get(row)
            if columns is None:
                columns = self._columns[row] = [ValueSet() for _ in values]
            for column, value in zip(columns, values, strict=True):
                column.add(value)

    def widen(self, row: RowHistory, version: Version, *, listed: bool) -> bool:
        """Add a version; whether that is anything new. Where values are not `listed`, numbers that are new make their
        column's numbers any at all."""
        before = row in self._absent, [column.listed() for column in self._columns.get(row, ())]
        self.add(row, version)
        changed = (row in self._absent, [column.listed() for column in self._columns.get(row, ())]) != before
        if changed and not listed:
            for place, column in enumerate(self._columns.get(row, ())):
                if place >= len(before[1]) or column.listed() != before[1][place]:
                    column.unbind()
            after = row in self._absent, [column.listed() for column in self._columns.get(row, ())]
            return after != before
        return changed

    def any_of(self, row: RowHistory, name: Hashable) -> Alternatives:
        """Some state of the row."""
        columns = self._columns.get(row)
        if columns is None and row.author is None:
            # an initial row that was discovered since
            for version in row.versions:
                self.add(row, version)
            columns = self._columns.get(row)
        if columns is None:
            return []
        values: SymbolicRow = tuple(column.any_of((name, row.address, index)) for index, column in enumerate(columns))
        exists: Guard = atom(("present", name, row.address)) if row in self._absent else TRUE
        return [(exists, values)]

    def met_as(self, row: RowHistory, name: Hashable) -> Alternatives:
        """Some state of the row that a constraint may meet, which need not be what is read."""
        return self.any_of(row, name)


class AbstractStates(GuardedStates):
    """A `GuardedView` whose every read of a row may find any of its values."""

    summaries: Summaries
    _meetings = 0
    _meeting = False

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        """See `GuardedView`; what a constraint meets need not be what is read."""
        self._meetings += 1
        self._meeting = True
        try:
            return super().rivals(table, columns, key)
        finally:
            self._meeting = False

    def in_states(self, row: RowHistory) -> Alternatives:
        """Any state of the row: the same one each time that it is read, another one for each constraint."""
        if not self._meeting:
            return super().in_states(row)
        self.looked_at.add(row)
        return self.summaries.met_as(row, ("met", self._reader, self.statement, self._meetings))

    def _surely_seen(self) -> int:
        return -1

    def _refuse_newer(self) -> None:
        """Whatever is read may be of any state."""

    def _at(self, row: RowHistory, read: ReadId, masked: frozenset[int], high: int | None = None) -> Alternatives:
        summary = self.summaries.met_as if self._meeting else self.summaries.any_of
        return summary(row, (read, self._reader, self.statement))
