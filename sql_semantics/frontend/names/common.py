"""WITH: common tables, plain and recursive (PostgreSQL 7.8, MySQL 15.2.20). Does not know the query below.

A WITH item that nothing refers to is bound, but never evaluated. MATERIALIZED has no effect on what is read.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.names.scope import Common, Context, Shape
from sql_semantics.frontend.queries.items import renamed, shape_of
from sql_semantics.frontend.text.dialects import fold_table
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.queries import CommonScan, CommonTable, Query, Select, Source, WorkingTable, WrittenTable
from sql_semantics.ir.walks.correlation import reads_outside
from sql_semantics.ir.walks.traverse import query_can_raise
from sql_semantics.values.types import INTEGER_KINDS


def with_common(node: Node, context: Context, *, top: bool = False) -> Context:
    """The context in which the rest of a statement with a WITH clause is bound. `top`: items may write."""
    from sql_semantics.frontend.writes.together import bind_written  # writes have WITH items

    clause = node.args.get("with_")
    if clause is None:
        return context
    only(clause, "expressions", "recursive")
    rules = context.dialect.rules.text
    recursive = bool(clause.args.get("recursive")) or rules.common_always_recursive
    own: set[str] = set()
    names = [_name(item, context) for item in clause.expressions]
    for place, item in enumerate(clause.expressions):
        only(item, "this", "alias", "materialized")
        if item.args.get("materialized") is not None and not rules.common_materialized:
            raise Unsupported(f"MATERIALIZED in {context.dialect.name}")
        name = names[place]
        writes = not isinstance(item.this, (exp.Select, exp.SetOperation, exp.Values, exp.Subquery))
        if writes:
            _check_writing(item, name, recursive, top, context)
        if name in own:
            message = f"WITH query name {name!r} specified more than once"
            state = rules.repeated_common_error
            raise Unsupported(message) if state is None else SqlError(state, message)
        own.add(name)
        later = names[place + 1 :]
        if recursive and any(_mentions(item.this, other, context) for other in later):
            raise Unsupported("WITH item that reads a later one")
        common = bind_written(item, name, context) if writes else _common(item, name, recursive, context)
        if not rules.common_sees_outside and reads_outside(common.table):
            raise Unsupported(f"an outer column in a WITH item in {context.dialect.name}")  # MariaDB does not find it
        context = replace(context, common={**context.common, name: common})
    if rules.unused_common_left_out and len(names) > 1:
        _check_unused(node, clause, names, context)
    return context


def _check_writing(item: Node, name: str, recursive: bool, top: bool, context: Context) -> None:
    """Where an item may write. Raises SqlError and Unsupported."""
    written = isinstance(item.this, (exp.Insert, exp.Update, exp.Delete, exp.Merge))
    if not context.dialect.rules.text.common_writes or not written:
        raise Unsupported("WITH item that changes data")
    if not top:
        raise SqlError("0A000", "WITH clause containing a data-modifying statement must be at the top level")
    if recursive and _mentions(item.this, name, context):
        raise Unsupported("WITH item that changes data under RECURSIVE, beside a table of its own name")


def _check_unused(node: Node, clause: Node, names: list[str], context: Context) -> None:
    """PostgreSQL leaves out a WITH item that nothing mentions, but plans what that one mentions, with its errors.
    Raises Unsupported for such an item that may have one."""
    rest = [part for key, value in node.args.items() if key != "with_" for part in _parts(value)]
    used = {name for name in names if isinstance(context.common[name].table, WrittenTable)}
    for place in range(len(names) - 1, -1, -1):
        name, later = names[place], clause.expressions[place + 1 :]
        readers = [names[place + 1 + i] for i, item in enumerate(later) if _mentions(item.this, name, context)]
        if any(_mentions(part, name, context) for part in rest) or not used.isdisjoint(readers):
            used.add(name)
        elif readers and _can_raise(context.common[name].table):
            raise Unsupported("a WITH item that only an unused one reads")


def _can_raise(table: CommonTable | WorkingTable | WrittenTable) -> bool:
    if not isinstance(table, CommonTable):
        return False
    return query_can_raise(table.query) or (table.step is not None and query_can_raise(table.step))


def _parts(value: object) -> list[Node]:
    """The trees in a field of a tree."""
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, exp.Expression)]


def _name(item: Node, context: Context) -> str:
    alias = item.args["alias"]
    only(alias, "this", "columns")
    return fold_table(alias.this, context.dialect)


def _mentions(node: Node, name: str, context: Context) -> list[Node]:
    """The tables of that name in a query."""
    return [
        table
        for table in node.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
        and not table.args.get("db")
        and fold_table(table.this, context.dialect) == name
    ]


def _common(item: Node, name: str, recursive: bool, context: Context) -> Common:
    from sql_semantics.frontend.queries.compound import bind_query  # queries have WITH items

    columns = item.args["alias"].args.get("columns") or []
    exactly = context.dialect.rules.text.common_names_all
    if recursive and _mentions(item.this, name, context):
        return _recursive(item.this, columns, name, context)
    query = bind_query(item.this, context)
    shape = renamed(shape_of(query), columns, name, context, exactly=exactly)
    return Common(CommonTable(name, query), _named(shape, name, context), context.level)


def _named(shape: Shape, name: str, context: Context) -> Shape:
    if len(set(shape.names)) < len(shape.names) and not context.dialect.rules.text.common_repeats_columns:
        raise Unsupported(f"WITH item {name} with two columns of one name")
    return shape


def _recursive(node: Node, columns: list[Node], name: str, context: Context) -> Common:
    from sql_semantics.frontend.queries.compound import bind_query, matched, over  # queries have WITH items

    dialect = context.dialect
    if not isinstance(node, exp.Union) or _mentions(node.this, name, context) or node.args.get("with_") is not None:
        raise Unsupported(f"recursive query {name} that is no UNION of a non-recursive and a recursive term")
    only(node, "this", "expression", "distinct")
    initial = bind_query(node.this, context)
    exactly, types = dialect.rules.text.common_names_all, dialect.rules.types
    shape = _named(renamed(shape_of(initial), columns, name, context, exactly=exactly), name, context)
    working = WorkingTable(name)
    inside = replace(context, common={**context.common, name: Common(working, shape, context.level)})
    if len(_mentions(node.expression, name, context)) != 1:
        raise Unsupported(f"recursive query {name} with several references to itself")
    step = bind_query(node.expression, inside, loose=True)
    _check_step(step, working, name)
    first, step, left_items, right_items = matched(initial, step, context, "UNION")
    plain = [Column(place, output.expression.type, output.name) for place, output in enumerate(first.outputs)]
    for place, item in enumerate(left_items):
        integers = types.values_have_classes and {item.type.kind, plain[place].type.kind} <= INTEGER_KINDS
        if not integers and (item.type.kind is not plain[place].type.kind or item != plain[place]):
            message = f"recursive query {name!r} column {place + 1} has another type overall"
            raise SqlError("42804", message) if types.mismatch_is_error else Unsupported(message)
    if any(
        not isinstance(item, Column) or item.type != column.type
        for item, column in zip(right_items, plain, strict=True)
    ):
        step = over(step, right_items)
    return Common(CommonTable(name, first, step, working, not node.args.get("distinct")), shape, context.level)


def _check_step(step: Query, working: WorkingTable, name: str) -> None:
    """The recursive term must read the rows of the last round row by row, or products differ in what it means."""
    simple = (
        isinstance(step, Select)
        and step.groups is None
        and not (step.distinct or step.order)
        and step.limit is None
        and step.offset is None
    )
    if not isinstance(step, Select) or not simple:
        raise Unsupported(f"recursive query {name} whose recursive term is no plain SELECT")
    for source in step.sources:
        if _is_working(source, working):
            if source.kind not in ("cross", "inner"):
                break
        elif source.kind in ("right", "full"):
            break
    else:
        if any(_is_working(source, working) for source in step.sources):
            return
    raise Unsupported(f"recursive query {name} that reads itself in a subquery or an outer join")


def _is_working(source: Source, working: WorkingTable) -> bool:
    return isinstance(source.relation, CommonScan) and source.relation.table is working
