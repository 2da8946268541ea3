"""Which statements treat each row of one table by itself, and what they do to a row, by running them on it alone.

A statement is *row-local* where what it does to a row, whether it counts it and what it shows of it hang on that row
and the parameters alone: it names one table once, has no subquery, draws nothing and runs no routine. Then the
interpreter, on a table that holds one row, gives the function from a row's version to what becomes of it; there is no
other semantics here. Aggregates are taken apart: what a row adds to its group is shown in place of the group. Does not
know what was observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from enum import Enum

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Binary, Column, Const, Expr, Param
from sql_semantics.ir.queries import Aggregate, BaseTable, OutputColumn, Query, Select, Source
from sql_semantics.ir.schema import Catalog, ForeignKey, Table, Unique
from sql_semantics.ir.statements import Conflict, Delete, Insert, NoEffect, Statement, Update
from sql_semantics.ir.walks.effects import columns_set, draws, fired_by, reached, touched_tables, written_tables
from sql_semantics.ir.walks.traverse import columns_read, conjunction, conjuncts, has_subquery
from sql_semantics.library import Program
from sql_semantics.outcome import Outcome
from sql_semantics.records import dataclass, replace
from sql_semantics.run import Arguments, compile_statement
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN, INTEGER_KINDS, Kind, SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId, View
from troubadour.facts.rows.joined import sides_of
from troubadour.facts.rows.picked import Picked, picked_by
from troubadour.facts.rows.seen import SEEN, is_alone, seen_by

_TRUE = Const(True, BOOLEAN)

Columns = tuple[int, ...]
"""Those of a key, or of an answer."""

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
    column its place among keys and aggregates; None for another expression. `having`: some groups may not be shown;
    `empty`: some may be shown that no row is of."""

    keys: int
    aggregates: tuple[Aggregate, ...]
    starts: tuple[int, ...]
    outputs: tuple[int | None, ...]
    having: bool
    empty: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A row-local statement, or one row of an INSERT. `shows`: rows of an answer come of it; `distinct`: equal ones
    once; `skips`: rows that others lock are left out; `cut`: LIMIT or OFFSET leave out some. Of an INSERT: `plain` that
    it fails where its key is taken, `conditional` that it may do nothing then. `maybe`: it may as well pass a row over,
    by what other rows tell; `blurs`: what it leaves in a row is not told. `strict`: the same where a row that it
    changes is then as the subqueries saw it; `least`: a query of the rows of which it meets the one of the smallest
    key, or the largest. `columns`: those of the answer that it tells of (empty: all). `keyed`: those of what it shows
    of a row that are its key (empty: it does not show that), `whole`: that are its columns (empty: it shows not all);
    `every`: it shows each row of its table. `group`: of which an INSERT leaves what a query tells of it. `conditions`:
    for each condition that its rows meet a query of those that do, with the columns that it looks at."""

    table: str
    does: Does
    run: Callable[[View, Arguments], Outcome]
    shows: bool
    grouped: Grouped | None = None
    distinct: bool = False
    skips: bool = False
    plain: bool = False
    conditional: bool = False
    maybe: bool = False
    blurs: bool = False
    cut: bool = False
    columns: tuple[int, ...] = ()
    keyed: tuple[int, ...] = ()
    strict: Part | None = None
    least: tuple[Part, bool] | None = None
    whole: Columns = ()
    every: bool = False
    group: Group | None = None
    conditions: tuple[tuple[frozenset[int], Part], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The one group that an INSERT leaves in a row, if there are any rows of it: the query that `asks` for it (`locks`:
    where it locks what it reads), what of the row that is inserted stands in its answer (`answers`: by output the
    column), and an INSERT that `gives` a row in its place, whose values are its parameters."""

    asks: Part
    locks: Part
    answers: Columns
    gives: Part


@dataclass(frozen=True, slots=True)
class Cascade:
    """Rows of a table go, or lose their reference to it, with the row that a foreign key of theirs refers to."""

    table: str
    key: ForeignKey


