"""What stands between the SQL statements of a routine: control flow, cursors, handlers (paper §3.1, Fig. 2; §8).

One set of nodes for SQL/PSM and PL/pgSQL, so that a routine's language is gone once it is bound. Labels are numbers,
unique within a routine; variables are slots of its frame. Does not know how anything is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sql_semantics.ir.expressions import Expr
from sql_semantics.records import dataclass

if TYPE_CHECKING:
    from sql_semantics.ir.queries import Query
    from sql_semantics.ir.statements import Statement, Together, Write

    Body: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """Rounds of `body` for as long as `condition` (if any) is TRUE before a round and `until` is not after one."""

    label: int
    body: Body
    condition: Expr | None = None
    until: Expr | None = None


@dataclass(frozen=True, slots=True)
class RangeLoop:
    """``FOR slot IN [REVERSE] low..high [BY step]``: the bounds are evaluated once; a step below 1 is error 22023.
    Afterwards `found` (if any) says whether there was a round."""

    label: int
    slot: int
    low: Expr
    high: Expr
    step: Expr | None
    reverse: bool
    found: int | None
    body: Body


@dataclass(frozen=True, slots=True)
class RowLoop:
    """``FOR slots IN query``: one round per row, all rows computed before the first; `row` (over the query's row) is
    what the variables get. Afterwards `found` (if any) says whether there was a row; without one the variables are
    NULL. `arguments` as in `OpenCursor`; `cursor` is the slot of the cursor that the query belongs to, which must not
    be open."""

    label: int
    query: Query | Write | Together
    row: tuple[Expr, ...]
    slots: tuple[int, ...]
    found: int | None
    body: Body
    arguments: tuple[tuple[int, Expr], ...] = ()
    cursor: int | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """Out of the loop or block with this label."""

    label: int


@dataclass(frozen=True, slots=True)
class Iterate:
    """To the next round of the loop with this label."""

    label: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """A block that `Leave` can name."""

    label: int
    body: Body


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which errors a handler is for: SQLSTATEs, two-character classes, MySQL's error numbers, or every error but
    classes `except_` (a class or a whole SQLSTATE each)."""

    states: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()
    others: bool = False
    except_: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Attempt:
    """PL/pgSQL's block with EXCEPTION: an error in `body` undoes the block's writes, then the first clause that is for
    it runs. `state` is the slot of SQLSTATE inside the clauses."""

    body: Body
    clauses: tuple[tuple[Conditions, Body], ...]
    state: int | None = None


@dataclass(frozen=True, slots=True)
class Handler:
    """One ``DECLARE ... HANDLER``; `leaves`: EXIT instead of CONTINUE."""

    conditions: Conditions
    body: Body
    leaves: bool


@dataclass(frozen=True, slots=True)
class Handled:
    """SQL/PSM's block with handlers. A statement that fails keeps what was done before it; after a CONTINUE handler
    the next statement runs, after an EXIT handler the block is over. `label` is the block's own."""

    label: int
    handlers: tuple[Handler, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class Raise:
    """SIGNAL, RAISE EXCEPTION, and statements that are certain to fail: `number` is MySQL's error number."""

    sqlstate: str
    message: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Reraise:
    """RESIGNAL or RAISE: the error that the handler around it is for."""


@dataclass(frozen=True, slots=True)
class Return:
    """The routine ends; `values` are a function's result (one value, or a row), () where there is none."""

    values: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class ReturnNext:
    """One more row of a set-returning function's result."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ReturnQuery:
    """All rows of a query appended to a set-returning function's result."""

    query: Query | Write | Together
    row: tuple[Expr, ...]
    found: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class OpenCursor:
    """The query's rows are computed now; `arguments` first set the slots of the cursor's parameters."""

    slot: int
    query: Query
    arguments: tuple[tuple[int, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Fetch:
    """The cursor's next row into variables, converted by `row` (over the cursor's row). At the end: error 02000 where
    `raises` (SQL/PSM), else NULLs and `found` false (PL/pgSQL)."""

    slot: int
    row: tuple[Expr, ...]
    slots: tuple[int, ...]
    raises: bool
    found: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """The cursor's rows are forgotten."""

    slot: int


@dataclass(frozen=True, slots=True)
class Perform:
    """An SQL statement of PL/pgSQL: its first row goes to `slots` (converted by `row`; NULLs where there is none), or
    nowhere.

    `strict`: no row is error P0002 and a second one P0003; a second row of RETURNING is P0003 in any case. `found`
    and `count` are the slots of FOUND and ROW_COUNT, where the routine uses them.
    """

    statement: Query | Write | Together
    row: tuple[Expr, ...] = ()
    slots: tuple[int, ...] = ()
    strict: bool = False
    found: int | None = None
    count: int | None = None


ControlStatement = (
    Loop
    | RangeLoop
    | RowLoop
    | Leave
    | Iterate
    | Labelled
    | Attempt
    | Handled
    | Raise
    | Reraise
    | Return
    | ReturnNext
    | ReturnQuery
    | OpenCursor
    | Fetch
    | CloseCursor
    | Perform
)
