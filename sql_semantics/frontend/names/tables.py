"""Names of stored tables in statements and the schema (paper §3.1). Does not know queries in FROM."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import UnknownTable, Unsupported
from sql_semantics.frontend.names.schemas import is_home
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.text.dialects import fold_table
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.ir.schema import Table
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import lowered


def table_name(node: Node, dialect: Dialect, *also: str) -> str:
    """The folded name of a table node that carries nothing else than `also`. Raises Unsupported."""
    if not isinstance(node, exp.Table):
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            raise Unsupported("subquery in place of a table")
        raise unsupported(node, "FROM")
    only(node, "this", "db", *also)
    if not isinstance(node.this, exp.Identifier):
        raise Unsupported("table function in FROM")
    qualifier = node.args.get("db")
    if qualifier is not None and not is_home(fold_table(qualifier, dialect), dialect):
        raise Unsupported(f"qualified table name {qualifier.name}.{node.name}")
    return fold_table(node.this, dialect)


def find_table(name: str, tables: Mapping[str, Table], dialect: Dialect) -> Table:
    """The table of that name. Raises UnknownTable, and Unsupported for one whose definition is not modelled."""
    table = tables.get(name)
    if table is not None and table.refused:
        raise Unsupported(f"{table.refused}, in the definition of {name}")
    if table is None:
        rules = dialect.rules.text
        dialect_folds = {lowered(known, dialect) for known in tables}
        if rules.table_names == "as written" and lowered(name, dialect) in dialect_folds:
            raise Unsupported(f"table name {name} in other letter case than its definition")
        if "." in name:
            raise Unsupported(f"qualified table name {name}")
        if name.lower().startswith(rules.system_tables):
            raise Unsupported(f"system table {name}")
        raise UnknownTable(name)
    return table


def aliased_table(node: Node, context: Context) -> tuple[Table, str]:
    """A stored table and the name that qualifies its columns. Raises Unsupported for a view."""
    table, alias = aliased_relation(node, context)
    if table.query is not None:
        raise Unsupported("write to a view")
    return table, alias


def aliased_relation(node: Node, context: Context) -> tuple[Table, str]:
    """A table or view that is written to, and the name that qualifies its columns."""
    name = table_name(node, context.dialect, "alias")
    if name.upper() in context.dialect.rules.text.write_modifiers:
        raise Unsupported(name.upper())
    table = find_table(name, context.catalog.tables, context.dialect)
    alias = node.args.get("alias")
    if alias is None:
        return table, name
    if alias.args.get("columns"):
        raise Unsupported("column aliases of a modified table")
    only(alias, "this")
    return table, fold_table(alias.this, context.dialect)
