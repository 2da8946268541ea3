"""ALTER TABLE, DROP and what else a dump of a schema says (pg_dump, mysqldump). Does not know logged statements.

Of a dump only what the tables are in the end is of interest; what a change makes of rows that are there is told beside.
What changes no rows and no constraint is passed over by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.definitions.definition import Definition, add_column, add_constraint, finish, with_default
from sql_semantics.frontend.definitions.restructuring import (
    is_read,
    rename_table,
    spelling_column,
    with_constraint_named,
    with_last_at,
    without_column,
    without_constraint,
)
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Parameters, Scope
from sql_semantics.frontend.names.tables import find_table, table_name
from sql_semantics.frontend.text.beginnings import beginning
from sql_semantics.frontend.text.dialects import fold_column, sql_type
from sql_semantics.frontend.text.syntax import Node, name_of, only
from sql_semantics.frontend.types.coerce import assign
from sql_semantics.frontend.writes.assignments import default_of
from sql_semantics.ir.expressions import Column, Const, Expr
from sql_semantics.ir.queries import BaseTable
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.ir.walks.traverse import has_free
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written_table
from sql_semantics.values.types import UNMODELLED_KINDS, Kind, SqlType

_WITHOUT_EFFECT = {
    "postgres": pattern(
        r"\s*(ALTER\s+(TABLE|SEQUENCE|VIEW|INDEX)\s+(ONLY\s+)?\S+\s+OWNER\s+TO\s+\S+"
        r"|ALTER\s+SEQUENCE\s+\S+\s+OWNED\s+BY\s+\S+"
        r"|SET\s+(SESSION\s+|LOCAL\s+)?(statement_timeout|lock_timeout|idle_in_transaction_session_timeout"
        r"|transaction_timeout|client_encoding|standard_conforming_strings|check_function_bodies|xmloption"
        r"|client_min_messages|row_security|default_tablespace|default_table_access_method)\s*(=|\s+TO\s+).*"
        r"|SELECT\s+pg_catalog\.set_config\s*\(\s*'search_path'\s*,\s*''\s*,\s*false\s*\)"
        r"|COMMENT\s+ON\s.*)\s*;?\s*\Z",
        re.IGNORECASE | re.DOTALL,
    ),
    "mysql": pattern(
        r"\s*(SET\s+(FOREIGN_KEY_CHECKS|UNIQUE_CHECKS|NAMES|CHARACTER_SET_CLIENT)\b[^;]*|(UN)?LOCK\s+TABLES\b[^;]*)\s*;?\s*\Z",
        re.IGNORECASE,
    ),
}


def has_no_effect(text: str, dialect: Dialect) -> bool:
    """Whether a statement of a dump says nothing of tables, keys or values."""
    pattern = _WITHOUT_EFFECT.get(dialect.name)
    return pattern is not None and pattern.match(text) is not None


@dataclass(frozen=True, slots=True)
class Altered:
    """What ALTER TABLE leaves of a table, and of its rows: `values`, over a row of the table as it was, `origin`."""

    table: Table
    origin: Table
    values: tuple[Expr, ...]


def kept(table: Table) -> tuple[Expr, ...]:
    """The values of a row that stays as it is. What is generated is computed again."""
    return tuple(
        Const(None, column.type)
        if column.generated is not None or column.type.kind is Kind.UNKNOWN
        else Column(place, column.type, column.name)
        for place, column in enumerate(table.columns)
    )


_RENAMED_COLUMN = pattern(
    r"(\bRENAME\s+)(?!(?:TO|COLUMN|CONSTRAINT|INDEX|KEY|AS)\b)((?:\"(?:[^\"]|\"\")+\"|`[^`]+`|\w+)\s+TO\b)",
    re.IGNORECASE,
)


def spelled_out(text: str, dialect: Dialect) -> str:
    """A text with the words that the parser does not know to be left out: the COLUMN of RENAME, the name of a CHECK;
    and MySQL's RENAME TABLE as what it does."""
    renamed = _RENAMED_TABLE.fullmatch(beginning(text)) if dialect.rules.definitions.renames_by_words else None
    if renamed is not None:
        return f"ALTER TABLE {renamed[1]} RENAME TO {renamed[2]}"
    altered = _ALTERS.match(beginning(text))
    if altered is None:
        return text
    check = _ADDED_CHECK.match(beginning(text))
    if check is not None:
        plain = folded_written_table(check[2], dialect)
        quote = dialect.rules.definitions.name_quote
        return f"{check[1]} CONSTRAINT {quote}{plain}_check{quote} {check[3]}"
    if "'" in text or "$" in text:
        return text
    text = _RENAMED_CONSTRAINT.sub(r"\1COLUMN \2", text)
    return _RENAMED_COLUMN.sub(r"\1COLUMN \2", text)


