"""CAST, typed literals, intervals, bytes and concatenation. Does not know which casts a product has.

``DATE '2020-01-01'`` reaches this module as a cast of a string literal, which is what it means everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.arrays import cast_list, cast_written, joined
from sql_semantics.frontend.expressions.composites import cast_row
from sql_semantics.frontend.expressions.jsons.operators import merged
from sql_semantics.frontend.text.dialects import cast_type
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.castability import castable
from sql_semantics.frontend.types.coerce import as_value, cast, is_list, is_loose, mismatch, settle, settle_alone
from sql_semantics.frontend.types.collation import COLLATE, derived, of_connection
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import Binary, Cast, Const, Expr, Function, Param
from sql_semantics.records import replace
from sql_semantics.values.dates.temporal import parse_interval
from sql_semantics.values.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    FAMILY_KINDS,
    INTERVAL,
    NUMBER_KINDS,
    SQLITE_JSON,
    SQLITE_NUMBER,
    TEXT,
    Kind,
    SqlType,
)

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_TYPE = exp.DataType.Type


def _cast(binder: Binder, node: Node) -> Expr:
    only(node, "this", "to")
    context, written = binder.context, node.args["to"]
    if not isinstance(written, exp.DataType):
        raise Unsupported(f"type {written.sql()}")
    dialect, rules, types = context.dialect, context.dialect.rules.expressions, context.dialect.rules.types
    target = cast_type(written, dialect)
    if rules.cast_targets is not None and written.this.name not in rules.cast_targets:
        raise Unsupported(f"CAST to {written.sql()} in {dialect.name}")
    if rules.moment_literals and written.this is _TYPE.TIMESTAMPTZ:
        # TIMESTAMP '...' is a DATETIME literal; CAST ... AS TIMESTAMP is no cast of MySQL's.
        if not isinstance(node.this, exp.Literal):
            raise Unsupported(f"CAST to TIMESTAMP in {dialect.name}")
        fraction = str(node.this.this).partition(".")[2].strip()
        target = SqlType(Kind.TIMESTAMP, precision=min(len(fraction), 6))
    fractional = isinstance(node.this, exp.Literal) and "." in str(node.this.this)
    if rules.moment_literals and target.kind is Kind.TIME and fractional:
        # the literal keeps them, CAST does not
        raise Unsupported(f"TIME of a text with fractions of a second in {dialect.name}")
    written_out = cast_written(binder, node.this, target, written) or cast_row(binder, node.this, target)
    if written_out is not None:
        return written_out
    operand = binder.value(node.this)
    if is_list(operand):
        return cast_list(operand, target, context)
    if isinstance(operand, Param) and is_loose(operand) and context.parameters.kinds[operand.key] in NUMBER_KINDS:
        operand = operand if target.kind in NUMBER_KINDS else settle_alone(operand, context)
    if types.texts_become_numbers and is_loose(operand) and isinstance(operand, Const) and target.kind in NUMBER_KINDS:
        operand = settle_alone(operand, context)
    operand = settle_alone(operand, context) if target == SQLITE_NUMBER else settle(operand, target, context)
    source = operand.type
    if target == SQLITE_NUMBER and source.kind is Kind.BIGINT:
        return Cast(operand, BIGINT)  # a number stays as it is
    recollated = target.kind is Kind.TEXT and dialect.rules.definitions.table_collations
    if source == target and not recollated and not (dialect.types_by_value and target.kind is Kind.DOUBLE):
        return operand
    if source.padded and target.kind is Kind.BYTES:
        raise Unsupported(f"cast of {source} to {target}, which sees its padding")
    if not castable(source, target, types):
        little_known = {Kind.BYTES, *FAMILY_KINDS} & {source.kind, target.kind}
        if types.mismatch_is_error and not little_known:
            raise SqlError("42846", f"cannot cast type {source} to {target}")
        raise Unsupported(f"cast of {source} to {target}")
    read = _checked(operand, target) if rules.casts_of_texts == "checked beginning" else None
    if read is not None:
        return read
    if rules.casts_of_texts == "beginning" and source.kind is Kind.TEXT and target == DOUBLE:
        operand = Function("leading real", (operand,), DOUBLE)  # and a CAST around it, which gives it its affinity
    if target.kind is Kind.TEXT and (source == SQLITE_JSON or source.kind is Kind.ANY):
        target = SQLITE_JSON  # what is JSON stays that
    if recollated:
        target = replace(target, collation=of_connection(dialect))
    return Cast(operand, target)


def _checked(operand: Expr, target: SqlType) -> Expr | None:
    """The number that a text begins with, checked where it is stored; None for another cast."""
    if operand.type.kind is not Kind.TEXT:
        return None
    if target.kind is Kind.UBIGINT:
        raise Unsupported("CAST of a text to UNSIGNED")
    if target.kind is Kind.BIGINT:
        return Function("text integer", (operand,), BIGINT)
    return Function("text number", (operand,), DOUBLE) if target.kind is Kind.DOUBLE else None


def as_text(bound: Expr) -> Expr:
    """An operand of a concatenation. Raises Unsupported for what no product takes there."""
    if bound.type.kind is Kind.TEXT:
        return cast(bound, TEXT)
    if bound.type.kind in (Kind.JSON, Kind.BYTES, Kind.NULL) or bound.type.kind in FAMILY_KINDS:
        raise Unsupported(f"conversion of {bound.type} to text")
    return Cast(bound, TEXT)


def _concatenation(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression", "safe")
    context, rules = binder.context, binder.context.dialect.rules
    if not rules.expressions.pipes_join_texts:
        raise Unsupported("operator ||")
    if rules.text.json_arrows == "closest" and isinstance(node.expression, exp.JSONExtract | exp.JSONExtractScalar):
        raise Unsupported("operator -> behind ||, without parentheses")  # which stand on one level there
    sides = [as_value(binder.expr(side), context) for side in (node.this, node.expression)]
    kinds = {side.type.kind for side in sides}
    if Kind.ARRAY in kinds:
        return joined(binder, *sides)
    if Kind.JSONB in kinds:
        return merged(binder, *sides)
    if any(side.type.kind is Kind.BYTES for side in sides):
        raise Unsupported("operator || on bytes")
    texts = any(is_loose(side) or side.type.kind is Kind.TEXT for side in sides)
    if not texts and rules.types.mismatch_is_error:
        raise mismatch(f"operator does not exist: {sides[0].type} || {sides[1].type}", context.dialect)
    left, right = (as_text(_operand(side, binder)) for side in sides)
    return Binary("||", left, right, TEXT)


def _operand(side: Expr, binder: Binder) -> Expr:
    context = binder.context
    if isinstance(side, Param) and is_loose(side) and context.parameters.kinds[side.key] in NUMBER_KINDS:
        return settle_alone(side, context)
    return settle(side, TEXT, context)


def _interval(binder: Binder, node: Node) -> Expr:
    only(node, "this", "unit")
    literal, unit = node.this, node.args.get("unit")
    if isinstance(literal, exp.Tuple) and unit is None and binder.context.dialect.rules.expressions.interval_is_syntax:
        return call_function("interval", [binder.value(item) for item in literal.expressions], binder.context)
    if not binder.context.dialect.rules.types.has_intervals:
        raise unsupported(node)
    if not isinstance(literal, exp.Literal) or (unit is not None and not isinstance(unit, exp.Var)):
        raise Unsupported("INTERVAL of an expression, or with several fields")
    text = str(literal.this) if unit is None else f"{literal.this} {unit.this}"
    return Const(parse_interval(text), INTERVAL)


def _collate(binder: Binder, node: Node) -> Expr:
    """A text under another collation of the characters that it is in (MySQL 10.8.1)."""
    only(node, "this", "expression")
    context = binder.context
    if not context.dialect.rules.definitions.table_collations:
        raise unsupported(node)
    operand = settle_alone(as_value(binder.expr(node.this), context), context)
    if operand.type.kind is not Kind.TEXT:
        raise Unsupported(f"COLLATE of {operand.type}")
    _, given = derived(operand, context.dialect)
    name = node.expression.name.lower()
    if not all(one.startswith("utf8mb4_") for one in (name, given or context.dialect.collation or name)):
        raise Unsupported("COLLATE of texts in other characters than utf8mb4")
    return call_function(COLLATE, [operand], context, replace(TEXT, collation=name))


def _hexadecimal(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    digits = str(node.this)
    if not binder.context.dialect.rules.text.hexadecimal_is_bytes or len(digits) % 2:
        raise unsupported(node)
    return Const(bytes.fromhex(digits), BYTES)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.Cast: _cast,
    exp.Collate: _collate,
    exp.DPipe: _concatenation,
    exp.Interval: _interval,
    exp.HexString: _hexadecimal,
}
