"""What an INSERT, UPDATE or DELETE writes to: a table, or through a simple view the table below it (PostgreSQL, CREATE
VIEW, "Updatable Views").

A view is simple that shows some columns of one table or simple view, those of some rows, each column once and as it is.
An INSERT may make a row that the view does not show. Does not know what is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.names.tables import aliased_relation, find_table
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.ir.expressions import Binary, Column, Expr
from sql_semantics.ir.queries import BaseTable, Derived, Select
from sql_semantics.ir.schema import Table
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import can_raise, has_queries
from sql_semantics.records import dataclass, replace
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
    found = _simple(table, context) if context.dialect.rules.writes.writes_through_views else None
    if found is None:
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


def _simple(view: Table, context: Context) -> tuple[str, tuple[int, ...], Expr | None] | None:
    """The table's name, the places of the columns that are shown, and the condition on its rows; None for a view that
    is not simple, or has more of its own than a query."""
    query = view.query
    if not isinstance(query, Select) or len(query.sources) != 1:
        return None
    if view.unwritable or view.fires or view.part_of or view.name in context.catalog.transient:
        return None
    relation = query.sources[0].relation
    plain = Select(query.sources, query.where, None, (), None, query.outputs, order=query.order)
    places = [output.expression.index for output in query.outputs if isinstance(output.expression, Column)]
    if query != plain or len(set(places)) < len(query.outputs):
        return None
    if query.where is not None and (has_queries(query.where) or can_raise(query.where)):
        return None
    if isinstance(relation, BaseTable):
        return relation.name, tuple(places), query.where
    if not isinstance(relation, Derived) or not relation.view or relation.lateral:
        return None
    below = _simple(find_table(relation.view, context.catalog.tables, context.dialect), context)
    if below is None:
        return None
    name, shown, narrower = below
    where = None if query.where is None else _below(query.where, shown)
    if where is not None and narrower is not None:
        where = Binary("and", narrower, where, BOOLEAN)
    return name, tuple(shown[place] for place in places), narrower if where is None else where


def _below(condition: Expr, shown: Sequence[int]) -> Expr:
    """A condition on a view's columns as one on the columns of the table below, which are at the places `shown`."""
    if isinstance(condition, Column):
        return replace(condition, index=shown[condition.index])
    return rebuild(condition, lambda part: _below(part, shown))
