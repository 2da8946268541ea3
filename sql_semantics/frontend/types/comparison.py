"""What a comparison makes of its two operands: their common type, and conversions that products have for it alone.

Sources: MySQL 14.3, SQLite "Datatypes" 3.2 and 4.2. Does not know predicates, nor the parse tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.types.castability import alike, same_fields
from sql_semantics.frontend.types.coerce import (
    as_value,
    cast,
    is_loose,
    is_text_literal,
    mismatch,
    null,
    numbered,
    refuse_unmodelled,
    settle,
    settle_alone,
    text_number,
    texts_of_enums,
    unify,
)
from sql_semantics.frontend.types.collation import collated, refuse_uncollated
from sql_semantics.ir.expressions import Binary, Cast, Column, Const, Expr, Function, InList, Outer, Param, ScalarQuery
from sql_semantics.ir.queries import Query, Select
from sql_semantics.ir.walks.affinity import affine
from sql_semantics.ir.walks.digits import digits_of_scalar
from sql_semantics.ir.walks.traverse import children, walk
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.numbers.sqlite_text import whole_number
from sql_semantics.values.text import TextRule, text_rule
from sql_semantics.values.types import (
    BIGINT,
    DATETIME_KINDS,
    DOUBLE,
    FAMILY_KINDS,
    INT,
    NULL,
    NUMBER_KINDS,
    SQLITE_ANY,
    SQLITE_DATE,
    TEXT,
    TIMESTAMP,
    Kind,
    SqlType,
)

BY_CLASS = "compare classes"
"""SQLite's comparison of values of different storage classes: a number below, at or above zero."""
BY_NUMBER = "compare numbers"
"""The same where one side has numeric affinity, which makes numbers of the texts on the other that are some."""
BY_DIGITS = "compare decimals"
"""MySQL's comparison of decimals one of which may have more digits than its type: likewise."""


def _family(kind: Kind) -> str:
    if kind in NUMBER_KINDS:
        return "number"
    return "date" if kind in DATETIME_KINDS else kind.value


def check_families(left: Expr, right: Expr, context: Context, op: str) -> None:
    """Refuse a comparison across families of types: SqlError 42883 in PostgreSQL, elsewhere Unsupported."""
    refuse_unmodelled((left.type, right.type))
    for row, other in ((left, right), (right, left)):
        if row.type.kind is Kind.COMPOSITE and is_loose(other) and other != Const(None, NULL):
            raise Unsupported("a comparison of a row with an untyped value")
    kinds = [item.type.kind for item in (as_value(left, context), as_value(right, context)) if not is_loose(item)]
    if len({_family(kind) for kind in kinds}) > 1:
        if isinstance(left, Param) or isinstance(right, Param):
            raise Unsupported(f"a parameter used as {left.type} and as {right.type}")
        if {Kind.TIME, Kind.INTERVAL} == set(kinds):
            raise Unsupported("a time compared with an interval")
        raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", context.dialect)
    families = [item.type for item in (left, right) if item.type.kind in FAMILY_KINDS]
    if len(families) == 2 and not comparably_shaped(*families):
        raise mismatch(f"operator does not exist: {left.type} {op} {right.type}", context.dialect)
    _refuse_unequated(families)
    if op in ("<", "<=", ">", ">="):
        refuse_unordered(families, context.dialect)
    if Kind.JSON in kinds:
        if len(kinds) == 1 and "distinct" in op:
            raise Unsupported("IS DISTINCT FROM of json and an untyped value")  # json has no =, but NULL needs none
        raise mismatch(f"operator does not exist: json {op} json", context.dialect)


def comparably_shaped(one: SqlType, other: SqlType) -> bool:
    """Whether values of two families compare: those of one type, and rows whose fields do. Raises Unsupported for
    other rows, which fail where they are compared."""
    if isinstance(one.family, CompositeFamily) and isinstance(other.family, CompositeFamily):
        if not same_fields(one.family, other.family):
            raise Unsupported(f"a comparison of rows of types {one} and {other}")
        if one.family != other.family and any(type_.kind is Kind.TEXT for _, type_ in one.family.fields):
            # text does not compare with varchar there, which types here do not tell apart
            raise Unsupported(f"a comparison of rows with texts, of types {one} and {other}")
        return True
    return alike(one, other)


def refuse_unordered(types: Iterable[SqlType], dialect: Dialect) -> None:
    """Raise Unsupported for types of whose values only equality is modelled."""
    by_letters = text_rule(dialect) is TextRule.CODE_POINT
    for type_ in types:
        if type_.family is not None and not type_.family.ordered(by_letters):
            raise Unsupported(f"the order of values of type {type_}")


