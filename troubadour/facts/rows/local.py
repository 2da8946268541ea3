"""Which statements treat each row of one table by itself, and what they do to a row, by running them on it alone.

A statement is *row-local* where what it does to a row, whether it counts it and what it shows of it hang on that row
and the parameters alone: it names one table once, has no subquery, draws nothing and runs no routine. Then the
interpreter, on a table that holds one row, gives the function from a row's version to what becomes of it; there is no
other semantics here. Aggregates are taken apart: what a row adds to its group is shown in place of the group. Does not
know what was observed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column, Const, Expr
from sql_semantics.ir.queries import Aggregate, BaseTable, OutputColumn, Query, Select, Source
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, NoEffect, Statement, Update
from sql_semantics.ir.walks.effects import draws, fired_by, reached, touched_tables, written_tables
from sql_semantics.ir.walks.traverse import has_subquery
from sql_semantics.library import Program
from sql_semantics.outcome import Outcome
from sql_semantics.run import Arguments, compile_statement
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN, SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId, View

_TRUE = Const(True, BOOLEAN)

PARTS = 50
"""Rows of one INSERT up to which each is followed by itself."""


class Does(Enum):
    """What a part does to rows."""

    READS = "reads"
    LOCKS = "locks what it reads"
    CHANGES = "updates or deletes"
    INSERTS = "inserts"


@dataclass(frozen=True, slots=True)
class Grouped:
    """How a query puts rows together whose shares are shown instead: the first `keys` columns of a share are those of
    its group, then come, for each aggregate, its arguments and its filter from `starts[n]` on. `outputs`: by output
    column its place among keys and aggregates; None for another expression. `having`: some groups may not be shown."""

    keys: int
    aggregates: tuple[Aggregate, ...]
    starts: tuple[int, ...]
    outputs: tuple[int | None, ...]
    having: bool


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A row-local statement, or one row of an INSERT. `shows`: rows of an answer come of it; `distinct`: equal ones
    once; `skips`: rows that others lock are left out. Of an INSERT: `plain` that it fails where its key is taken,
    `conditional` that it may do nothing then."""

    table: str
    does: Does
    run: Callable[[View, Arguments], Outcome]
    shows: bool
    grouped: Grouped | None = None
    distinct: bool = False
    skips: bool = False
    plain: bool = False
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class Local:
    """What is known of a statement: the `parts` that it is made of, all of one table. `total`: what it counts and shows
    is what its parts do. `changes` and `adds`: tables in which it may besides change any row, or add rows of any key.
    None of all where it is nothing but a query that is not followed."""

    parts: tuple[Part, ...] = ()
    changes: frozenset[str] = frozenset()
    adds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Effect:
    """What becomes of a row (None: there is none), how many rows are counted for it, and what is shown of it."""

    after: Row | None
    affected: int
    shown: Row | None


class Untold(Enum):
    """Where no effect is told: the statement would have failed, or nothing is known."""

    FAILS = "it would fail"
    ANYTHING = "anything"


def local_of(program: Program, tables: Mapping[str, tuple[int, ...]], dialect: Dialect) -> Local:
    """What is known of a program, worked out once. `tables`: those whose rows are told apart, with their key."""
    found: Local | None = program.remembered.get("row-local")
    if found is None:
        found = program.remembered["row-local"] = _local(program, tables, dialect)
    return found


def _local(program: Program, tables: Mapping[str, tuple[int, ...]], dialect: Dialect) -> Local:
    statement, catalog = program.statement, program.catalog
    if isinstance(statement, NoEffect):
        return Local()
    written = written_tables([statement], catalog)
    parts = _parts(statement, catalog, tables, dialect)
    if any(_reaches_itself(part.table, catalog) for part in parts if part.does is not Does.READS):
        parts = ()
    own = {part.table for part in parts}
    changes = frozenset(name for name, action in written if action != "insert" and name not in own)
    adds = frozenset(name for name, action in written if action in ("insert", "truncate") and name not in own)
    return Local(parts, changes | adds, adds)


def _reaches_itself(table: str, catalog: Catalog) -> bool:
    """Whether what foreign keys do about a change of a table's rows may be another change of its rows."""
    reached_: set[str] = set()
    pending = [table]
    while pending:
        for child, key in catalog.references_to(pending.pop()):
            if {key.on_delete, key.on_update} - {"no action", "restrict"} and child.name not in reached_:
                reached_.add(child.name)
                pending.append(child.name)
    return table in reached_


