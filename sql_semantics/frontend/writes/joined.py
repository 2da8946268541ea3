"""Writes that join: UPDATE ... FROM, DELETE ... USING, MySQL's UPDATE and DELETE of several tables.

All become a FROM list whose stored tables carry their rows' identities, and targets in it (PostgreSQL UPDATE and
DELETE, MySQL 15.2.2 and 15.2.17, SQLite lang_update). Does not know which rows are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unreadable, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, resolve
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.frontend.queries.query import output_columns
from sql_semantics.frontend.queries.sources import bind_sources
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.writes.assignments import bind_assigned, column_assignments
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.queries import Identified, OutputColumn, Source
from sql_semantics.ir.schema import Table
from sql_semantics.ir.statements import JoinedWrite, Target


def bind_joined_update(node: Node, context: Context) -> JoinedWrite:
    """``UPDATE t SET ... FROM u`` or MySQL's ``UPDATE t JOIN u SET ...``."""
    only(node, "this", "expressions", "from_", "where", "returning")
    lists = context.dialect.rules.writes.writes_several_tables
    clause = node.args.get("from_")
    if (clause is not None) is lists:
        raise Unsupported("UPDATE ... FROM" if lists else "UPDATE of several tables")
    others = []
    if clause is not None:
        only(clause, "this")
        others.append(clause.this)
    sources, scope = _sources(node.this, others, context)
    binder = Binder(context, scope, "UPDATE")
    where = _where(node, binder)
    tables = _stored(sources, context)
    if lists:
        _refuse_returning(node)
        return JoinedWrite(sources, where, _targets(node.expressions, tables, binder), False)
    first = tables[sources[0].alias][1]
    assignments: list[tuple[int, Expr]] = []
    for place, value in column_assignments(node.expressions, first, sources[0].alias, context):
        assignments.append((place, bind_assigned(value, first.columns[place], binder)))
    target = Target(first.name, 0, tuple(assignments))
    return JoinedWrite(sources, where, (target,), False, _returning(node, scope, sources[0].alias, first, context))


def bind_joined_delete(node: Node, context: Context) -> JoinedWrite:
    """``DELETE FROM t USING u``, or MySQL's ``DELETE t, u FROM ...`` and ``DELETE FROM t, u USING ...``."""
    only(node, "this", "using", "tables", "where", "returning")
    if not isinstance(node.this, exp.Table):
        raise Unreadable("DELETE without FROM")
    using, named = node.args.get("using"), node.args.get("tables")
    rules = context.dialect.rules.writes
    if not rules.writes_several_tables:
        if named or not rules.delete_using:
            raise Unsupported("DELETE of several tables")
        sources, scope = _sources(node.this, list(using or ()), context)
        binder = Binder(context, scope, "DELETE")
        table = _stored(sources, context)[sources[0].alias][1]
        returning = _returning(node, scope, sources[0].alias, table, context)
        return JoinedWrite(sources, _where(node, binder), (Target(table.name, 0),), True, returning)
    if using:
        if named:
            raise Unsupported("DELETE with both FROM and USING")
        named = [node.this, *(join.this for join in node.this.args.get("joins") or ())]
        if any(set(join.args) - {"this"} for join in node.this.args.get("joins") or ()):
            raise Unsupported("DELETE FROM a join USING another")
        sources, scope = _sources(using[0], list(using[1:]), context)
    else:
        sources, scope = _sources(node.this, [], context)
    tables = _stored(sources, context)
    targets = []
    if not named:
        raise Unreadable("DELETE FROM a join without the tables to delete from")
    for item in named or ():
        alias = _target_name(item, context)
        if alias not in tables and any(source.alias == alias for source in sources):
            raise Unsupported("write to a view or a derived table")
        if alias not in tables:
            raise SqlError("42S02", f"unknown table {alias!r} in MULTI DELETE")
        source, table = tables[alias]
        targets.append(Target(table.name, source.offset))
    if len(set(targets)) < len(targets):
        raise Unsupported("one item twice among the targets of one statement")
    _refuse_returning(node)
    binder = Binder(context, scope, "DELETE")
    return JoinedWrite(sources, _where(node, binder), tuple(targets), True)


def _target_name(item: Node, context: Context) -> str:
    if not isinstance(item, exp.Table):
        raise Unsupported("DELETE of something else than tables")
    only(item, "this", "joins")
    name = fold_table(item.this, context.dialect)
    if name.upper() in ("LOW_PRIORITY", "QUICK", "IGNORE"):
        raise Unsupported(f"DELETE {name.upper()}")
    return name


