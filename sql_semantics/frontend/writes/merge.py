"""MERGE (PostgreSQL 15 and later). Does not know how its rows are joined.

Other products' MERGE, and DuckDB's, whose answers differ from one version to the next, are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unreadable, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, ScopeTable, shifted
from sql_semantics.frontend.names.tables import aliased_table
from sql_semantics.frontend.queries.items import Item, bind_item
from sql_semantics.frontend.queries.query import output_columns
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.writes.assignments import (
    bind_assignments,
    column_position,
    generated_value,
    given_default,
    is_default,
)
from sql_semantics.frontend.writes.identity import given_value
from sql_semantics.frontend.writes.unmodelled import stored_value
from sql_semantics.ir.expressions import Column, Const, Expr
from sql_semantics.ir.queries import BaseTable, Derived, Identified, OutputColumn, Relation, Select, Source
from sql_semantics.ir.schema import Table
from sql_semantics.ir.statements import Merge, When
from sql_semantics.values.types import BOOLEAN, TEXT

_ACTION = "\0action"
"""The column of RETURNING that merge_action() stands for; no SQL text can spell its name."""


def bind_merge(node: Node, context: Context) -> Merge:
    """``MERGE INTO t USING s ON ... WHEN ... [RETURNING ...]``."""
    if not context.dialect.rules.writes.merge:
        raise Unsupported("MERGE")
    only(node, "this", "using", "on", "whens", "returning")
    table, alias = aliased_table(node.this, context)
    item = bind_item(node.args["using"], context, Scope())
    relation, width = _with_presence(item)
    bound = _Scopes(table, alias, item, context)
    whens = tuple(_when(part, bound) for part in node.args["whens"].expressions)
    _check_reachable(whens)
    kinds = {when.kind for when in whens}
    join = "full" if {"target", "source"} <= kinds else "left" if "target" in kinds else "right"
    if kinds == {"both"}:
        join = "inner"
    condition = Binder(context, bound.scope(), "JOIN/ON").condition(node.args["on"])
    target = Source(Identified(table.name), alias, 0, len(table.columns) + 1)
    source = Source(relation, item.alias, bound.offset, width, join, condition)
    return Merge(table.name, (target, source), whens, _returning(node, bound, bound.offset + width))


def _with_presence(item: Item) -> tuple[Relation, int]:
    """The source with one more column, which is never NULL."""
    if isinstance(item.relation, BaseTable):
        return Identified(item.relation.name), item.width + 1
    outputs: list[OutputColumn] = []
    known = {column.index: column for _, column in item.visible if isinstance(column, Column)}
    if sorted(known) != list(range(item.width)):
        raise Unsupported("such a source of a MERGE")
    outputs = [OutputColumn(known[place].name, known[place]) for place in range(item.width)]
    outputs.append(OutputColumn("present", Const(True, BOOLEAN)))
    inner = Source(item.relation, item.alias, 0, item.width)
    return Derived(Select((inner,), None, None, (), None, tuple(outputs))), item.width + 1


class _Scopes:
    """What names stand for in the parts of a MERGE; the source's columns start at `offset`."""

    def __init__(self, table: Table, alias: str, item: Item, context: Context) -> None:
        self.table = table
        self.alias = alias
        self.context = context
        self.offset = len(table.columns) + 1
        self._item = item

    def scope(self, kind: str = "both", versions: int | None = None) -> Scope:
        """The columns of the target, of the source or of both. `versions`: where those of OLD and NEW start, in
        RETURNING, whose star shows the source first."""
        dialect = self.context.dialect
        target, source = Scope(), Scope()
        target.add(self.alias, self.table, dialect)
        source.groups.append([(name, shifted(column, self.offset)) for name, column in self._item.visible])
        for shown in self._item.tables:
            columns = tuple((name, shifted(column, self.offset)) for name, column in shown.columns)
            source.tables.append(ScopeTable(shown.alias, columns, shown.exact))
        scope = Scope(width=self.offset + self._item.width + 1)
        for part in (target,) if kind == "target" else (source,) if kind == "source" else (source, target):
            scope.add_tables(part.tables, dialect)
            scope.groups += part.groups
        if versions is not None:
            for name in ("old", "new"):
                columns = tuple(
                    (column.name, Column(versions + place, column.type, column.name))
                    for place, column in enumerate(self.table.columns)
                )
                if scope.table(name) is None:
                    scope.add_tables([ScopeTable(name, columns, extended=True)], dialect)
                versions += len(columns)
            scope.add_tables([ScopeTable(_ACTION, ((_ACTION, Column(versions, TEXT, "merge_action")),))], dialect)
        return scope


