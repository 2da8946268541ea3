"""Bound scalar expressions. Does not know where the row it reads comes from.

An expression is evaluated in an environment row: one flat tuple that holds the columns of all FROM items side by
side (or, above a GROUP BY, the group keys followed by the aggregates). `Column.index` is a position in that tuple.
A subquery has environment rows of its own; `Outer` reads those of the queries around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sql_semantics.records import dataclass, field
from sql_semantics.values.types import BOOLEAN, SqlType, Value

if TYPE_CHECKING:
    from sql_semantics.ir.queries import Query
    from sql_semantics.ir.routines import Routine


@dataclass(frozen=True, slots=True)
class Const:
    """A literal, already converted to a value of `type`."""

    value: Value
    type: SqlType


@dataclass(frozen=True, slots=True)
class Column:
    """Position `index` of the environment row; `name` is for messages only.

    `constant`: a query in FROM gives a constant here, which a product that merges such queries may see (MySQL).
    `affine`: whether what it is compared with is given the affinity of its type, as beside a table's column, and not
    beside what is computed; None where that is not told here (SQLite).
    """

    index: int
    type: SqlType
    name: str
    constant: bool = False
    affine: bool | None = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Outer:
    """Position `index` of the environment row `depth` queries further out (1: the query around this one).

    Expression subqueries and LATERAL items open a new level; other FROM items do not. `constant` and `affine` as in
    `Column`.
    """

    depth: int
    index: int
    type: SqlType
    name: str
    constant: bool = False
    affine: bool | None = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Param:
    """A statement parameter: position (0-based) or name. `type` is what the context makes of it."""

    key: int | str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Variable:
    """A procedure's parameter or local variable, by slot in its frame."""

    slot: int
    type: SqlType
    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """`op` is one of ``-  +  not``."""

    op: str
    operand: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Binary:
    """`op` is one of ``+ - * / % ||  = <> < <= > >=  and or  is_distinct is_not_distinct``.

    The front end inserts `Cast`s so that both operands of a comparison and of an arithmetic operator have the kinds
    that the dialect would convert them to. MySQL's ``DIV`` is ``div``; ``<=>`` is ``is_not_distinct``.
    """

    op: str
    left: Expr
    right: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class IsNull:
    """``IS [NOT] NULL``; never unknown."""

    operand: Expr
    negated: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsTruth:
    """``IS [NOT] TRUE/FALSE``; never unknown."""

    operand: Expr
    truth: bool
    negated: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class InList:
    """``operand [NOT] IN (items)`` with three-valued logic."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Like:
    """``operand [NOT] [I]LIKE pattern [ESCAPE escape]``; escape None means the dialect's default."""

    operand: Expr
    pattern: Expr
    escape: str | None
    negated: bool
    ignore_case: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Case:
    """Searched CASE (the simple form is rewritten to it); `otherwise` is a Const NULL where ELSE is missing."""

    whens: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class Function:
    """A deterministic scalar function by lower-case name: coalesce, nullif, abs, lower, upper, length, greatest, ..."""

    name: str
    arguments: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Free:
    """A value that the DBMS chooses, never NULL.

    `source` is how: ``nextval`` (distinct values of the sequence `name`), ``auto`` (MySQL's AUTO_INCREMENT of the table
    `name`), ``rowid`` (SQLite's of the table `name`), ``currval`` (the last of sequence `name`), ``lastval`` (of any),
    ``last_insert_id``, ``random``, ``uuid``, ``now`` (one per transaction), ``statement_time``, ``execution_time`` (a
    moment per statement of a body), ``clock``.
    """

    source: str
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion to `type`. `assignment` marks the conversion of a stored value (CHECKs length and scale)."""

    operand: Expr
    type: SqlType
    assignment: bool = False


@dataclass(frozen=True, slots=True)
class ScalarQuery:
    """The one value of a one-column query; NULL where it has no row."""

    query: Query
    type: SqlType


@dataclass(frozen=True, slots=True)
class Exists:
    """``[NOT] EXISTS (query)``; never unknown."""

    query: Query
    negated: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class InQuery:
    """``operands [NOT] IN (query)`` with three-valued logic.

    `items[i]`, an expression over the query's output row, is what `operands[i]` is compared with.
    """

    operands: tuple[Expr, ...]
    query: Query
    items: tuple[Expr, ...]
    negated: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Quantified:
    """``operand op ANY (query)``, or ALL with `every`; `item` reads the query's output row."""

    op: str
    operand: Expr
    query: Query
    item: Expr
    every: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call of a user-defined function that returns one value. `within` is the slot of the calling routine's frame
    that holds its own invocation (None outside routines)."""

    routine: Routine
    arguments: tuple[Expr, ...]
    type: SqlType
    within: int | None = None


Subquery = ScalarQuery | Exists | InQuery | Quantified

Expr = (
    Const
    | Column
    | Outer
    | Param
    | Variable
    | Unary
    | Binary
    | IsNull
    | IsTruth
    | InList
    | Like
    | Case
    | Function
    | Free
    | Cast
    | ScalarQuery
    | Exists
    | InQuery
    | Quantified
    | Invoke
)
