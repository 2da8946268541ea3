"""Foreign keys when a statement ends: actions on the rows that referred to what is gone, then the checks.

PostgreSQL 5.5.5 and CREATE TABLE, MySQL 1.6.3.2 and 15.1.20.5, SQLite foreignkeys. Constraints meet the newest rows
(`View.rivals`); an action on a row that is newer than what the statement reads is a write conflict (40001). Does not
know deferred keys, which hold in committed states only.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Catalog, ForeignKey, Table
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Merge, Statement, Together, Truncate, Update, Write
from sql_semantics.ir.walks.effects import sets_others, written_tables
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.records import dataclass
from sql_semantics.run.expressions.expressions import compile_row
from sql_semantics.run.writes.rows.keys import KeyValue, compile_equality
from sql_semantics.run.writes.rows.stored import compile_stored
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Row, RowId, View

NO_ACTIONS = frozenset({"no action", "restrict"})


@dataclass(slots=True)
class Change:
    """One row that a statement wrote: what it was (None: it did not exist) and what it is (None: it is gone).
    `assigned`: the columns that an update sets, None where they are not told. `kept`: it is not written, since it stays
    as it was, and fires triggers all the same."""

    table: str
    identity: RowId
    old: Row | None
    new: Row | None
    assigned: frozenset[int] | None = None
    kept: bool = False


_Children = Callable[[Sequence[tuple[RowId, Row]]], Sequence[tuple[RowId, Row]]]
"""f(rows that refer to a key): those of them that did so when it went."""
Enforce = Callable[[View, Sequence[Change]], Sequence[Change]]
"""f(view, changes in the order they were made) -> these, and behind them what was changed about them."""
REMOVED_TOGETHER = "a statement that removes a row together with the rows that refer to it"
OVERLOOKED = "INSERT OR REPLACE of a row that refers, with SET NULL, to a row that it does not find"


def compile_references(statement: Write | Together, catalog: Catalog, dialect: Dialect) -> Enforce | None:
    """f(view, changes in the order they were made): carries out the actions and checks the keys that the statement may
    have touched; None where it can touch none. Raises SqlError; what was written by then is the caller's to undo."""
    rewritten = _rewritten(statement, catalog, dialect)
    touched = any(_touches(table, columns, catalog) for table, columns in _written(statement, catalog))
    if not touched and not any(catalog.references_to(table) for table, _ in rewritten):
        return None
    assigned = _assigned(statement, catalog, dialect)
    shows = isinstance(statement, Delete) and statement.returning is not None
    return _Enforcement(catalog, dialect, rewritten, assigned, may_overlook(statement, catalog, dialect), shows).enforce


def _assigned(statement: Write | Together, catalog: Catalog, dialect: Dialect) -> Collection[int]:
    """The columns of the table written whose references SQLite looks up again, even where an update leaves the value
    as it was: those that it sets."""
    if not dialect.rules.running.looks_up_set_references:
        return ()
    match statement:
        case Update(assignments=assignments):
            return {place for place, _ in assignments}
        case Insert(table=table, conflict=conflict) if conflict is not None:
            replaces = conflict.action == "replace"
            return range(len(catalog.tables[table].columns)) if replaces else {n for n, _ in conflict.assignments}
        case JoinedWrite(targets=targets):
            return {place for target in targets for place, _ in target.assignments}
    return ()


def may_overlook(statement: Statement, catalog: Catalog, dialect: Dialect) -> bool:
    """Whether SQLite may let references through that find no row, as its versions up to 3.51 do: in INSERT OR REPLACE
    into a table that refers, with SET NULL, to rows that go with those replaced, its own above all (fkey.c,
    `isSetNullAction`: such an action of the statement is taken for the one that makes the new row)."""
    if not dialect.rules.running.overlooks_references:
        return False
    if not isinstance(statement, Insert) or statement.conflict is None:
        return False
    if statement.conflict.action != "replace":
        return False
    keys = catalog.tables[statement.table].foreign_keys
    written = {name for name, _ in written_tables([statement], catalog)}
    return any(key.parent in written and "set null" in (key.on_delete, key.on_update) for key in keys)


