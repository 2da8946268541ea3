"""Arrays (PostgreSQL 8.15, 9.19, 9.25): written out, as parameters and in columns; ``= ANY (array)`` and functions.

One that is written out or a parameter that is a list is compared item by item, each with a type of its own; any other
is a value. Does not know what functions compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions.jsons.operators import contained
from sql_semantics.frontend.text.dialects import array_of, cast_type, fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import (
    LISTED,
    base,
    is_loose,
    refuse_unmodelled,
    settle,
    settle_alone,
    unify,
)
from sql_semantics.frontend.types.comparison import comparable, in_list
from sql_semantics.ir.expressions import Binary, Case, Cast, Const, Expr, Function, IsNull
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.array_text import read_array
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.types import BOOLEAN, EXACT_KINDS, INT, TEXT, Kind, SqlType

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder
    from sql_semantics.frontend.names.scope import Context

_QUANTIFIERS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip


def with_array(binder: Binder, op: str, operand: Node, array: Node, every: bool) -> Expr:
    """``operand op ANY (array)``, with `every` ALL: the comparison with each item. Raises Unsupported for an array that
    is of several dimensions."""
    if not binder.context.dialect.rules.expressions.has_arrays:
        raise Unsupported("arrays")
    array = cast_once(array)
    query = _query_of(array)
    if query is not None:
        quantified = (exp.All if every else exp.Any)(this=exp.Subquery(this=query.copy()))
        return binder.expr(_QUANTIFIERS[op](this=operand, expression=quantified))
    if not is_written_out(array):
        return _with_value(binder, op, operand, array, every)
    if is_text_array(binder, array):
        # what a text holds is known when it is read
        rows = exp.From(this=exp.Unnest(expressions=[array.copy()]))
        query = exp.Subquery(this=exp.Select(expressions=[exp.Star()], from_=rows))
        compared = binder.expr(_QUANTIFIERS[op](this=operand, expression=(exp.All if every else exp.Any)(this=query)))
        missing = IsNull(settle(binder.expr(_text_of(array)), TEXT, binder.context), False)
        return Case(((missing, Const(None, BOOLEAN)),), compared, BOOLEAN)
    items = array_items(binder, array)
    if any(item.type.kind is Kind.ARRAY for item in items):
        raise Unsupported("an array of several dimensions")
    left = binder.expr(operand)
    if not items:
        if isinstance(array, exp.Cast):
            of = cast_type(array.args["to"].expressions[0], binder.context.dialect)
            comparable(left, Const(None, of), binder.context, op)  # an error of types comes without items, too
        return Const(every, BOOLEAN)
    if (op, every) in (("=", False), ("<>", True)):
        return in_list(left, items, binder.context, every)
    tests: list[Expr] = []
    for item in items:
        one, other = comparable(left, item, binder.context, op)
        tests.append(Binary(op, one, other, BOOLEAN))
    found = tests[0]
    for test in tests[1:]:
        found = Binary("and" if every else "or", found, test, BOOLEAN)
    return found


_WIDER = tuple(
    (narrow, wide)
    for kinds in (("SMALLINT", "INT", "BIGINT", "DECIMAL"), ("VARCHAR", "TEXT", "VARCHAR"))
    for place, narrow in enumerate(kinds)
    for wide in kinds[place:]
)
"""Items of the first kind, read from a text, are those that the second reads from it."""


def cast_once(array: Node) -> Node:
    """``($1::smallint[])::bigint[]``, as a driver writes a list that the application casts, as the second cast alone;
    any other array as it is."""
    while isinstance(array, exp.Paren):
        array = array.this
    if not isinstance(array, exp.Cast):
        return array
    inner = _text_of(array)
    if not isinstance(inner, exp.Cast) or not isinstance(_text_of(inner), exp.Placeholder):
        return array
    first, second = (cast.args["to"].expressions for cast in (inner, array))
    if len(first) != 1 or len(second) != 1 or first[0].expressions or second[0].expressions:
        return array
    names = tuple(item.this.name if isinstance(item, exp.DataType) else "" for item in (first[0], second[0]))
    if first[0] != second[0] and names not in _WIDER:
        return array
    only(inner, "this", "to")
    return exp.Cast(this=inner.this, to=array.args["to"])


def is_written_out(array: Node) -> bool:
    """Whether an array is its items: written out, or a parameter, which is a list or a text that holds them."""
    while isinstance(array, exp.Paren | exp.Cast):
        if isinstance(array, exp.Cast) and array.to.this != exp.DataType.Type.ARRAY:
            return False
        array = array.this
    if isinstance(array, exp.Array):
        return not any(isinstance(item, exp.Query) for item in array.expressions)
    return isinstance(array, exp.Literal | exp.Placeholder)


def _with_value(binder: Binder, op: str, operand: Node, array: Node, every: bool) -> Expr:
    """A comparison with the items of an array that a column or a function gives."""
    context, value = binder.context, binder.typed(array)
    item = item_of(value)
    left = settle(binder.expr(operand), item, context)
    numbers = left.type.kind in EXACT_KINDS and item.kind in EXACT_KINDS
    if not numbers and not (left.type.kind is item.kind and not left.type.padded and left.type.family == item.family):
        raise Unsupported(f"a comparison of {left.type} with the items of {value.type}")
    if op not in ("=", "<>") and item.kind not in EXACT_KINDS:
        raise Unsupported(f"{op} {'ALL' if every else 'ANY'} of {value.type}")
    return Function(f"{op} {'all' if every else 'any'}", (left, value), BOOLEAN)


def item_of(value: Expr) -> SqlType:
    """The type of an array's items. Raises Unsupported for what is none."""
    refuse_unmodelled((value.type,))
    if not isinstance(value.type.family, ArrayFamily):
        raise Unsupported(f"an array that is of type {value.type}")
    return value.type.family.item