def named_constraint(text: str, tree: Node) -> Node:
    """What was read of a text that is `spelled_out`: the parser reads the constraint of RENAME as a column."""
    if isinstance(tree, exp.Alter) and _RENAMED_CONSTRAINT.search(text) is not None:
        for action in tree.args.get("actions") or ():
            if isinstance(action, exp.RenameColumn):
                action.replace(exp.RenameIndex(this=action.this.this, to=action.args["to"].this))
    return tree


_RENAMED_CONSTRAINT = pattern(r"(\bRENAME\s+)CONSTRAINT\s+((?:\"(?:[^\"]|\"\")+\"|`[^`]+`|\w+)\s+TO\b)", re.IGNORECASE)
_NAME = r"(?:\"[^\"]+\"|`[^`]+`|\w+)"
_RENAMED_TABLE = pattern(rf"RENAME\s+TABLE\s+({_NAME})\s+TO\s+({_NAME})\s*;?\s*", re.IGNORECASE)
_ADDED_CHECK = pattern(
    rf"(ALTER\s+TABLE\s+(?:ONLY\s+)?(?:{_NAME}\s*\.\s*)?({_NAME})\s+ADD)\s+(CHECK\s*\(.*)", re.IGNORECASE | re.DOTALL
)
_ALTERS = pattern(r"ALTER\s+TABLE\b", re.IGNORECASE)


def alter_table(tree: Node, tables: dict[str, Table], dialect: Dialect, *, lenient: bool = False) -> Altered | None:
    """ALTER TABLE: constraints and columns added, changed, renamed and dropped, and the table's name; None for one that
    does not exist. `lenient`: as in CREATE TABLE."""
    only(tree, "this", "kind", "actions", "exists", *(("only",) if dialect.rules.definitions.alter_only else ()))
    if str(tree.args.get("kind")).upper() != "TABLE" or not dialect.rules.definitions.alter_table:
        raise Unsupported(f"ALTER {tree.args.get('kind')}")
    name = table_name(tree.this, dialect)
    if name not in tables and tree.args.get("exists"):
        return None
    table = find_table(name, tables, dialect)
    if table.query is not None:
        raise Unsupported("ALTER of a view")
    altered = Altered(table, table, kept(table))
    changing = dict(tables)
    # what is dropped goes before what is added comes, wherever it stands
    actions = sorted(tree.args.get("actions") or (), key=lambda action: not isinstance(action, exp.Drop))
    if isinstance(actions[0], exp.Drop) and any(map(_names_columns, actions)):
        raise Unsupported("ALTER TABLE that drops and renames or converts")
    for action in actions:
        altered = _altered(altered, action, changing, dialect, lenient)
        changing[altered.table.name] = altered.table
    for gone in tables.keys() - changing.keys():
        del tables[gone]
    tables.update(changing)
    return altered


def _names_columns(action: Node) -> bool:
    return isinstance(action, exp.RenameColumn | exp.RenameIndex | exp.AlterRename) or bool(action.args.get("dtype"))