def _rewritten(statement: Write | Together, catalog: Catalog, dialect: Dialect) -> frozenset[tuple[str, int]]:
    """The columns (by table and place) that DuckDB takes out of their indexes and puts in again, even where the value
    stays: those that are set, and all where one of them is in a key or an index, or RETURNING shows the row."""
    if not dialect.rules.running.reindexes_rows:
        return frozenset()
    match statement:
        case Insert(table=table, returning=returning) | Update(table=table, returning=returning) if returning:
            return frozenset((table, place) for place in range(len(catalog.tables[table].columns)))
        case Update(table=table, assignments=assignments):
            return _indexed_anew(catalog.tables[table], {place for place, _ in assignments})
        case Insert(table=table, conflict=conflict) if conflict is not None and conflict.action == "update":
            return _indexed_anew(catalog.tables[table], {place for place, _ in conflict.assignments})
        case JoinedWrite(targets=targets):
            return frozenset().union(
                *(
                    _indexed_anew(catalog.tables[target.table], {place for place, _ in target.assignments})
                    for target in targets
                )
            )
    return frozenset()


def _columns_of_keys(table: Table) -> Iterable[tuple[int, ...]]:
    return [*(key.columns for key in table.keys), *(key.columns for key in table.foreign_keys)]


def _indexed_anew(table: Table, places: set[int]) -> frozenset[tuple[str, int]]:
    indexed = {place for columns in _columns_of_keys(table) for place in columns}
    named = {name for names in table.indexes for name in names}
    indexed |= {place for place, column in enumerate(table.columns) if column.name in named}
    if places & indexed:
        places = set(range(len(table.columns)))
    return frozenset((table.name, place) for place in places)


def meets_references(statement: Statement, catalog: Catalog) -> bool:
    """Whether foreign keys have a say in what the statement does."""
    parts = [statement, *nested(statement)]
    return any(
        _touches(name, written, catalog)
        for part in parts
        if isinstance(part, Write | Together)
        for name, written in _written(part, catalog)
    )


def meets_other_rows(statement: Write, catalog: Catalog) -> bool:
    """Whether keys or foreign keys compare what the statement writes with rows that it need not have read."""
    return any(
        (columns is not None and _sets_key(catalog.tables[table], columns))
        or _touches(table, (columns, deletes), catalog)
        for table, (columns, deletes) in _written(statement, catalog)
    )


def _sets_key(table: Table, columns: Collection[int]) -> bool:
    """Whether a row may be compared with others by a key after these columns were set: by its conditions, too."""
    return any(key.where is not None or not set(columns).isdisjoint(key.columns) for key in table.keys)


def _written(
    statement: Write | Together, catalog: Catalog
) -> Iterable[tuple[str, tuple[Collection[int] | None, bool]]]:
    """Per table written: (columns that an update sets, None for none; whether rows may be deleted)."""
    match statement:
        case Insert(table=table, conflict=conflict):
            replaces = conflict is not None and conflict.action == "replace"
            everything = range(len(catalog.tables[table].columns)) if table in catalog.tables else ()
            yield table, (everything, replaces)
        case Update(table=table, assignments=assignments):
            yield table, (_set(catalog, table, [place for place, _ in assignments]), False)
        case Delete(table=table):
            yield table, (None, True)
        case JoinedWrite(targets=targets, deletes=deletes):
            for target in targets:
                columns = None if deletes else _set(catalog, target.table, [place for place, _ in target.assignments])
                yield target.table, (columns, deletes)
        case Merge(table=table, whens=whens):
            everything = range(len(catalog.tables[table].columns)) if table in catalog.tables else ()
            for when in whens:
                assigned = _set(catalog, table, [place for place, _ in when.assignments])
                columns = {"update": assigned, "insert": everything}.get(when.action)
                yield table, (columns, when.action == "delete")
        case Together():
            for part in nested(statement):
                if isinstance(part, Write):
                    yield from _written(part, catalog)
        case Truncate():
            return


def _set(catalog: Catalog, name: str, assigned: Sequence[int]) -> Collection[int]:
    """The columns that an update changes, generated ones included, and all that a trigger may set besides."""
    table = catalog.tables.get(name)
    if table is not None and sets_others(name, catalog):
        return range(len(table.columns))
    computed = () if table is None else [i for i, column in enumerate(table.columns) if column.generated is not None]
    return {*assigned, *computed}