@dataclass(frozen=True, slots=True)
class Local:
    """What is known of a statement: the `parts` that it is made of, all of one table, which do all that it counts and
    shows. `changes` and `adds`: tables in which it may besides change any row, or add rows of any key. `cascades`: what
    foreign keys do about the rows that it deletes. `joined`: what a join's answer says of each of its tables. Nothing
    of a query that is not followed."""

    parts: tuple[Part, ...] = ()
    changes: frozenset[str] = frozenset()
    adds: frozenset[str] = frozenset()
    cascades: tuple[Cascade, ...] = ()
    joined: tuple[Part, ...] = ()


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


def local_of(
    program: Program, tables: Mapping[str, Columns], untaken: Mapping[str, Set[Columns]], dialect: Dialect
) -> Local:
    """What is known of a program, worked out once. `tables`: those whose rows are told apart, with their key;
    `untaken`: the keys that no row has which an INSERT gives."""
    named = {name: sorted(keys) for name, keys in untaken.items()}
    beside = f"row-local beside {sorted(tables.items())} {sorted(named.items())}"
    return program.remember(beside, lambda: _local(program, tables, untaken, dialect))


def _local(
    program: Program, tables: Mapping[str, Columns], untaken: Mapping[str, Set[Columns]], dialect: Dialect
) -> Local:
    statement, catalog = program.statement, program.catalog
    if isinstance(statement, NoEffect):
        return Local()
    if isinstance(statement, Select) and len(statement.sources) > 1:
        return Local(joined=_joined(statement, catalog, tables, dialect))
    written = written_tables([statement], catalog)
    parts = _parts(statement, catalog, tables, untaken, dialect)
    if any(_reaches_itself(part.table, catalog) for part in parts if part.does is not Does.READS):
        parts = ()
    cascades: list[Cascade] = []
    if parts and isinstance(statement, Delete):
        cascades = [
            Cascade(child.name, key)
            for child, key in catalog.references_to(statement.table)
            if child.name in tables
            and key.on_delete in ("cascade", "set null")
            and not _acts_further(child.name, catalog)
        ]
    if parts and _keeps_references(statement, catalog):
        return Local(parts)
    own = {part.table for part in parts} | {cascade.table for cascade in cascades}
    changes = frozenset(name for name, action in written if action not in ("insert", "truncate") and name not in own)
    adds = frozenset(name for name, action in written if action == "insert" and name not in own)
    adds |= rekeyed(statement, catalog, tables)
    changes |= frozenset(name for name, action in written if action == "truncate")
    return Local(parts, changes, adds, tuple(cascades))


def rekeyed(statement: Statement, catalog: Catalog, tables: Mapping[str, tuple[int, ...]]) -> frozenset[str]:
    """The tables of which a statement may give rows another key, so that one is where there was none. `tables` as in
    `local_of`."""
    found = columns_set(statement, catalog)
    return frozenset(name for name, columns in found if not columns.isdisjoint(tables.get(name, ())))


def _keeps_references(statement: Statement, catalog: Catalog) -> bool:
    """Whether nothing that rows refer to is changed or deleted."""
    match statement:
        case Update(table=table, assignments=assignments):
            pass
        case Insert(table=table, conflict=None):
            assignments = ()
        case Insert(table=table, conflict=conflict) if conflict is not None and conflict.action != "replace":
            assignments = conflict.assignments
        case _:
            return False
    changed = {column for column, _ in assignments}
    return not any(changed & set(key.parent_columns) for _, key in catalog.references_to(table))


def _acts_further(table: str, catalog: Catalog) -> bool:
    """Whether foreign keys do anything about a change of a table's rows."""
    return any(key.acts for _, key in catalog.references_to(table))


def _reaches_itself(table: str, catalog: Catalog) -> bool:
    """Whether what foreign keys do about a change of a table's rows may be another change of its rows."""
    reached_: set[str] = set()
    pending = [table]
    while pending:
        for child, key in catalog.references_to(pending.pop()):
            if key.acts and child.name not in reached_:
                reached_.add(child.name)
                pending.append(child.name)
    return table in reached_


