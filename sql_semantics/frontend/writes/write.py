"""INSERT, UPDATE and DELETE (paper §3.1). Does not know constraints, nor how rows are found.

What is stored is converted to the column's exact type here (`Cast` with `assignment`); defaults are filled in here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.names.tables import aliased_table
from sql_semantics.frontend.queries.compound import bind_query
from sql_semantics.frontend.queries.query import output_columns
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import assign, settle
from sql_semantics.frontend.types.comparison import sorted_digits
from sql_semantics.frontend.writes.assignments import (
    bind_assignments,
    column_position,
    generated_value,
    given_default,
    is_default,
)
from sql_semantics.frontend.writes.conflict import bind_conflict
from sql_semantics.frontend.writes.identity import given_value
from sql_semantics.frontend.writes.joined import bind_joined_delete, bind_joined_update, joins
from sql_semantics.frontend.writes.listed import bind_listed
from sql_semantics.frontend.writes.unmodelled import stored_value
from sql_semantics.frontend.writes.views import WriteTarget, write_target
from sql_semantics.ir.expressions import Column, Const, Expr, Free, Param, Variable
from sql_semantics.ir.queries import BaseTable, CommonTable, Derived, OrderKey, OutputColumn
from sql_semantics.ir.schema import Table, TableColumn
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Truncate, Update
from sql_semantics.ir.walks.traverse import can_raise, fields_of, has_queries
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BIGINT, INTEGER_KINDS


def _returning(node: Node, target: WriteTarget, context: Context) -> tuple[OutputColumn, ...] | None:
    """RETURNING over the row, the old row and the new row (PostgreSQL 18 names the latter two OLD and NEW)."""
    clause = node.args.get("returning")
    if clause is None:
        return None
    rules = context.dialect.rules.writes
    if not rules.returning_in_all_products:
        return _returning_in_mariadb(node, clause, target, context)
    only(clause, "expressions")
    if not rules.returning_takes_subqueries and clause.find(exp.Query) is not None:
        raise Unsupported(f"subquery in RETURNING in {context.dialect.name}")
    scope = target.scope(context)
    if rules.returning_old_and_new:
        absent = {"old": exp.Insert, "new": exp.Delete}
        for name in absent:
            if name != target.alias:
                missing = isinstance(node, absent[name])
                scope.add(name, target.table, context.dialect, absent=missing, shown=target.shown)
                scope.hide_last()
            else:
                scope.width += len(target.table.columns)
    return output_columns(clause.expressions, Binder(context, scope, "RETURNING"))[0]


def _returning_in_mariadb(node: Node, clause: Node, target: WriteTarget, context: Context) -> tuple[OutputColumn, ...]:
    """INSERT, REPLACE and DELETE have it in MariaDB, and nothing in MySQL."""
    if isinstance(node, exp.Update) or context.dialect.product == "mysql":
        raise Unsupported("RETURNING in MySQL")
    only(clause, "expressions")
    outputs = output_columns(clause.expressions, Binder(context, target.scope(context), "RETURNING"))[0]
    if any(has_queries(output.expression) or can_raise(output.expression) for output in outputs):
        raise Unsupported("a subquery, or an expression that may fail, in RETURNING in mysql")
    return outputs


def _wrong_count(context: Context, message: str) -> SqlError | Unsupported:
    state = context.dialect.rules.writes.insert_width_error
    return Unsupported(message) if state is None else SqlError(state, message)


def _check_count(given: int, positions: Sequence[int], listed: bool, context: Context) -> None:
    if given > len(positions):
        raise _wrong_count(context, "INSERT has more expressions than target columns")
    if given < len(positions) and (listed or not context.dialect.rules.writes.insert_may_give_fewer):
        raise _wrong_count(context, "INSERT has more target columns than expressions")


def _values_rows(
    node: Node, table: Table, positions: Sequence[int], listed: bool, binder: Binder, missing: str | None
) -> tuple[tuple[Expr, ...], ...]:
    only(node, "expressions", "alias")
    context = binder.context
    rules = context.dialect.rules.writes
    rows: list[tuple[Expr, ...]] = []
    lengths = {len(item.expressions) for item in node.expressions}
    if len(lengths) > 1:
        raise _wrong_count(context, "VALUES lists must all be the same length")
    for item in node.expressions:
        if not isinstance(item, exp.Tuple):
            raise unsupported(item, "VALUES")
        only(item, "expressions")
        values = list(item.expressions)
        if not values and rules.empty_values_are_defaults:
            if listed:
                raise _wrong_count(context, "column count doesn't match value count")
        else:
            _check_count(len(values), positions, listed, context)
        row: list[Expr | None] = [None] * len(table.columns)
        for place, value in zip(positions, values, strict=False):
            column = table.columns[place]
            if column.generated is not None:
                row[place] = generated_value(value, column, context.dialect)
                continue
            if is_default(value):
                row[place] = given_default(column, context, otherwise="DEFAULT")
                continue
            alone = len(values) == 1 or not rules.values_hold_rows  # VALUES ROW(1) is a row of MySQL's
            if alone and isinstance(value, exp.Anonymous) and str(value.this).upper() == "ROW":
                raise Unsupported("VALUES ROW()")
            if rules.values_see_columns and any(
                not _is_variable(part, context)
                for part in value.find_all(exp.Column)
                if isinstance(part.this, exp.Identifier) and part.find_ancestor(exp.Query) is None
            ):
                raise Unsupported("column reference in VALUES")
            stored = stored_value(value, column, binder)
            row[place] = given_value(column, stored, context.dialect)
        rows.append(
            tuple(
                given_default(column, context, otherwise=missing) if value is None else value
                for value, column in zip(row, table.columns, strict=True)
            )
        )
    return tuple(rows)


def _implied(target: WriteTarget, context: Context) -> list[int]:
    """The columns that an INSERT without a column list gives values for: in SQLite the generated ones are not among
    them."""
    columns, fills = target.table.columns, context.dialect.rules.writes.fills_generated_columns
    places = range(len(columns)) if target.shown is None else target.shown
    return [place for place in places if columns[place].generated is None or fills]


def _with_open_identities(table: Table) -> Table:
    """The table as an INSERT sees it that may give values for columns GENERATED ALWAYS AS IDENTITY."""
    columns = [dataclasses.replace(c, identity="") if c.identity == "always" else c for c in table.columns]
    return dataclasses.replace(table, columns=tuple(columns))


_WORDS: dict[str, tuple[str, ...]] = {"ignore": ("ignore",), "or": ("alternative",), "none": ()}
"""INSERT IGNORE, INSERT OR ..."""


def _is_variable(node: exp.Column, context: Context) -> bool:
    name = fold_column(node.this, context.dialect)
    return (node.table, name) in context.qualified if node.table else name in context.variables


def bind_insert(node: Node, context: Context, *, replace: bool = False, overriding: bool = False) -> Insert:
    """INSERT ... VALUES, INSERT ... SELECT and INSERT ... DEFAULT VALUES; with `replace` the REPLACE of that form, with
    `overriding` OVERRIDING SYSTEM VALUE."""
    rules = context.dialect.rules.writes
    only(node, "this", "expression", "default", "returning", "conflict", *_WORDS[rules.insert_alternatives])
    named = node.this
    listed = isinstance(named, exp.Schema) and bool(named.expressions)
    if isinstance(named, exp.Schema):
        only(named, "this", "expressions")
        columns = list(named.expressions)
        named = named.this
    else:
        columns = []
    target = write_target(named, context)
    if overriding:
        target = dataclasses.replace(target, table=_with_open_identities(target.table))
    table = target.table
    positions = [column_position(item, table, context) for item in columns] if listed else _implied(target, context)
    if len(set(positions)) < len(positions):
        state = rules.repeated_column_error
        if state is None:
            raise Unsupported("column specified twice")
        raise SqlError(state, "column specified more than once")
    body = node.args.get("expression")
    row_alias = body.args.get("alias") if isinstance(body, exp.Values) else None
    if row_alias is not None:
        if not rules.insert_row_alias:
            raise Unsupported("a row alias")
        only(row_alias, "this")
    conflict = bind_conflict(node, target, context, row_alias, replace)
    if node.args.get("default"):
        if body is not None or listed:
            raise Unsupported("DEFAULT VALUES with columns")
        row = tuple(given_default(column, context) for column in table.columns)
        return Insert(table.name, (row,), None, (), _returning(node, target, context), conflict)
    if isinstance(body, exp.Values):
        missing = None if conflict is None else "INSERT with a conflict clause"
        fills = any(one.before and "insert" in one.events for one in context.catalog.triggers.get(table.name, ()))
        if fills or context.qualified:  # what stands in a trigger may fire one that is read after it
            missing = "INSERT beside a trigger"
        binder = Binder(context, Scope(lenient=rules.values_see_columns), "VALUES")
        rows = _values_rows(body, table, positions, listed, binder, missing)
        all_rows = None
        if context.listing is not None:
            all_rows = bind_listed(context.listing, body, rows, positions, table, binder)
            rows = all_rows.one_of_each()
        return Insert(table.name, rows, None, (), _returning(node, target, context), conflict, all_rows)
    if body is None:
        raise Unsupported("INSERT from something else than VALUES or a query")
    query = bind_query(body, context, [table.columns[place].type for place in positions])
    _check_count(len(query.outputs), positions, listed, context)
    row_of: dict[int, Expr] = {}
    for place, output in enumerate(query.outputs):
        column = table.columns[positions[place]]
        source = Column(place, output.expression.type, output.name)
        if column.generated is not None:
            row_of[positions[place]] = generated_value(exp.Null(), column, context.dialect)
            continue
        stored = assign(source, column.type, context, f"column {column.name!r}")
        row_of[positions[place]] = given_value(column, stored, context.dialect)
    from_query = tuple(
        row_of[place] if place in row_of else given_default(column, context, otherwise="INSERT ... SELECT")
        for place, column in enumerate(table.columns)
    )
    return Insert(table.name, (), query, from_query, _returning(node, target, context), conflict)


def bind_update(node: Node, context: Context) -> Update | JoinedWrite:
    """UPDATE of one table, or of a join."""
    if joins(node):
        return bind_joined_update(node, context)
    rules = context.dialect.rules.writes
    only(node, "this", "expressions", "where", "returning", *(_PICKING if rules.orders_writes else ()))
    target = write_target(node.this, context)
    table, scope = target.table, target.scope(context)
    binder = Binder(context, scope, "UPDATE")
    assignments = bind_assignments(node.expressions, table, target.alias, binder)
    order, limit = _picked(node, scope, context)
    where = target.narrowed(_where(node, scope, context))
    sequential = rules.assigns_in_sequence and not _reads_itself(table, assignments, where, context.dialect)
    return Update(table.name, assignments, where, _returning(node, target, context), sequential, order, limit)


def _reads_itself(table: Table, assignments: Sequence[tuple[int, Expr]], where: Expr | None, dialect: Dialect) -> bool:
    """Whether subqueries look at the table that is updated. MariaDB runs such an UPDATE as one of several tables, whose
    values are all of the old row; a query in FROM that it does not merge is none of them. Raises Unsupported where that
    is not told."""
    met = set(_met((tuple(expr for _, expr in assignments), where), table.name)) if len(assignments) > 1 else set()
    if met == {True}:
        raise Unsupported(f"a subquery on the table that is written to in {dialect.name}")
    return bool(met)


def _met(node: object, table: str) -> Iterator[bool]:
    """For each place where a node looks at a table whether that is in a query in FROM."""
    if isinstance(node, BaseTable) and node.name == table:
        yield False
    within = isinstance(node, Derived | CommonTable)
    for part in fields_of(node):
        for found in _met(part, table):
            yield found or within


def bind_delete(node: Node, context: Context) -> Delete | JoinedWrite:
    """DELETE from one table, or from a join."""
    if joins(node):
        return bind_joined_delete(node, context)
    only(node, "this", "where", "returning", *(_PICKING if context.dialect.rules.writes.orders_writes else ()))
    target = write_target(node.this, context)
    scope = target.scope(context)
    order, limit = _picked(node, scope, context)
    where = target.narrowed(_where(node, scope, context))
    return Delete(target.table.name, where, _returning(node, target, context), order, limit)


_PICKING = ("order", "limit")


def _picked(node: Node, scope: Scope, context: Context) -> tuple[tuple[OrderKey, ...], Expr | None]:
    """MySQL's ORDER BY and LIMIT of an UPDATE or DELETE."""
    keys: list[OrderKey] = []
    order, limit = node.args.get("order"), node.args.get("limit")
    if order is not None:
        only(order, "expressions")
        binder = Binder(context, scope, "ORDER BY")
        for item in order.expressions:
            only(item, "this", "desc", "nulls_first")
            if isinstance(item.this, exp.Literal):
                raise Unsupported("constant in ORDER BY")
            key = sorted_digits(binder.typed(item.this), context)
            keys.append(OrderKey(key, None, bool(item.args.get("desc")), not item.args.get("desc")))
    if limit is None:
        return tuple(keys), None
    only(limit, "expression")
    count = settle(Binder(context, scope, "LIMIT").expr(limit.expression), BIGINT, context)
    if not isinstance(count, Const | Param | Variable) or count.type.kind not in INTEGER_KINDS:
        raise Unsupported("LIMIT of an expression")
    return tuple(keys), count