def _sources(first: Node, others: Sequence[Node], context: Context) -> tuple[tuple[Source, ...], Scope]:
    """The target and the other items as one FROM list; joins of an item follow it."""
    items = [first, *others]
    head, *rest = (item.copy() for item in items)
    joins = list(head.args.pop("joins", None) or ())
    for item in rest:
        inner = item.args.pop("joins", None) or ()
        joins += [exp.Join(this=item), *inner]
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=head), joins=joins)
    sources, scope = bind_sources(query, context, identified=True)
    several = context.dialect.rules.writes.writes_several_tables
    if not several and not isinstance(sources[0].relation, Identified):
        raise Unsupported("write to a view")
    return sources, scope


def _stored(sources: Sequence[Source], context: Context) -> Mapping[str, tuple[Source, Table]]:
    """The stored tables among the sources, by alias."""
    return {
        source.alias: (source, context.catalog.tables[source.relation.name])
        for source in sources
        if isinstance(source.relation, Identified)
    }


def _targets(nodes: Sequence[Node], tables: Mapping[str, tuple[Source, Table]], binder: Binder) -> tuple[Target, ...]:
    """MySQL's SET over several tables; in what order the assignments are made is not defined there."""
    context = binder.context
    found: dict[str, list[tuple[int, Expr]]] = {}
    written: set[int] = set()
    for item in nodes:
        if not isinstance(item, exp.EQ) or not isinstance(item.this, exp.Column):
            raise Unsupported("assignment of something else than a value to a column")
        only(item, "this", "expression")
        only(item.this, "this", "table")
        qualifier = item.this.args.get("table")
        name = fold_column(item.this.this, context.dialect)
        column = resolve(
            binder.scope, name, None if qualifier is None else fold_table(qualifier, context.dialect), context
        )
        owner = None
        if isinstance(column, Column):
            owner = next(
                (a for a, (s, t) in tables.items() if s.offset <= column.index < s.offset + len(t.columns)), None
            )
        if owner is None or not isinstance(column, Column):
            raise Unsupported("write to a view or a derived table")
        source, table = tables[owner]
        place = column.index - source.offset
        if column.index in written:
            raise Unsupported(f"two assignments to column {name}")
        written.add(column.index)
        found.setdefault(owner, []).append((place, bind_assigned(item.expression, table.columns[place], binder)))
    for alias, assignments in found.items():
        if any(column.on_update is not None for column in tables[alias][1].columns):
            raise Unsupported("UPDATE of several tables with a column ON UPDATE")
        for place, expression in assignments:
            read = {column.index for column in columns_of(expression)}
            if read & (written - {tables[alias][0].offset + place}):
                raise Unsupported("an assignment that reads a column which the same UPDATE of several tables sets")
    targets = tuple(Target(tables[a][1].name, tables[a][0].offset, tuple(items)) for a, items in found.items())
    _refuse_same_table(targets)
    return targets


def _refuse_same_table(targets: Sequence[Target]) -> None:
    if len({target.table for target in targets}) < len(targets):
        raise Unsupported("a table twice among the targets of one statement")


def _where(node: Node, binder: Binder) -> Expr | None:
    clause = node.args.get("where")
    if clause is None:
        return None
    only(clause, "this")
    return Binder(binder.context, binder.scope, "WHERE").condition(clause.this)


def _refuse_returning(node: Node) -> None:
    if node.args.get("returning") is not None:
        raise Unsupported("RETURNING in MySQL")


def _returning(node: Node, scope: Scope, alias: str, table: Table, context: Context) -> tuple[OutputColumn, ...] | None:
    """PostgreSQL's RETURNING sees all items, the others' only the target."""
    clause = node.args.get("returning")
    if clause is None:
        return None
    only(clause, "expressions")
    for column in clause.find_all(exp.Column):
        if column.args.get("table") is not None and column.args["table"].name.lower() in ("old", "new"):
            raise Unsupported("OLD and NEW in RETURNING of a write that joins")
    if not context.dialect.rules.writes.returning_sees_joined:
        scope = Scope()
        scope.add(alias, table, context.dialect)
    return output_columns(clause.expressions, Binder(context, scope, "RETURNING"))[0]


def joins(node: Node) -> bool:
    """Whether an UPDATE or DELETE names more than the table that it writes to."""
    first = node.this
    inner = isinstance(first, exp.Table) and bool(first.args.get("joins"))
    return inner or any(node.args.get(key) for key in ("from_", "using", "tables"))