def _refuse_unequated(types: Iterable[SqlType]) -> None:
    """Raise Unsupported for types of whose values not even equality is modelled."""
    for type_ in types:
        if type_.family is not None and not type_.family.equated:
            raise Unsupported(f"the equality of values of type {type_}")


def check_identity(expressions: Iterable[Expr], context: Context, operator: str = "equality") -> None:
    """PostgreSQL has neither equality nor order for json: SqlError 42883."""
    expressions = list(expressions)
    refuse_unmodelled(item.type for item in expressions)
    if any(item.type.kind is Kind.ANY for item in expressions):
        raise Unsupported(f"the {operator} of values of several classes")
    _refuse_unequated(item.type for item in expressions)
    refuse_uncollated(expressions, context)
    if operator == "ordering":
        refuse_unordered((item.type for item in expressions), context.dialect)
    if not context.dialect.rules.types.equates_json and any(item.type.kind is Kind.JSON for item in expressions):
        raise SqlError("42883", f"could not identify an {operator} operator for type json")


def comparable(left: Expr, right: Expr, context: Context, op: str) -> tuple[Expr, Expr]:
    """Both operands of a comparison, converted. Raises SqlError 42883 (PostgreSQL) for types that do not compare."""
    rules = context.dialect.rules.types
    left, right = texts_of_enums([left, right], context, f"operator {op}")
    if rules.texts_become_numbers:
        left, right = _bridged(left, right, context), _bridged(right, left, context)
    if rules.values_have_classes:
        left, right = _by_class(left, right, context)
        if reads_both(left) and "distinct" in op and not any(isinstance(a, Const) for a in children(left)):
            # both may be NULL, which the order hides
            raise Unsupported(f"IS of a number and a text in {context.dialect.name}")
    left, right = numbered([left, right], context.dialect)
    check_families(left, right, context, op)
    (left, right), _ = unify([left, right], context, f"operator {op}")
    left, right = collated((left, right), context)
    if rules.computed_digits_show and (has_more_digits(left) or has_more_digits(right)):
        if op in ("is_distinct", "is_not_distinct"):
            raise Unsupported(f"<=> of a quotient in {context.dialect.name}")
        return Function(BY_DIGITS, (left, right), INT), Const(0, INT)
    return left, right


def in_list(operand: Expr, items: Sequence[Expr], context: Context, negated: bool) -> InList:
    """``operand IN (items)``, converted to their common type."""
    operand, *items = texts_of_enums(numbered([operand, *items], context.dialect), context, "IN")
    for item in items:
        check_families(operand, item, context, "=")
    if is_loose(operand) and len({_family(item.type.kind) for item in items if not is_loose(item)}) > 1:
        raise Unsupported("an untyped value IN items of several types")  # PostgreSQL compares it with each by itself
    (operand, *items), _ = unify([operand, *items], context, "IN")
    operand, *items = collated((operand, *items), context)
    return InList(operand, tuple(items), negated)


def plus(item: Expr) -> Expr:
    """SQLite: the value alone, without the affinity of a column or a CAST."""
    return item if affine(item) is False else Function("coalesce", (item,), item.type)


def check_bounds(operand: Expr, bounds: Sequence[Expr], context: Context) -> None:
    """Raises Unsupported for a BETWEEN whose three values MySQL compares by one type of its own choice, and those that
    DuckDB does not take."""
    by_one = context.dialect.rules.types.between_types
    if by_one == "each":
        return
    families = [
        "text" if is_text_literal(item) else _family(as_value(item, context).type.kind) for item in (operand, *bounds)
    ]
    known = {family for family in families if family != _family(Kind.NULL)}
    text_first = by_one == "one" or families[0] == "text"
    if text_first and len(known) > 1 and not (known == {"text", "date"} and families[0] == "date"):
        raise Unsupported(f"BETWEEN of values of several types in {context.dialect.name}")


def reads_both(expr: Expr) -> bool:
    """Whether what `comparable` made of the left side holds the right one as well."""
    return isinstance(expr, Function) and expr.name in (BY_CLASS, BY_NUMBER, BY_DIGITS)


def has_more_digits(expr: Expr) -> bool:
    """Whether a DECIMAL may hold digits beyond its scale: a quotient, an average, and what is computed of them."""
    if expr.type.kind is not Kind.NUMERIC or expr.type.scale is None:
        return False
    return any(
        (isinstance(part, Binary) and part.op == "/")
        or (isinstance(part, Column) and part.index < 0 and part.name == "avg")
        or (isinstance(part, ScalarQuery) and _holds_more_digits(part.query))
        for part in walk(expr)
    )


def _holds_more_digits(query: Query) -> bool:
    if digits_of_scalar(query) != "whole":
        return False
    averages = isinstance(query, Select) and any(aggregate.function == "avg" for aggregate in query.aggregates)
    return averages or any(has_more_digits(output.expression) for output in query.outputs)