def bind_truncate(node: Node, context: Context) -> Truncate:
    """TRUNCATE. MySQL's commits, so that it cannot stand in a transaction.

    PostgreSQL refuses a table that another one refers to, rows or none, unless that one is truncated too (CASCADE).
    Numbers that start again are not modelled.
    """
    form = context.dialect.rules.writes.truncate
    if form == "none":
        raise Unsupported(f"TRUNCATE in {context.dialect.name}")
    only(node, "expressions", "identity", "option")
    names = [aliased_table(item, context)[0].name for item in node.expressions]
    if form == "alone" and (len(names) != 1 or node.args.get("identity") or node.args.get("option")):
        raise Unsupported(f"TRUNCATE of several tables in {context.dialect.name}")
    listed = list(dict.fromkeys(names))
    for name in listed:
        for child, _ in context.catalog.references_to(name):
            if child.name in listed:
                continue
            if form == "alone":
                raise Unsupported("TRUNCATE of a table that a foreign key refers to")
            if str(node.args.get("option")).upper() != "CASCADE":
                text = f"cannot truncate {name!r}, which a foreign key of {child.name!r} refers to"
                raise SqlError("0A000", text)
            listed.append(child.name)
    columns = [column for name in listed for column in context.catalog.tables[name].columns]
    if str(node.args.get("identity")).upper() == "RESTART" and any(map(_is_numbered, columns)):
        raise Unsupported("TRUNCATE RESTART IDENTITY of numbered rows")
    return Truncate(tuple(listed))


def _is_numbered(column: TableColumn) -> bool:
    return isinstance(column.default, Free)


def _where(node: Node, scope: Scope, context: Context) -> Expr | None:
    clause = node.args.get("where")
    if clause is None:
        return None
    only(clause, "this")
    return Binder(context, scope, "WHERE").condition(clause.this)