def _parts(
    statement: Statement, catalog: Catalog, tables: Mapping[str, tuple[int, ...]], dialect: Dialect
) -> tuple[Part, ...]:
    """Its parts; none where it is not row-local."""
    if has_subquery(statement) or draws(statement, catalog) or reached([statement], catalog):
        return ()
    if fired_by(statement, catalog):
        return ()
    # references are of other rows: that they hold is no matter of this one
    alone = catalog.without_references()
    if len(touched_tables(statement, alone)) != 1:
        return ()
    try:
        match statement:
            case Update(table=name, limit=None) | Delete(table=name, limit=None) if name in tables:
                if isinstance(statement, Update) and {c for c, _ in statement.assignments} & set(tables[name]):
                    return ()
                return (_part(statement, name, Does.CHANGES, alone, dialect, statement.returning is not None),)
            case Insert() if statement.table in tables:
                return _inserted(statement, alone, tables, dialect)
            case Select(sources=(Source(relation=BaseTable(name)),)) if name in tables:
                return _selected(statement, name, alone, dialect)
    except Unsupported:
        pass
    return ()


def _part(
    statement: Statement, table: str, does: Does, catalog: Catalog, dialect: Dialect, shows: bool, **more: object
) -> Part:
    run = compile_statement(statement, catalog, dialect, rounds=True)
    return Part(table, does, run, shows, **more)  # type: ignore[arg-type]  # the fields that it has by default


def _inserted(
    statement: Insert, catalog: Catalog, tables: Mapping[str, tuple[int, ...]], dialect: Dialect
) -> tuple[Part, ...]:
    conflict = statement.conflict
    if statement.query is not None or statement.listed is not None or len(statement.rows) > PARTS:
        return ()
    table = catalog.tables[statement.table]
    if conflict is not None:
        if len(table.keys) > 1 or conflict.ignore:
            return ()
        if {place for place, _ in conflict.assignments} & set(tables[statement.table]):
            return ()
    conditional = conflict is not None and (conflict.action == "nothing" or conflict.where is not None)
    shows = statement.returning is not None
    more = {"plain": conflict is None, "conditional": conditional}
    return tuple(
        _part(replace(statement, rows=(row,)), table.name, Does.INSERTS, catalog, dialect, shows, **more)
        for row in statement.rows
    )


def _selected(statement: Select, table: str, catalog: Catalog, dialect: Dialect) -> tuple[Part, ...]:
    if statement.windows or statement.qualify is not None or statement.distinct_on:
        return ()
    if statement.grouping_sets is not None or statement.with_ties:
        return ()
    does = Does.LOCKS if statement.locking else Does.READS
    query: Query = replace(statement, order=(), distinct=False)
    grouped = None
    if statement.groups is not None or statement.aggregates:
        if statement.limit is not None or statement.offset is not None or statement.distinct:
            return ()
        outputs, grouped = _taken_apart(statement)
        query = replace(statement, groups=None, aggregates=(), having=None, outputs=outputs, order=())
    more = {"grouped": grouped, "distinct": statement.distinct, "skips": statement.skip_locked}
    return (_part(query, table, does, catalog, dialect, True, **more),)


def _taken_apart(statement: Select) -> tuple[tuple[OutputColumn, ...], Grouped]:
    groups = statement.groups or ()
    shares: list[Expr] = [*groups]
    starts: list[int] = []
    for aggregate in statement.aggregates:
        starts.append(len(shares))
        shares += aggregate.arguments
        shares += () if aggregate.filter is None else (aggregate.filter,)
    outputs = tuple(OutputColumn(f"share {place}", share) for place, share in enumerate(shares))
    if not outputs:
        outputs = (OutputColumn("share", _TRUE),)
    places = tuple(
        output.expression.index if isinstance(output.expression, Column) else None for output in statement.outputs
    )
    return outputs, Grouped(
        len(groups), tuple(statement.aggregates), tuple(starts), places, statement.having is not None
    )