def _touches(name: str, written: tuple[Collection[int] | None, bool], catalog: Catalog) -> bool:
    table = catalog.tables.get(name)
    if table is None:
        return False
    columns, deletes = written
    if columns is not None and any(set(key.columns) & set(columns) for key in table.foreign_keys):
        return True
    parents = [key for _, key in catalog.references_to(name)]
    return any(deletes or (columns is not None and set(key.parent_columns) & set(columns)) for key in parents)


@dataclass(frozen=True, slots=True)
class _Reference:
    """One foreign key, compiled: how its two sides are looked up and compared."""

    child: Table
    key: ForeignKey
    child_columns: tuple[int, ...]
    parent_columns: tuple[int, ...]
    equal: Callable[[KeyValue, KeyValue], bool]
    default: Row

    def child_value(self, row: Row) -> KeyValue:
        return tuple([row[column] for column in self.key.columns])

    def parent_value(self, row: Row) -> KeyValue:
        return tuple([row[column] for column in self.key.parent_columns])

    def children(self, view: View, value: KeyValue) -> list[tuple[RowId, Row]]:
        """The rows that refer to a key."""
        meet = view.held if view.rechecks else view.rivals
        found = meet(self.child.name, self.child_columns, value if self.child_columns else ())
        return [(identity, row) for identity, row in found if self.refers(row, value)]

    def refers(self, row: Row, value: KeyValue) -> bool:
        mine = self.child_value(row)
        return None not in mine and self.equal(mine, value)

    def parents(self, view: View, value: KeyValue) -> list[RowId]:
        """The row that has a key. Only its key stays locked, so others may go on writing the rest of it."""
        meet = view.lookup if view.locks and self.parent_columns else view.rivals
        found = meet(self.key.parent, self.parent_columns, value if self.parent_columns else ())
        if view.locks and not self.parent_columns:
            found = view.scan(self.key.parent)
        return [identity for identity, row in found if self.equal(self.parent_value(row), value)]

    def is_visible(self, view: View, identity: RowId, row: Row) -> bool:
        """Whether a row that refers to a key is one that the statement reads."""
        value = self.child_value(row)
        name, columns = self.child.name, self.child_columns
        seen = view.lookup(name, columns, value) if columns else view.scan(name)
        return any(other == identity and values == row for other, values in seen)


def _compile(child: Table, key: ForeignKey, catalog: Catalog, dialect: Dialect) -> _Reference:
    types = [catalog.tables[key.parent].columns[place].type for place in key.parent_columns]
    equal, plain = compile_equality(types, dialect)
    defaults: Row = (None,) * len(key.columns)
    if "set default" in (key.on_delete, key.on_update):
        expressions = [child.columns[place].default for place in key.columns]
        given = [expression for expression in expressions if expression is not None]
        values = iter(compile_row(given, dialect)((), (), []))
        defaults = tuple([None if expression is None else next(values) for expression in expressions])
    return _Reference(
        child,
        key,
        key.columns if plain else (),
        key.parent_columns if plain else (),
        equal,
        defaults,
    )


