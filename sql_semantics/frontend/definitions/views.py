"""CREATE VIEW: a query under a name (PostgreSQL CREATE VIEW, MySQL 15.1.23). Does not know statements that read it.

A view's stars and names are bound once, over what the schema has created by then. Views cannot be written to here.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unreadable, Unsupported
from sql_semantics.frontend.names.scope import Context, Parameters
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.queries.compound import bind_query
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.ir.schema import Catalog, Table, TableColumn
from sql_semantics.values.dialect import Dialect


def view(tree: Node, tables: Mapping[str, Table], dialect: Dialect) -> Table:
    """The view that a CREATE VIEW defines."""
    only(tree, "this", "kind", "expression", "exists", "replace", "properties")
    properties = tree.args.get("properties")
    if properties is not None:
        kinds = [item.key.upper().removesuffix("PROPERTY") for item in properties.expressions]
        raise Unsupported(f"CREATE VIEW with {', '.join(kinds)}")
    target, names = tree.this, []
    if isinstance(target, exp.Schema):
        only(target, "this", "expressions")
        target, names = target.this, list(target.expressions)
    name = table_name(target, dialect)
    if tree.expression is None:
        raise Unreadable("CREATE VIEW without a query")
    if tree.args.get("replace") and name in tables:
        raise Unsupported("CREATE OR REPLACE VIEW of an existing view")
    query = bind_query(tree.expression, Context(Catalog(tables), dialect, Parameters.none()))
    columns = [output.name for output in query.outputs]
    if names:
        if not all(isinstance(item, exp.Identifier) for item in names):
            raise unsupported(names[0], "CREATE VIEW")
        given = [fold_column(item, dialect) for item in names]
        if len(given) > len(columns) or (
            len(given) < len(columns) and not dialect.rules.definitions.view_names_some_columns
        ):
            raise SchemaError(f"view {name!r} has {len(columns)} columns, not {len(given)}")
        columns[: len(given)] = given
    elif not all(output.exact for output in query.outputs):
        raise Unsupported("CREATE VIEW with a column that only the product could name")
    if len(set(columns)) < len(columns):
        raise SchemaError(f"view {name!r} has two columns of one name")
    return Table(
        name,
        tuple(
            TableColumn(column, output.expression.type) for column, output in zip(columns, query.outputs, strict=True)
        ),
        query=query,
    )
