"""``unnest(array, ...)`` in FROM, and alone in a select list (PostgreSQL 7.2.1.4, 9.19), and ``jsonb_to_recordset``
(9.16), which makes rows of one text as well.

An array is written out, a parameter that is a list, a parameter whose text is read as an array when the statement runs,
or a value, which may be of a column that stands left of it (LATERAL is implied). Does not know how rows are joined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions.arrays import array_items, cast_once, is_written_out, item_of
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, Shape
from sql_semantics.frontend.queries.items import Item, named_item, shape_of, spread
from sql_semantics.frontend.text.dialects import cast_type, fold_column, fold_table, sql_type
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import settle, settle_alone, unify
from sql_semantics.ir.expressions import Column, Expr, Outer
from sql_semantics.ir.queries import Derived, OutputColumn, Source, Unnest
from sql_semantics.ir.walks.correlation import map_outer
from sql_semantics.values.types import BIGINT, TEXT, Kind, SqlType


def bind_unnest(node: Node, context: Context, before: Scope) -> Item:
    """The FROM item; `before` is what stands left of it."""
    only(node, "expressions", "alias", "offset", _WHOLE)
    if not context.dialect.rules.queries.unnest_in_from:
        raise Unsupported("function unnest() in FROM")
    inner = context.inside(before) if before.tables else context
    arrays = [_array(Binder(inner, Scope(outer=inner.outer), "FROM"), array) for array in node.expressions]
    lateral = before.tables != [] and any(_reads_left(array.items) for array in arrays)
    if inner is not context and not lateral:
        arrays = [_array(Binder(context, Scope(outer=context.outer), "FROM"), array) for array in node.expressions]
    types = [array.of for array in arrays]
    texts = frozenset(place for place, array in enumerate(arrays) if array.text)
    values = frozenset(place for place, array in enumerate(arrays) if array.value)
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
    query = Unnest(tuple(array.items for array in arrays), texts, bool(offset), outputs, values=values)
    row = types[0] if len(types) == 1 else None
    if node.args.get(_WHOLE) or not any(type_.kind is Kind.COMPOSITE for type_ in types):
        return named_item(Derived(query, lateral), Shape(tuple(names), tuple(types), row=row), alias, "unnest", context)
    shown = spread(Source(Derived(query), "", 0, len(query.outputs)), query.outputs)
    return named_item(Derived(shown, lateral), replace(shape_of(shown), row=row), alias, "unnest", context)


_WHOLE = "whole"
"""The mark of an unnest() that was moved to FROM: its rows are values."""


RECORDS = frozenset({"jsonb_to_recordset", "json_to_recordset"})


def bind_records(node: Node, context: Context) -> Item:
    """``jsonb_to_recordset(text) AS t (column type, ...)``. Raises Unsupported for another argument than a literal or a
    parameter."""
    only(node, "this", "alias")
    alias = node.args.get("alias")
    columns = [] if alias is None else alias.args.get("columns") or []
    if (
        not context.dialect.rules.queries.json_recordsets
        or alias is None
        or not columns
        or len(node.this.expressions) != 1
    ):
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


@dataclass(frozen=True, slots=True)
class _Given:
    """An array: its items, of type `of`, or one `text` or `value` that holds them."""

    items: tuple[Expr, ...]
    of: SqlType
    text: bool = False
    value: bool = False


def _reads_left(items: tuple[Expr, ...]) -> bool:
    found = False

    def look(outer: Outer, level: int) -> Expr:
        nonlocal found
        found = found or outer.depth == level + 1
        return outer

    map_outer(items, look, 0)
    return found


def _array(binder: Binder, node: Node) -> _Given:
    context = binder.context
    node = cast_once(node)
    if not is_written_out(node):
        value = binder.typed(node)
        return _Given((value,), item_of(value), value=True)
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
        return _Given((given,), of, text=True)
    items = array_items(binder, node)
    if of is None:
        items, of = unify(items, context, "ARRAY")
    if of.kind is Kind.ARRAY:
        raise Unsupported("an array of several dimensions")
    return _Given(tuple(settle_alone(item, context) for item in items), of)


_PLAIN = frozenset({"expressions", "kind", "from_", "joins", "where", "order", "limit", "offset", "with_"})
"""Clauses that are worked off before a select list's rows are multiplied, or after it."""


def moved_to_from(node: exp.Select) -> exp.Select:
    """``SELECT unnest(a), (unnest(b)).* FROM t`` as the query over both arrays beside each row that it means; any other
    query as it is."""
    called = [_unnested(item) for item in node.expressions]
    if not any(called) or {key for key, value in node.args.items() if value} - _PLAIN:
        return node
    inside = [item for item, call in zip(node.expressions, called, strict=True) if call is None]
    inside += [call.this for call in called if call is not None]
    if any(item.find(exp.AggFunc, exp.Window, exp.Explode) for item in inside):
        return node
    moved = node.copy()
    arrays: list[exp.Expr] = []
    names: list[exp.Identifier] = []
    for item in moved.expressions:
        call = _unnested(item)
        if call is None:
            continue
        names.append(exp.to_identifier(f"unnest_{len(arrays)}"))
        arrays.append(call.this.copy())
        value: exp.Expr = exp.Column(this=names[-1].copy())
        if call is item:
            value = exp.Alias(this=value, alias=exp.to_identifier("unnest"))
        call.replace(value)
    name = exp.to_identifier("unnest" if len(inside) == len(arrays) else "unnest_0_")
    alias = exp.TableAlias(this=name, columns=names)
    source = exp.Unnest(expressions=arrays, alias=alias, **{_WHOLE: True})
    if node.args.get("from_") is None:
        moved.set("from_", exp.From(this=source))
    else:
        moved.append("joins", exp.Join(this=source, kind="CROSS"))
    return moved


def _unnested(item: exp.Expr) -> exp.Explode | None:
    """The call of unnest() whose rows an item of a select list shows, or fields of them; None for any other item."""
    while isinstance(item, (exp.Alias, exp.Paren, exp.Dot)):
        item = item.this
    return item if isinstance(item, exp.Explode) else None