def is_text_array(binder: Binder, array: Node) -> bool:
    """Whether it is a parameter cast to an array, and no list."""
    inner = _text_of(array) if isinstance(array, exp.Cast) else None
    return isinstance(inner, exp.Placeholder) and not binder.context.parameters.is_array(str(inner.this or "?"))


def _text_of(array: Node) -> Node:
    inner: Node = array.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return inner


def array_items(binder: Binder, array: Node) -> list[Expr]:
    """The items of an array that is written out, or a parameter that is a list. Raises Unsupported for any other."""
    if not isinstance(array, exp.Cast):
        given = _given(binder, array)
        if given is None:
            given = [binder.expr(item) for item in _written(array)]
            if isinstance(array, exp.Array) and given:
                given, _ = unify(given, binder.context, "ARRAY")  # of a type before it meets the operand
        return given
    only(array, "this", "to")
    target = array.args["to"]
    if target.this != exp.DataType.Type.ARRAY or len(target.expressions) != 1:
        raise Unsupported("a cast to something else than an array")
    of = target.expressions[0]
    inner = array.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    given = _given(binder, inner)
    if given is not None:
        type_ = cast_type(of, binder.context.dialect)
        return [settle(item, type_, binder.context) for item in given]
    return [binder.expr(exp.Cast(this=item, to=of.copy())) for item in _written(inner)]


def _given(binder: Binder, array: Node) -> list[Expr] | None:
    """The items of a parameter that is a list; None for anything else."""
    if not isinstance(array, exp.Placeholder):
        return None
    only(array, "this")
    found = binder.context.parameters.items(str(array.this or "?"))
    return None if found is None else list(found)


