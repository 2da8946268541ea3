"""What an INSERT, UPDATE or DELETE writes to: a table, or through a simple view the table below it (PostgreSQL, CREATE
VIEW, "Updatable Views").

A view is simple that shows some columns of one table, those of some rows, each column once and as it is. An INSERT may
make a row that the view does not show. Does not know what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.names.tables import aliased_relation, find_table
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.ir.expressions import Binary, Column, Expr
from sql_semantics.ir.queries import BaseTable, Query, Select
from sql_semantics.ir.schema import Table
from sql_semantics.ir.walks.traverse import can_raise, has_queries
from sql_semantics.values.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The stored `table` and the name `alias` that qualifies its columns.

    Through a view the table has the view's names for the columns at the places `shown`, in the view's order, and no
    names for the others; `where` is which of its rows are shown. None where there is no view.
    """

    table: Table
    alias: str
    shown: Sequence[int] | None = None
    where: Expr | None = None

    def scope(self, context: Context) -> Scope:
        """What a statement sees of a row."""
        scope = Scope()
        scope.add(self.alias, self.table, context.dialect, shown=self.shown)
        return scope

    def narrowed(self, condition: Expr | None) -> Expr | None:
        """The condition of a statement on the rows that it sees, as one on the table's."""
        if self.where is None or condition is None:
            return self.where if condition is None else condition
        return Binary("and", self.where, condition, BOOLEAN)


def write_target(node: Node, context: Context) -> WriteTarget:
    """The table that a node names for writing. Raises Unsupported for a view that is not simple."""
    table, alias = aliased_relation(node, context)
    if table.query is None:
        return WriteTarget(table, alias)
    found = _simple(table.query) if context.dialect.rules.writes.writes_through_views else None
    apart = table.unwritable or table.fires or table.part_of or table.name in context.catalog.transient
    if found is None or apart:
        raise Unsupported("write to a view")
    name, places, where = found
    stored = find_table(name, context.catalog.tables, context.dialect)
    types = [column.type for column in table.columns]
    if stored.query is not None or [stored.columns[place].type for place in places] != types:
        raise Unsupported("write to a view")
    names = {place: column.name for place, column in zip(places, table.columns, strict=True)}
    columns = tuple(replace(c, name=names.get(place, _NO_NAME)) for place, c in enumerate(stored.columns))
    return WriteTarget(replace(stored, columns=columns), alias, places, where)


_NO_NAME = "\0"
"""The name of a column that the view does not show: no identifier has this character."""


def _simple(query: Query) -> tuple[str, tuple[int, ...], Expr | None] | None:
    """The table's name, the places of the columns that are shown, and the condition; None for another query."""
    if not isinstance(query, Select) or len(query.sources) != 1:
        return None
    relation = query.sources[0].relation
    plain = Select(query.sources, query.where, None, (), None, query.outputs, order=query.order)
    places = [output.expression.index for output in query.outputs if isinstance(output.expression, Column)]
    if query != plain or not isinstance(relation, BaseTable) or len(set(places)) < len(query.outputs):
        return None
    if query.where is not None and (has_queries(query.where) or can_raise(query.where)):
        return None
    return relation.name, tuple(places), query.where
