"""What an answer says of all rows together: how many of them show what, and what their numbers add up to.

A row's *share* in an answer is how many rows are counted for it and what is shown of it. An answer bounds how many rows
have a share of some kind, or gives the sum of the shares. Does not know which rows there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import inf
from typing import Literal

from sql_semantics.ir.queries import Aggregate, Select
from sql_semantics.records import dataclass, field
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value
from sql_semantics.view import Row
from troubadour.execution.prepared import PreparedStatement
from troubadour.facts.rows.answers import Answered, is_before, shown_order
from troubadour.facts.rows.local import Does, Grouped, Part, window_of
from troubadour.facts.rows.tables import Tables

Share = tuple[int, Row | None]
"""How many rows are counted for a row, and what is shown of it."""

NOTHING: Share = (0, None)

_LARGEST = 10**12
"""Numbers beyond which sums are not looked at."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Each share is of one kind or none (`kind`); of each kind there are at least `low` and at most `high` rows, of any
    other at most `other`. `what` is counted: the rows shown, the rows of a group, or what an aggregate takes in."""

    kind: Callable[[Share], Hashable]
    low: Mapping[Hashable, float]
    high: Mapping[Hashable, float]
    other: float
    what: Literal["row", "group", "aggregate"] = "aggregate"


@dataclass(frozen=True, slots=True)
class Summed:
    """The numbers that shares have add up to these."""

    numbers: Callable[[Share], tuple[int | Decimal, ...]]
    total: tuple[int | Decimal, ...]


@dataclass(slots=True)
class Told:
    """All that an answer says."""

    counted: list[Counted] = field(default_factory=list)
    summed: list[Summed] = field(default_factory=list)

    @property
    def something(self) -> bool:
        """Whether it says anything."""
        return bool(self.counted or self.summed)

    @property
    def only(self) -> Row | None:
        """The one row that was shown; None where that is not all that is told of the rows shown."""
        match self.counted:
            case [Counted(other=0, what="row", low=low, high=high)] if low == high and len(low) == 1:
                row, count = next(iter(low.items()))
                return row if count == 1 and isinstance(row, tuple) else None
        return None

    @property
    def same(self) -> Hashable:
        """Equal for answers that say the same, where that is easily told."""
        plain = all(one.kind is _shown for one in self.counted) and all(one.numbers is _affected for one in self.summed)
        if not plain:
            return id(self)
        counted = [(frozenset(one.low.items()), frozenset(one.high.items()), one.other) for one in self.counted]
        return tuple(counted), tuple(one.total for one in self.summed)

    @property
    def exact(self) -> bool:
        """Whether no row was shown but those that the answer has."""
        return any(one.what == "row" and one.kind is _shown and one.other == 0 for one in self.counted)

    @property
    def shown(self) -> Iterator[Row]:
        """The rows that were shown."""
        for one in self.counted:
            yield from (row for row in one.low if one.what == "row" and isinstance(row, tuple))

    def fits(self, share: Share) -> bool:
        """Whether the share of one row is all that was answered."""
        for counted in self.counted:
            kind = counted.kind(share)
            if kind is not None and counted.high.get(kind, counted.other) < 1:
                return False
            if any(low > (one == kind) for one, low in counted.low.items()):
                return False
        return all(
            number == wanted
            for summed in self.summed
            for number, wanted in zip(summed.numbers(share), summed.total, strict=True)
        )


def told_by(statement: PreparedStatement, parts: Sequence[Part], tables: Tables) -> Told:
    """What a statement's answer says of the shares of its parts."""
    told = Told()
    part = parts[0]
    affected = statement.statement.affected
    if affected is not None and part.does in (Does.CHANGES, Does.INSERTS):
        told.summed.append(Summed(_affected, (affected,)))
    results = statement.observation.results
    if not part.shows or results is None or len(results) != 1:
        return told
    rows = results[0].rows
    if rows is None or not results[0].plain:
        return told
    if part.columns:
        rows = [tuple([row[column] for column in part.columns]) for row in rows]
    if part.grouped is not None:
        _of_groups(told, part.grouped, rows, tables)  # type: ignore[arg-type]  # nothing is redacted
        return told
    window = (0, None) if part.does in (Does.CHANGES, Does.INSERTS) else window_of(part, statement.arguments)
    if window is None:
        return told
    offset, limit = window
    seen = Counter(rows)
    whole = not part.skips and not offset and (limit is None or len(rows) < limit)
    if part.distinct:
        low: dict[Hashable, float] = dict.fromkeys(seen, 1)
        told.counted.append(Counted(_shown, low, dict.fromkeys(seen, inf), 0 if whole else inf, "row"))
    else:
        exact: dict[Hashable, float] = {row: count for row, count in seen.items()}  # noqa: C416  # of wider types
        told.counted.append(
            Counted(_shown, exact, exact if whole else dict.fromkeys(seen, inf), 0 if whole else inf, "row")
        )
    if limit is not None and not offset and not whole and part.does is Does.READS:
        _of_first_rows(told, statement, part, rows)
    return told


def told_of_group(grouped: Grouped, row: Row, tables: Tables) -> Told:
    """What the answer of a query of one group says."""
    told = Told()
    _of_groups(told, grouped, [row], tables)
    return told


