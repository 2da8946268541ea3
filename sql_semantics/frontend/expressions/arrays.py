"""Arrays where they are lists to compare with: ``= ANY (array)`` and its kin (PostgreSQL 9.25, 8.15.2).

An array is written out, or a parameter whose value is a list. It is no value of its own here: no column has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.dialects import cast_type
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import settle, unify
from sql_semantics.frontend.types.comparison import comparable, in_list
from sql_semantics.ir.expressions import Binary, Case, Const, Expr, IsNull
from sql_semantics.values.array import read_array
from sql_semantics.values.types import BOOLEAN, TEXT

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_QUANTIFIERS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip


def with_array(binder: Binder, op: str, operand: Node, array: Node, every: bool) -> Expr:
    """``operand op ANY (array)``, with `every` ALL: the comparison with each item. Raises Unsupported for an array that
    is neither written out nor a parameter."""
    if binder.context.dialect.name != "postgres":
        raise Unsupported("arrays")
    while isinstance(array, exp.Paren):
        array = array.this
    if is_text_array(binder, array):
        # what a text holds is known when it is read
        rows = exp.From(this=exp.Unnest(expressions=[array.copy()]))
        query = exp.Subquery(this=exp.Select(expressions=[exp.Star()], from_=rows))
        compared = binder.expr(_QUANTIFIERS[op](this=operand, expression=(exp.All if every else exp.Any)(this=query)))
        missing = IsNull(settle(binder.expr(_text_of(array)), TEXT, binder.context), False)
        return Case(((missing, Const(None, BOOLEAN)),), compared, BOOLEAN)
    items = array_items(binder, array)
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
