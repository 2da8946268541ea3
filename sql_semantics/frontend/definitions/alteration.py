"""ALTER TABLE, DROP and what else a dump of a schema says (pg_dump, mysqldump). Does not know logged statements.

Only what the tables are in the end is of interest. What changes no rows and no constraint is passed over by name.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.definitions.definition import Definition, add_column, add_constraint, finish, with_default
from sql_semantics.frontend.names.tables import find_table, table_name
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, name_of, only
from sql_semantics.ir.schema import Table
from sql_semantics.values.dialect import Dialect

_WITHOUT_EFFECT = {
    "postgres": re.compile(
        r"\s*(ALTER\s+(TABLE|SEQUENCE|VIEW|INDEX)\s+(ONLY\s+)?\S+\s+OWNER\s+TO\s+\S+"
        r"|ALTER\s+SEQUENCE\s+\S+\s+OWNED\s+BY\s+\S+"
        r"|SET\s+(SESSION\s+|LOCAL\s+)?(statement_timeout|lock_timeout|idle_in_transaction_session_timeout"
        r"|transaction_timeout|client_encoding|standard_conforming_strings|check_function_bodies|xmloption"
        r"|client_min_messages|row_security|default_tablespace|default_table_access_method)\s*(=|\s+TO\s+).*"
        r"|SELECT\s+pg_catalog\.set_config\s*\(\s*'search_path'\s*,\s*''\s*,\s*false\s*\)"
        r"|COMMENT\s+ON\s.*)\s*;?\s*\Z",
        re.IGNORECASE | re.DOTALL,
    ),
    "mysql": re.compile(
        r"\s*(SET\s+(FOREIGN_KEY_CHECKS|UNIQUE_CHECKS|NAMES|CHARACTER_SET_CLIENT)\b[^;]*|(UN)?LOCK\s+TABLES\b[^;]*)\s*;?\s*\Z",
        re.IGNORECASE,
    ),
}


def has_no_effect(text: str, dialect: Dialect) -> bool:
    """Whether a statement of a dump says nothing of tables, keys or values."""
    pattern = _WITHOUT_EFFECT.get(dialect.name)
    return pattern is not None and pattern.match(text) is not None


def alter_table(tree: Node, tables: dict[str, Table], dialect: Dialect, *, lenient: bool = False) -> None:
    """ALTER TABLE: constraints and columns added, defaults and NOT NULL of columns. `lenient`: as in CREATE TABLE."""
    only(tree, "this", "kind", "actions", "exists", *(("only",) if dialect.name == "postgres" else ()))
    if str(tree.args.get("kind")).upper() != "TABLE" or dialect.name == "duckdb":
        raise Unsupported(f"ALTER {tree.args.get('kind')}")
    name = table_name(tree.this, dialect)
    if name not in tables and tree.args.get("exists"):
        return
    table = find_table(name, tables, dialect)
    if table.query is not None:
        raise Unsupported("ALTER of a view")
    for action in tree.args.get("actions") or ():
        table = _altered(table, action, tables, dialect, lenient)
    tables[name] = table


def _altered(table: Table, action: Node, tables: dict[str, Table], dialect: Dialect, lenient: bool) -> Table:
    if isinstance(action, exp.AlterColumn):
        return _altered_column(table, action, dialect)
    definition = Definition(table.name, dialect, columns=list(table.columns), lenient=lenient)
    if isinstance(action, exp.ColumnDef):
        if action.args.get("exists"):
            raise Unsupported("ADD COLUMN IF NOT EXISTS")
        if any(other.query is not None for other in tables.values()):
            raise Unsupported("ADD COLUMN in a schema with views")
        add_column(definition, action, "exists")
    elif isinstance(action, exp.AddConstraint):
        only(action, "expressions")
        for item in action.expressions:
            with definition.loosely():
                add_constraint(definition, item, None)
    else:
        raise Unsupported(f"{name_of(action)} in ALTER TABLE")
    added = finish(definition, tables, "", table.keys)
    keys = sorted([*table.keys, *added.keys], key=lambda key: not key.primary)
    if sum(key.primary for key in keys) > 1:
        raise SchemaError(f"table {table.name!r} has two primary keys")
    return replace(
        table,
        columns=added.columns,
        keys=tuple(keys),
        checks=(*table.checks, *added.checks),
        foreign_keys=(*table.foreign_keys, *added.foreign_keys),
        loose=(*table.loose, *added.loose),
        hangs_on=(*table.hangs_on, *added.hangs_on),
    )


def _altered_column(table: Table, action: Node, dialect: Dialect) -> Table:
    only(action, "this", "default", "drop", "allow_null")
    try:
        place = table.position(fold_column(action.this, dialect))
    except KeyError:
        raise SchemaError(f"no column {action.this.name!r} of {table.name!r} to alter") from None
    column = table.columns[place]
    allow_null = action.args.get("allow_null")
    if allow_null is not None:
        column = replace(column, not_null=not allow_null)
    elif action.args.get("drop"):
        column = replace(column, default=None)
    else:
        column = with_default(column, action.args["default"], Definition(table.name, dialect))
    return replace(table, columns=(*table.columns[:place], column, *table.columns[place + 1 :]))


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