def _parts(
    statement: Statement,
    catalog: Catalog,
    tables: Mapping[str, Columns],
    untaken: Mapping[str, Set[Columns]],
    dialect: Dialect,
) -> tuple[Part, ...]:
    """Its parts; none where it is not row-local."""
    if draws(statement, catalog) or reached([statement], catalog) or fired_by(statement, catalog):
        return ()
    match statement:
        case Insert(table=table, conflict=Conflict(action="replace")) if catalog.references_to(table):
            # rows are deleted and inserted then, and counted otherwise than where they are overwritten
            return ()
    # references are of other rows: that they hold is no matter of this one
    alone = catalog.without_references()
    if isinstance(statement, Insert) and isinstance(statement.query, Select) and statement.query.sources:
        return _inserted_group(statement, alone, tables, dialect)
    more: dict[str, object] = {}
    strict: Expr | None = None
    least: Picked | None = None
    if has_subquery(statement):
        strict, least = _picks(statement, tables)
        statement, blurs = _without_subqueries(statement)
        more = {"maybe": True, "blurs": blurs}
    if has_subquery(statement) or len(touched_tables(statement, alone)) != 1:
        return ()
    if isinstance(statement, Update | Delete) and statement.limit is not None:
        statement = replace(statement, order=(), limit=None)
        more["maybe"] = True
    try:
        match statement:
            case Update(table=name) | Delete(table=name) if name in tables:
                if isinstance(statement, Update) and {c for c, _ in statement.assignments} & set(tables[name]):
                    return ()
                shows = statement.returning is not None and not more.get("blurs")
                if least is not None and least.first is not None:
                    more["least"] = _asking(least, name, tables[name][0], alone, dialect), least.first
                if statement.returning is not None:
                    more["keyed"] = _keyed(statement.returning, tables[name])
                if strict is not None:
                    conditions = tuple(part for part in (statement.where, strict) if part is not None)
                    asked = replace(statement, where=conjunction(conditions))
                    more["strict"] = _part(asked, name, Does.CHANGES, alone, dialect, shows, **more)
                return (_part(statement, name, Does.CHANGES, alone, dialect, shows, **more),)
            case Insert() if statement.table in tables:
                foreign = bool(catalog.tables[statement.table].foreign_keys)
                free = untaken.get(statement.table, frozenset())
                return _inserted(statement, alone, tables, free, dialect, foreign=foreign)
            case Select(sources=(Source(relation=BaseTable(name)),)) if name in tables:
                return _selected(statement, name, tables[name], alone, dialect, more)
    except Unsupported:
        pass
    return ()


def _part(
    statement: Statement, table: str, does: Does, catalog: Catalog, dialect: Dialect, shows: bool, **more: object
) -> Part:
    if more.get("blurs"):
        # whether MySQL counts the row hangs on what is set, which is not told
        dialect = replace(dialect, found_rows=True)
    run = compile_statement(statement, catalog, dialect, rounds=True)
    where = statement.where if isinstance(statement, Update | Delete | Select) else None
    more["conditions"] = tuple(_asked(where, table, catalog, dialect))
    return Part(table, does, run, shows, **more)  # type: ignore[arg-type]  # the fields that it has by default


def _asked(where: Expr | None, table: str, catalog: Catalog, dialect: Dialect) -> Iterator[tuple[frozenset[int], Part]]:
    source = Source(BaseTable(table), table, 0, len(catalog.tables[table].columns))
    for condition in conjuncts(where):
        if is_alone(condition, source):
            query = Select((source,), condition, None, (), None, SEEN)
            run = compile_statement(query, catalog, dialect)
            yield columns_read(condition), Part(table, Does.READS, run, shows=True)


def _inserted(
    statement: Insert,
    catalog: Catalog,
    tables: Mapping[str, Columns],
    untaken: Set[Columns],
    dialect: Dialect,
    *,
    foreign: bool,
) -> tuple[Part, ...]:
    conflict = statement.conflict
    query = statement.query
    if query is not None and (not isinstance(query, Select) or query.sources):
        return ()
    if statement.listed is not None or len(statement.rows) > PARTS:
        return ()
    table = catalog.tables[statement.table]
    elsewhere = False
    if conflict is not None:
        if conflict.ignore and foreign:
            return ()
        one_place = len(table.keys) == 1 or _is_met_by(conflict, table, tables[table.name])
        if not one_place and conflict.action == "nothing":
            elsewhere = True
        elif not one_place and not _is_met_by(conflict, table, tables[table.name], untaken):
            # a row of another place may be in its way
            return ()
        if {place for place, _ in conflict.assignments} & set(tables[statement.table]):
            return ()
    conditional = conflict is not None and (conflict.action == "nothing" or conflict.where is not None)
    shows = statement.returning is not None
    more = {"plain": conflict is None, "conditional": conditional, "maybe": elsewhere}
    if query is not None:
        return (_part(statement, table.name, Does.INSERTS, catalog, dialect, shows, **more),)
    return tuple(
        _part(replace(statement, rows=(row,)), table.name, Does.INSERTS, catalog, dialect, shows, **more)
        for row in statement.rows
    )