def _written(array: Node) -> Sequence[Node]:
    """``ARRAY[a, b]``, the literal ``'{a,b}'``, or one of these under casts, which are its items' casts."""
    while isinstance(array, exp.Paren):
        array = array.this
    if isinstance(array, exp.Cast) and array.to.this == exp.DataType.Type.ARRAY and len(array.to.expressions) == 1:
        only(array, "this", "to")
        return [exp.Cast(this=item, to=array.to.expressions[0].copy()) for item in _written(array.this)]
    if isinstance(array, exp.Array):
        only(array, "expressions", "value_constructor")
        return list(array.expressions)
    if not isinstance(array, exp.Literal) or not array.is_string:
        raise Unsupported("an array that is neither written out nor a parameter")
    items = read_array(str(array.this), False)
    return [exp.Null() if item is None else exp.Literal.string(item) for item in items]


# --- values -------------------------------------------------------------------------------------------------------


def _array(binder: Binder, node: Node) -> Expr:
    """``ARRAY[a, b]`` as a value."""
    only(node, "expressions", "value_constructor")
    context = binder.context
    if not context.dialect.rules.expressions.has_arrays:
        raise unsupported(node)
    query = _query_of(node)
    if query is not None:
        return _of_query(binder, query)
    if any(isinstance(item, exp.Query | exp.Array) for item in node.expressions):
        raise Unsupported("an array of a query, or of several dimensions")
    if not node.expressions:
        raise Unsupported("an empty array of no type")  # but under a cast: see conversions
    items, of = unify([binder.value(item) for item in node.expressions], context, "ARRAY")
    return Function(LISTED, tuple(settle_alone(item, context) for item in items), array_of(base(of)))


def _query_of(array: Node) -> exp.Query | None:
    """The query of ``ARRAY(SELECT ...)``; None for another array."""
    if not isinstance(array, exp.Array) or len(array.expressions) != 1:
        return None
    query = array.expressions[0]
    return query if isinstance(query, exp.Query) else None


def _of_query(binder: Binder, query: exp.Query) -> Expr:
    """The array of a query's rows (4.2.12), which without any is empty, and not NULL."""
    if len(query.selects) != 1 or isinstance(query.selects[0], exp.Star):
        raise Unsupported("an array of a query of several columns")
    query = query.copy()
    shown, order = query.selects[0], query.args.get("order")
    columns, keys = ["array_item_"], []
    for item in order.expressions if order is not None else ():
        column = columns[0]
        if not _is_shown(item.this, shown, binder.context.dialect):
            if not isinstance(query, exp.Select) or query.args.get("distinct") is not None:
                raise Unsupported("an array of a query that is ordered by something else")
            column = f"array_key_{len(columns)}"
            columns.append(column)
            query.append("expressions", exp.Alias(this=item.this.copy(), alias=exp.to_identifier(column)))
        ordered = item.copy()
        ordered.set("this", _named(column))
        keys.append(ordered)
    alias = exp.TableAlias(this=exp.to_identifier(_ROWS), columns=[exp.to_identifier(column) for column in columns])
    listed: exp.Expr = _named(columns[0])
    if keys:
        listed = exp.Order(this=listed, expressions=keys)
    rows = exp.From(this=exp.Subquery(this=query, alias=alias))
    found = binder.expr(exp.Subquery(this=exp.Select(expressions=[exp.ArrayAgg(this=listed)], from_=rows)))
    return Function("coalesce", (found, Function(LISTED, (), found.type)), found.type)


def _is_shown(key: Node, shown: exp.Expr, dialect: Dialect) -> bool:
    """Whether a key of ORDER BY is the column that the query shows: by its place, its name or what it is."""
    from sql_semantics.frontend.queries.query import output_name  # queries have expressions

    bare = isinstance(key, exp.Column) and key.args.get("table") is None and isinstance(key.this, exp.Identifier)
    named = bare and fold_column(key.this, dialect) == output_name(shown, dialect)
    return named or str(key) in ("1", str(shown.unalias()))


_ROWS = "array_rows_"


def _named(column: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(column), table=exp.to_identifier(_ROWS))


