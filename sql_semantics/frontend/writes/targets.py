"""Writes with queries in them: WITH above a write, subqueries that read its target. Does not know what is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.common import with_common
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.ir.expressions import Subquery
from sql_semantics.ir.queries import BaseTable, Derived
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Merge, Statement, Update
from sql_semantics.ir.walks.correlation import reads_outside, subqueries_read_row
from sql_semantics.ir.walks.effects import reached_by_calls
from sql_semantics.ir.walks.own_target import OWN_TARGET, finds_before, reads
from sql_semantics.values.identifiers import lowered


def below_with(tree: Node, context: Context, *, top: bool = False) -> tuple[Node, Context]:
    """A write without the WITH clause above it, and the context with its items. `top`: they may write themselves."""
    if not isinstance(tree, (exp.Insert, exp.Update, exp.Delete, exp.Merge)) or tree.args.get("with_") is None:
        return tree, context
    if not context.dialect.rules.writes.with_before_insert and isinstance(tree, exp.Insert):
        raise Unsupported(f"WITH before INSERT in {context.dialect.name}")
    context = with_common(tree, context, top=top)
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    dialect = context.dialect
    common = {lowered(name, dialect) for name in context.common}
    if isinstance(target, exp.Table) and lowered(target.name, dialect) in common:
        raise Unsupported("write to a table of a WITH item's name")
    tree = tree.copy()
    tree.set("with_", None)
    return tree, context


def check_reads(statement: Statement, context: Context) -> None:
    """MySQL and MariaDB differ in which subqueries may read the table that a statement writes to (error 1093); SQLite's
    UPDATE and DELETE may show a subquery the rows that they have written already. What that does to assigned values is
    seen when it runs: nothing, where it writes one row."""
    sees = context.dialect.rules.writes.own_target
    if sees == "writes show" and isinstance(statement, Update | Delete):
        where, target = statement.where, statement.table
        before = where is None or context.dialect.finds_rows_first or finds_before(where, target)
        finds_all = isinstance(statement, Delete) and subqueries_read_row(where)
        if not (before or finds_all) or reads(statement.returning, target):
            raise Unsupported(OWN_TARGET)
        return
    if isinstance(statement, Insert) and statement.conflict is not None:
        answered = _nodes(statement.returning or (), True)
        if any(isinstance(part, BaseTable) and part.name == statement.table for part in answered):
            # it is evaluated row by row, and must not see the rows before
            raise Unsupported("a subquery on the target in RETURNING of an INSERT with a conflict clause")
    match statement:
        case Insert(table=table) | Update(table=table) | Delete(table=table) | Merge(table=table):
            targets = {table}
        case JoinedWrite(targets=written):
            targets = {target.table for target in written}
        case _:
            return
    if sees == "functions see writes":
        _check_functions(statement, targets, context)
    if sees != "by product":
        return
    parts = statement.rows if isinstance(statement, Insert) else statement
    # Not even a view of a target may be read in a write to several tables (error 1443); where a derived table reads it
    # MariaDB goes through the rows twice, and then an assignment does not see the one before it. A later row of VALUES
    # sees those before it.
    alone = context.dialect.reads_own_target and isinstance(statement, Update | Delete)
    views = isinstance(statement, JoinedWrite)
    views = views or (isinstance(statement, Update) and len(statement.assignments) > 1)
    views = views or (isinstance(statement, Insert) and len(statement.rows) > 1)
    for part in _nodes(parts):
        if isinstance(part, Subquery) and any(
            isinstance(inner, BaseTable) and inner.name in targets for inner in _nodes(part.query, views)
        ):
            if alone and not reads_outside(part):
                continue  # evaluated once, before any row is changed
            raise Unsupported(f"a subquery on the table that is written to in {context.dialect.name}")


def _check_functions(statement: Statement, targets: set[str], context: Context) -> None:
    """A VOLATILE function sees what the statement that calls it has written so far (PostgreSQL 36.7)."""
    for procedure in reached_by_calls(statement, context.catalog):
        if any(isinstance(part, BaseTable) and part.name in targets for part in _nodes(procedure.body, True)):
            raise Unsupported(f"a call of {procedure.name}, which reads the table that is written to")


def _nodes(node: object, derived: bool = False) -> Iterator[object]:
    """A node and everything below it; with `derived` also what stands in derived tables, which MySQL reads before."""
    if isinstance(node, tuple):
        for item in node:
            yield from _nodes(item, derived)
    elif is_dataclass(node) and (derived or not isinstance(node, Derived)):
        yield node
        for field in fields(node):
            yield from _nodes(getattr(node, field.name), derived)