def _inserted_group(
    statement: Insert, catalog: Catalog, tables: Mapping[str, Columns], dialect: Dialect
) -> tuple[Part, ...]:
    """An INSERT of one group of rows, if there are any, whose key the query's condition gives: what it leaves at that
    place is not told."""
    query, conflict = statement.query, statement.conflict
    if not isinstance(query, Select) or statement.table not in tables or has_subquery(query):
        return ()
    given: dict[int, Expr] = {}
    for part in conjuncts(query.where):
        match part:
            case Binary("=", Column(index=index), (Param() | Const()) as value) if value.type == part.left.type:
                given[index] = value
    groups = query.groups
    if not groups or query.grouping_sets is not None:
        return ()
    if any(not isinstance(group, Column) or group.index not in given for group in groups):
        return ()
    table, key = catalog.tables[statement.table], tables[statement.table]
    if conflict is not None and not (len(table.keys) == 1 or _is_met_by(conflict, table, key)):
        return ()
    if conflict is not None and {place for place, _ in conflict.assignments} & set(key):
        return ()
    row: list[Expr] = []
    for place, column in enumerate(table.columns):
        source = statement.from_query[place]
        if place not in key:
            row.append(Const(_SOME.get(column.type.kind) if column.not_null else None, column.type))
            continue
        shown = query.outputs[source.index].expression if isinstance(source, Column) else None
        group = groups[shown.index] if isinstance(shown, Column) and shown.index < len(groups) else None
        if not isinstance(group, Column) or given[group.index].type != column.type:
            return ()
        row.append(given[group.index])
    asked = Insert(table.name, (tuple(row),), None, (), None)
    told = _told_group(statement, query, catalog, tables, dialect)
    more = {"conditional": True, "maybe": True, "blurs": True, "group": told}
    return (_part(asked, table.name, Does.INSERTS, catalog, dialect, shows=False, **more),)


def _told_group(
    statement: Insert, query: Select, catalog: Catalog, tables: Mapping[str, Columns], dialect: Dialect
) -> Group | None:
    """What is told of the group of an INSERT that leaves it as it is; None where it leaves something else."""
    conflict, table = statement.conflict, catalog.tables[statement.table]
    width = len(table.columns)
    if conflict is not None:
        overwritten = {place for place, value in conflict.assignments if _is_column(value, width + place)}
        plain = conflict.action == "update" and conflict.where is None and len(overwritten) == len(conflict.assignments)
        if not plain or overwritten != {*range(width)} - {*tables[table.name]}:
            return None
    if len(query.sources) != 1 or query.locking:
        return None
    (source,) = query.sources
    if not isinstance(source.relation, BaseTable) or source.relation.name not in tables.keys() - {table.name}:
        return None
    parts = _selected(query, source.relation.name, tables[source.relation.name], catalog, dialect, {})
    grouped = parts[0].grouped if parts else None
    if grouped is None:
        return None
    answers = [-1] * len(query.outputs)
    for place, (column, given) in enumerate(zip(table.columns, statement.from_query, strict=True)):
        read = columns_read(given)
        if len(read) != 1 or not (place in tables[table.name] or column.type.kind in INTEGER_KINDS):
            return None
        answers[next(iter(read))] = place
    told = tuple(place if _is_whole_number(grouped, place) else None for place in grouped.outputs)
    if -1 in answers:
        return None
    asks = replace(parts[0], grouped=replace(grouped, outputs=told))
    given_row = tuple(Param(place, column.type) for place, column in enumerate(table.columns))
    gives = Insert(table.name, (given_row,), None, (), None, conflict)
    given_part = _part(gives, table.name, Does.INSERTS, catalog, dialect, shows=False, plain=conflict is None)
    return Group(asks, replace(asks, does=Does.LOCKS), tuple(answers), given_part)


def _is_column(value: Expr, place: int) -> bool:
    return isinstance(value, Column) and value.index == place