def _item(binder: Binder, node: Node) -> Expr:
    """``array[1]``; the parser has mostly made the place one from 0."""
    only(node, "this", "expressions", "offset", "safe")
    value = binder.typed(node.this)
    if value.type.kind is not Kind.ARRAY or len(node.expressions) != 1:
        raise unsupported(node)
    given = place = node.expressions[0]
    sign = 1
    if isinstance(place, exp.Neg):
        place, sign = place.this, -1
    if not isinstance(place, exp.Literal) or place.is_string or not str(place.this).isdigit():
        return Function("array item", (value, _computed_place(binder, given, node.this)), item_of(value))
    written = sign * int(str(place.this)) + _is_from_zero(node.this)
    return Function("array item", (value, Const(written, INT)), item_of(value))


def _computed_place(binder: Binder, place: Node, array: Node) -> Expr:
    """A place that is no number: from 0 where the parser knew it to be an integer, which it does not tell."""
    moved = _is_from_zero(array) and place.type is None
    if moved:
        less = isinstance(place, exp.Add) and place.expression == exp.Neg(this=exp.Literal.number(1))
        if not less:
            raise Unsupported("an array's item at a computed place")
        place = place.this
    found = settle(binder.value(place), INT, binder.context)
    if found.type.kind not in (Kind.INT, Kind.SMALLINT):
        raise Unsupported(f"an array's item at a place of type {found.type}")
    return found


def _is_from_zero(array: Node) -> bool:
    """Whether the parser has moved the place: not behind what it takes for something else than an array, as ``||``."""
    return array.type is None or array.type.this in (exp.DType.UNKNOWN, exp.DType.ARRAY)


def _converted(item: Expr, of: SqlType, binder: Binder) -> Expr:
    """An item of an array of a type. Raises Unsupported for one that would widen the array."""
    found = settle(item, of, binder.context)
    if found.type.kind is not of.kind or found.type.padded or found.type.family != of.family:
        raise Unsupported(f"an item of type {found.type} beside those of {of}[]")
    return found


def _whole(item: Expr, type_: SqlType, binder: Binder) -> Expr:
    found = settle(item, type_, binder.context)
    if found.type.kind is Kind.ARRAY and base_of(found.type) == base_of(type_):
        return found
    raise Unsupported(f"{found.type} beside {type_}")


def base_of(type_: SqlType) -> SqlType:
    """An array's type without what says how long its items may be."""
    family = type_.family
    return array_of(base(family.item)) if isinstance(family, ArrayFamily) else type_


_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "cardinality": ("a",), "array_length": ("a", "i"), "array_upper": ("a", "i"), "array_lower": ("a", "i"),
    "array_ndims": ("a",), "array_append": ("a", "x"), "array_prepend": ("x", "a"), "array_cat": ("a", "a"),
    "array_remove": ("a", "x"), "array_replace": ("a", "x", "x"), "array_position": ("a", "x", "i"),
    "array_to_string": ("a", "t", "t"),
}  # fmt: skip
"""What functions take: an array, an item of it, an integer, a text; the last of three may be missing in two of them."""
_MAY_BE_SHORTER = frozenset({"array_position", "array_to_string"})
_GIVES_ARRAY = frozenset({"array_append", "array_prepend", "array_cat", "array_remove", "array_replace"})


def bind_array_function(binder: Binder, name: str, nodes: Sequence[Node]) -> Expr | None:
    """A call of a function of arrays; None for another function."""
    pattern = _PATTERNS.get(name)
    if pattern is None or not binder.context.dialect.rules.expressions.has_arrays:
        return None
    if len(nodes) == 2 and name in _MAY_BE_SHORTER:
        pattern = pattern[:2]
    if len(nodes) != len(pattern):
        raise Unsupported(f"function {name}() with {len(nodes)} arguments")
    return _call(binder, name, pattern, [binder.value(node) for node in nodes])