def sorted_digits(expr: Expr, context: Context) -> Expr:
    """What MySQL sorts by and counts the different values of: a DECIMAL with the digits of its type, as it stands in a
    sort key or in a temporary table (MariaDB 10.11's make_sortkey)."""
    return Cast(expr, expr.type) if context.dialect.rules.types.computed_digits_show and has_more_digits(expr) else expr


def _bridged(one: Expr, other: Expr, context: Context) -> Expr:
    """MySQL 14.3: a text that meets a number is the number it begins with, one that meets a date is a date."""
    one, kind = as_value(one, context), as_value(other, context).type.kind
    text = one.type.kind is Kind.TEXT
    if kind in NUMBER_KINDS and (text or (is_text_literal(one) and not _clean(one, other.type, context))):
        return text_number(settle(one, TEXT, context), comparing=True)
    if kind in DATETIME_KINDS and (text or is_text_literal(one)):
        moment = TIMESTAMP if kind is not Kind.TIMESTAMPTZ else SqlType(Kind.TIMESTAMPTZ)
        return settle(one, moment, context) if is_loose(one) else Cast(one, moment)
    return Cast(one, SqlType(kind)) if text and kind is Kind.TIME else one


def _clean(literal: Expr, target: SqlType, context: Context) -> bool:
    try:
        settle(literal, target, context)
    except (SqlError, Unsupported):
        return False
    return True


def _affinity(expr: Expr) -> str:
    """SQLite 3.2: what a column or a CAST does to the value it is compared with. Raises Unsupported."""
    found = affine(expr)
    if found is None:
        raise Unsupported("a number compared with a text of which the affinity is not known, in sqlite")
    if not found:
        return "none"
    if expr.type.kind is Kind.ANY:
        return "number" if expr.type == SQLITE_ANY else "none"
    return {Kind.TEXT: "text", Kind.BYTES: "none"}.get(expr.type.kind, "number")


def _computed(expr: Expr) -> bool:
    """Whether it is a column of a query, or a view, that computes it: beside a text it has no affinity, or BLOB."""
    return isinstance(expr, Column | Outer) and expr.index >= 0 and not expr.affine


def _as_date(side: Expr, context: Context) -> Expr:
    """What meets a date column of SQLite: a text that looks like a number would become one there."""
    if side.type == SQLITE_DATE or side == null():
        return side
    side = settle(side, TEXT, context)
    if side.type.kind is not Kind.TEXT:
        raise Unsupported(f"comparison of a date column with a number in {context.dialect.name}")
    return Cast(side, SQLITE_DATE)


def _by_class(left: Expr, right: Expr, context: Context) -> tuple[Expr, Expr]:
    """SQLite 4.2: affinity is applied to the other side; then numbers come before texts."""
    left, right = as_value(left, context), as_value(right, context)
    if SQLITE_DATE in (left.type, right.type):
        return _as_date(left, context), _as_date(right, context)
    sides = [settle_alone(side, context) if side != null() else side for side in (left, right)]
    kinds = {_family(side.type.kind) for side in sides}
    if _ANY in kinds and null() not in sides:
        return _with_any(sides)
    if len(kinds) == 1 or null() in sides:
        return sides[0], sides[1]
    if kinds == {"number", "text"}:
        affinities = [_affinity(side) for side in sides]
        numeric = [side.type.kind in NUMBER_KINDS for side in sides]
        if "number" in affinities:
            place = numeric.index(False)
            text = sides[place]
            if not isinstance(text, Const):
                return Function(BY_NUMBER, (sides[0], sides[1]), INT), Const(0, INT)
            number = whole_number(str(text.value), context.dialect.version)
            if number is not None:
                sides[place] = Const(number, BIGINT if isinstance(number, int) else DOUBLE)
                return sides[0], sides[1]
        elif "text" in affinities:
            if any(_computed(side) for side in sides):
                raise Unsupported("a text compared with a number of a query in FROM, in sqlite")
            place = numeric.index(True)
            sides[place] = Cast(sides[place], TEXT)
            return sides[0], sides[1]
    return Function(BY_CLASS, (sides[0], sides[1]), INT), Const(0, INT)


_ANY = _family(Kind.ANY)


def _with_any(sides: list[Expr]) -> tuple[Expr, Expr]:
    """A value of any class beside one that may have an affinity."""
    affinities = [_affinity(side) if side.type.kind is not Kind.ANY or affine(side) else "none" for side in sides]
    if "number" in affinities:
        return Function(BY_NUMBER, (sides[0], sides[1]), INT), Const(0, INT)
    if "text" in affinities:
        return cast(sides[0], TEXT), cast(sides[1], TEXT)
    return Function(BY_CLASS, (sides[0], sides[1]), INT), Const(0, INT)