def _altered(done: Altered, action: Node, tables: dict[str, Table], dialect: Dialect, lenient: bool) -> Altered:
    table = done.table
    if isinstance(action, exp.AlterColumn):
        return _altered_column(done, action, tables, dialect)
    if isinstance(action, exp.Drop):
        return _dropped(done, action, tables, dialect)
    if isinstance(action, exp.RenameIndex):
        names = (fold_column(action.this, dialect), fold_column(action.args["to"], dialect))
        return replace(done, table=with_constraint_named(table, *names))
    if isinstance(action, exp.ModifyColumn):
        return _modified(done, action, tables, dialect)
    if isinstance(action, exp.RenameColumn):
        return replace(done, table=_renamed_column(table, action, tables, dialect))
    if isinstance(action, exp.AlterRename):
        new = table_name(action.this, dialect)
        _refuse_views(table, tables, "RENAME")
        return replace(done, table=rename_table(table, new, tables))
    definition = Definition(table.name, dialect, columns=list(table.columns), lenient=lenient)
    values = done.values
    if isinstance(action, exp.ColumnDef):
        if action.args.get("exists"):
            only(action, "this", "kind", "constraints", "exists")
            if any(column.name == fold_column(action.this, dialect) for column in table.columns):
                return done
        _refuse_views(table, tables, "ADD COLUMN")
        position = ("position",) if dialect.rules.definitions.places_columns else ()
        add_column(definition, action, "exists", *position)
        column = definition.columns[-1]
        if table.collation or any(one.type.collation for one in definition.columns):
            raise Unsupported("ADD COLUMN beside a collation of a table or column")
        if dialect.rules.definitions.fills_added_columns and column.not_null and column.default is None:
            raise Unsupported(f"ADD COLUMN NOT NULL without a default in {dialect.name}")
    elif isinstance(action, exp.AddConstraint):
        only(action, "expressions")
        for item in action.expressions:
            with definition.loosely():
                add_constraint(definition, item, None)
    else:
        raise Unsupported(f"{name_of(action)} in ALTER TABLE")
    added = finish(definition, tables, "", table.keys)
    if not _names(table).isdisjoint(_names(added)):
        raise Unsupported("ADD CONSTRAINT of a name that is in use")
    keys = sorted([*table.keys, *added.keys], key=lambda key: not key.primary)
    if sum(key.primary for key in keys) > 1:
        raise SchemaError(f"table {table.name!r} has two primary keys")
    if isinstance(action, exp.ColumnDef):
        values = (*values, _first_value(added, dialect))
    table = replace(
        table,
        columns=added.columns,
        keys=tuple(keys),
        checks=(*table.checks, *added.checks),
        foreign_keys=(*table.foreign_keys, *added.foreign_keys),
        spelled=(*table.spelled, *added.spelled),
        loose=(*table.loose, *added.loose),
        hangs_on=(*table.hangs_on, *added.hangs_on),
        indexes=(*table.indexes, *added.indexes),
    )
    if isinstance(action, exp.ColumnDef) and action.args.get("position") is not None:
        place = _place_of(action.args["position"], table, dialect)
        table = with_last_at(table, place, tables)
        values = (*values[:place], values[-1], *values[place:-1])
    return replace(done, table=table, values=values)


def _place_of(position: Node, table: Table, dialect: Dialect) -> int:
    """Where MySQL's FIRST or AFTER puts the last column of a table that is new in it."""
    only(position, "this", "position")
    if position.args.get("position") == "FIRST":
        return 0
    if any(column.generated is not None for column in table.columns[-1:]):
        raise Unsupported("a generated column that is added FIRST or AFTER another")
    return _position(table, position.this, dialect) + 1


def _modified(done: Altered, action: Node, tables: dict[str, Table], dialect: Dialect) -> Altered:
    """MySQL's MODIFY and CHANGE COLUMN, which say anew all that a column is but its keys."""
    only(action, "this", "rename_from")
    table = done.table
    _refuse_views(table, tables, "MODIFY COLUMN")
    definition = Definition(table.name, dialect)
    add_column(definition, action.this)
    column = definition.columns[0]
    if table.collation or any(one.type.collation for one in (*table.columns, column)):
        raise Unsupported("MODIFY COLUMN beside a collation of a table or column")
    before = table.columns[place := _position(table, action.args.get("rename_from") or action.this.this, dialect)]
    if definition.key_nodes or definition.checks or definition.references or definition.generated:
        raise Unsupported("MODIFY COLUMN with a constraint")
    if any(c.identity or c.generated is not None or has_free(c.default) for c in (before, column)):
        raise Unsupported("MODIFY COLUMN of a numbered or generated column, or with a default that MySQL chooses")
    if not _holds(column.type, before.type):
        raise Unsupported(f"MODIFY COLUMN from {before.type} to {column.type}")
    if column.type != before.type and is_read(place, table, tables):
        raise Unsupported("MODIFY COLUMN of a column that a constraint computes with or refers by")
    primary = any(key.primary and place in key.columns for key in table.keys)
    renamed = column.name
    column = replace(column, name=before.name, not_null=column.not_null or primary)
    table = replace(table, columns=(*table.columns[:place], column, *table.columns[place + 1 :]))
    if renamed != before.name:
        table = _with_name(table, before.name, renamed, tables)
    return replace(done, table=table)


