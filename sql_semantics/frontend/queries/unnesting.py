"""``unnest(array, ...)`` in FROM, and alone in a select list (PostgreSQL 7.2.1.4, 9.19), and ``jsonb_to_recordset``
(9.16), which makes rows of one text as well.

An array is written out, a parameter that is a list, a parameter whose text is read as an array when the statement runs,
or a value, which may be of a column that stands left of it (LATERAL is implied). Does not know how rows are joined.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions.arrays import array_items, cast_once, is_written_out, item_of
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, Shape
from sql_semantics.frontend.queries.items import Item, named_item, shape_of, spread
from sql_semantics.frontend.text.dialects import cast_type, fold_column, fold_table, sql_type
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import settle, settle_alone, unify
from sql_semantics.ir.expressions import Case, Cast, Column, Const, Expr, Function, IsNull, Outer
from sql_semantics.ir.queries import Derived, OutputColumn, Source, Unnest
from sql_semantics.ir.walks.correlation import map_outer
from sql_semantics.records import dataclass, replace
from sql_semantics.values.types import BIGINT, JSON, JSONB, TEXT, Kind, SqlType


def bind_unnest(node: Node, context: Context, before: Scope) -> Item:
    """The FROM item; `before` is what stands left of it."""
    only(node, "expressions", "alias", "offset", _WHOLE, _NAMES, _CALLED)
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
    own = list(node.args.get(_NAMES) or ())
    names = own or ["unnest"] * len(arrays)
    if alias is not None and alias.this is not None and len(arrays) == 1 and own[:1] != ["value"]:
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
        shape = Shape(tuple(names), tuple(types), row=row)
        return named_item(Derived(query, lateral), shape, alias, str(node.args.get(_CALLED) or "unnest"), context)
    shown = spread(Source(Derived(query), "", 0, len(query.outputs)), query.outputs)
    return named_item(Derived(shown, lateral), replace(shape_of(shown), row=row), alias, "unnest", context)


_NAMES, _CALLED = "names", "called"
"""The columns' names, and the function's, of a call that `listed` made an unnest()."""
_SERIES = ("generate_series", "generate_subscripts", "string_to_table", "regexp_split_to_table", "regexp_matches")
_LISTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_SERIES, ()),
    **{f"{kind}_array_elements{text}": ("value",) for kind in ("json", "jsonb") for text in ("", "_text")},
    **{f"{kind}_object_keys": () for kind in ("json", "jsonb")},
    **{f"{kind}_each{text}": ("key", "value") for kind in ("json", "jsonb") for text in ("", "_text")},
}
"""Functions that give rows, with the names of their columns; those without one are named like the function."""


def listed(node: Node, context: Context) -> exp.Unnest | None:
    """A call that gives rows as the unnest() of the arrays that hold them; None for any other."""
    if isinstance(node, (exp.ExplodingGenerateSeries, exp.GenerateSeries)):
        only(node, "start", "end", "step")
        name = "generate_series"
        given = [part for key in ("start", "end", "step") if (part := node.args.get(key)) is not None]
    elif isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        name, given = node.this.lower(), list(node.expressions)
    else:
        return None
    if name not in _LISTS or not context.dialect.rules.queries.json_recordsets or name in context.catalog.procedures:
        return None
    names = _LISTS[name] or (name,)
    calls = [f" {name}"]
    if len(names) > 1:
        calls.insert(0, f" {name.split('_')[0]}_object_keys")
    arrays = [exp.Anonymous(this=call, expressions=[part.copy() for part in given]) for call in calls]
    return exp.Unnest(expressions=arrays, **{_NAMES: names, _CALLED: name})


_WHOLE = "whole"
"""The mark of an unnest() that was moved to FROM: its rows are values."""


_KINDS = {
    "jsonb_to_recordset": JSONB, "json_to_recordset": JSON, "jsonb_to_record": JSONB, "json_to_record": JSON,
}  # fmt: skip
RECORDS = frozenset(_KINDS)


def bind_records(node: Node, context: Context, before: Scope) -> Item:
    """``jsonb_to_recordset(value) AS t (column type, ...)``, and ``jsonb_to_record``, which makes one row of one object
    (of NULL: a row of NULLs); `before` as in `bind_unnest`."""
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
        if types[-1].padded or types[-1].length is not None or types[-1].kind in (Kind.JSON, Kind.JSONB):
            raise Unsupported(f"jsonb_to_recordset() with a column of type {types[-1]}")
    name = str(node.this.this).lower()
    inner = context.inside(before) if before.tables else context
    text = _json_text(node.this.expressions[0], Binder(inner, Scope(outer=inner.outer), "FROM"), name)
    lateral = before.tables != [] and _reads_left((text,))
    if inner is not context and not lateral:
        text = _json_text(node.this.expressions[0], Binder(context, Scope(outer=context.outer), "FROM"), name)
    outputs = tuple(
        OutputColumn(name, Column(place, type_, name))
        for place, (name, type_) in enumerate(zip(names, types, strict=True))
    )
    query = Unnest(((text,),), frozenset(), False, outputs, tuple(names))
    plain = alias.copy()
    plain.set("columns", None)
    return named_item(Derived(query, lateral), Shape(tuple(names), tuple(types)), plain, "recordset", context)


def _json_text(node: Node, binder: Binder, name: str) -> Expr:
    """The text of a value of JSON that is to be a list of objects. Raises Unsupported for a value of another type."""
    context, kind = binder.context, _KINDS[name]
    plain = node
    while isinstance(plain, exp.Paren) or (
        isinstance(plain, exp.Cast) and plain.to.this in (exp.DataType.Type.JSON, exp.DataType.Type.JSONB)
    ):
        plain = plain.this
    if isinstance(plain, exp.Literal | exp.Placeholder) and name.endswith("set"):
        text = settle(binder.expr(plain), TEXT, context)
        if text.type.kind is not Kind.TEXT:
            raise Unsupported(f"{name}() of something else than a text")
        return text
    value = settle(binder.expr(node), kind, context)
    if value.type.kind is not kind.kind:
        raise Unsupported(f"{name}() of {value.type}")
    if not name.endswith("set"):
        builds = "json_build_array" if kind is JSON else "jsonb_build_array"
        row = Case(((IsNull(value, False), Cast(Const("{}", TEXT), kind)),), value, kind)
        value = Function(builds, (row,), kind)
    return Cast(value, TEXT)


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


def moved_to_from(node: exp.Select, context: Context) -> exp.Select:
    """``SELECT unnest(a), (unnest(b)).* FROM t`` as the query over both arrays beside each row that it means; any other
    query as it is."""
    called = [_unnested(item, context) for item in node.expressions]
    grouped = bool(node.args.get("group"))
    if not any(called) or {key for key, value in node.args.items() if value} - (_PLAIN | {"group"}):
        return node
    if grouped and not _grouped_by(node, [item for item, call in zip(node.expressions, called, strict=True) if call]):
        return node
    inside = [item for item, call in zip(node.expressions, called, strict=True) if call is None]
    inside += [part for call in called if call is not None for part in _arguments(call)]
    if any(item.find(exp.Window, exp.Explode, exp.ExplodingGenerateSeries) for item in inside):
        return node
    if not grouped and any(item.find(exp.AggFunc) for item in inside):
        return node
    moved = node.copy()
    arrays: list[exp.Expr] = []
    names: list[exp.Identifier] = []
    for item in moved.expressions:
        call = _unnested(item, context)
        if call is None:
            continue
        rows = listed(call, context)
        names.append(exp.to_identifier(f"unnest_{len(arrays)}"))
        arrays.append(call.this.copy() if rows is None else rows.expressions[0])
        value: exp.Expr = exp.Column(this=names[-1].copy())
        if call is item:
            value = exp.Alias(this=value, alias=exp.to_identifier("unnest" if rows is None else rows.args[_CALLED]))
        call.replace(value)
    name = exp.to_identifier("unnest" if len(inside) == len(arrays) else "unnest_0_")
    alias = exp.TableAlias(this=name, columns=names)
    source = exp.Unnest(expressions=arrays, alias=alias, **{_WHOLE: True})
    if node.args.get("from_") is None:
        moved.set("from_", exp.From(this=source))
    else:
        moved.append("joins", exp.Join(this=source, kind="CROSS"))
    return moved


def _grouped_by(node: exp.Select, items: list[exp.Expr]) -> bool:
    """Whether a query groups by each of these items, by its alias or its place."""
    group = node.args["group"]
    if {key for key, value in group.args.items() if value} - {"expressions"}:
        return False
    keys = {str(key.this) if isinstance(key, exp.Literal) else key.name for key in group.expressions}
    columns = {
        column.name for column in node.find_all(exp.Column) if column.find_ancestor(exp.Group, exp.Order) is None
    }
    return all(
        str(node.expressions.index(item) + 1) in keys or (item.alias in keys and item.alias not in columns)
        for item in items
    )


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    return [part for part in call.iter_expressions() if not isinstance(part, exp.Identifier)]


def _unnested(item: exp.Expr, context: Context) -> exp.Expr | None:
    """The call whose rows an item of a select list shows, or fields of them; None for any other item."""
    while isinstance(item, (exp.Alias, exp.Paren, exp.Dot, exp.Cast)):
        item = item.this
    rows = listed(item, context)
    return item if isinstance(item, exp.Explode) or (rows is not None and len(rows.expressions) == 1) else None