def _call(binder: Binder, name: str, pattern: Sequence[str], given: Sequence[Expr]) -> Expr:
    typed = [item for item, kind in zip(given, pattern, strict=True) if kind == "a" and not is_loose(item)]
    if not typed:
        raise Unsupported(f"function {name}() of an untyped array")
    type_ = typed[0].type
    of = item_of(typed[0])
    items: list[Expr] = []
    for item, kind in zip(given, pattern, strict=True):
        if kind == "a":
            items.append(_whole(item, type_, binder))
        elif kind == "x":
            items.append(_converted(item, of, binder))
        else:
            items.append(_converted(item, INT if kind == "i" else TEXT, binder))
    result = base_of(type_) if name in _GIVES_ARRAY else TEXT if name == "array_to_string" else INT
    return Function(name, tuple(items), result)


def joined(binder: Binder, left: Expr, right: Expr) -> Expr:
    """``||`` with an array: with another, or with an item before or behind it (10.2: an untyped side is an array)."""
    arrays = [side.type.kind is Kind.ARRAY or is_loose(side) for side in (left, right)]
    if all(arrays):
        return _call(binder, "array_cat", ("a", "a"), (left, right))
    if arrays[0]:
        return _call(binder, "array_append", ("a", "x"), (left, right))
    return _call(binder, "array_prepend", ("x", "a"), (left, right))


_SETS: Mapping[type[Node], str] = {exp.ArrayContainsAll: "@>", exp.ArrayOverlaps: "&&"}
_OF_ONE_RANK = (exp.DPipe, exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar)
"""What the parser ranks above these, and PostgreSQL reads from the left with them (4.1.6)."""


def _compared(binder: Binder, node: Node) -> Expr:
    """``@>`` and ``&&`` of arrays, ``@>`` of jsonb."""
    only(node, "this", "expression")
    symbol = _SETS[type(node)]
    if not binder.context.dialect.rules.expressions.has_arrays:
        raise unsupported(node)
    if isinstance(node.expression, _OF_ONE_RANK):
        raise Unsupported(f"an operator behind {symbol}, without parentheses")
    left, right = binder.expr(node.this), binder.expr(node.expression)
    kinds = {left.type.kind, right.type.kind}
    refuse_unmodelled((left.type, right.type))
    if Kind.JSONB in kinds and symbol == "@>":
        return contained(binder, left, right)
    if Kind.ARRAY not in kinds:
        raise Unsupported(f"operator {symbol} on {left.type} and {right.type}")
    type_ = left.type if left.type.kind is Kind.ARRAY else right.type
    return Function(f"array {symbol}", tuple(_whole(side, type_, binder) for side in (left, right)), BOOLEAN)


def cast_written(binder: Binder, node: Node, target: SqlType, written: exp.DataType) -> Expr | None:
    """``ARRAY[...]::type[]``, whose items are converted one by one (4.2.12); None for another operand."""
    family = target.family
    if not isinstance(node, exp.Array) or not isinstance(family, ArrayFamily):
        return None
    only(node, "expressions", "value_constructor")
    if any(isinstance(item, exp.Query | exp.Array) for item in node.expressions):
        raise Unsupported("an array of a query, or of several dimensions")
    if written.this is not exp.DataType.Type.ARRAY:  # a domain
        return Cast(_array(binder, node), target)
    of = written.expressions[0]
    items = [binder.value(exp.Cast(this=item.copy(), to=of.copy())) for item in node.expressions]
    return Function(LISTED, tuple(_cast_item(item, family.item) for item in items), target)


def cast_list(value: Expr, target: SqlType, context: Context) -> Expr:
    """A parameter that is a list, cast to an array."""
    family = target.family
    assert isinstance(value, Function)
    if not isinstance(family, ArrayFamily):
        raise Unsupported(f"a list cast to {target}")
    settled = [settle(item, family.item, context) for item in value.arguments]
    return Function(LISTED, tuple(_cast_item(item, family.item) for item in settled), target)


def _cast_item(value: Expr, of: SqlType) -> Expr:
    return value if value.type == of else Cast(value, of)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Array: _array,
    exp.Bracket: _item,
    **dict.fromkeys(_SETS, _compared),
}
