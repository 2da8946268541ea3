"""``unnest(array, ...)`` in FROM, and alone in a select list (PostgreSQL 7.2.1.4, 9.19), and ``jsonb_to_recordset``
(9.16), which makes rows of one text as well.

An array is written out, a parameter that is a list, or a parameter whose text is read as an array when the statement
runs. Does not know arrays in columns.
"""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions.arrays import array_items
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, Shape
from sql_semantics.frontend.queries.items import Item, named_item
from sql_semantics.frontend.text.dialects import cast_type, fold_column, fold_table, sql_type
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import settle, settle_alone, unify
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.queries import Derived, OutputColumn, Unnest
from sql_semantics.values.types import BIGINT, TEXT, Kind, SqlType


def bind_unnest(node: Node, context: Context) -> Item:
    """The FROM item. Raises Unsupported for arrays of columns."""
    only(node, "expressions", "alias", "offset")
    if context.dialect.name != "postgres":
        raise Unsupported("function unnest() in FROM")
    binder = Binder(context, Scope(), "FROM")
    arrays: list[tuple[Expr, ...]] = []
    types: list[SqlType] = []
    texts: set[int] = set()
    for place, array in enumerate(node.expressions):
        items, type_, text = _array(binder, array)
        arrays.append(items)
        types.append(type_)
        if text:
            texts.add(place)
    offset, alias = node.args.get("offset"), node.args.get("alias")
    names = ["unnest"] * len(arrays)
    if alias is not None and alias.this is not None and len(arrays) == 1:
        names = [fold_table(alias.this, context.dialect)]  # the one column is named like the item
    if offset:
        types.append(BIGINT)
        names.append(fold_column(offset, context.dialect) if isinstance(offset, exp.Identifier) else "ordinality")
    outputs = tuple(
        OutputColumn(name, Column(place, type_, name))
        for place, (name, type_) in enumerate(zip(names, types, strict=True))
    )
    query = Unnest(tuple(arrays), frozenset(texts), bool(offset), outputs)
    return named_item(Derived(query, False), Shape(tuple(names), tuple(types)), alias, "unnest", context)


RECORDS = frozenset({"jsonb_to_recordset", "json_to_recordset"})


def bind_records(node: Node, context: Context) -> Item:
    """``jsonb_to_recordset(text) AS t (column type, ...)``. Raises Unsupported for another argument than a literal or a
    parameter."""
    only(node, "this", "alias")
    alias = node.args.get("alias")
    columns = [] if alias is None else alias.args.get("columns") or []
    if context.dialect.name != "postgres" or alias is None or not columns or len(node.this.expressions) != 1:
        raise Unsupported("table function in FROM")
    names: list[str] = []
    types: list[SqlType] = []
    for column in columns:
        if not isinstance(column, exp.ColumnDef) or not isinstance(column.args.get("kind"), exp.DataType):
            raise Unsupported("jsonb_to_recordset() with columns of no type")
        only(column, "this", "kind")
        names.append(fold_column(column.this, context.dialect))
        types.append(sql_type(column.args["kind"], context.dialect))
        if types[-1].padded or types[-1].length is not None or types[-1].kind in (Kind.JSON, Kind.BOOLEAN):
            raise Unsupported(f"jsonb_to_recordset() with a column of type {types[-1]}")
    argument = node.this.expressions[0]
    while isinstance(argument, exp.Paren) or (
        isinstance(argument, exp.Cast) and argument.to.this in (exp.DataType.Type.JSON, exp.DataType.Type.JSONB)
    ):
        argument = argument.this
    if not isinstance(argument, (exp.Literal, exp.Placeholder)):
        raise Unsupported("jsonb_to_recordset() of a computed value")
    text = settle(Binder(context, Scope(), "FROM").expr(argument), TEXT, context)
    if text.type.kind is not Kind.TEXT:
        raise Unsupported("jsonb_to_recordset() of something else than a text")
    outputs = tuple(
        OutputColumn(name, Column(place, type_, name))
        for place, (name, type_) in enumerate(zip(names, types, strict=True))
    )
    query = Unnest(((text,),), frozenset(), False, outputs, tuple(names))
    plain = alias.copy()
    plain.set("columns", None)
    return named_item(Derived(query, False), Shape(tuple(names), tuple(types)), plain, "recordset", context)


def _array(binder: Binder, node: Node) -> tuple[tuple[Expr, ...], SqlType, bool]:
    """The items of an array, their type, and whether it is one text that holds them."""
    context = binder.context
    while isinstance(node, exp.Paren):
        node = node.this
    written = node.args["to"] if isinstance(node, exp.Cast) else None
    inner = node.this if written is not None else node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    of: SqlType | None = None
    if written is not None:
        if written.this != exp.DataType.Type.ARRAY or len(written.expressions) != 1:
            raise Unsupported("a cast to something else than an array")
        of = cast_type(written.expressions[0], context.dialect)
    if isinstance(inner, exp.Placeholder) and not context.parameters.is_array(str(inner.this or "?")):
        if of is None:
            raise Unsupported("unnest() of a parameter that is no list")
        given = settle(binder.expr(inner), TEXT, context)
        if given.type.kind is not Kind.TEXT:
            raise Unsupported("unnest() of a parameter that is no list")
        return (given,), of, True
    items = array_items(binder, node)
    if of is None:
        items, of = unify(items, context, "ARRAY")
    return tuple(settle_alone(item, context) for item in items), of, False


def moved_to_from(node: exp.Select) -> exp.Select:
    """``SELECT unnest(a), unnest(b)`` as the query over both arrays that it means; any other query as it is."""
    items = [item.this if isinstance(item, exp.Alias) else item for item in node.expressions]
    if not items or not all(isinstance(item, exp.Explode) for item in items):
        return node
    if {key for key, value in node.args.items() if value} - {"expressions", "kind"}:
        return node
    moved = exp.Select(expressions=[], from_=None)
    arrays = [item.this.copy() for item in items]
    names = [exp.to_identifier(f"unnest_{place}") for place in range(len(arrays))]
    alias = exp.TableAlias(this=exp.to_identifier("unnest"), columns=names)
    moved.set("from_", exp.From(this=exp.Unnest(expressions=arrays, alias=alias)))
    for item, name in zip(node.expressions, names, strict=True):
        shown = item.args["alias"] if isinstance(item, exp.Alias) else exp.to_identifier("unnest")
        moved.append("expressions", exp.Alias(this=exp.Column(this=name.copy()), alias=shown.copy()))
    return moved
