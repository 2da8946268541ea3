"""Names that say in which schema of the database a table is (PostgreSQL 5.10, DuckDB ATTACH, SQLite: main).

A table of the first schema in the search path is called by its name alone, as definitions have it that recorders
write; one of another schema is called ``schema.table``, in one name, so that equal names in two schemas stay apart.
Does not know which tables there are.
"""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from sql_semantics.frontend.text.dialects import fold_table
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.values.dialect import Dialect


def without_schemas(tree: Node, dialect: Dialect, known: Container[str]) -> Node:
    """The tree, changed: tables and columns are qualified by no schema any more. `known`: what tables are called."""
    if len(dialect.search_path) > 1:
        _look_up(tree, dialect, known)
    for node in tree.find_all(exp.Table, exp.Column):
        schema = node.args.get("db")
        named = node.this if isinstance(node, exp.Table) else node.args.get("table")
        if not isinstance(schema, exp.Identifier) or not isinstance(named, exp.Identifier) or node.args.get("catalog"):
            continue
        if is_home(fold_table(schema, dialect), dialect):
            if isinstance(node, exp.Column):
                node.set("db", None)
            continue  # a table that says where it is, is none of WITH
        if dialect.home_schema is None:
            continue
        whole = exp.to_identifier(in_schema(fold_table(schema, dialect), fold_table(named, dialect)), quoted=True)
        node.set("db", None)
        node.set("this" if isinstance(node, exp.Table) else "table", whole)
    return tree


def _look_up(tree: Node, dialect: Dialect, known: Container[str]) -> None:
    """Say of tables that stand without a schema in which they are."""
    common = {item.alias for item in tree.find_all(exp.CTE)}
    made = tree.this if isinstance(tree, exp.Create) else None
    made = made.this if isinstance(made, exp.Schema) else made  # in the first schema, whatever there is in others
    for node in [found for found in tree.find_all(exp.Table) if found is not made]:
        name = node.this
        if node.args.get("db") is None and isinstance(name, exp.Identifier) and name.name not in common:
            folded = fold_table(name, dialect)
            found = looked_up(folded, dialect, known)
            if found != folded:
                node.set("this", exp.to_identifier(found, quoted=True))


def looked_up(name: str, dialect: Dialect, known: Container[str]) -> str:
    """What the table is called that a name without a schema stands for."""
    if name in known:
        return name
    others = (in_schema(schema, name) for schema in dialect.search_path[1:])
    return next((other for other in others if other in known), name)


def in_schema(schema: str, name: str) -> str:
    """What a table of a schema is called that is not the first in the search path."""
    return f"{schema}.{name}"


def is_home(schema: str, dialect: Dialect) -> bool:
    """Whether tables of a schema are called by their names alone."""
    return schema == dialect.home_schema
