"""Definitions that change while a log runs: ALTER TABLE of tables with rows, and tables that come and go (PostgreSQL
SQL commands; sqlite.org/lang_altertable, the twelve steps).

Each definition of a table is a table of its own, into which a change moves the rows; what a name stands for hangs on
the **scope** in which a statement stands. Scope 0 is the schema's; scope *n* is what the *n*-th change leaves. Does not
know which statement stands in which scope: telling that takes knowing that none runs beside a change of what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend.definitions.alteration import alter_table, kept, named_constraint, spelled_out
from sql_semantics.frontend.definitions.createas import bind_create_as
from sql_semantics.frontend.definitions.definition import create_table
from sql_semantics.frontend.definitions.indexes import indexed_table
from sql_semantics.frontend.definitions.sqlite_references import check_added, check_dropped, check_renamed
from sql_semantics.frontend.definitions.transient import existing
from sql_semantics.frontend.definitions.views import view
from sql_semantics.frontend.names.refusals import changes_index, forbid
from sql_semantics.frontend.names.scope import Context, Parameters
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.text.dialects import fold_table
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import Node, name_of, only, parse_one, without_defaults
from sql_semantics.frontend.writes.references import look_up_references
from sql_semantics.ir.definitions import EXISTING, ChangeTables, Move, Transient
from sql_semantics.ir.expressions import Column, Const, Expr, Free
from sql_semantics.ir.queries import BaseTable, OutputColumn, Query, Select, Source
from sql_semantics.ir.schema import Catalog, References, Table, TableColumn, Unique
from sql_semantics.ir.statements import Insert
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind

_Forget = Callable[[Table], Table]


@dataclass(frozen=True, slots=True)
class Change:
    """A statement that changes definitions: its text, the scope in which it stands, and whether foreign keys are kept
    where it does."""

    scope: int
    text: str
    references: References = "kept"


@dataclass(slots=True)
class Scopes:
    """What names stand for. `stored`: every table that rows are kept in, by its own name. `names[n]`: the tables of
    scope n by the names that statements use, and by their own. `changes[n]`: those that stand in scope n, by text; what
    of it is not modelled in place of one that is not."""

    stored: dict[str, Table]
    names: list[dict[str, Table]] = field(default_factory=list)
    changes: list[dict[str, ChangeTables | str]] = field(default_factory=list)

    def moved(self) -> frozenset[str]:
        """The tables that rows move out of or into, or that go."""
        bound = [change for among in self.changes for change in among.values() if isinstance(change, ChangeTables)]
        moves = [move for change in bound for move in change.moves]
        return frozenset(name for move in moves for name in (move.target, move.source) if name is not None)


@dataclass(slots=True)
class _Scope:
    """`tables` by the names of SQL, calling each other so; `stored`: what the rows of each are kept under."""

    tables: dict[str, Table]
    stored: dict[str, str]

    def visible(self) -> dict[str, Table]:
        """The tables by both kinds of name, calling each other by the latter."""
        found = {name: self.as_stored(name) for name in self.tables}
        return {**{table.name: table for table in found.values()}, **found}

    def as_stored(self, name: str) -> Table:
        """One table as it is kept."""
        table = self.tables[name]
        keys = (replace(key, parent=self.stored.get(key.parent, key.parent)) for key in table.foreign_keys)
        dangling, unread = (
            tuple((self.stored.get(parent, parent), reason) for parent, reason in keys)
            for keys in (table.dangling, table.unread)
        )
        return replace(
            table,
            name=self.stored[name],
            columns=tuple(_numbered_by(self.stored[name], column) for column in table.columns),
            foreign_keys=tuple(keys),
            dangling=dangling,
            unread=unread,
        )


def _numbered_by(table: str, column: TableColumn) -> TableColumn:
    """The column, where the table numbers its rows by its own name (AUTO_INCREMENT, SQLite's INTEGER PRIMARY KEY)."""
    match column.default:
        case Free("auto" | "rowid", name) if name != table:
            return replace(column, default=replace(column.default, name=table))
    return column


@dataclass(slots=True)
class _Made:
    """What a change makes: the tables, and for those that are others than before where their rows come from: the name
    of a table before and the values over its row, or a query; neither for an empty one."""

    tables: dict[str, Table]
    rows: dict[str, tuple[str, tuple[Expr, ...]]] = field(default_factory=dict)
    filled: dict[str, tuple[Query, tuple[Expr, ...]]] = field(default_factory=dict)
    anew: set[str] = field(default_factory=set)


def read_changes(changes: Sequence[Change], tables: Mapping[str, Table], dialect: Dialect, forget: _Forget) -> Scopes:
    """The scopes of a log over the tables of its schema. `forget` takes from a table what nothing is to be told of. A
    change that is not modelled takes the tables that it names out of use from there on."""
    first = _Scope(dict(tables), {name: name for name in tables})
    known = [first]
    found = Scopes(dict(tables), [first.visible()], [{}])
    for change in changes:
        before = known[change.scope]
        try:
            after, statement = _changed(change, before, found.stored, dialect, forget)
            found.changes[change.scope][change.text.strip()] = statement
        except (SchemaError, SqlError, UnknownTable, Unsupported) as error:
            reason = error.construct if isinstance(error, Unsupported) else str(error)
            found.changes[change.scope][change.text.strip()] = reason
            after = _refused(change.text, before, found.stored, dialect, reason)
        known.append(after)
        found.names.append(after.visible())
        found.changes.append({})
    return found


def standing_in_states(
    changing: Collection[str], scopes: Scopes, transient: Mapping[str, Transient]
) -> tuple[dict[str, Table], dict[str, Transient]]:
    """The tables and those of them that exist in some states only, where states tell which of the definitions between
    which rows move holds."""
    found = dict(transient)
    for name in sorted(changing):
        table = scopes.stored[name]
        if table.query is None and not table.refused:
            found[name] = Transient(len(found), name in scopes.names[0], followed=True)
    return {**scopes.stored, EXISTING: existing()}, found


def _changed(
    change: Change, before: _Scope, stored: dict[str, Table], dialect: Dialect, forget: _Forget
) -> tuple[_Scope, ChangeTables]:
    made = _made(change, before, dialect)
    look_up_references(made.tables, dialect)
    names = dict(before.stored)
    for name in before.tables.keys() - made.tables.keys():
        del names[name]
    changed = {
        name
        for name, table in made.tables.items()
        if name in made.anew or name in made.rows or name not in before.tables or before.tables[name] != table
    }
    while more := {name for name, table in made.tables.items() if name not in changed and _refers(table, changed)}:
        changed |= more
    for name in changed:
        if made.tables[name].fires or made.tables[name].unwritable:
            raise Unsupported(f"a change of {name}, which has triggers")
        names[name] = _own_name(name, stored)
        stored[names[name]] = made.tables[name]
    after = _Scope(made.tables, names)
    for name in changed:
        table = forget(after.as_stored(name))
        if table.query is None:
            by_name = after.tables[name]
            after.tables[name] = replace(
                table, name=name, foreign_keys=by_name.foreign_keys, dangling=by_name.dangling, unread=by_name.unread
            )
        stored[names[name]] = table
    moves = tuple(_moves(made, changed, before, after, stored, dialect))
    return after, ChangeTables(moves)


def _refers(table: Table, names: Collection[str]) -> bool:
    """Whether foreign keys of a table refer to one of these, or would."""
    return any(key.parent in names for key in table.foreign_keys) or not table.leans_on.isdisjoint(names)


def _own_name(name: str, stored: Mapping[str, Table]) -> str:
    """A name to keep a table under: that of SQL, or such as is not in use."""
    number, found = 2, name
    while found in stored:
        found, number = f"{name} (definition {number})", number + 1
    return found


def _moves(
    made: _Made, changed: set[str], before: _Scope, after: _Scope, stored: Mapping[str, Table], dialect: Dialect
) -> Iterable[Move]:
    """Where rows go: parents come before their children where references are checked."""
    waiting = {name for name in changed if made.tables[name].query is None}
    moved: set[str] = set()
    while waiting:
        ready = sorted(
            name
            for name in waiting
            if dialect.rules.definitions.references_by_name
            or not any(key.parent in waiting and key.parent != name for key in made.tables[name].foreign_keys)
        )
        if not ready:
            raise Unsupported("a change of tables that refer to one another")
        for name in ready:
            target = stored[after.stored[name]]
            if name in made.filled:
                query, values = made.filled[name]
                yield Move(target.name, None, Insert(target.name, (), query, values, None))
                continue
            source, values = made.rows.get(name, (name, kept(target)))
            if name in made.anew or source not in before.tables:
                yield Move(target.name, None, None)
                continue
            moved.add(source)
            yield Move(target.name, before.stored[source], _filling(target, before.as_stored(source), values))
        waiting.difference_update(ready)
    for name in sorted(before.tables.keys() - moved):
        gone = name not in after.tables or (name in changed and before.tables[name].query is None)
        if gone and before.tables[name].query is None:
            yield Move(None, before.stored[name], None)


def _filling(target: Table, source: Table, values: tuple[Expr, ...]) -> Insert:
    outputs = tuple(
        OutputColumn(column.name, Column(place, column.type, column.name))
        for place, column in enumerate(source.columns)
    )
    read = Source(BaseTable(source.name), source.name, 0, len(source.columns))
    stored = tuple(
        Const(None, column.type) if column.type.kind is Kind.UNKNOWN else value
        for value, column in zip(values, target.columns, strict=True)
    )
    return Insert(target.name, (), Select((read,), None, None, (), None, outputs), stored, None)


def _refused(text: str, before: _Scope, stored: dict[str, Table], dialect: Dialect, reason: str) -> _Scope:
    """The scope after a change that is not modelled: the tables that it names, and those that refer to them, cannot be
    used; those that they refer to lose their writes."""
    named = set(named_tables(text, dialect))
    while more := {name for name, table in before.tables.items() if name not in named and _refers(table, named)}:
        named |= more
    after = _Scope(dict(before.tables), dict(before.stored))
    for name in sorted(named):
        own = before.stored.get(name)
        table = None if own is None else stored[own]
        for parent in () if table is None else sorted({key.parent for key in table.foreign_keys} | table.leans_on):
            if parent in before.stored.values():
                forbid(parent, ("update", "delete", "truncate"), reason, stored)
        after.stored[name] = _own_name(name, stored)
        after.tables[name] = Table(name, (), refused=reason)
        stored[after.stored[name]] = replace(after.tables[name], name=after.stored[name])
    return after


def _parsed(text: str, dialect: Dialect) -> Node:
    plain = rewrite(spelled_out(text, dialect), dialect.name, positional=False, named=False).text
    return named_constraint(text, parse_one(without_defaults(plain, dialect.name), dialect.name))


def index_of(text: str, dialect: Dialect) -> tuple[str, str] | None:
    """The name and the table of an index that a statement creates; None for another one, or an index without a name."""
    if "INDEX" not in text.upper():
        return None
    try:
        tree = _parsed(text, dialect)
    except (SchemaError, Unsupported):
        return None
    index = tree.this if isinstance(tree, exp.Create) else None
    if not isinstance(index, exp.Index) or index.this is None or not isinstance(index.args.get("table"), exp.Table):
        return None
    return fold_table(index.this, dialect), fold_table(index.args["table"].this, dialect)


def dropped_indexes(text: str, dialect: Dialect) -> frozenset[str]:
    """The indexes that a statement drops or renames by their names alone."""
    try:
        tree = _parsed(text, dialect)
    except (SchemaError, Unsupported):
        return frozenset()
    if isinstance(tree, exp.Alter) and str(tree.args.get("kind")).upper() == "INDEX":
        return frozenset({fold_table(tree.this.this, dialect)})
    if not isinstance(tree, exp.Drop) or str(tree.args.get("kind")).upper() != "INDEX":
        return frozenset()
    return frozenset(fold_table(item.this, dialect) for item in tree.args.get("tables") or ())


def renamed_index(text: str, dialect: Dialect) -> tuple[str, str] | None:
    """The names, before and after, of an index that a statement renames; None for another one."""
    if not changes_index(text):
        return None
    try:
        tree = _parsed(text, dialect)
    except (SchemaError, Unsupported):
        return None
    return _new_name(tree, dialect) if isinstance(tree, exp.Alter) else None


def _new_name(tree: Node, dialect: Dialect) -> tuple[str, str] | None:
    actions: list[Node] = list(tree.args.get("actions") or [])
    if len(actions) != 1 or not isinstance(actions[0], exp.AlterRename) or not isinstance(actions[0].this, exp.Table):
        return None
    return fold_table(tree.this.this, dialect), fold_table(actions[0].this.this, dialect)


def named_tables(text: str, dialect: Dialect) -> frozenset[str]:
    """The tables that a definition names, as far as it can be read; of an index that is dropped none."""
    try:
        tree = _parsed(text, dialect)
    except (SchemaError, Unsupported):
        return frozenset()
    if isinstance(tree, exp.Drop) and str(tree.args.get("kind")).upper() == "INDEX":
        on = tree.args.get("cluster")
        return frozenset() if on is None else frozenset(fold_table(t.this, dialect) for t in on.find_all(exp.Table))
    dropped = {
        id(item) for drop in tree.find_all(exp.Drop) if drop is not tree for item in drop.args.get("tables") or ()
    }
    if isinstance(tree, exp.Alter) and str(tree.args.get("kind")).upper() != "TABLE":
        return frozenset()
    return frozenset(
        fold_table(table.this, dialect)
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and id(table) not in dropped
    )


def _made(change: Change, before: _Scope, dialect: Dialect) -> _Made:
    tree = _parsed(change.text, dialect)
    tables = dict(before.tables)
    if isinstance(tree, exp.Alter):
        if str(tree.args.get("kind")).upper() == "INDEX":
            return _renamed_index(tree, tables, dialect)
        check_renamed(tree, tables, change.references, dialect)
        altered = alter_table(tree, tables, dialect, lenient=True)
        if altered is None:
            return _Made(tables)
        check_added(altered, change.references)
        return _Made(tables, rows={altered.table.name: (altered.origin.name, altered.values)})
    kind = str(tree.args.get("kind")).upper()
    if isinstance(tree, exp.Drop):
        return _dropped(tree, kind, tables, before, change.references, dialect)
    if not isinstance(tree, exp.Create):
        raise Unsupported(f"{name_of(tree)} as a change of definitions")
    if kind == "INDEX":
        if tree.args.get("unique"):
            table = indexed_table(tree, tables, dialect, lenient=True)
            own = tables[table.name]
            beside = [own] if dialect.rules.definitions.indexes_are_per_table else list(tables.values())
            for key in table.keys[len(own.keys) :]:
                if tree.args.get("exists"):
                    table = _perhaps_indexed(key, own)
                elif any(key.name == known.name for other in beside for known in other.keys):
                    raise Unsupported(f"CREATE INDEX {key.name}, which exists")
            tables[table.name] = table
        return _Made(tables)
    body = tree.this
    name = table_name(body.this if isinstance(body, exp.Schema) else body, dialect)
    if tree.args.get("exists") and name in tables:
        return _Made(tables)
    if name in tables:
        raise Unsupported(f"CREATE {kind} of {name}, which exists")
    if kind == "VIEW":
        if tree.args.get("replace"):
            raise Unsupported("CREATE OR REPLACE VIEW in a transaction")
        tables[name] = view(tree, before.visible(), dialect)
        return _Made(tables, anew={name})
    if kind != "TABLE":
        raise Unsupported(f"CREATE {kind} in a transaction")
    if tree.args.get("expression") is not None:
        made = bind_create_as(tree, Context(Catalog(before.visible()), dialect, Parameters.none()))
        tables[name] = made.table
        filled = {} if made.filling is None else {name: (made.query, made.filling.from_query)}
        return _Made(tables, filled=filled, anew={name})
    create_table(tree, tables, dialect, change.text, lenient=True)
    return _Made(tables, anew={name})


def _renamed_index(tree: Node, tables: dict[str, Table], dialect: Dialect) -> _Made:
    """PostgreSQL's ALTER INDEX ... RENAME; an index that is no key is not kept, nor its name."""
    only(tree, "this", "kind", "actions")
    names = _new_name(tree, dialect)
    if names is None:
        raise Unsupported("ALTER INDEX")
    old, new = names
    for table in list(tables.values()):
        if table.loose and old in " ".join(table.loose):
            raise Unsupported("ALTER INDEX of an index that is not modelled")
        keys = tuple(replace(key, name=new) if key.name == old else key for key in table.keys)
        if keys != table.keys:
            tables[table.name] = replace(table, keys=keys)
    return _Made(tables)


def _perhaps_indexed(key: Unique, own: Table) -> Table:
    """A table after CREATE UNIQUE INDEX IF NOT EXISTS. Where the table has no such key of that name yet, another index
    may have the name, one that is not unique and not told of: whether there is a key from there on is not known."""
    if any(replace(known, constraint=key.constraint) == key for known in own.keys):
        return own
    return replace(own, loose=(*own.loose, f"CREATE UNIQUE INDEX IF NOT EXISTS {key.name}"))


def _dropped(
    tree: Node, kind: str, tables: dict[str, Table], before: _Scope, references: References, dialect: Dialect
) -> _Made:
    if kind == "INDEX":
        only(tree, "tables", "kind", "exists", "cluster", "concurrently")
        for item in tree.args.get("tables") or ():
            name = fold_table(item.this, dialect)
            for table in list(tables.values()):
                keeps = not dialect.rules.definitions.drop_index_drops_constraints
                keys = tuple(key for key in table.keys if key.name != name or (key.constraint and keeps))
                if keys != table.keys:
                    tables[table.name] = replace(table, keys=keys)
                elif table.loose and name in " ".join(table.loose):
                    raise Unsupported("DROP INDEX of an index that is not modelled")
        return _Made(tables)
    if kind not in ("TABLE", "VIEW"):
        raise Unsupported(f"DROP {kind} in a transaction")
    only(tree, "tables", "kind", "exists", "restrict", "cascade")
    gone: list[str] = []
    for item in tree.args.get("tables") or ():
        name = table_name(item, dialect)
        if name in tables:
            gone.append(name)
        elif not tree.args.get("exists"):
            raise Unsupported(f"DROP of {name}, which does not exist")
    for name in gone:
        if (tables[name].query is not None) is not (kind == "VIEW"):
            raise Unsupported(f"DROP {kind} of something else")
        own = before.stored[name]
        check_dropped(name, tables, references)
        for other in list(tables.values()):
            if other.name in gone:
                continue
            if other.query is not None and _reads(other.query, own):
                raise Unsupported(f"DROP of {name}, which a view reads")
            by_name = dialect.rules.definitions.references_by_name
            if any(key.parent == name for key in other.foreign_keys) and not by_name:
                if not tree.args.get("cascade"):
                    raise Unsupported(f"DROP of {name}, to which foreign keys refer")
                left = tuple(key for key in other.foreign_keys if key.parent != name)
                tables[other.name] = replace(other, foreign_keys=left)
    for name in gone:
        del tables[name]
    return _Made(tables)


def _reads(query: Query, name: str) -> bool:
    return any(isinstance(part, BaseTable) and part.name == name for part in walk_parts(query))
