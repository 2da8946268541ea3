"""Bound window functions and frames (SQL:2003 4.15). Does not know how partitions are sorted."""

from __future__ import annotations

from dataclasses import dataclass

from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.statements import Aggregate, OrderKey
from sql_semantics.values.types import SqlType


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a frame: `direction` is -1 (PRECEDING), 0 (CURRENT ROW) or 1 (FOLLOWING); with a direction, `offset`
    None means UNBOUNDED. An offset reads no row; in RANGE frames it has the type of the order key."""

    direction: int
    offset: Expr | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """``unit BETWEEN start AND end``; `unit` is rows, range or groups, `exclude` is one of no others, current row,
    group and ties."""

    unit: str = "range"
    start: Bound = Bound(-1)
    end: Bound = Bound(0)
    exclude: str = "no others"


@dataclass(frozen=True, slots=True)
class Window:
    """One window function over the rows that reach the select list.

    ``function`` is row_number, rank, dense_rank, percent_rank, cume_dist, ntile (buckets), lag and lead (value, offset,
    default), first_value, last_value, nth_value (value, n), or aggregate, with `aggregate` set. Buckets, offset and n
    read no row.
    """

    function: str
    arguments: tuple[Expr, ...]
    aggregate: Aggregate | None
    partition: tuple[Expr, ...]
    order: tuple[OrderKey, ...]
    frame: Frame
    type: SqlType

    def expressions(self) -> tuple[Expr, ...]:
        """Everything that is evaluated over rows or once per execution."""
        keys = tuple(key.expression for key in self.order if key.expression is not None)
        bounds = tuple(b.offset for b in (self.frame.start, self.frame.end) if b.offset is not None)
        inside = () if self.aggregate is None else self.aggregate.expressions()
        return (*self.arguments, *inside, *self.partition, *keys, *bounds)