def _of_first_rows(told: Told, statement: PreparedStatement, part: Part, rows: Sequence[Answered]) -> None:
    """Of the first rows by an order none is left out that stands before the last one shown."""
    query = None if statement.program is None else statement.program.statement
    keys = list(shown_order(query)) if isinstance(query, Select) and not part.columns else []
    if not keys or not rows:
        return
    last = rows[-1]

    def early(share: Share) -> Hashable:
        return share[1] if share[1] is not None and is_before(share[1], last, keys) else None

    seen = Counter(tuple(row) for row in rows if is_before(row, last, keys))
    low: dict[Hashable, float] = {row: 1 if part.distinct else count for row, count in seen.items()}
    told.counted.append(Counted(early, low, dict.fromkeys(low, inf) if part.distinct else low, 0, "row"))


def _affected(share: Share) -> tuple[int, ...]:
    return (share[0],)


def _shown(share: Share) -> Hashable:
    return share[1]


def _of_groups(told: Told, grouped: Grouped, rows: Sequence[Row], tables: Tables) -> None:
    """What the rows of groups say."""
    places = {place: column for column, place in enumerate(grouped.outputs) if place is not None}
    if any(place not in places for place in range(grouped.keys)):
        return

    def alike(values: Sequence[Value]) -> Hashable | None:
        found = [tables.alike(value) for value in values]
        untold = any(one is None and value is not None for one, value in zip(found, values, strict=True))
        return None if untold else tuple(found)

    groups: dict[Hashable, Row] = {}
    for row in rows:
        group = alike([row[places[place]] for place in range(grouped.keys)])
        if group is None or group in groups:
            return
        groups[group] = row

    def group_of(share: Share) -> Hashable | None:
        """The group; a marker of its own where it is not told."""
        if share[1] is None:
            return None
        group = alike(share[1][: grouped.keys])
        return _VAGUE if group is None else group

    absent = inf if grouped.having else 0
    if grouped.keys:
        low: dict[Hashable, float] = dict.fromkeys(groups, 0 if grouped.empty else 1)
        high: dict[Hashable, float] = {_VAGUE: inf, **dict.fromkeys(groups, inf)}
        told.counted.append(Counted(group_of, low, high, absent, "group"))
    for number, aggregate in enumerate(grouped.aggregates):
        column = places.get(grouped.keys + number)
        if column is not None and not aggregate.distinct:
            seen = {group: row[column] for group, row in groups.items()}
            _of_aggregate(told, aggregate, grouped.starts[number], seen, group_of)


_VAGUE = "\0 a group that is not told"


def _of_aggregate(
    told: Told,
    aggregate: Aggregate,
    start: int,
    seen: Mapping[Hashable, Value],
    group_of: Callable[[Share], Hashable | None],
) -> None:
    """What one aggregate of each group says."""
    filtered = None if aggregate.filter is None else start + len(aggregate.arguments)

    def counts(share: Share) -> bool:
        """Whether an argument of a share is taken in."""
        row = share[1]
        assert row is not None
        if filtered is not None and row[filtered] is not True:
            return False
        return all(row[start + place] is not None for place in range(len(aggregate.arguments)))

    def taken(share: Share) -> Hashable | None:
        group = group_of(share)
        return None if group is None or group not in seen or not counts(share) else group

    if filtered is not None and aggregate.filter is not None and aggregate.filter.type.kind is not Kind.BOOLEAN:
        return
    match aggregate.function:
        case "count_star" | "count":
            exact = {group: number for group, number in seen.items() if isinstance(number, int)}
            told.counted.append(Counted(taken, exact, exact, inf))
        case "sum":
            _of_sum(told, aggregate, start, seen, taken)
        case "min" | "max":
            _of_extreme(told, aggregate, start, seen, taken)


def _of_sum(
    told: Told,
    aggregate: Aggregate,
    start: int,
    seen: Mapping[Hashable, Value],
    taken: Callable[[Share], Hashable | None],
) -> None:
    if aggregate.arguments[0].type.kind not in INTEGER_KINDS | {Kind.NUMERIC}:
        return
    empty = {group for group, number in seen.items() if number is None}
    low: dict[Hashable, float] = {group: 0 if group in empty else 1 for group in seen}
    told.counted.append(Counted(taken, low, {group: 0 if group in empty else inf for group in seen}, inf))
    for group, number in seen.items():
        if isinstance(number, int | Decimal) and -_LARGEST < number < _LARGEST:

            def numbers(share: Share, group: Hashable = group) -> tuple[int | Decimal, ...]:
                if taken(share) != group:
                    return (0,)
                assert share[1] is not None
                value = share[1][start]
                assert isinstance(value, int | Decimal)
                return (value,)

            told.summed.append(Summed(numbers, (number,)))


def _of_extreme(
    told: Told,
    aggregate: Aggregate,
    start: int,
    seen: Mapping[Hashable, Value],
    taken: Callable[[Share], Hashable | None],
) -> None:
    if aggregate.arguments[0].type.kind not in INTEGER_KINDS | {Kind.NUMERIC, Kind.DATE, Kind.TIMESTAMP}:
        return
    largest = aggregate.function == "max"

    def beyond(share: Share) -> Hashable | None:
        group = taken(share)
        if group is None:
            return None
        assert share[1] is not None
        value, found = share[1][start], seen[group]
        if found is None:
            return group, "beyond"
        if value == found:
            return group, "equal"
        further = value > found if largest else value < found  # type: ignore[operator]  # values of one kind
        return (group, "beyond") if further else None

    low: dict[Hashable, float] = {(group, "equal"): 1 for group, found in seen.items() if found is not None}
    high: dict[Hashable, float] = {(group, "equal"): inf for group in seen}
    high |= {(group, "beyond"): 0 for group in seen}
    told.counted.append(Counted(beyond, low, high, inf))
