"""Tables and their constraints (paper §3.1). Does not know any row.

Names are already folded by the dialect's rules (PostgreSQL: unquoted names in lower case).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sql_semantics.ir.definitions import ChangeTables, Transient
from sql_semantics.ir.expressions import Expr, Free
from sql_semantics.ir.queries import Query
from sql_semantics.ir.reach import Hidden, Reach
from sql_semantics.ir.routines import Routine
from sql_semantics.ir.statements import Procedure
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.types import Kind, SqlType


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column; `default` is a closed expression already cast to `type`, or None for NULL.

    `identity`: ``always`` takes no other value than its default (PostgreSQL's GENERATED ALWAYS AS IDENTITY), ``null``
    takes the default in place of NULL (SQLite's INTEGER PRIMARY KEY), ``zero`` also in place of 0 (AUTO_INCREMENT).
    A generated column has the value of `generated`, an expression over the table's own row, cast to `type`. `unread`:
    what of its default is not modelled, empty for nothing. `on_update`: what it gets where an UPDATE that does not set
    it changes another column (MySQL's ON UPDATE CURRENT_TIMESTAMP).
    """

    name: str
    type: SqlType
    not_null: bool = False
    default: Expr | None = None
    identity: str = ""
    generated: Expr | None = None
    unread: str = ""
    on_update: Free | None = None

    @property
    def refuses_null(self) -> bool:
        """Whether a row with NULL there is refused; it is not known of a column whose every value is taken for NULL."""
        return self.not_null and self.type.kind is not Kind.UNKNOWN


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint; `condition` reads the table's own row, and only FALSE fails it. `first`: it is of a domain,
    and fails before a NOT NULL of the table does."""

    name: str
    condition: Expr
    first: bool = False


@dataclass(frozen=True, slots=True)
class Unique:
    """A key over column positions; a row with a NULL in any of them is not constrained, but with `nulls_equal`
    (PostgreSQL's NULLS NOT DISTINCT) NULL is a value like any other.

    `primary` keys additionally make their columns NOT NULL (the front end sets that on the columns). A unique index
    of expressions has them in `parts`, over the table's own row, and in `columns` all columns that they read; one with
    a WHERE clause constrains the rows for which `where` is TRUE. `constraint`: not merely an index.
    """

    name: str
    columns: tuple[int, ...]
    primary: bool = False
    nulls_equal: bool = False
    parts: tuple[Expr, ...] = ()
    where: Expr | None = None
    constraint: bool = True

    @property
    def plain(self) -> bool:
        """Whether two rows clash where they have equal values, none of them NULL, in `columns`."""
        return not self.parts and self.where is None and not self.nulls_equal


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A row without a NULL in `columns` must have a row of `parent` with these values in `parent_columns`, a key.

    `on_delete` and `on_update`: ``no action``, ``restrict``, ``cascade``, ``set null`` or ``set default``. `deferred`:
    checked at COMMIT and not at the end of each statement.
    """

    name: str
    columns: tuple[int, ...]
    parent: str
    parent_columns: tuple[int, ...]
    on_delete: str = "no action"
    on_update: str = "no action"
    deferred: bool = False

    @property
    def acts(self) -> bool:
        """Whether it changes or deletes rows where the one that they refer to goes or has another key."""
        return not {self.on_delete, self.on_update} <= {"no action", "restrict"}


References = Literal["kept", "ignored", "unknown"]
"""What becomes of foreign keys where a statement writes: they are checked and act; nothing is checked and nothing acts
(SQLite's ``foreign_keys = OFF``); or it is not known which."""


@dataclass(frozen=True, slots=True)
class SpelledKey:
    """A foreign key as a definition spells it, by the names of columns; `parent_columns` () for the parent's primary
    key. SQLite looks up what it refers to whenever a statement needs it."""

    name: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    on_delete: str = "no action"
    on_update: str = "no action"
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class Fired:
    """A trigger that may fire on an `event` (insert, update, delete, truncate), called `construct`, and what it may
    change. The rows that the statement itself writes are not among it. `waits`: it may fire at the commit, or where
    SET CONSTRAINTS says it."""

    event: str
    construct: str
    reach: Reach
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger FOR EACH ROW that is run: `before` a row of its table is written, or when the statement is over, on
    these `events`, an update among them only where it sets one of the `columns` (None: any).

    `condition` (None: always) reads the old row, then the new one. The routine is given the fields of both, NULLs for
    one that there is not, and the event; one that runs before gives back the row that is written, or none. `construct`
    as in `Fired`. `outermost`: what triggers write does not fire it.
    """

    name: str
    before: bool
    events: frozenset[str]
    columns: frozenset[int] | None
    condition: Expr | None
    routine: Routine
    construct: str
    outermost: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns in order and its constraints. A view has a `query` and no rows of its own.

    `refused`: what of its definition is not modelled, so that no statement may use it, empty for nothing; `unwritable`:
    the writes (insert, update, delete, truncate) that are not modelled, each with the reason; `loose`: constraints
    that are not modelled, so that rows may be refused for what is not known; `hangs_on`: the tables that foreign keys
    among them refer to; `fires`: triggers that are not run, and change nothing of what is written. `spelled`: its
    foreign keys as they are spelled, where the names in them are looked up late (SQLite); `dangling`: the parents of
    those among them that find no key or compare what is not modelled, each with the reason; `unread`: of those whose
    parent is refused. `indexes`: of those that are no keys, what columns their definitions name. `fixed`: the columns
    that tell in which partition a row is, so that their update may move it; `part_of`: the whole table of which it is a
    partition, empty for none. `collation`: that of texts in new columns, where it is another than the log's.
    """

    name: str
    columns: tuple[TableColumn, ...]
    keys: tuple[Unique, ...] = ()
    checks: tuple[Check, ...] = ()
    query: Query | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()
    refused: str = ""
    unwritable: tuple[tuple[str, str], ...] = ()
    loose: tuple[str, ...] = ()
    hangs_on: tuple[str, ...] = ()
    fires: tuple[Fired, ...] = ()
    spelled: tuple[SpelledKey, ...] = ()
    dangling: tuple[tuple[str, str], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    fixed: tuple[int, ...] = ()
    part_of: str = ""
    collation: str = ""

    @property
    def leans_on(self) -> frozenset[str]:
        """The tables that foreign keys of it may refer to which are not among `foreign_keys`."""
        return frozenset((*self.hangs_on, *(parent for parent, _ in (*self.dangling, *self.unread))))

    @property
    def refusing(self) -> tuple[str, ...]:
        """Why rows may be refused that nothing known refuses."""
        return (*self.loose, *(reason for _, reason in self.unread))

    @property
    def clustered(self) -> tuple[int, ...]:
        """The columns of the key by which InnoDB keeps the rows: the primary key, else the first unique one that takes
        no NULL; () where there is none and InnoDB numbers the rows (MySQL 8.0 manual, 17.6.2.1)."""
        primary = [key.columns for key in self.keys if key.primary]
        others = [key.columns for key in self.keys if key.plain and all(self.columns[n].not_null for n in key.columns)]
        return next(iter(primary + others), ())

    def position(self, column: str) -> int:
        """The 0-based position of a column; raises KeyError for an unknown one."""
        for index, item in enumerate(self.columns):
            if item.name == column:
                return index
        raise KeyError(column)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that names can refer to. `transient`: the tables that exist in some states only; `refused`: routines that
    the log defines and that are not modelled, with what of them is not. `changes`: the changes of definitions that
    stand among these tables, by their texts, a reason where one is not modelled; `triggers`: those that are run, by
    table, in the order of their names; `hidden`: what names lead to, where what uses them is not modelled; `repeats`:
    texts that define what there is already, each with the SQLSTATE that answers it, empty for none."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    procedures: Mapping[str, Procedure] = field(default_factory=dict)
    transient: Mapping[str, Transient] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, ChangeTables | str] = field(default_factory=dict)
    triggers: Mapping[str, tuple[Trigger, ...]] = field(default_factory=dict)
    hidden: Mapping[str, Hidden] = field(default_factory=dict)
    repeats: Mapping[str, str] = field(default_factory=dict)

    def without_references(self) -> Catalog:
        """The same without foreign keys, as statements see it for which these are off."""
        tables = {name: replace(table, foreign_keys=(), dangling=(), unread=()) for name, table in self.tables.items()}
        return replace(self, tables=tables)

    def references_to(self, table: str) -> tuple[tuple[Table, ForeignKey], ...]:
        """The foreign keys that name a table as their parent, with the tables that have them."""
        return tuple(
            (child, key) for child in self.tables.values() for key in child.foreign_keys if key.parent == table
        )