def _position(table: Table, name: Node, dialect: Dialect) -> int:
    column = name.this if isinstance(name, exp.Column) else name
    assert isinstance(column, exp.Identifier)
    try:
        return table.position(fold_column(column, dialect))
    except KeyError:
        raise SchemaError(f"no column {name.name!r} of {table.name!r}") from None


def _compares_alike(one: SqlType, other: SqlType) -> bool:
    """Whether both are texts of which all letters count."""
    return one.kind is other.kind is Kind.TEXT and not (one.padded or other.padded)


_WIDER = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)


def _holds(wider: SqlType, narrower: SqlType) -> bool:
    """Whether each value of a type is one of another, and the same there."""
    if wider == narrower:
        return wider.kind not in UNMODELLED_KINDS
    if wider.kind in _WIDER and narrower.kind in _WIDER:
        return _WIDER.index(wider.kind) >= _WIDER.index(narrower.kind)
    if wider.kind is not Kind.TEXT or narrower.kind is not Kind.TEXT or wider.padded or narrower.padded:
        return False
    return wider.length is None or (narrower.length is not None and narrower.length <= wider.length)


def _names(table: Table) -> set[str]:
    """What the constraints of a table are called."""
    return {
        *(key.name for key in table.keys),
        *(check.name for check in table.checks),
        *(key.name for key in table.foreign_keys),
    }


def _first_value(table: Table, dialect: Dialect) -> Expr:
    """What rows that are there get for the last column."""
    column = table.columns[-1]
    unknown = column.type.kind is Kind.UNKNOWN or column.generated is not None
    return Const(None, column.type) if unknown or column.unread else default_of(column)


def _refuse_views(table: Table, tables: Mapping[str, Table], what: str) -> None:
    """Views were bound over the tables as they had been."""
    for other in tables.values():
        if other.query is not None and any(_is_read(part, table.name) for part in walk_parts(other.query)):
            raise Unsupported(f"{what} of a table that a view reads")


def _is_read(part: object, name: str) -> bool:
    """Whether a part of a query is a table, in whichever of its definitions."""
    return isinstance(part, BaseTable) and (part.name == name or part.name.startswith(f"{name} (definition "))


def _dropped(done: Altered, action: Node, tables: dict[str, Table], dialect: Dialect) -> Altered:
    """DROP COLUMN and DROP CONSTRAINT. Raises Unsupported where others hang on it."""
    cascades = dialect.rules.definitions.drop_column_cascades
    only(action, "tables", "kind", "exists", *(("cascade", "restrict") if cascades else ()))
    kind = str(action.args.get("kind")).upper()
    table, values = done.table, done.values
    for item in action.args.get("tables") or ():
        if kind == "COLUMN":
            name = fold_column(item.this if isinstance(item, exp.Column) else item, dialect)
            place = next((n for n, column in enumerate(table.columns) if column.name == name), None)
            if place is None and action.args.get("exists"):
                continue
            if place is None:
                raise SchemaError(f"no column {name!r} of {table.name!r} to drop")
            _refuse_views(table, tables, "DROP COLUMN")
            table = without_column(table, place, tables, dialect)
            values = (*values[:place], *values[place + 1 :])
        elif kind in ("CONSTRAINT", "FOREIGN KEY", "INDEX", "KEY", "CHECK"):
            name = fold_column(item.this, dialect)
            table = without_constraint(table, name, tables, optional=bool(action.args.get("exists")))
        else:
            raise Unsupported(f"DROP {kind} in ALTER TABLE")
    return replace(done, table=table, values=values)


def _renamed_column(table: Table, action: Node, tables: dict[str, Table], dialect: Dialect) -> Table:
    only(action, "this", "to", "exists")
    _refuse_views(table, tables, "RENAME COLUMN")
    old, new = fold_column(action.this.this, dialect), fold_column(action.args["to"].this, dialect)
    if all(column.name != old for column in table.columns):
        raise SchemaError(f"no column {old!r} of {table.name!r} to rename")
    return _with_name(table, old, new, tables)