def _is_whole_number(grouped: Grouped, place: int | None) -> bool:
    """Whether what a group has at a place of its keys and aggregates is stored as it is in a column of whole
    numbers."""
    if place is None or place < grouped.keys:
        return place is not None
    aggregate = grouped.aggregates[place - grouped.keys]
    return aggregate.function in ("count_star", "count") or (
        aggregate.function in ("sum", "min", "max") and aggregate.arguments[0].type.kind in INTEGER_KINDS
    )


_SOME: Mapping[Kind, Value] = {**dict.fromkeys(INTEGER_KINDS, 0), Kind.TEXT: "", Kind.BOOLEAN: False}
"""Values that stand for those of a column that is never NULL."""


def _is_met_by(conflict: Conflict, table: Table, key: Columns, untaken: Set[Columns] = frozenset()) -> bool:
    """Whether the rows of one key alone may be in the way of an INSERT that does not fail."""
    return all(one.plain and (one.columns == key or one.columns in untaken) for one in arbiters(conflict, table))


def arbiters(conflict: Conflict, table: Table) -> list[Unique]:
    """The keys by which an INSERT finds rows in its way."""
    return [*table.keys] if conflict.keys is None else [table.keys[place] for place in conflict.keys]


def inserted_alone(statement: Insert, catalog: Catalog, dialect: Dialect) -> tuple[Part, ...]:
    """An INSERT of rows that the statement gives, row by row, as if none were in their way. Raises Unsupported."""
    if statement.listed is not None or statement.query is not None or len(statement.rows) > PARTS:
        raise Unsupported("an INSERT whose rows are not told one by one")
    alone = catalog.without_references()
    return tuple(
        _part(replace(statement, rows=(row,), conflict=None, returning=None), statement.table, Does.INSERTS, alone,
              dialect, shows=False)
        for row in statement.rows
    )  # fmt: skip


def _picks(statement: Statement, tables: Mapping[str, tuple[int, ...]]) -> tuple[Expr | None, Picked | None]:
    """What the row that a write changes was asked for by subqueries on its own table, and the one that picks a row."""
    if not isinstance(statement, Update | Delete) or len(tables.get(statement.table, ())) != 1:
        return None, None
    (key,) = tables[statement.table]
    found = [picked_by(one, statement.table, key) for one in conjuncts(statement.where) if has_subquery(one)]
    asked = tuple(one.where for one in found if one is not None and one.where is not None)
    picking = [one for one in found if one is not None and one.first is not None]
    return conjunction(asked), picking[0] if len(picking) == 1 else None


def _asking(picked: Picked, table: str, key: int, catalog: Catalog, dialect: Dialect) -> Part:
    """A query of the rows among which one is picked."""
    columns = catalog.tables[table].columns
    output = OutputColumn("key", Column(key, columns[key].type, columns[key].name))
    source = Source(BaseTable(table), table, 0, len(columns))
    query = Select((source,), picked.where, None, (), None, (output,))
    return _part(query, table, Does.READS, catalog, dialect, shows=True)


def _without_subqueries(statement: Statement) -> tuple[Statement, bool]:
    """A statement that meets every row which the given one may meet, without those parts of its condition that have
    subqueries; whether what it leaves in a row is not told. The statement itself where that is not possible."""
    match statement:
        case Update(where=where, assignments=assignments):
            # what is set to an answer is not told
            kept = tuple(
                (column, Const(None, value.type) if has_subquery(value) else value) for column, value in assignments
            )
            blurs = kept != assignments
            found = replace(statement, where=_local_condition(where), assignments=kept)
            return (replace(found, returning=None) if blurs else found), blurs
        case Delete(where=where) | Select(where=where):
            return replace(statement, where=_local_condition(where)), False
    return statement, False


def _local_condition(where: Expr | None) -> Expr | None:
    return conjunction(tuple(part for part in conjuncts(where) if not has_subquery(part)))