class _OneRow:
    """A `View` of one table that holds at most one row of those that were there; notes how it was looked at."""

    rechecks = False
    locks = False
    __slots__ = ("looked", "rows", "savepoints", "scanned")

    def __init__(self, row: Row | None) -> None:
        self.rows: list[Row | None] = [row]
        self.savepoints: list[tuple[str, Mark]] = []
        self.scanned = False
        self.looked: list[tuple[tuple[int, ...], tuple[Value, ...]]] = []

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""

    def suspend(self) -> Mark:
        """See `View`."""
        return None

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def aside(self) -> View:
        """See `View`."""
        return self

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`."""
        return values

    def left(self) -> list[Row]:
        """The rows that are there."""
        return [row for row in self.rows if row is not None]

    def scan(self, table: str) -> list[tuple[RowId, Row]]:
        """See `View`."""
        self.scanned = True
        return self.own(table)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowId, Row]]:
        """See `View`."""
        self.looked.append((tuple(columns), tuple(key)))
        return [
            (number, row)
            for number, row in self.own(table)
            if all(row[column] == value for column, value in zip(columns, key, strict=True))
        ]

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowId, Row]]:
        """See `View`."""
        return self.lookup(table, columns, key) if columns else self.scan(table)

    def own(self, table: str) -> list[tuple[RowId, Row]]:
        """See `View`."""
        return [(number, row) for number, row in enumerate(self.rows) if row is not None]

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowId, Row]]:
        """See `View`."""
        return self.rivals(table, columns, key)

    def update(self, table: str, row: RowId, values: Row) -> None:
        """See `View`."""
        self.rows[row] = values

    def delete(self, table: str, row: RowId) -> None:
        """See `View`."""
        self.rows[row] = None

    def insert(self, table: str, values: Row) -> RowId:
        """See `View`."""
        self.rows.append(values)
        return len(self.rows) - 1

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """See `View`. Raises Unsupported."""
        raise Unsupported(f"a value that the DBMS chooses ({source})")

    def choose(self, count: int, what: str) -> int:
        """See `View`. Raises Unsupported."""
        raise Unsupported(what)

    def arbitrary(self, what: str) -> None:
        """See `View`. Raises Unsupported."""
        raise Unsupported(what)

    def savepoint(self) -> Mark:
        """See `View`."""
        return list(self.rows)

    def attempting(self, step: int) -> None:
        """See `View`."""

    def rollback(self, mark: Mark) -> None:
        """See `View`."""
        self.rows = list(mark)


def effect_of(part: Part, arguments: Arguments, row: Row | None) -> Effect | Untold:
    """What a part does to one row; of an INSERT, to the row of its key."""
    view = _OneRow(row)
    try:
        outcome = part.run(view, arguments)
    except SqlError as error:
        # a constraint that fails is one that the row itself breaks; other errors may stand where a server need not go
        return Untold.FAILS if error.sqlstate.startswith("23") and not error.may else Untold.ANYTHING
    except Unsupported:
        return Untold.ANYTHING
    shown: Row | None = None
    if part.shows:
        result = outcome.results[0]
        if len(result.rows) > 1 or result.rounded:
            return Untold.ANYTHING
        shown = tuple(result.rows[0]) if result.rows else None
    left = view.left()
    if len(left) > 1:
        return Untold.ANYTHING
    affected = outcome.affected if part.does in (Does.CHANGES, Does.INSERTS) else 0
    return Effect(left[0] if left else None, affected or 0, shown)


def window_of(part: Part, arguments: Arguments) -> tuple[int, int | None] | None:
    """The OFFSET and LIMIT of a query (None: no limit); None where they are not told."""
    try:
        result = part.run(_OneRow(None), arguments).results[0]
    except (SqlError, Unsupported):
        return None
    return result.offset, result.limit


def keys_of(part: Part, arguments: Arguments, key: Sequence[int]) -> frozenset[tuple[Value, ...]] | None:
    """The keys of the only rows that a part may look at; None where it may be any. An INSERT has one. Raises
    Unsupported where that of an INSERT is not told."""
    view = _OneRow(None)
    try:
        part.run(view, arguments)
    except (SqlError, Unsupported):
        if part.does is Does.INSERTS:
            raise Unsupported("an INSERT of a key that is not told") from None
        return None
    if part.does is Does.INSERTS:
        rows = view.left()
        if len(rows) != 1:
            raise Unsupported("an INSERT of a key that is not told")
        return frozenset({tuple([rows[0][place] for place in key])})
    if view.scanned or not view.looked:
        return None if view.scanned else frozenset()
    if any(not set(key) <= set(columns) for columns, _ in view.looked):
        return None
    return frozenset(tuple([values[columns.index(place)] for place in key]) for columns, values in view.looked)
