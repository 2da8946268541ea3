"""FROM and JOIN into sources and a scope (paper §3.1). Does not know what the rest of the query does with them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import SqlError, UnknownTable, Unsupported
from sql_semantics.frontend.coerce import cast, comparable
from sql_semantics.frontend.dialects import fold_column, fold_table
from sql_semantics.frontend.expressions import Binder
from sql_semantics.frontend.scope import Context, Scope, unknown_column
from sql_semantics.frontend.syntax import Node, only, unsupported
from sql_semantics.ir.expressions import Binary, Column, Expr
from sql_semantics.ir.schema import Table
from sql_semantics.ir.statements import BaseTable, Identified, Source
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN

_HOME = {"postgres": "public", "duckdb": "main", "sqlite": "main"}


def table_name(node: Node, dialect: Dialect, *also: str) -> str:
    """The folded name of a table node that carries nothing else than `also`. Raises Unsupported."""
    if not isinstance(node, exp.Table):
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            raise Unsupported("subquery in FROM")
        raise unsupported(node, "FROM")
    only(node, "this", "db", *also)
    if not isinstance(node.this, exp.Identifier):
        raise Unsupported("table function in FROM")
    qualifier = node.args.get("db")
    if qualifier is not None and fold_table(qualifier, dialect) != _HOME.get(dialect.name):
        raise Unsupported(f"qualified table name {qualifier.name}.{node.name}")
    return fold_table(node.this, dialect)


def find_table(name: str, tables: Mapping[str, Table], dialect: Dialect) -> Table:
    """The table of that name. Raises UnknownTable."""
    table = tables.get(name)
    if table is None:
        if dialect.name == "mysql" and name.lower() in {known.lower() for known in tables}:
            raise Unsupported(f"table name {name} in other letter case than its definition")
        raise UnknownTable(name)
    return table


def aliased_table(node: Node, context: Context) -> tuple[Table, str]:
    """A table and the name that qualifies its columns."""
    name = table_name(node, context.dialect, "alias")
    if context.dialect.name == "mysql" and name.upper() in ("LOW_PRIORITY", "QUICK", "IGNORE", "DELAYED"):
        raise Unsupported(name.upper())
    table = find_table(name, context.catalog.tables, context.dialect)
    alias = node.args.get("alias")
    if alias is None:
        return table, name
    if alias.args.get("columns"):
        raise Unsupported("column aliases in FROM")
    only(alias, "this")
    return table, fold_table(alias.this, context.dialect)


def _join_kind(join: Node) -> str:
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if join.args.get("method"):
        raise Unsupported(f"{str(join.args['method']).upper()} JOIN")
    if side == "LEFT" and kind in ("", "OUTER"):
        return "left"
    if side:
        raise Unsupported(f"{side} JOIN")
    if kind in ("", "INNER"):
        return "inner"
    if kind == "CROSS":
        return "cross"
    raise Unsupported(kind if "JOIN" in kind else f"{kind} JOIN")


def _using(scope: Scope, first: int, names: list[Node], context: Context) -> Expr:
    """The ON condition of USING; its columns become one in ``*`` and in unqualified names."""
    right = scope.tables[-1]
    condition: Expr | None = None
    for identifier in names:
        if not isinstance(identifier, exp.Identifier):
            raise unsupported(identifier, "USING")
        name = fold_column(identifier, context.dialect)
        before = scope.since(first)
        before.tables = before.tables[:-1]
        found = before.unqualified(name)
        matching = [column for column_name, column in right.columns if column_name == name]
        if not found or not matching:
            raise unknown_column(name, context.dialect)
        if len(found) > 1:
            state = "42702" if context.dialect.name == "postgres" else "23000"
            raise SqlError(state, f"common column name {name!r} appears more than once in left table")
        left, other = comparable(found[0], matching[0], context, "=")
        equal = Binary("=", left, other, BOOLEAN)
        condition = equal if condition is None else Binary("and", condition, equal, BOOLEAN)
        for table in scope.tables[first:]:
            if any(column_name == name for column_name, _ in table.columns):
                scope.hidden.add((table.alias, name))
        scope.merged[name] = cast(found[0], left.type)
    if condition is None:
        raise Unsupported("USING without columns")
    return condition


def bind_sources(query: Node, context: Context, *, identified: bool = False) -> tuple[tuple[Source, ...], Scope]:
    """All FROM items with their joins. A comma starts a new group: the ON of a later JOIN does not see beyond it
    (PostgreSQL 7.2.1.1, MySQL 15.2.13.2). With `identified` the stored tables are `Identified`."""
    scope, sources = Scope(), list[Source]()
    clause = query.args.get("from_")
    if clause is None:
        if query.args.get("joins"):
            raise Unsupported("JOIN without FROM")
        return (), scope
    only(clause, "this")
    if _is_dual(clause.this, context):
        if query.args.get("joins"):
            raise Unsupported("JOIN with DUAL")
        return (), scope

    def add(node: Node, kind: str) -> None:
        table, alias = aliased_table(node, context)
        offset = scope.width
        scope.add(alias, table, context.dialect)
        if identified:
            scope.width += 1
        relation = Identified(table.name) if identified else BaseTable(table.name)
        sources.append(Source(relation, alias, offset, scope.width - offset, kind))

    add(clause.this, "cross")
    first = 0
    for join in query.args.get("joins") or ():
        only(join, "this", "side", "kind", "method", "on", "using")
        kind = _join_kind(join)
        explicit = kind == "inner" and bool(join.args.get("kind"))
        on, using = join.args.get("on"), join.args.get("using")
        if on is not None and using is not None:
            raise Unsupported("JOIN with both ON and USING")
        if explicit and on is None and using is None and context.dialect.name != "mysql":
            raise Unsupported("INNER JOIN without a condition")
        if kind == "inner" and on is None and using is None:
            # The parser makes no difference between a comma and MySQL's JOIN without ON: both are cross products,
            # but only the comma hides what stands left of it from later ON clauses.
            if context.dialect.name == "postgres" or not _later_conditions(query, join):
                kind, first = "cross", len(scope.tables)
            else:
                raise Unsupported("comma or JOIN without ON before a JOIN with ON")
        elif kind == "cross" and (on is not None or using is not None) and context.dialect.name != "mysql":
            raise Unsupported("CROSS JOIN with a condition")
        elif kind == "left" and on is None and using is None:
            raise Unsupported("LEFT JOIN without a condition")
        elif kind == "cross" and (on is not None or using is not None):
            kind = "inner"
        add(join.this, kind)
        condition: Expr | None = None
        if using is not None:
            condition = _using(scope, first, list(using), context)
        elif on is not None:
            condition = Binder(context, scope.since(first), "JOIN/ON").condition(on)
        last = sources[-1]
        sources[-1] = Source(last.relation, last.alias, last.offset, last.width, kind, condition)
    return tuple(sources), scope


def _is_dual(node: Node, context: Context) -> bool:
    """MySQL's table of no columns and one row (15.2.13)."""
    if context.dialect.name != "mysql" or not isinstance(node, exp.Table) or node.name.upper() != "DUAL":
        return False
    only(node, "this")
    return not isinstance(node.this, exp.Identifier) or not node.this.args.get("quoted")


def _later_conditions(query: Node, join: Node) -> bool:
    joins = list(query.args["joins"])
    place = next(index for index, item in enumerate(joins) if item is join)
    return any(item.args.get("on") is not None or item.args.get("using") is not None for item in joins[place + 1 :])


def source_columns(source: Source, scope: Scope) -> tuple[Column, ...]:
    """The columns that a source contributes to the environment row."""
    table = scope.table(source.alias)
    return () if table is None else tuple(column for _, column in table.columns)