def _selected(
    statement: Select,
    table: str,
    key: tuple[int, ...],
    catalog: Catalog,
    dialect: Dialect,
    beside: Mapping[str, object],
) -> tuple[Part, ...]:
    if statement.windows or statement.qualify is not None or statement.distinct_on:
        return ()
    if statement.grouping_sets is not None or statement.with_ties:
        return ()
    if any(lock.keys is not None for lock in statement.locks):
        return ()  # FOR KEY SHARE: others may change the row before the transaction ends
    does = Does.LOCKS if statement.locking else Does.READS
    query: Query = replace(statement, order=(), distinct=False)
    grouped = None
    if statement.groups is not None or statement.aggregates:
        if statement.limit is not None or statement.offset is not None or statement.distinct:
            return ()
        outputs, grouped = _taken_apart(statement)
        query = replace(statement, groups=None, aggregates=(), having=None, outputs=outputs, order=())
    cut = statement.limit is not None or statement.offset is not None
    if grouped is None:
        whole = _keyed(statement.outputs, tuple(range(len(catalog.tables[table].columns))))
        every = statement.where is None and not (cut or statement.skip_locked)
        beside = {**beside, "keyed": _keyed(statement.outputs, key), "whole": whole, "every": every}
    more = {"grouped": grouped, "distinct": statement.distinct, "skips": statement.skip_locked, "cut": cut, **beside}
    return (_part(query, table, does, catalog, dialect, True, **more),)


def looks_of(program: Program, dialect: Dialect) -> tuple[Part, ...] | None:
    """Queries of the rows that a query can see, for each place where it looks at a table, worked out once; None where
    it may see any."""

    def made() -> tuple[Part, ...] | None:
        query, alone = program.statement, program.catalog.without_references()
        found = seen_by(query) if isinstance(query, Query) else None
        if found is None:
            return None
        return tuple(_part(asked, table, Does.READS, alone, dialect, shows=True) for table, asked in found)

    return program.remember("rows that it can see", made)


def _keyed(outputs: Sequence[OutputColumn], key: Columns) -> Columns:
    """The outputs that are the columns of a key, in turn; nothing where some is not shown."""
    shown = [one.expression.index if isinstance(one.expression, Column) else -1 for one in outputs]
    return tuple(shown.index(column) for column in key) if set(key) <= set(shown) else ()


def _joined(
    statement: Select, catalog: Catalog, tables: Mapping[str, tuple[int, ...]], dialect: Dialect
) -> tuple[Part, ...]:
    """What a join says of each of its tables; nothing where that is not told."""
    if has_subquery(statement) or draws(statement, catalog) or reached([statement], catalog):
        return ()
    found: list[Part] = []
    for side in sides_of(statement, tables):
        grouped = None
        if side.refers is not None:
            outputs: list[int | None] = [None] * len(statement.outputs)
            outputs[side.refers] = 0
            for number, (_, column) in enumerate(side.counts):
                outputs[column] = 1 + number
            aggregates = tuple(statement.aggregates[place] for place, _ in side.counts)
            starts = tuple(range(1, 1 + len(aggregates)))
            grouped = Grouped(1, aggregates, starts, tuple(outputs), having=True, empty=True)
        more = {"grouped": grouped, "distinct": side.repeats, "maybe": side.maybe, "columns": side.columns}
        try:
            found.append(_part(side.query, side.table, Does.READS, catalog, dialect, True, **more))
        except Unsupported:
            continue
    return tuple(found)


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
    apart = False
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


def cascade_of(cascade: Cascade, refers: Callable[[Row], bool]) -> Part:
    """What becomes of a row of the table where a row was deleted that it `refers` to."""

    def run(view: View, arguments: Arguments) -> Outcome:
        for identity, row in list(view.scan(cascade.table)):
            if not refers(row):
                continue
            if cascade.key.on_delete == "cascade":
                view.delete(cascade.table, identity)
            else:
                columns = cascade.key.columns
                view.update(cascade.table, identity, tuple([None if c in columns else v for c, v in enumerate(row)]))
        return Outcome([])

    return Part(cascade.table, Does.CHANGES, run, shows=False)


def effect_of(part: Part, arguments: Arguments, row: Row | None) -> Effect | Untold:
    """What a part does to one row; of an INSERT, to the row of its key."""
    view = _OneRow(row)
    try:
        outcome = part.run(view, arguments)
    except SqlError as error:
        # a constraint that fails is one that the row itself breaks; other errors may stand where a server need not go
        fails = error.sqlstate.startswith("23") and not error.may and not part.blurs
        return Untold.FAILS if fails else Untold.ANYTHING
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
