"""Rows in expressions: written out, their fields, IS NULL, casts (PostgreSQL 4.2.4, 4.2.13, 8.16, 9.2).

Comparisons of two rows that are both written out are made of their fields (`rows`); any other compares values, in which
NULL is equal to NULL. Does not know queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.rows import row_items
from sql_semantics.frontend.names.rows import converted_row, field_of, row_of
from sql_semantics.frontend.names.scope import around
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.castability import castable
from sql_semantics.frontend.types.coerce import is_loose, refuse_unmodelled, settle
from sql_semantics.ir.expressions import Cast, Expr, Function, Param
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.functions.composites import IS_NOT_NULL, IS_NULL
from sql_semantics.values.types import BOOLEAN, TEXT, Kind, SqlType

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder


def bind_row(binder: Binder, node: Node) -> Expr:
    """``ROW(a, b)`` or ``(a, b)`` as a value. What has no type in it takes that of what it is converted to."""
    if not binder.context.dialect.rules.expressions.has_rows:
        raise unsupported(node)
    values = _items(binder, node)
    return row_of(values, types=[_shown(value, binder) for value in values])


def _shown(value: Expr, binder: Binder) -> SqlType:
    """The type of a value that nothing is converted to."""
    if not is_loose(value):
        return value.type
    kind = binder.context.parameters.kinds[value.key] if isinstance(value, Param) else Kind.NULL
    return TEXT if kind is Kind.NULL else SqlType(kind)


def _items(binder: Binder, node: Node) -> list[Expr]:
    """The values of a row that is written out, those of ``t.*`` among them."""
    values: list[Expr] = []
    for item in row_items(node) or ():
        star = starred(binder, item)
        values += [binder.value(item)] if star is None else [value for _, value in star]
    return values


def starred(binder: Binder, node: Node) -> list[tuple[str, Expr]] | None:
    """The columns of ``t.*`` and ``(row).*``, by name; None for any other node."""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        only(node, "this", "table")
        only(node.this)
        return _of_table(binder, exp.Column(this=node.args["table"]))
    if not isinstance(node, exp.Dot) or not isinstance(node.expression, exp.Star):
        return None
    only(node, "this", "expression")
    only(node.expression)
    found = _of_table(binder, node.this) if binder.context.dialect.rules.expressions.has_rows else None
    if found is not None:
        return found
    row = _row(binder, node.this)
    return [(name, field_of(row, place)) for place, (name, _) in enumerate(_family(row).fields)]


def _of_table(binder: Binder, node: Node) -> list[tuple[str, Expr]] | None:
    """The columns of the FROM item that a name stands for; None where it stands for something else."""
    name = _bare_name(binder, node)
    found = None if name is None else around(binder.scope, name, binder.context)
    if found is not None and name in _VERSIONS and isinstance(node, exp.Paren):
        raise Unsupported(f"({name}) in RETURNING")  # PostgreSQL 18 takes the fields of the other version
    return found


_VERSIONS = ("old", "new")


def _bare_name(binder: Binder, node: Node) -> str | None:
    """A name by itself, which is no column's and no variable's."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    name = fold_column(node.this, binder.context.dialect)
    return None if binder.scope.unqualified(name) or name in binder.context.variables else name


def _field(binder: Binder, node: Node) -> Expr:
    """``(row).field``."""
    only(node, "this", "expression")
    context = binder.context
    if not isinstance(node.expression, exp.Identifier) or not isinstance(node.this, _ROWS):
        raise unsupported(node)
    if not context.dialect.rules.expressions.has_rows:
        raise unsupported(node)
    name = fold_column(node.expression, context.dialect)
    table = _of_table(binder, node.this)
    if table is not None:
        found = [column for column_name, column in table if column_name == name]
        if len(found) == 1:
            return found[0]
        raise Unsupported(f"the field {name} of a row that has none such, or several")
    row = _row(binder, node.this)
    place = _family(row).place(name)
    if place is None:
        raise SqlError("42703", f"{row.type} has no field {name!r}")
    return field_of(row, place)


_ROWS = (exp.Paren, exp.Dot, exp.Subquery)
"""What a dot may follow beside a name (PostgreSQL 4.2.4)."""


def _row(binder: Binder, node: Node) -> Expr:
    row = binder.expr(node)
    if row.type.kind is not Kind.COMPOSITE:
        raise Unsupported(f"a field of {row.type}")
    return row


def _family(row: Expr) -> CompositeFamily:
    assert isinstance(row.type.family, CompositeFamily)
    return row.type.family


def is_null(binder: Binder, node: Node, negated: bool) -> Expr | None:
    """``IS [NOT] NULL`` of a row that is written out, or of FROM: of all of its fields (PostgreSQL 9.2); None for
    anything else."""
    if not binder.context.dialect.rules.expressions.has_rows:
        return None
    bare = node
    while isinstance(bare, exp.Paren):
        bare = bare.this
    table = _of_table(binder, bare) if isinstance(bare, exp.Column) else None
    if table is not None:
        refuse_unmodelled(value.type for _, value in table)
        values = [value for _, value in table]
    elif row_items(bare) is not None:
        values = _items(binder, bare)
    else:
        return None
    if not values:
        raise Unsupported("IS NULL of a row without fields")
    return tested(row_of(values), negated)


def tested(row: Expr, negated: bool) -> Expr:
    """``IS [NOT] NULL`` of a row that is a value."""
    return Function(IS_NOT_NULL if negated else IS_NULL, (row,), BOOLEAN)


def cast_row(binder: Binder, node: Node, target: SqlType) -> Expr | None:
    """``ROW(...)::type``, of which each value is converted by itself; None for another operand."""
    if not isinstance(target.family, CompositeFamily):
        return None
    while isinstance(node, exp.Paren):
        node = node.this
    if row_items(node) is None and (not isinstance(node, exp.Column) or _of_table(binder, node) is None):
        return None
    return converted_row(binder.value(node), target, lambda value, type_: _cast(value, type_, binder))


def _cast(value: Expr, target: SqlType, binder: Binder) -> Expr:
    value = settle(value, target, binder.context)
    if value.type == target:
        return value
    if not castable(value.type, target, binder.context.dialect.rules.types):
        raise Unsupported(f"cast of {value.type} to {target}")
    return Cast(value, target)


def _tuple(binder: Binder, node: Node) -> Expr:
    if len(node.expressions) < 2:
        raise unsupported(node)
    return bind_row(binder, node)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Dot: _field,
    exp.Tuple: _tuple,
}