def _with_name(table: Table, old: str, new: str, tables: dict[str, Table]) -> Table:
    """The table with a column of another name."""
    if any(column.name == new for column in table.columns):
        raise SchemaError(f"column {new!r} of {table.name!r} exists")
    renamed = (replace(column, name=new) if column.name == old else column for column in table.columns)
    for other in list(tables.values()):
        tables[other.name] = spelling_column(other, table.name, old, new)
    return spelling_column(replace(table, columns=tuple(renamed)), table.name, old, new)


def _altered_column(done: Altered, action: Node, tables: dict[str, Table], dialect: Dialect) -> Altered:
    only(action, "this", "default", "drop", "allow_null", "dtype", "collate", "using")
    table, values = done.table, done.values
    try:
        place = table.position(fold_column(action.this, dialect))
    except KeyError:
        raise SchemaError(f"no column {action.this.name!r} of {table.name!r} to alter") from None
    column = table.columns[place]
    allow_null = action.args.get("allow_null")
    if action.args.get("dtype") is not None:
        return _of_another_type(done, place, action, tables, dialect)
    if allow_null is not None:
        if column.type.kind is Kind.UNKNOWN:
            raise Unsupported(column.unread)
        column = replace(column, not_null=not allow_null)
    elif action.args.get("drop"):
        column = replace(column, default=None, unread="")
    else:
        column = with_default(column, action.args["default"], Definition(table.name, dialect))
    table = replace(table, columns=(*table.columns[:place], column, *table.columns[place + 1 :]))
    return replace(done, table=table, values=values)


def _of_another_type(done: Altered, place: int, action: Node, tables: dict[str, Table], dialect: Dialect) -> Altered:
    """ALTER COLUMN ... TYPE: by USING, or as an assignment converts (PostgreSQL)."""
    if not dialect.rules.definitions.alters_types or action.args.get("collate"):
        raise Unsupported("ALTER COLUMN TYPE with COLLATE, or in another product")
    table = done.table
    column = table.columns[place]
    if column.generated is not None or column.identity or column.type.kind in UNMODELLED_KINDS:
        raise Unsupported("ALTER COLUMN TYPE of a generated, numbered or unmodelled column")
    origin = done.origin
    if len(origin.columns) != len(table.columns) or done.values[place] != kept(origin)[place]:
        raise Unsupported("ALTER COLUMN TYPE beside other changes of columns")
    kind = sql_type(action.args["dtype"], dialect)
    if is_read(place, table, tables) and not _compares_alike(kind, column.type):
        raise Unsupported("ALTER COLUMN TYPE of a column that a constraint computes with or refers by")
    _refuse_views(table, tables, "ALTER COLUMN TYPE")
    context = Context(Catalog({origin.name: origin}), dialect, Parameters.none())
    source: Expr = Column(place, column.type, column.name)
    if action.args.get("using"):
        scope = Scope()
        scope.add(origin.name, origin, dialect)
        source = Binder(context, scope, "USING").expr(action.args["using"])
    default = column.default
    if default is not None:
        default = assign(default, kind, context, f"column {column.name!r}")
    value = assign(source, kind, context, f"column {column.name!r}")
    changed = replace(column, type=kind, default=default)
    table = replace(table, columns=(*table.columns[:place], changed, *table.columns[place + 1 :]))
    return replace(done, table=table, values=(*done.values[:place], value, *done.values[place + 1 :]))


def drop(tree: Node, tables: dict[str, Table], dialect: Dialect) -> None:
    """DROP TABLE and DROP VIEW in a schema: what a dump begins with."""
    only(tree, "tables", "kind", "exists", "cascade", "restrict")
    kind = str(tree.args.get("kind")).upper()
    if kind not in ("TABLE", "VIEW"):
        raise Unsupported(f"DROP {kind}")
    for item in tree.args.get("tables") or ():
        name = table_name(item, dialect)
        if name not in tables:
            if tree.args.get("exists"):
                continue
            raise SchemaError(f"no {kind.lower()} {name!r} to drop")
        if any(key.parent == name for other in tables.values() if other.name != name for key in other.foreign_keys):
            raise Unsupported("DROP of a table that foreign keys refer to")
        if (tables[name].query is not None) is not (kind == "VIEW"):
            raise SchemaError(f"{name!r} is no {kind.lower()}")
        if any(other.query is not None for other in tables.values() if other.name != name):
            raise Unsupported("DROP in a schema with views")
        del tables[name]
