"""Bound statements and procedures (paper §3.1, Fig. 2). Does not know how they are evaluated."""

from __future__ import annotations

from sql_semantics.ir.definitions import Definition
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.listed import Listed
from sql_semantics.ir.programs import ControlStatement
from sql_semantics.ir.queries import (
    OrderKey,
    OutputColumn,
    Query,
    Source,
    WrittenTable,
)
from sql_semantics.ir.routines import Routine
from sql_semantics.records import dataclass
from sql_semantics.values.types import SqlType


@dataclass(frozen=True, slots=True)
class SelectInto:
    """``SELECT ... INTO variables``: no row leaves (MySQL) the variables as they are; two rows are an error."""

    query: Query
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """What an INSERT does with a row whose key is taken.

    `action`: ``nothing`` leaves the old row, ``update`` changes it by `assignments` where `where` is TRUE, ``replace``
    deletes every row in the way. `keys`: the table's keys that arbitrate, by place; None for all of them. Expressions
    read the old row followed by the row that was to be inserted; with `sequential` (MySQL) a later assignment reads
    what earlier ones changed. `ignore` (MySQL's IGNORE, SQLite's OR IGNORE) turns other errors of a row into warnings.
    """

    action: str
    keys: tuple[int, ...] | None = None
    assignments: tuple[tuple[int, Expr], ...] = ()
    where: Expr | None = None
    sequential: bool = False
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """`rows` (each one expression per table column, defaults filled in and assignment casts applied), or `query`
    with `from_query[i]`, an expression over the query's output row, for table column i. With `listed` it has all the
    rows, and `rows` one of each form.

    `returning` reads the new row, then the old one (NULLs but after DO UPDATE), then the new one again; None means no
    RETURNING.
    """

    table: str
    rows: tuple[tuple[Expr, ...], ...]
    query: Query | None
    from_query: tuple[Expr, ...]
    returning: tuple[OutputColumn, ...] | None
    conflict: Conflict | None = None
    listed: Listed | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """`assignments` are (column position, expression over the old row).

    With `sequential` (MySQL) a later assignment reads the columns that earlier ones changed. `returning` reads the new
    row, then the old one, then the new one again (PostgreSQL's OLD and NEW). `order` and `limit` (MySQL) pick among the
    rows that match.
    """

    table: str
    assignments: tuple[tuple[int, Expr], ...]
    where: Expr | None
    returning: tuple[OutputColumn, ...] | None
    sequential: bool = False
    order: tuple[OrderKey, ...] = ()
    limit: Expr | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE; `returning` reads the old row, twice, then NULLs for the new one. `order` and `limit` as in `Update`."""

    table: str
    where: Expr | None
    returning: tuple[OutputColumn, ...] | None
    order: tuple[OrderKey, ...] = ()
    limit: Expr | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A table that a statement over several tables writes to, by the place of its columns in the environment row; the
    row's identity follows them (None where an outer join has no row)."""

    table: str
    offset: int
    assignments: tuple[tuple[int, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class JoinedWrite:
    """``UPDATE ... FROM``, ``DELETE ... USING`` and MySQL's UPDATE and DELETE of several tables.

    Every row that the sources and `where` find is updated, or with `deletes` deleted, once per target. Assignments and
    `returning` read the environment row; `returning` has the new values of the (one) target in it.
    """

    sources: tuple[Source, ...]
    where: Expr | None
    targets: tuple[Target, ...]
    deletes: bool
    returning: tuple[OutputColumn, ...] | None = None


@dataclass(frozen=True, slots=True)
class When:
    """One WHEN clause of a MERGE: what happens to the joined rows of its kind for which `condition` is TRUE and that no
    clause before it took.

    `kind`: ``both`` have a row of the target and one of the source, ``target`` and ``source`` only that one. `action`:
    ``update`` by `assignments`, ``delete``, ``insert`` of `row` (one expression per table column) or ``nothing``.
    """

    kind: str
    action: str
    condition: Expr | None = None
    assignments: tuple[tuple[int, Expr], ...] = ()
    row: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """``MERGE INTO table USING ...``: `sources` are the target, whose columns and identity begin the environment row,
    and the source, whose last column is NULL where an outer join has no row of it.

    `returning` reads the environment row with the target's new values in it (the old ones after DELETE), then the old
    row, the new row and the action's name.
    """

    table: str
    sources: tuple[Source, Source]
    whens: tuple[When, ...]
    returning: tuple[OutputColumn, ...] | None = None


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE of these tables: every row goes, also rows that the transaction does not see."""

    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Together:
    """A statement under WITH items that write (PostgreSQL 7.8.2): `items` in the order in which they stand, then
    `main`. All of them see the rows as they were before the statement, and of one another RETURNING only."""

    items: tuple[WrittenTable, ...]
    main: Query | RowWrite


@dataclass(frozen=True, slots=True)
class Call:
    """``CALL procedure(arguments)``, arguments cast to the types of the parameters that take one.

    `targets` are the slots that take the OUT and INOUT parameters' values, in order; None: they are a result row.
    """

    procedure: str
    arguments: tuple[Expr, ...]
    targets: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SetVariable:
    """``SET v = expression`` and DECLARE's DEFAULT, already cast to the variable's type."""

    slot: int
    expression: Expr


@dataclass(frozen=True, slots=True)
class If:
    """``IF ... ELSEIF ... ELSE``: the first branch whose condition is TRUE, else `otherwise`."""

    branches: tuple[tuple[Expr, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Savepoint:
    """``SAVEPOINT name``. `name` is folded already."""

    name: str


@dataclass(frozen=True, slots=True)
class RollbackTo:
    """``ROLLBACK TO name``: what was written since is undone, the savepoint stays."""

    name: str


@dataclass(frozen=True, slots=True)
class Release:
    """``RELEASE name``: the savepoint and those set after it are forgotten."""

    name: str


@dataclass(frozen=True, slots=True)
class NoEffect:
    """A statement that changes no row; `what` it is, for people, and which kind of probe (`frontend.probes`), if one.

    `opaque`: what it answers is not judged. `alone`: it commits the transaction that it stands in. `checks` raise
    Unsupported where it changes what is modelled.
    """

    what: str
    probe: str = ""
    opaque: bool = False
    alone: bool = False
    checks: tuple[Expr, ...] = ()


RowWrite = Insert | Update | Delete | JoinedWrite | Merge
"""What writes rows and may have RETURNING."""
Write = RowWrite | Truncate


Statement = (
    Query
    | SelectInto
    | Write
    | Together
    | Definition
    | Call
    | SetVariable
    | If
    | Savepoint
    | RollbackTo
    | Release
    | NoEffect
    | ControlStatement
)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A stored procedure or function: `parameters` occupy the first slots of a frame of `frame_types`.

    `answers` are the slots of the OUT and INOUT parameters; `invocation`, where set, is a slot that the runtime fills
    before the body runs. `routine` is the handle that calls hold.
    """

    name: str
    parameters: tuple[str, ...]
    frame_types: tuple[SqlType, ...]
    body: tuple[Statement, ...]
    routine: Routine | None = None
    answers: tuple[int, ...] = ()
    invocation: int | None = None
