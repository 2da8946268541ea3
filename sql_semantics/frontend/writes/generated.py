"""Generated columns (PostgreSQL 5.4, MySQL 15.1.20.8, SQLite gencol, DuckDB). Does not know when they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Parameters, Scope
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import assign
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.schema import Catalog, Table, TableColumn
from sql_semantics.values.dialect import Dialect


def is_generated(detail: Node, dialect: Dialect) -> bool:
    """Whether a column constraint is GENERATED ALWAYS AS (expression)."""
    if isinstance(detail, exp.ComputedColumnConstraint):
        return True
    return (
        isinstance(detail, exp.GeneratedAsIdentityColumnConstraint)
        and detail.args.get("expression") is not None
        and dialect.rules.definitions.generated_as_identity
    )


def generated_column(
    columns: Sequence[TableColumn], place: int, node: Node, table_name: str, dialect: Dialect
) -> TableColumn:
    """The column with its expression. Stored or not makes no difference but for errors, so an expression that may fail
    is refused where it is not stored."""
    rules = dialect.rules.definitions
    if not rules.generated_columns:
        raise Unsupported(f"GENERATED ALWAYS AS in {dialect.name}")
    if isinstance(node, exp.ComputedColumnConstraint):
        only(node, "this", "persisted", "not_null")
        if node.args.get("not_null"):
            raise Unsupported("NOT NULL inside a generated column")
        expression = node.this
        stored = bool(node.args.get("persisted")) or (rules.stores_generated and node.args.get("persisted") is None)
    else:
        only(node, "this", "expression")
        expression, stored = node.args["expression"], False
    column = columns[place]
    if column.default is not None:
        raise SchemaError(f"column {column.name!r} has both a default and a generation expression")
    context = Context(Catalog({}), dialect, Parameters.none())
    scope = Scope()
    scope.add(table_name, Table(table_name, tuple(columns)), dialect)
    value = assign(Binder(context, scope, "a generated column").value(expression), column.type, context, column.name)
    read = {item.index for item in columns_of(value)}
    if any(columns[item].generated is not None or item == place for item in read):
        raise Unsupported("a generated column that reads another one")
    if not stored:
        _refuse_failing(value)
    return replace(column, generated=value)


def _refuse_failing(value: Expr) -> None:
    """Of a column that is computed when it is read, the errors would be the readers'."""
    from sql_semantics.ir.walks.traverse import can_raise

    if can_raise(value):
        raise Unsupported("a VIRTUAL generated column whose expression may fail")
