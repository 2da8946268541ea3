"""What MariaDB 10.11 finds by a rounded constant: refused in mysql. Does not know which columns have an index.

Below an outer join it looks up ``k = 1.5`` on an integer key as the key 2, and leaves the comparison itself out:
``SELECT t.k, u.k FROM t LEFT JOIN u ON u.k = 1.5`` gives the row of 2. In WHERE and in inner joins it finds nothing,
as it should.
"""

from __future__ import annotations

import math
from decimal import Decimal

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Binary, Cast, Column, Const, Expr, InList, Outer, Param, ScalarQuery
from sql_semantics.ir.walks.traverse import fields_of, outer_reads
from sql_semantics.values.numbers.number import round_scale
from sql_semantics.values.types import FLOAT_KINDS, INTEGER_KINDS, Kind, SqlType


def refuse_rounded_keys(node: object) -> None:
    """Raise Unsupported where a part of `node` (a condition, a relation, a source) equates a column with a constant of
    more digits than the column has."""
    match node:
        case Binary("=", left, right):
            _check(left, right)
            _check(right, left)
        case InList(operand, (item,)):
            _check(operand, item)
    for below in fields_of(node):
        refuse_rounded_keys(below)


def _check(column: Expr, constant: Expr) -> None:
    column, constant = _bare(column), _bare(constant)
    digits = _digits(column.type)
    if isinstance(column, Column | Outer) and digits is not None and _is_longer(constant, digits):
        raise Unsupported("a column equated with a constant of more digits below an outer join in mysql")


def _bare(expr: Expr) -> Expr:
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def _digits(type_: SqlType) -> int | None:
    """The digits after the point that a column of this type has, None where they are not fixed."""
    if type_.kind in INTEGER_KINDS:
        return 0
    return type_.scale if type_.kind is Kind.NUMERIC else None


def _is_longer(constant: Expr, digits: int) -> bool:
    if isinstance(constant, ScalarQuery):  # computed once, while the statement is planned
        inner = _digits(constant.type)
        return not outer_reads(constant.query) and (
            constant.type.kind in FLOAT_KINDS or (inner is not None and inner > digits)
        )
    if isinstance(constant, Param):  # typed by its value where that is no integer
        return digits == 0 and (constant.type.kind in FLOAT_KINDS or constant.type.kind is Kind.NUMERIC)
    if not isinstance(constant, Const) or not isinstance(constant.value, float | Decimal):
        return False
    value = constant.value
    if isinstance(value, float) and not math.isfinite(value):
        return False
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    return round_scale(exact, digits) != exact