class _Removed:
    """The rows that a statement removes itself, one by one."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._rows: dict[str, list[Row]] = {}
        self._own: set[tuple[str, RowId]] = set()
        for change in changes:
            if change.old is not None and change.new is None:
                self._rows.setdefault(change.table, []).append(change.old)
                self._own.add((change.table, change.identity))
        self._values: dict[int, Counter[KeyValue]] = {}

    def refer(self, reference: _Reference, value: KeyValue, change: Change) -> bool:
        """Whether others than the one of a change refer to a key."""
        rows = self._rows.get(reference.child.name, ())
        itself = (
            (change.table, change.identity) in self._own
            and change.table == reference.child.name
            and change.old is not None
            and reference.refers(change.old, value)
        )
        if len(rows) <= itself:
            return False
        if not reference.child_columns:
            return sum(reference.refers(row, value) for row in rows) > itself
        values = self._values.get(id(reference))
        if values is None:
            values = self._values[id(reference)] = Counter(map(reference.child_value, rows))
        return values[value] > itself


class _Enforcement:
    """The foreign keys of a catalog, compiled when they are first met."""

    def __init__(
        self,
        catalog: Catalog,
        dialect: Dialect,
        rewritten: frozenset[tuple[str, int]],
        assigned: Collection[int],
        overlooks: bool,
        shows: bool,
    ) -> None:
        self._catalog = catalog
        self._overlooks = overlooks
        self._shows = shows
        self._rewritten = rewritten
        self._assigned = assigned
        self._dialect = dialect
        self._rules = dialect.rules.running
        self._checks = self._rules.checks_references
        self._of: dict[str, list[_Reference]] = {}
        self._to: dict[str, list[_Reference]] = {}

    def _from(self, table: str) -> list[_Reference]:
        """The foreign keys that a table has."""
        found = self._of.get(table)
        if found is None:
            child = self._catalog.tables[table]
            found = [_compile(child, key, self._catalog, self._dialect) for key in child.foreign_keys]
            self._of[table] = found
        return found

    def _referring(self, table: str) -> list[_Reference]:
        """The foreign keys that name a table as their parent."""
        found = self._to.get(table)
        if found is None:
            found = [
                _compile(child, key, self._catalog, self._dialect) for child, key in self._catalog.references_to(table)
            ]
            self._to[table] = found
        return found

    def enforce(self, view: View, changes: Sequence[Change]) -> Sequence[Change]:
        """Carry out actions, breadth first, then check; see `compile_references`."""
        pending = deque(enumerate(changes))
        by_row = self._rules.writes_by_row
        inserted = {change.identity: place for place, change in enumerate(changes) if by_row and change.old is None}
        done: list[Change] = []
        latest: dict[RowId, Change] = {}
        gone: list[tuple[_Reference, KeyValue, str, _Children]] = []
        moved: set[tuple[int, RowId]] = set()
        removed = _Removed(changes if by_row else ())
        while pending:
            place, change = pending.popleft()

            def met(found: Sequence[tuple[RowId, Row]], place: int = place) -> list[tuple[RowId, Row]]:
                """Those that were there then: where rows are written one by one, one that replaces another comes when
                that one is gone."""
                return [(identity, row) for identity, row in found if inserted.get(identity, -1) < place]

            done.append(change)
            latest[change.identity] = change
            for reference in self._referring(change.table):
                value = None if change.old is None else reference.parent_value(change.old)
                if value is None or None in value:
                    continue
                stays = change.new is not None and reference.equal(reference.parent_value(change.new), value)
                if stays and not any(
                    (change.table, place) in self._rewritten for place in reference.key.parent_columns
                ):
                    continue
                action = reference.key.on_delete if change.new is None else reference.key.on_update
                if action in NO_ACTIONS:
                    gone.append((reference, value, action, met))
                else:
                    seen = action == "cascade" or self._shows
                    if seen and change.new is None and removed.refer(reference, value, change):
                        raise Unsupported(REMOVED_TOGETHER)  # an action may take a row before its turn comes
                    acted = list(self._act(view, reference, value, action, change, moved, met))
                    pending.extend((place, one) for one in acted)
                    if action == "set default":  # the default may be the very key that is gone
                        gone.extend((reference, value, "no action", met) for _ in acted[:1])
        try:
            for reference, value, action, then in gone:
                self._check_gone(view, reference, value, action, changes, then)
            first: dict[RowId, tuple[int, Row | None]] = {}
            for number, change in enumerate(done):
                first.setdefault(change.identity, (number, change.old))
            for change in done:
                if latest[change.identity] is change:
                    self._check_new(view, change, first, len(changes))
        except SqlError:
            if self._overlooks:
                raise Unsupported(OVERLOOKED) from None
            if self._rules.counts_dangling and self._mends(view, done):
                # it counts references that find nothing, up and down: one that found nothing before makes up for one
                raise Unsupported("a statement that takes a reference to no row away and makes another") from None
            raise
        return done

    def _mends(self, view: View, done: Sequence[Change]) -> bool:
        """Whether changes took a reference away that had found nothing, or made the row for one."""
        written = {change.identity for change in done}
        for change in done:
            for reference in self._from(change.table) if change.old is not None else ():
                assert change.old is not None
                value = reference.child_value(change.old)
                stays = change.new is not None and reference.child_value(change.new) == value
                if None in value or stays or reference.key.deferred or reference.parents(view, value):
                    continue
                parents = (other.old for other in done if other.table == reference.key.parent and other.old is not None)
                if not any(reference.equal(reference.parent_value(row), value) for row in parents):
                    return True
            for reference in self._referring(change.table) if change.new is not None else ():
                assert change.new is not None
                value = reference.parent_value(change.new)
                stays = change.old is not None and reference.equal(reference.parent_value(change.old), value)
                if None in value or stays or reference.key.deferred:
                    continue
                if any(identity not in written for identity, _ in reference.children(view, value)):
                    return True
        return False

    def _act(
        self,
        view: View,
        reference: _Reference,
        value: KeyValue,
        action: str,
        change: Change,
        moved: set[tuple[int, RowId]],
        met: _Children,
    ) -> Iterable[Change]:
        """Do to the rows that refer to a key what its end asks for. Rows `moved` to a new key refer to that one, though
        another row may have had it before and lose it in the same statement (1 to 2 after 2 to 3)."""
        name = reference.child.name
        stored: Callable[[Row], Row] | None = None
        for identity, row in met(reference.children(view, value)):
            if (id(reference), identity) in moved:
                continue
            if not view.rechecks and not reference.is_visible(view, identity, row):
                raise SqlError("40001", "a row that a foreign key's action reaches is newer than the snapshot")
            if action == "cascade" and change.new is None:
                view.delete(name, identity)
                yield Change(name, identity, row, None)
                continue
            values: Sequence[object] = (None,) * len(value)
            if action == "cascade":
                assert change.new is not None
                values = reference.parent_value(change.new)
            elif action == "set default":
                values = reference.default
            given = dict(zip(reference.key.columns, values, strict=True))
            stored = compile_stored(reference.child, self._dialect) if stored is None else stored
            new = stored(tuple([given.get(place, old) for place, old in enumerate(row)]))  # type: ignore[misc]
            view.update(name, identity, new)
            if action == "cascade":
                moved.add((id(reference), identity))
            yield Change(name, identity, row, new, frozenset(reference.key.columns))

    def _check_gone(
        self,
        view: View,
        reference: _Reference,
        value: KeyValue,
        action: str,
        changes: Sequence[Change],
        met: _Children,
    ) -> None:
        """Nothing may refer to a key that is no more."""
        checks = self._checks
        at_once = checks == "by_row" or (checks == "restrict_by_row" and action == "restrict")
        if reference.key.deferred and action == "no action":
            return
        children = reference.children(view, value)
        if not (met(children) if at_once else children):
            if at_once and any(
                other.table == reference.child.name and other.old is not None and reference.refers(other.old, value)
                for other in changes
            ):
                raise Unsupported(REMOVED_TOGETHER)
            return
        if action == "restrict" or checks == "by_row" or not reference.parents(view, value):
            state = self._rules.restrict_state if action == "restrict" else self._rules.foreign_key_state
            raise SqlError(state, f"rows of {reference.child.name!r} still refer to a row of {reference.key.parent!r}")

    def _check_new(self, view: View, change: Change, first: Mapping[RowId, tuple[int, Row | None]], own: int) -> None:
        """A row that refers to a key anew must find it. `first` tells which change was a row's first, and what the row
        was before; the first `own` changes are those of the statement itself."""
        for reference in self._from(change.table) if change.new is not None else ():
            assert change.new is not None
            value = reference.child_value(change.new)
            place, before = first[change.identity]
            unchanged = before is not None and reference.child_value(before) == value
            if place < own and not set(self._assigned).isdisjoint(reference.key.columns):
                unchanged = False
            if None in value or unchanged or reference.key.deferred:
                continue
            found = reference.parents(view, value)
            if not found:
                state = self._rules.foreign_key_state
                raise SqlError(state, f"a row of {change.table!r} refers to no row of {reference.key.parent!r}")
            if self._checks != "by_row" or found[0] == change.identity:
                continue
            # MySQL checks row by row: a parent that the same statement wrote later was not there yet
            other, parent_before = first.get(found[0], (own, None))
            inserted_before = parent_before is None and before is None and other < place
            if other < own and place < own and not inserted_before:
                raise Unsupported("a statement that writes a row together with one that it refers to")
