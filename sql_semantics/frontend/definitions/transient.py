"""CREATE and DROP of tables and views in logged statements (paper §3.1; PostgreSQL CREATE TABLE, DROP TABLE, CREATE
VIEW; sqlite.org/lang_createtable).

The definitions of a whole log are read before its statements, so that its catalog is fixed. Does not know in which
states a table exists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend.definitions.alteration import alter_table
from sql_semantics.frontend.definitions.createas import bind_create_as
from sql_semantics.frontend.definitions.definition import create_table
from sql_semantics.frontend.definitions.indexes import indexed_table
from sql_semantics.frontend.definitions.views import view
from sql_semantics.frontend.names.refusals import renames_table
from sql_semantics.frontend.names.scope import Context, Parameters
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.text.beginnings import beginning
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import Node, only, parse_one, without_defaults
from sql_semantics.frontend.writes.references import look_up_references
from sql_semantics.ir.definitions import EXISTING, ChangeIndex, CreateTable, Definition, DropTable, Transient
from sql_semantics.ir.expressions import Free
from sql_semantics.ir.queries import BaseTable, Derived, Query
from sql_semantics.ir.schema import Catalog, Table, TableColumn, Unique
from sql_semantics.ir.statements import Insert, NoEffect
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import INT

_DEFINES = pattern(r"\s*(CREATE|DROP)\b", re.IGNORECASE)
_TABLE = pattern(r"\s*(CREATE(\s+TEMP(ORARY)?)?|DROP)\s+(TABLE|VIEW)\b", re.IGNORECASE)
_COMPLETES = pattern(r"\s*(CREATE\s+UNIQUE\s+INDEX|ALTER\s+TABLE)\b", re.IGNORECASE)
_NUMBERING = frozenset({"nextval", "auto", "rowid"})


def defines_table(text: str) -> bool:
    """Whether a statement may create or drop a table or view."""
    return _TABLE.match(beginning(text)) is not None


def completes_table(text: str) -> bool:
    """Whether a statement may say more of a table that its transaction has just created."""
    return _COMPLETES.match(beginning(text)) is not None


def read_definitions(
    texts: Sequence[str | Sequence[str]], tables: Mapping[str, Table], dialect: Dialect
) -> tuple[dict[str, Table], dict[str, Transient]]:
    """All tables, those of the schema (`tables`) and those that logged statements create, and which of them exist in
    some states only. `texts`: every logged statement that `defines_table`, in the log's order, repeated ones too; those
    that follow each other in one transaction may stand together, with what `completes_table` among them, which is part
    of the table's definition then: nothing comes between.

    A table of which no definition can be read is refused when a statement that uses it is bound, as its definition is.
    """
    if not texts:
        return dict(tables), {}
    found = dict(tables)
    created: Counter[str] = Counter()
    dropped: set[str] = set()
    differing: set[str] = set()
    completed: dict[str, set[str]] = {}
    unread: dict[str, str] = {}
    waiting = [(item,) if isinstance(item, str) else tuple(item) for item in texts]
    while waiting:
        again: list[tuple[str, ...]] = []
        for run in waiting:
            try:
                made, gone, further = _read_run(run, found, dialect)
            except (SchemaError, SqlError, UnknownTable, Unsupported) as error:
                again.append(run)
                if len(run) == 1 and isinstance(error, Unsupported):
                    unread.update(dict.fromkeys(_named(run[0], dialect), error.construct))
                continue
            dropped |= gone
            for table in made:
                created[table.name] += 1
                completed.setdefault(table.name, set()).update(further.get(table.name, ()))
                if found.setdefault(table.name, table) != table:
                    differing.add(table.name)
        # what refers to a table that is defined further on, or stands beside what cannot be read
        if len(again) == len(waiting):
            again = [(text,) for run in again for text in run] if any(len(run) > 1 for run in again) else []
        waiting = again
    standing = tables.keys() - dropped
    differing -= standing  # IF NOT EXISTS does nothing, and without it CREATE fails
    look_up_references(found, dialect)
    names = [name for name in found if name in dropped or name not in tables]
    found |= {name: Table(name, (), refused=why) for name, why in unread.items() if name not in found}
    transient = {
        name: Transient(
            number,
            name in tables,
            _refusal(name, found, name in differing, created[name], dropped, dialect),
            frozenset(completed.get(name, ())),
        )
        for number, name in enumerate(names)
    }
    if transient:
        found[EXISTING] = existing()
    return found, transient


def existing() -> Table:
    """The table of what exists."""
    columns = (TableColumn("number", INT, not_null=True),)
    return Table(EXISTING, columns, (Unique("table", (0,), primary=True),))


def _named(text: str, dialect: Dialect) -> list[str]:
    """The table that a text creates which is not modelled, where it can be told."""
    try:
        tree = _parse(text, dialect)
        schema = tree.this if isinstance(tree, exp.Create) else None
        named = schema.this if isinstance(schema, exp.Schema) else schema
        return [table_name(named, dialect)] if isinstance(named, exp.Table) else []
    except (SchemaError, Unsupported):
        return []


def _read_run(
    run: Sequence[str], tables: Mapping[str, Table], dialect: Dialect
) -> tuple[list[Table], set[str], dict[str, list[str]]]:
    """The tables that the statements create, in order, and the names of those that they drop; by table the texts that
    completed it."""
    known = dict(tables)
    made: list[str] = []
    gone: set[str] = set()
    filled: set[str] = set()
    further: dict[str, list[str]] = {}
    for text in run:
        tree = _parse(text, dialect)
        kind = str(tree.args.get("kind")).upper()
        if dialect.rules.definitions.definitions_commit and kind == "VIEW":
            continue
        if isinstance(tree, exp.Drop):
            gone.update(table_name(item, dialect) for item in tree.args.get("tables") or ())
        elif completes_table(text):
            if renames_table(text):
                raise Unsupported("ALTER TABLE RENAME of a table in the transaction that created it")
            name = _completed(tree, known, [name for name in made if name not in filled], dialect)
            if name is not None:
                further.setdefault(name, []).append(text.strip())
        elif isinstance(tree, exp.Create):
            table = _created(tree, known, dialect, text)
            if table.name in made and (table != known[table.name] or table.name in further):
                raise Unsupported("a table that one transaction creates twice")
            known[table.name] = table
            made.append(table.name)
            if tree.args.get("expression") is not None:
                filled.add(table.name)
    return [known[name] for name in made], gone, further


def _completed(tree: Node, known: dict[str, Table], made: Sequence[str], dialect: Dialect) -> str | None:
    """The table of `made` that an ALTER TABLE or CREATE UNIQUE INDEX completes in `known`; None for any other table."""
    if isinstance(tree, exp.Create):
        if not dialect.rules.definitions.completes_by_indexes:
            return None
        table = indexed_table(tree, known, dialect)
        if table.name not in made:
            return None
        known[table.name] = table
        return table.name
    if not isinstance(tree, exp.Alter) or not dialect.rules.definitions.completes_by_changes:
        return None
    name = table_name(tree.this, dialect)
    if name not in made:
        return None
    alter_table(tree, known, dialect)
    return name


def _refusal(
    name: str, tables: Mapping[str, Table], differs: bool, created: int, dropped: set[str], dialect: Dialect
) -> str:
    """What is not modelled of a table that exists in some states only."""
    if tables[name].refused:
        return f"{tables[name].refused}, in the definition of {name}"
    if differs:
        kind = "table" if tables[name].query is None else "view"
        return f"a second, different definition of {kind} {name} in a transaction"
    if tables[name].query is not None:
        return ""
    if _children(name, tables) and not dialect.rules.definitions.transient_parents:
        return f"CREATE or DROP in a transaction of a table that foreign keys refer to, in {dialect.name}"
    if not dialect.rules.definitions.transient_below_views and _views(name, tables):
        return f"CREATE or DROP in a transaction of a table that a view reads, in {dialect.name}"
    numbers = any(isinstance(node, Free) and node.source in _NUMBERING for node in _nodes(tables[name].columns))
    if numbers and (name in dropped or created > 1):
        return "DROP or several CREATE TABLE in transactions of a table that numbers its rows"
    return ""


def _children(name: str, tables: Mapping[str, Table]) -> list[str]:
    """The other tables whose foreign keys refer to one."""
    return [
        other.name
        for other in tables.values()
        if other.name != name and any(k.parent == name for k in other.foreign_keys)
    ]


def _views(name: str, tables: Mapping[str, Table]) -> list[str]:
    """The views that read a table or view."""
    return [v.name for v in tables.values() if v.query is not None and name in _read(v.query)]


def _read(query: Query) -> set[str]:
    """The tables and views that a query reads, through views too."""
    nodes = list(_nodes(query))
    views = {node.view for node in nodes if isinstance(node, Derived) and node.view}
    return views | {node.name for node in nodes if isinstance(node, BaseTable)}


def _nodes(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from _nodes(getattr(value, field.name))


def _parse(text: str, dialect: Dialect) -> Node:
    plain = rewrite(text, dialect.name, positional=False, named=False).text
    return parse_one(without_defaults(plain, dialect.name), dialect.name)


def _created(tree: exp.Create, tables: Mapping[str, Table], dialect: Dialect, text: str) -> Table:
    """The table of a CREATE TABLE beside all others. Raises SchemaError, Unsupported and what a schema raises."""
    body = tree.this
    if str(tree.args.get("kind")).upper() == "VIEW":
        name = table_name(body.this if isinstance(body, exp.Schema) else body, dialect)
        return view(tree, {other: table for other, table in tables.items() if other != name}, dialect)
    if tree.args.get("expression") is not None:
        return bind_create_as(tree, Context(Catalog(tables), dialect, Parameters.none())).table
    name = table_name(body.this if isinstance(body, exp.Schema) else body, dialect)
    others = {other: table for other, table in tables.items() if other != name}
    create_table(tree, others, dialect, text)
    return others[name]


def bind_definition(text: str, context: Context) -> Definition | NoEffect | None:
    """The statement, or None for a text that is no CREATE or DROP. Raises Unsupported, UnknownTable, and SqlError for
    what there is already."""
    repeats = context.catalog.repeats.get(text.strip())
    if repeats is not None and not context.in_procedure:
        if repeats:
            raise SqlError(repeats, "it is there already")
        return NoEffect("a definition of what there is already")
    change = context.catalog.changes.get(text.strip())
    if isinstance(change, str):
        raise Unsupported(change)
    if change is not None:
        return change
    completed = _bind_completed(text, context) if completes_table(text) else None
    if completed is not None:
        return completed
    if not _DEFINES.match(text):
        return None
    dialect = context.dialect
    tree = _parse(text, dialect)
    if not isinstance(tree, exp.Create | exp.Drop):
        return None
    kind = f"{'CREATE' if isinstance(tree, exp.Create) else 'DROP'} {str(tree.args.get('kind')).upper()}"
    if context.in_procedure:
        raise Unsupported(f"{kind} in a procedure")
    plain = kind == "CREATE INDEX" and not tree.args.get("unique")
    commits = dialect.rules.definitions.definitions_commit
    if commits and kind not in ("CREATE TABLE", "DROP TABLE") and not plain:
        raise Unsupported(f"{kind} in a transaction, which it commits in {dialect.name}")
    try:
        match kind:
            case "CREATE TABLE":
                return _bind_create(tree, context, text)
            case "CREATE VIEW":
                return _bind_create_view(tree, context, text)
            case "DROP TABLE" | "DROP VIEW":
                return _bind_drop(tree, context, kind)
            case "CREATE INDEX":
                if tree.args.get("unique"):
                    raise Unsupported("CREATE UNIQUE INDEX in a transaction")
                return ChangeIndex(indexed_table(tree, context.catalog.tables, dialect).name)
            case "DROP INDEX":
                only(tree, "tables", "kind", "exists")
                if any(not key.constraint for table in context.catalog.tables.values() for key in table.keys):
                    raise Unsupported("DROP INDEX in a transaction beside unique indexes")
                return ChangeIndex(None)
    except (SchemaError, SqlError) as error:
        raise Unsupported(f"{kind} in a transaction: {error}") from error
    raise Unsupported(f"{kind} in a transaction")


def _bind_completed(text: str, context: Context) -> ChangeIndex | None:
    """What is part of the definition of a table that its transaction has just created."""
    for name, table in context.catalog.transient.items():
        if text.strip() in table.completed:
            if context.in_procedure:
                raise Unsupported("ALTER or CREATE INDEX in a procedure")
            if table.refused:
                raise Unsupported(table.refused)
            parents = {key.parent for key in context.catalog.tables[name].foreign_keys} - {name}
            return ChangeIndex(name, tuple(sorted(parents)))
    return None


def _bind_create(tree: Node, context: Context, text: str) -> CreateTable:
    assert isinstance(tree, exp.Create)
    filling: Insert | None = None
    if tree.args.get("expression") is not None:
        made = bind_create_as(tree, context)
        table, filling = made.table, made.filling
        used = _read(made.query)
    else:
        table = _created(tree, context.catalog.tables, context.dialect, text)
        used = {key.parent for key in table.foreign_keys} - {table.name}
    return _created_in(context, table, bool(tree.args.get("exists")), used, filling)


def _bind_create_view(tree: Node, context: Context, text: str) -> CreateTable:
    """SQLite does not look for what a view reads before the view is used."""
    assert isinstance(tree, exp.Create)
    dialect = context.dialect
    optional = bool(tree.args.get("exists"))
    if tree.args.get("replace"):
        raise Unsupported("CREATE OR REPLACE VIEW in a transaction")
    if optional and not dialect.rules.definitions.view_if_not_exists:
        raise Unsupported(f"CREATE VIEW IF NOT EXISTS in {dialect.name}")
    made = _created(tree, context.catalog.tables, dialect, text)
    assert made.query is not None
    used = set[str]() if dialect.rules.definitions.views_bind_late else _read(made.query)
    return _created_in(context, made, optional, used, None)


def _created_in(context: Context, table: Table, optional: bool, used: set[str], filling: Insert | None) -> CreateTable:
    """CREATE of a table or view that reads those `used`."""
    catalog = context.catalog
    parents = tuple((name, catalog.transient[name].number) for name in sorted(used) if name in catalog.transient)
    transient = catalog.transient.get(table.name)
    if transient is None:
        known = catalog.tables.get(table.name)
        if known is None or (known.query is None) is not (table.query is None):
            raise _untold(f"CREATE {'TABLE' if table.query is None else 'VIEW'} {table.name}", context.dialect)
        return CreateTable(table.name, None, optional, filling, parents)
    if transient.refused:
        raise Unsupported(transient.refused)
    return CreateTable(table.name, transient.number, optional, filling, parents)


def _untold(what: str, dialect: Dialect) -> Unsupported:
    """A definition that was not among those of `read_definitions`."""
    if dialect.rules.definitions.definitions_commit:
        return Unsupported(f"{what} in a transaction, which it commits in {dialect.name}")
    return Unsupported(f"{what} in a transaction, of which the library was not told")


def _bind_drop(tree: Node, context: Context, kind: str) -> DropTable:
    dialect, catalog = context.dialect, context.catalog
    rules = dialect.rules.definitions
    only(tree, "tables", "kind", "exists", "restrict", *(("cascade",) if rules.drop_cascade else ()))
    found: list[tuple[str, int | None]] = []
    optional = bool(tree.args.get("exists"))
    for item in tree.args.get("tables") or ():
        name = table_name(item, context.dialect)
        transient = context.catalog.transient.get(name)
        known = catalog.tables.get(name)
        if known is not None and (known.query is not None) is not (kind == "DROP VIEW"):
            raise Unsupported(f"{kind} of a {'table' if known.query is None else 'view'}")
        if transient is None and known is not None:
            raise _untold(f"{kind} {name}", context.dialect)
        if transient is None and not optional:
            raise UnknownTable(name)
        if transient is not None and transient.refused:
            raise Unsupported(transient.refused)
        found.append((name, None if transient is None else transient.number))
    if len(set(found)) < len(found):
        raise Unsupported(f"{kind} of one thing twice")
    if not rules.drops_several and len(found) > 1:
        raise Unsupported(f"DROP of several tables in {dialect.name}")
    gone = {name for name, _ in found}
    dependents: list[tuple[tuple[str, int | None], ...]] = []
    for name, _ in found:
        # elsewhere a view stays, and fails when it is used; keys refer to no such table there
        using = _views(name, catalog.tables) + _children(name, catalog.tables) if rules.drop_asks_dependents else []
        numbers = {other: table.number for other, table in catalog.transient.items()}
        dependents.append(tuple((other, numbers.get(other)) for other in using if other not in gone))
    cascade, views = bool(tree.args.get("cascade")), kind == "DROP VIEW"
    return DropTable(tuple(found), optional, cascade, tuple(dependents), views)
