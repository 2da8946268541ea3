"""Bound queries (paper §3.1). Does not know how they are evaluated, nor the statements around them.

A query is a `Select`, a set operation, VALUES or a series; ORDER BY and LIMIT of anything but a SELECT make a SELECT
over it. A SELECT is evaluated clause by clause in the order of its fields. Its environment row is the concatenation
of its sources' columns; above GROUP BY it is the group keys followed by the aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.routines import Routine
from sql_semantics.records import dataclass
from sql_semantics.values.types import SqlType

if TYPE_CHECKING:
    from sql_semantics.ir.statements import RowWrite


@dataclass(frozen=True, slots=True)
class BaseTable:
    """A stored table."""

    name: str


@dataclass(frozen=True, slots=True)
class Identified:
    """A stored table that a statement over several tables writes to: each row's identity stands after its columns."""

    name: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A query in FROM. With `lateral` it is evaluated for each row of what stands left of it, which it reads as the
    `Outer` row of depth 1. `view`: the view whose query it is, if any."""

    query: Query
    lateral: bool = False
    view: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class WorkingTable:
    """What a recursive common table means inside its own recursive term: the rows found in the last round."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class CommonTable:
    """A WITH item, evaluated once; compared by identity, so that every reference means the same evaluation.

    Recursive ones have the recursive term as `step`, over `working`; with `union_all` duplicates stay.
    """

    name: str
    query: Query
    step: Query | None = None
    working: WorkingTable | None = None
    union_all: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class WrittenTable:
    """A WITH item that writes (PostgreSQL): what is read of it is its RETURNING. Reads no row around it."""

    name: str
    write: RowWrite


@dataclass(frozen=True, slots=True)
class CommonScan:
    """A reference to a WITH item from `levels` queries (as `Outer` counts them) further in than its definition."""

    table: CommonTable | WorkingTable | WrittenTable
    levels: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A join in parentheses. Its sources count their offsets from 0."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class FunctionScan:
    """A user-defined function in FROM; `within` as in `Invoke`. The arguments read no other FROM item."""

    routine: Routine
    arguments: tuple[Expr, ...]
    within: int | None = None


Relation = BaseTable | Identified | Derived | CommonScan | Joined | FunctionScan


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM item, whose columns start at `offset` of the environment row.

    `kind` is how it joins to what stands left of it: ``cross`` (also the first item and the comma), ``inner``,
    ``left``, ``right`` or ``full``; `on` may read every column up to and including its own.
    """

    relation: Relation
    alias: str
    offset: int
    width: int
    kind: str = "cross"
    on: Expr | None = None


@dataclass(frozen=True, slots=True)
class RowLock:
    """That a query locks the rows of the source at `place`. `keys`: the columns of the table's keys, where only a
    change of one of them waits for the lock (FOR KEY SHARE); None where it is a stronger one. `shared`: others may lock
    them so, too."""

    place: int
    keys: tuple[int, ...] | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One ORDER BY key: over the environment row, or the output column at position `output` where that is set."""

    expression: Expr | None
    output: int | None
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate over the rows of a group.

    ``function`` is count_star, count, sum, total, min, max, avg, bool_and, bool_or, bit_and, bit_or, bit_xor, var_pop,
    var_samp, stddev_pop, stddev_samp, one of `LISTS` or of `ORDERED_SETS`, grouping (of group keys), or bare, bare_min
    and bare_max (SQLite's ungrouped column, the latter with the argument of the MIN or MAX beside it). `arguments` is
    empty for count_star only; string_agg has the value and the delimiter; count may have several (MySQL's
    ``COUNT(DISTINCT a, b)``). Only rows for which `filter` is TRUE count. `order` (keys over the row) is the order of
    the values.
    """

    function: str
    arguments: tuple[Expr, ...]
    distinct: bool
    type: SqlType
    filter: Expr | None = None
    order: tuple[OrderKey, ...] = ()

    @property
    def argument(self) -> Expr | None:
        """The (first) argument; None for count_star."""
        return self.arguments[0] if self.arguments else None

    def expressions(self) -> tuple[Expr, ...]:
        """Everything that is evaluated over the rows of the group."""
        keys = tuple(key.expression for key in self.order if key.expression is not None)
        return (*self.arguments, *keys, *(() if self.filter is None else (self.filter,)))


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


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One item of the select list; `exact` is False where the product calls the column something else."""

    name: str
    expression: Expr
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Select:
    """A query block. `groups` is None without GROUP BY and aggregates; () for aggregates over all rows.

    The values of `windows` follow the columns of the environment row, for the clauses after HAVING: QUALIFY, the
    outputs, `distinct_on`, which keeps the first row of each of its values in ORDER BY order, and ORDER BY itself.
    `with_ties`: LIMIT takes what ties with its last row as well. `grouping_sets`: the positions in `groups` that the
    rows are grouped by, once each; the other keys are NULL then. `skip_locked`: rows that others lock are left out.
    `locks`: which rows it locks.
    """

    sources: tuple[Source, ...]
    where: Expr | None
    groups: tuple[Expr, ...] | None
    aggregates: tuple[Aggregate, ...]
    having: Expr | None
    outputs: tuple[OutputColumn, ...]
    distinct: bool = False
    order: tuple[OrderKey, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    locks: tuple[RowLock, ...] = ()
    windows: tuple[Window, ...] = ()
    qualify: Expr | None = None
    distinct_on: tuple[Expr, ...] = ()
    with_ties: bool = False
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    skip_locked: bool = False

    @property
    def locking(self) -> bool:
        """Whether it locks rows."""
        return bool(self.locks)


def order_expression(key: OrderKey, outputs: Sequence[OutputColumn]) -> Expr:
    """The expression over the environment row that an ORDER BY key stands for."""
    if key.output is not None:
        return outputs[key.output].expression
    if key.expression is None:
        raise ValueError("an ORDER BY key without expression and output")
    return key.expression


@dataclass(frozen=True, slots=True)
class SetOperation:
    """``left op right``; `op` is union, intersect or except, with `every` (ALL) duplicates count.

    `left_items` and `right_items` convert the branches' output rows to the common types; `outputs` read the result.
    """

    op: str
    every: bool
    left: Query
    right: Query
    left_items: tuple[Expr, ...]
    right_items: tuple[Expr, ...]
    outputs: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """``VALUES (...), ...``: rows of expressions without columns; `outputs` read the result."""

    rows: tuple[tuple[Expr, ...], ...]
    outputs: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """``generate_series(start, stop, step)`` over integers: one column; no row where an argument is NULL."""

    start: Expr
    stop: Expr
    step: Expr
    outputs: tuple[OutputColumn, ...]


@dataclass(frozen=True, slots=True)
class Unnest:
    """``unnest(array, ...)``: a row for each place of the longest array, NULL where another is shorter.

    An array is its items, or in `texts` one text that is read as an array of the output's type when it runs, or in
    `values` one value of an array's type.
    `ordinality`: the last column counts the rows. `keys`: the one array is instead a text that holds JSON objects, each
    of them a row of what it has under these keys.
    """

    arrays: tuple[tuple[Expr, ...], ...]
    texts: frozenset[int]
    ordinality: bool
    outputs: tuple[OutputColumn, ...]
    keys: tuple[str, ...] = ()
    values: frozenset[int] = frozenset()


Query = Select | SetOperation | Values | Series | Unnest
