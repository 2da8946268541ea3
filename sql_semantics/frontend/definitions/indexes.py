"""Unique indexes: keys over columns or expressions, of all rows or of some (PostgreSQL 11.6 to 11.8, SQLite
partialindex and expridx). Any other index refuses rows of which an expression of it cannot be computed. Does not know
how keys are enforced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, Unreadable, Unsupported
from sql_semantics.frontend.definitions.definition import check_covered, named_in
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Parameters, Scope
from sql_semantics.frontend.names.tables import find_table, table_name
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import refuse_unmodelled
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.schema import Catalog, Table, Unique
from sql_semantics.ir.walks.traverse import can_raise
from sql_semantics.values.dialect import Dialect

MAY_FAIL = "an index over an expression that may fail"
_ABOUT_ORDER = (exp.Opclass, exp.Collate)
"""What a column or an expression of an index stands under; it says how these are compared."""


def indexed_table(tree: Node, tables: Mapping[str, Table], dialect: Dialect, *, lenient: bool = False) -> Table:
    """The table that a CREATE INDEX is for, with the key that it adds; an index that is not unique adds none, and the
    columns that it names are noted, and whether it may refuse rows. `lenient`: a key that is not modelled makes the
    table loose."""
    try:
        return _indexed(tree, tables, dialect)
    except Unsupported as error:
        index = tree.this
        if not lenient or isinstance(error, Unreadable) or not isinstance(index, exp.Index):
            raise
        table = find_table(table_name(index.args["table"], dialect), tables, dialect)
        return replace(table, loose=(*table.loose, error.construct))


def _indexed(tree: Node, tables: Mapping[str, Table], dialect: Dialect) -> Table:
    only(tree, "this", "kind", "unique", "exists", "concurrently")
    index = tree.this
    only(index, "this", "table", "params")
    table = find_table(table_name(index.args["table"], dialect), tables, dialect)
    if table.query is not None:
        raise SchemaError(f"an index of the view {table.name!r}")
    params = index.args.get("params")
    if not tree.args.get("unique"):
        items = () if params is None else params.args.get("columns") or ()
        loose = (*table.loose, MAY_FAIL) if params is not None and _may_fail(params, table, dialect) else table.loose
        return replace(table, indexes=(*table.indexes, named_in(items, dialect)), loose=loose)
    only(params, "using", "columns", "where", "include")
    check_covered(params, dialect)
    binder = _binder(table, dialect)
    parts: list[Expr] = []
    for item in params.args.get("columns") or ():
        only(item, "this", "desc", "nulls_first")
        parts.append(_part(item.this, binder))
    where: Expr | None = None
    if params.args.get("where") is not None:
        if not dialect.rules.definitions.partial_indexes:
            raise Unsupported(f"a partial index in {dialect.name}")
        only(params.args["where"], "this")
        where = binder.condition(params.args["where"].this)
    if any(can_raise(expression) for expression in (*parts, *(() if where is None else (where,)))):
        raise Unsupported("UNIQUE INDEX over an expression that may fail")
    name = fold_column(index.this, dialect) if index.this is not None else f"{table.name}_idx"
    plain = [part.index for part in parts if isinstance(part, Column)]
    computed: tuple[Expr, ...] = ()
    if len(plain) < len(parts):
        computed = tuple(parts)
        plain = sorted({column.index for part in parts for column in columns_of(part)})
    refuse_unmodelled(table.columns[place].type for place in plain)
    key = Unique(name, tuple(plain), parts=computed, where=where, constraint=False)
    return replace(table, keys=(*table.keys, key))


def _binder(table: Table, dialect: Dialect) -> Binder:
    scope = Scope()
    scope.add(table.name, table, dialect)
    return Binder(Context(Catalog({table.name: table}), dialect, Parameters.none()), scope, "an index")


def _may_fail(params: Node, table: Table, dialect: Dialect) -> bool:
    """Whether an expression of an index, or its condition, may raise an error for a row; what is not modelled may."""
    if not dialect.rules.definitions.expression_indexes:
        return False
    binder = _binder(table, dialect)
    nodes = [part.this if isinstance(part, exp.Ordered) else part for part in params.args.get("columns") or ()]
    where = params.args.get("where")
    try:
        found = [_part(node.this if isinstance(node, _ABOUT_ORDER) else node, binder) for node in nodes]
        if where is not None:
            found.append(binder.condition(where.this))
    except (Unsupported, SqlError):
        return True
    # SQLite goes on in floating point, and divides by zero to NULL
    arithmetic = not dialect.rules.values.overflow_to_double
    return any(can_raise(part, arithmetic=arithmetic) for part in found)


def _part(node: Node, binder: Binder) -> Expr:
    dialect = binder.context.dialect
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        only(node, "this")
        name = fold_column(node.this, dialect)
        for place, (column_name, column) in enumerate(binder.scope.tables[0].columns):
            if column_name == name:
                return Column(place, column.type, column_name)
        raise SchemaError(f"no column {name!r} for a key")
    if not dialect.rules.definitions.expression_indexes:
        raise Unsupported(f"UNIQUE INDEX over an expression in {dialect.name}")
    return binder.typed(node)
