"""WITH items that write, and the statement under them (PostgreSQL 7.8.2). Does not know in which order they run.

All parts of such a statement see the rows as they were before it. Where the order of its parts could show all the same
(a function that reads, a row lock), it is refused here; what only its rows tell is refused when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.common import with_common
from sql_semantics.frontend.names.scope import Common, Context, Shape
from sql_semantics.frontend.queries.items import renamed
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.frontend.writes.merge import bind_merge
from sql_semantics.frontend.writes.targets import below_with, check_reads
from sql_semantics.frontend.writes.write import bind_delete, bind_insert, bind_update
from sql_semantics.ir.queries import BaseTable, Query, Select, WrittenTable
from sql_semantics.ir.statements import RowWrite, Statement, Together
from sql_semantics.ir.walks.effects import routines_in, written_tables
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.ir.walks.traverse import fields_of

_BINDERS: Mapping[type[Node], Callable[[Node, Context], RowWrite]] = {
    exp.Insert: bind_insert,
    exp.Update: bind_update,
    exp.Delete: bind_delete,
    exp.Merge: bind_merge,
}


def has_writing_items(tree: Node) -> bool:
    """Whether an item of the WITH clause at the top of a statement writes."""
    clause = tree.args.get("with_")
    return clause is not None and any(type(item.this) in _BINDERS for item in clause.expressions)


def bind_written(item: Node, name: str, context: Context) -> Common:
    """A WITH item that writes."""
    node, inside = below_with(item.this, context)
    write = _BINDERS[type(node)](node, inside)
    check_reads(write, inside)
    outputs = write.returning or ()
    shape = Shape(
        tuple(output.name for output in outputs),
        tuple(output.expression.type for output in outputs),
        all(output.exact for output in outputs),
    )
    columns = item.args["alias"].args.get("columns") or []
    return Common(WrittenTable(name, write), renamed(shape, columns, name, context, exactly=False), context.level)


def bind_together(tree: Node, context: Context, binder: Callable[[Node, Context], Statement]) -> Together:
    """A statement with such items; `binder` binds what stands under them."""
    if type(tree) in _BINDERS:
        tree, context = below_with(tree, context, top=True)
    else:
        context = with_common(tree, context, top=True)
        tree = tree.copy()
        tree.set("with_", None)
    main = binder(tree, context)
    assert isinstance(main, Query | RowWrite)
    check_reads(main, context)
    tables = [common.table for common in context.common.values()]
    statement = Together(tuple(table for table in tables if isinstance(table, WrittenTable)), main)
    if any(True for _ in routines_in(statement)):
        raise Unsupported("a function beside a WITH item that changes data")
    _check_locks(statement, context)
    return statement


def _check_locks(statement: Together, context: Context) -> None:
    """A row that another part has written by then is not locked, and left out: a locking read is modelled where the
    only part that writes its table is one that reads through it."""
    parts = [(written_tables([part], context.catalog), list(_below(part))) for part in nested(statement)]
    for select in (node for _, nodes in parts for node in nodes if isinstance(node, Select) and node.locking):
        names = {source.relation.name for source in select.sources if isinstance(source.relation, BaseTable)}
        writers = [nodes for written, nodes in parts if names & {name for name, _ in written}]
        if len(writers) > 1 or any(all(node is not select for node in nodes) for nodes in writers):
            raise Unsupported("a locking read beside a WITH item that changes its table")


def _below(node: object) -> Iterator[object]:
    """A node and everything below it, other parts of the statement left out."""
    yield node
    for part in fields_of(node):
        if not isinstance(part, WrittenTable):
            yield from _below(part)