def _when(node: Node, bound: _Scopes) -> When:
    only(node, "matched", "source", "condition", "then")
    kind = "both" if node.args.get("matched") else "target" if node.args.get("source") else "source"
    scope = bound.scope(kind)
    condition: Expr | None = None
    if node.args.get("condition") is not None:
        condition = Binder(bound.context, scope, "MERGE WHEN").condition(node.args["condition"])
    then = node.args["then"]
    if isinstance(then, exp.Var) and str(then.this).upper() == "DO NOTHING":
        return When(kind, "nothing", condition)
    if isinstance(then, exp.Insert) is not (kind == "source"):
        raise SqlError("42601", "an action that such a WHEN clause does not have")
    if isinstance(then, exp.Insert):
        return When(kind, "insert", condition, (), _inserted(then, scope, bound))
    if isinstance(then, exp.Update):
        only(then, "expressions")
        binder = Binder(bound.context, scope, "UPDATE")
        return When(kind, "update", condition, bind_assignments(then.expressions, bound.table, bound.alias, binder))
    if isinstance(then, exp.Var) and str(then.this).upper() == "DELETE":
        return When(kind, "delete", condition)
    raise unsupported(then, "MERGE")


def _inserted(node: Node, scope: Scope, bound: _Scopes) -> tuple[Expr, ...]:
    """One expression per column of the table."""
    only(node, "this", "expression")
    if node.args.get("expression") is False:
        raise Unreadable("INSERT without VALUES in MERGE")
    table, context = bound.table, bound.context
    columns = _items(node.args.get("this"))
    values = _items(node.args.get("expression"))
    if not values and len(columns) == 1 and is_default(columns[0]):
        columns = []  # DEFAULT VALUES
    elif not values:
        raise Unsupported("INSERT without VALUES in MERGE")
    positions = [_position(column, table, context) for column in columns] or list(range(len(table.columns)))
    if len(set(positions)) < len(positions):
        raise SqlError("42701", "column specified more than once")
    if len(values) > len(positions) or (columns and len(values) < len(positions)):
        raise SqlError("42601", "INSERT has another number of expressions than target columns")
    binder = Binder(context, scope, "VALUES")
    row = [given_default(column, context) for column in table.columns]
    for place, value in zip(positions, values, strict=False):
        column = table.columns[place]
        if column.generated is not None:
            row[place] = generated_value(value, column, context.dialect)
        elif not is_default(value):
            stored = stored_value(value, column, binder)
            row[place] = given_value(column, stored, context.dialect)
    return tuple(row)


def _items(node: Node | None) -> list[Node]:
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return [node.this]
    if not isinstance(node, exp.Tuple):
        raise unsupported(node, "MERGE")
    only(node, "expressions")
    return list(node.expressions)


def _position(node: Node, table: Table, context: Context) -> int:
    if not isinstance(node, exp.Column):
        raise unsupported(node, "a column list")
    only(node, "this")
    return column_position(node.this, table, context)


def _check_reachable(whens: Sequence[When]) -> None:
    final: set[str] = set()
    for when in whens:
        if when.kind in final:
            raise SqlError("42601", "unreachable WHEN clause specified after unconditional WHEN clause")
        if when.condition is None:
            final.add(when.kind)


def _returning(node: Node, bound: _Scopes, versions: int) -> tuple[OutputColumn, ...] | None:
    """RETURNING; merge_action() becomes a column."""
    clause = node.args.get("returning")
    if clause is None:
        return None
    only(clause, "expressions")
    items = [
        (exp.alias_(item, "merge_action", quoted=True) if _is_action(item) else item).transform(_named)
        for item in clause.expressions
    ]
    return output_columns(items, Binder(bound.context, bound.scope("both", versions), "RETURNING"))[0]


def _named(node: Node) -> Node:
    return exp.column(_ACTION, _ACTION, quoted=True) if _is_action(node) else node


def _is_action(node: Node) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == "merge_action" and not node.expressions
