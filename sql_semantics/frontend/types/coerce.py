"""Conversions that SQL leaves implicit: untyped literals, common types, assignment.

Sources: PostgreSQL manual chapter 10 (type conversion), MySQL manual 14.3 and 14.6 (conversion, precision math). An
expression of Kind.NULL is *loose*: a string literal (in PostgreSQL's sense of `unknown`), a bare NULL or a parameter
that no context has typed yet. Does not know the parse tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.names.rows import converted_row
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.text.dialects import array_of, integer_booleans
from sql_semantics.frontend.text.literals import base, literal_value, number_literal, signed_literal
from sql_semantics.frontend.types.castability import alike, storable
from sql_semantics.ir.expressions import Cast, Const, Expr, Function, Param
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.numbers.number import round_scale
from sql_semantics.values.opaque import opaque
from sql_semantics.values.types import (
    ANY,
    BOOLEAN,
    DATETIME_KINDS,
    DOUBLE,
    EXACT_KINDS,
    FAMILY_KINDS,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NULL,
    NUMBER_KINDS,
    NUMERIC,
    REAL,
    SQLITE_JSON,
    SQLITE_NUMBER,
    TEMPORAL_KINDS,
    TEXT,
    UNMODELLED_KINDS,
    UNSIGNED_KINDS,
    Kind,
    SqlType,
)

__all__ = ["assign", "base", "number_literal", "signed_literal", "unify"]

_MOMENTS = [Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ]
_DIGITS = {
    Kind.TINYINT: 3, Kind.UTINYINT: 3, Kind.SMALLINT: 5, Kind.USMALLINT: 5, Kind.MEDIUMINT: 7, Kind.UMEDIUMINT: 8,
    Kind.INT: 10, Kind.UINT: 10, Kind.BIGINT: 19, Kind.UBIGINT: 20,
}  # fmt: skip
MYSQL_PRECISION, MYSQL_SCALE, DUCKDB_PRECISION = 65, 30, 38


LISTED = "array of"
"""The function whose arguments are the items of an array; of no type where it is a parameter that is a list."""


def is_list(expr: Expr) -> bool:
    """Whether it is a parameter that is a list, of no type yet."""
    return isinstance(expr, Function) and expr.name == LISTED and is_loose(expr)


def is_loose(expr: Expr) -> bool:
    """Whether a context still has to give the expression its type."""
    return expr.type.kind is Kind.NULL


def is_text_literal(expr: Expr) -> bool:
    """Whether it is a string literal that no context has typed yet."""
    return isinstance(expr, Const) and isinstance(expr.value, str) and is_loose(expr)


def mismatch(message: str, dialect: Dialect, state: str = "42883") -> SqlError | Unsupported:
    """A combination of types: an error in PostgreSQL, elsewhere a conversion that is not modelled."""
    return SqlError(state, message) if dialect.rules.types.mismatch_is_error else Unsupported(message)


def _parameter(param: Param, target: SqlType, context: Context) -> Expr:
    """Type a parameter by its context and by what its value looks like in the log; the first context decides."""
    kind, wanted, rules = context.parameters.kinds[param.key], base(target), context.dialect.rules.types
    if context.dialect.types_by_value and wanted.kind is not Kind.BYTES:
        wanted = TEXT
    if wanted.kind is Kind.REAL and rules.reals_compute_as_doubles:
        wanted = DOUBLE  # a FLOAT is compared as one
    final = wanted
    if kind in INTEGER_KINDS:
        if wanted.kind not in NUMBER_KINDS:
            raise Unsupported(f"an integer parameter where {wanted.kind.value} is expected")
        if wanted.kind is Kind.REAL:
            final = SqlType(kind)  # beside an integer a REAL is a double
        elif wanted.kind is Kind.NUMERIC and rules.integers_stay_among_decimals:
            final = SqlType(kind)
        elif wanted.kind in INTEGER_KINDS:
            final = max(SqlType(kind), wanted, key=lambda item: INTEGER_RANGE[item.kind][1])
    elif kind is Kind.BOOLEAN and wanted.kind is not Kind.BOOLEAN:
        if not integer_booleans(context.dialect) or wanted.kind not in NUMBER_KINDS:
            raise Unsupported(f"a boolean parameter where {wanted.kind.value} is expected")
        final = BOOLEAN
    elif kind is Kind.DOUBLE:
        if wanted.kind not in NUMBER_KINDS:
            raise Unsupported(f"a floating-point parameter where {wanted.kind.value} is expected")
        final = DOUBLE
    elif kind is Kind.TEXT and wanted.kind is Kind.BOOLEAN and not context.dialect.reads_untyped_texts:
        raise Unsupported("a text parameter where a boolean is expected")
    context.parameters.types[param.key] = final
    typed = Param(param.key, final)
    return cast(typed, INT) if final is BOOLEAN and wanted.kind in NUMBER_KINDS else typed


def settle(expr: Expr, target: SqlType, context: Context) -> Expr:
    """Give a loose expression the family of `target`; others are returned as they are."""
    if not is_loose(expr):
        return expr
    if target.kind is Kind.NULL:
        return settle_alone(expr, context)
    if isinstance(expr, Param):
        known = context.parameters.types.get(expr.key)
        return Param(expr.key, known) if known is not None else _parameter(expr, target, context)
    if isinstance(expr, Const):
        if isinstance(expr.value, str):
            return literal_value(expr.value, target, context.dialect)
        return Const(None, base(target))
    if isinstance(expr, Function) and expr.name == LISTED:
        raise Unsupported(f"a list where {target} is expected")  # of which type it is, the driver says
    raise AssertionError(f"loose {type(expr).__name__}")


def settle_alone(expr: Expr, context: Context) -> Expr:
    """Type an expression that has no context: text, and a parameter by its value's looks."""
    if isinstance(expr, Param) and is_loose(expr):
        kind = context.parameters.kinds[expr.key]
        return as_value(settle(expr, TEXT if kind is Kind.NULL else SqlType(kind), context), context)
    if isinstance(expr, Function) and is_loose(expr):
        if not expr.arguments:
            raise Unsupported("an empty array of no type")
        items, of = unify(expr.arguments, context, "ARRAY")
        return Function(LISTED, tuple(settle_alone(item, context) for item in items), array_of(of))
    return settle(expr, TEXT, context)


def cast(expr: Expr, target: SqlType) -> Expr:
    """An implicit conversion of families; folds what can be folded and leaves integers of another width alone."""
    source = expr.type
    if source == target or (source.kind in INTEGER_KINDS and target.kind in INTEGER_KINDS):
        return expr
    if isinstance(expr, Const):
        value = expr.value
        if value is None:
            return Const(None, target)
        if source.kind is Kind.BOOLEAN and target.kind in INTEGER_KINDS:
            return Const(int(bool(value)), target)
        if source.kind in INTEGER_KINDS and target.kind is Kind.NUMERIC and isinstance(value, int):
            return Const(Decimal(value), target)
        if source.kind is Kind.TEXT and target.kind is Kind.TEXT:
            return Const(value, target)
    if source.kind is target.kind and source.kind is not Kind.TEXT:
        return expr
    if source.kind is Kind.TEXT and target.kind is Kind.TEXT and source.padded == target.padded:
        return expr
    return Cast(expr, target)


def as_value(expr: Expr, context: Context) -> Expr:
    """The expression where a value is wanted: in MySQL and SQLite a truth value is then a number."""
    if expr.type.kind is Kind.BOOLEAN and integer_booleans(context.dialect):
        return cast(expr, INT)
    return expr


_TEXTUAL = frozenset({"CASE", "COALESCE", "GREATEST", "LEAST"})
"""What gives a text where one of its values is an enum and another a text."""


def texts_of_enums(items: Sequence[Expr], context: Context, what: str) -> list[Expr]:
    """MySQL's enums as the texts that they are among texts. Raises Unsupported for them among anything else."""
    if not context.dialect.rules.types.enums_are_texts or all(item.type.kind is not Kind.ENUM for item in items):
        return list(items)
    comparing = what in ("IN", "LIKE") or what.startswith("operator")
    known = [item for item in items if item != null()]
    if not comparing and (what not in _TEXTUAL or all(item.type.kind is Kind.ENUM for item in known)):
        raise Unsupported(f"{what} of ENUMs")
    for item in items:
        number = isinstance(item, Param) and context.parameters.kinds[item.key] not in (Kind.TEXT, Kind.NULL)
        if number or not (is_loose(item) or item.type.kind in (Kind.ENUM, Kind.TEXT)):
            raise Unsupported(f"{what} of an ENUM and a value of another type")
    return [
        Cast(item, TEXT) if item.type.kind is Kind.ENUM else item if item == null() else settle(item, TEXT, context)
        for item in items
    ]


# --- common types -------------------------------------------------------------------------------------------------


def decimal_of(kind: SqlType) -> SqlType:
    """MySQL, DuckDB: the DECIMAL that an exact number is when it meets one. Without a scale where none is known."""
    if kind.kind in _DIGITS:
        return SqlType(Kind.NUMERIC, _DIGITS[kind.kind], 0)
    return kind


def _join_integers(kinds: Sequence[SqlType], dialect: Dialect, comparing: bool) -> SqlType:
    unsigned = [item.kind in UNSIGNED_KINDS for item in kinds]
    widest = max(kinds, key=lambda item: INTEGER_RANGE[item.kind][1])
    if any(unsigned) and not all(unsigned) and not comparing:  # integers compare as they are
        signed = [item for item, flag in zip(kinds, unsigned, strict=True) if not flag]
        widest = max(signed, key=lambda item: INTEGER_RANGE[item.kind][1])
        if any(INTEGER_RANGE[item.kind][1] > INTEGER_RANGE[widest.kind][1] for item in kinds):
            raise Unsupported(f"unsigned and signed integers together in {dialect.name}")
    return SqlType(widest.kind)


def _join_numbers(kinds: Sequence[SqlType], dialect: Dialect, comparing: bool) -> SqlType:
    families, rules = {item.kind for item in kinds}, dialect.rules.types
    if families <= INTEGER_KINDS:
        return _join_integers(kinds, dialect, comparing)
    if families & FLOAT_KINDS:
        mixed = families != {Kind.REAL}
        if rules.real_among_exact == "real" or (rules.real_among_exact == "real in common" and not comparing):
            mixed = Kind.DOUBLE in families
        return DOUBLE if mixed else REAL
    unscaled = rules.decimals_among_decimals
    if unscaled == "no scale" or (comparing and unscaled == "no scale compared"):
        return NUMERIC
    exact = [decimal_of(item) for item in kinds]
    if any(item.precision is None for item in exact):
        return NUMERIC
    scale = max(item.scale or 0 for item in exact)
    whole = max((item.precision or 0) - (item.scale or 0) for item in exact)
    most = rules.decimal_precision
    return SqlType(Kind.NUMERIC, whole + scale if most is None else min(whole + scale, most), scale)


_CATEGORIES = (frozenset({*DATETIME_KINDS, Kind.TIME}), frozenset({Kind.UUID, Kind.BYTES, Kind.JSON}))
"""Types of one of PostgreSQL's categories of which not every one converts to every other."""


def refuse_unmodelled(kinds: Iterable[SqlType]) -> None:
    """Raise Unsupported, naming what is not modelled, for values that are stored and shown, and nothing else."""
    for kind in kinds:
        if kind.kind in UNMODELLED_KINDS:
            raise Unsupported(kind.name)


def common_type(kinds: Iterable[SqlType], context: Context, what: str) -> SqlType:
    """The type that CASE, COALESCE, IN and the like convert to; TEXT where every item is loose (PostgreSQL 10.5).

    Raises SqlError 42804 or 42846 (PostgreSQL) or Unsupported where there is none.
    """
    known = [item for item in kinds if item.kind is not Kind.NULL]
    dialect, rules = context.dialect, context.dialect.rules.types
    refuse_unmodelled(known)
    if not known:
        return TEXT
    families = {item.kind for item in known}
    if families <= NUMBER_KINDS:
        return _join_numbers(known, dialect, what == "IN" or what.startswith("operator"))
    if families == {Kind.TEXT}:
        # PostgreSQL 10.5: the first type stays where the others convert to it, and text converts to bpchar.
        comparing = what == "IN" or what.startswith("operator")
        if rules.common_texts == "first" and not comparing:
            return SqlType(Kind.TEXT, padded=known[0].padded)
        # Beside a varchar(n) the operators of bpchar fit better than those of text (10.2).
        if SQLITE_JSON in known:
            return SQLITE_JSON
        blank = [item.padded or (rules.varchars_compare_padded and item.length is not None) for item in known]
        return SqlType(Kind.TEXT, padded=any(item.padded for item in known) and all(blank))
    if families & FAMILY_KINDS and len(families) == 1:
        if not all(alike(item, known[0]) for item in known):
            if families != {Kind.COMPOSITE}:
                raise mismatch(f"{what} of different types cannot be matched", dialect, "42846")
            if not what.startswith("operator"):  # which need fields of the same types, and no common type
                raise Unsupported(f"{what} of rows of several types")
        return known[0]
    if len(families) == 1:
        precisions = {item.precision for item in known}
        precision = max((digits for digits in precisions if digits is not None), default=None)
        if rules.common_precision == "if shared" and len(precisions) > 1:
            precision = None  # 10.5: a length or precision is kept where all have it
        return SqlType(known[0].kind, precision)
    if families <= DATETIME_KINDS:
        keeps = rules.common_precision == "most"
        digits = max((item.precision or 0 for item in known), default=0) if keeps else None
        return SqlType(max(families, key=_MOMENTS.index), digits)
    textual = families <= INTEGER_KINDS | TEMPORAL_KINDS | {Kind.TEXT, Kind.NUMERIC}
    become_texts = rules.texts_among_others == "make texts" and what in ("CASE", "COALESCE")
    if become_texts and Kind.TEXT in families and textual:
        return TEXT  # MySQL 14.5: numbers and dates among texts become texts
    shown = " and ".join(sorted({str(item) for item in known}))
    akin = any(families <= category for category in _CATEGORIES)
    raise mismatch(f"{what} types {shown} cannot be matched", dialect, "42846" if akin else "42804")


def adapted(items: Sequence[Expr], dialect: Dialect) -> list[Expr]:
    """Integer literals as the integer type that they meet, where they fit it and the product has it so."""
    kinds = {item.type.kind for item in items if not isinstance(item, Const) and item.type.kind in INTEGER_KINDS}
    if not dialect.rules.types.integer_literals_adapt or len(kinds) != 1:
        return list(items)
    target = SqlType(next(iter(kinds)))
    low, high = INTEGER_RANGE[target.kind]
    return [
        Const(item.value, target)
        if isinstance(item, Const) and item.type == INT and isinstance(item.value, int) and low <= item.value <= high
        else item
        for item in items
    ]


def numbered(items: list[Expr], dialect: Dialect) -> list[Expr]:
    """Truth values that meet integers as 1 and 0, integers of their type, where the product has it so."""
    kinds = {item.type.kind for item in items if not is_loose(item)}
    integers = kinds - {Kind.BOOLEAN}
    converts = dialect.rules.types.booleans_among_integers and Kind.BOOLEAN in kinds
    if not converts or not integers or not integers <= INTEGER_KINDS:
        return items
    target = max((SqlType(kind) for kind in integers), key=lambda item: INTEGER_RANGE[item.kind][1])
    return [cast(item, target) if item.type.kind is Kind.BOOLEAN else item for item in items]


def unify(items: Sequence[Expr], context: Context, what: str) -> tuple[list[Expr], SqlType]:
    """Convert all items to their common type; a loose parameter among only loose items keeps its own looks."""
    dialect, rules = context.dialect, context.dialect.rules.types
    values = adapted(numbered([as_value(item, context) for item in items], dialect), dialect)
    values = texts_of_enums(values, context, what)
    comparing = what == "IN" or what.startswith("operator")
    if rules.nulls_alone == "unknown" and not comparing and all(item == null() for item in values):
        raise Unsupported(f"{what} of nothing but NULL in {dialect.name}")
    if rules.texts_among_others == "make texts" and not comparing:
        values = [settle(item, TEXT, context) if is_text_literal(item) else item for item in values]
    if any(item.type.kind is Kind.ANY for item in values):
        return _of_any_class(values, context, what)
    if all(is_loose(item) for item in values):
        telling = [tells_type(item, context) for item in values]  # a text takes the type of what is one by its value
        values = [
            settle_alone(item, context) if isinstance(item, Param) and (tells or not any(telling)) else item
            for item, tells in zip(values, telling, strict=True)
        ]
    target = common_type([item.type for item in values], context, what)
    if not comparing:
        _check_untyped(values, target, context, what)
    bare = [item == null() for item in values]  # they take the type, and have no say in it
    if all(bare) and rules.nulls_alone == "integer" and not comparing:
        target = INT  # there NULL is of no type, and most is asked of it where numbers are
    values = [settle(item, target, context) for item in values]
    if not all(bare):
        target = common_type([item.type for item, empty in zip(values, bare, strict=True) if not empty], context, what)
    if rules.values_have_classes and target.kind in NUMBER_KINDS:
        mixed = not comparing and target.kind in FLOAT_KINDS and any(v.type.kind in INTEGER_KINDS for v in values)
        return values, SQLITE_NUMBER if mixed else target  # an integer stays one among floats
    if rules.common_decimals == "converted" and target.kind is Kind.NUMERIC and not comparing:
        return [item if item.type == target else Cast(item, target) for item in values], target
    values = [cast(item, target) for item in values]
    if rules.common_decimals == "rescaled" and target.kind is Kind.NUMERIC and target.precision is not None:
        decimals = [item.type for item in values if item.type.kind is Kind.NUMERIC]
        whole = max((item.precision or 0) - (item.scale or 0) for item in decimals)
        most = rules.decimal_precision
        if most is not None and whole + max(item.scale or 0 for item in decimals) > most:
            raise Unsupported(f"a common DECIMAL type of more than {most} digits in {dialect.name}")
        values = [_to_scale(item, target) for item in values]
    return values, target


def _of_any_class(values: Sequence[Expr], context: Context, what: str) -> tuple[list[Expr], SqlType]:
    """SQLite: numbers and texts stay what they are. Raises Unsupported for anything else."""
    items = [item if item == null() else settle_alone(item, context) for item in values]
    for item in items:
        if item != null() and item.type.kind not in NUMBER_KINDS | {Kind.TEXT, Kind.ANY}:
            raise Unsupported(f"{what} of {item.type} and values of several classes")
    return [Const(None, ANY) if item == null() else item for item in items], ANY


def _check_untyped(values: Sequence[Expr], target: SqlType, context: Context, what: str) -> None:
    """Raises Unsupported for texts without a type that would have to become numbers or moments: MySQL makes texts of
    the others instead, and DuckDB converts where the value is taken, if it is."""
    texts = context.dialect.rules.types.texts_among_others
    if texts not in ("make texts", "converted when taken") or target.kind is Kind.TEXT:
        return
    for item in values:
        text = isinstance(item, Param) and is_loose(item) and context.parameters.kinds[item.key] is Kind.TEXT
        if text or (texts == "converted when taken" and is_text_literal(item)):
            raise Unsupported(f"{what} of {target} and a text without a type in {context.dialect.name}")


def tells_type(item: Expr, context: Context) -> bool:
    """Whether it is a parameter for which a driver tells a type."""
    return isinstance(item, Param) and context.parameters.kinds[item.key] not in (Kind.TEXT, Kind.NULL)


def _to_scale(item: Expr, target: SqlType) -> Expr:
    """The number with the places of the common type, which it has in DuckDB whichever item is taken."""
    if isinstance(item, Const) and isinstance(item.value, Decimal):
        return Const(round_scale(item.value, target.scale or 0), target)
    same = item.type.kind is Kind.NUMERIC and item.type.scale == target.scale
    return item if same or item.type.kind not in EXACT_KINDS else Cast(item, target)


def text_number(expr: Expr, comparing: bool = False) -> Expr:
    """MySQL: the number that a text begins with; what follows it is an error where the statement stores."""
    return Function("compared number" if comparing else "text number", (expr,), DOUBLE)


# --- storing ------------------------------------------------------------------------------------------------------


def _is_number_for_text(expr: Expr, target: SqlType, context: Context) -> bool:
    """Whether an integer parameter is stored as a text (PostgreSQL 10.4)."""
    if not isinstance(expr, Param) or not is_loose(expr) or target.kind is not Kind.TEXT:
        return False
    whole = context.parameters.kinds[expr.key] in INTEGER_KINDS
    return whole and context.dialect.reads_untyped_texts and context.parameters.types.get(expr.key) is None


def assign(expr: Expr, target: SqlType, context: Context, what: str) -> Expr:
    """The expression stored into a column or variable of type `target` (PostgreSQL 10.4; MySQL 11.1).

    Raises SqlError 42804 for a conversion that PostgreSQL has no assignment cast for.
    """
    rules = context.dialect.rules.types
    if {target.kind, expr.type.kind} & UNMODELLED_KINDS:
        return _assign_unmodelled(expr, target, context)
    if is_list(expr):
        return _assign_list(expr, target, context)
    if target.kind is Kind.ANY and expr != null():
        expr = settle_alone(as_value(expr, context), context)
    if rules.enums_are_texts and target.kind is Kind.ENUM and is_loose(expr) and expr != null():
        expr = settle(expr, TEXT, context)
    if rules.moments_read_when_stored and target.kind in TEMPORAL_KINDS and (shown := written_moment(expr, target)):
        expr = Const(shown, null().type)
    if rules.moments_read_when_stored and is_text_literal(expr) and target.kind in TEMPORAL_KINDS:
        expr = settle(expr, TEXT, context)  # a text that is no date is an error where it is stored only
    if _is_number_for_text(expr, target, context):
        expr = settle_alone(expr, context)  # the same text, whether the driver says its type or not
    expr = settle(as_value(expr, context), target, context)
    source, goal = expr.type, target.kind
    if source == target:
        return expr
    if source.kind is goal is Kind.COMPOSITE:
        return converted_row(expr, target, lambda value, type_: assign(value, type_, context, what))
    if isinstance(expr, Const):
        if expr.value is None:
            return Const(None, target)
        if goal in INTEGER_KINDS and source.kind in INTEGER_KINDS and isinstance(expr.value, int):
            low, high = INTEGER_RANGE[goal]
            if low <= expr.value <= high:
                return Const(expr.value, target)
    if storable(source, target, rules):
        return Cast(expr, target, assignment=True)
    if isinstance(expr, Param):
        raise Unsupported(f"a parameter used as {source} and as {target}")
    if not rules.mismatch_is_error:
        raise Unsupported(f"conversion of {source} to {target}")
    raise mismatch(f"{what} is of type {target} but expression is of type {source}", context.dialect, "42804")


def written_moment(expr: Expr, target: SqlType) -> str | None:
    """The day, or the day and the time, that MySQL reads from an integer of 8 or 14 digits; None for another."""
    if not isinstance(expr, Const) or type(expr.value) is not int or target.kind is Kind.TIME:
        return None
    digits = str(expr.value)
    if len(digits) not in ((8,) if target.kind is Kind.DATE else (8, 14)):
        return None
    day = "-".join((digits[:4], digits[4:6], digits[6:8]))
    text = day if len(digits) == 8 else f"{day} {':'.join((digits[8:10], digits[10:12], digits[12:]))}"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return text if found.year >= 1000 else None


def _assign_list(expr: Expr, target: SqlType, context: Context) -> Expr:
    """A list stored as an array: of texts where the items are texts, of integers where they are numbers."""
    family = target.family
    assert isinstance(expr, Function)
    kinds = {context.parameters.kinds[item.key] for item in expr.arguments if isinstance(item, Param)} - {Kind.NULL}
    if isinstance(family, ArrayFamily):
        numbers = kinds <= INTEGER_KINDS and family.item.kind in EXACT_KINDS
        if numbers or (kinds <= {Kind.TEXT} and family.item.kind is Kind.TEXT):
            items = [assign(item, family.item, context, "an item") for item in expr.arguments]
            return Function(LISTED, tuple(items), target)
    raise Unsupported(f"a list where {target} is expected")


def _assign_unmodelled(expr: Expr, target: SqlType, context: Context) -> Expr:
    """What a column of a type that is not modelled is given: a literal or a parameter as it is written, NULL, or a
    value of the same type."""
    if target.kind is Kind.UNKNOWN:
        return Const(None, target)
    if expr == null():
        return Const(None, target)
    if expr.type == target:
        return expr
    if isinstance(expr, Const) and isinstance(expr.value, str) and target.kind is Kind.OPAQUE:
        return Const(opaque(expr.value, target.name, spelled=target.spelled), target)
    if isinstance(expr, Param) and is_loose(expr) and target.kind is Kind.OPAQUE:
        context.parameters.types[expr.key] = target
        return Param(expr.key, target)
    raise Unsupported(target.name or expr.type.name)


def null() -> Const:
    """A bare NULL."""
    return Const(None, NULL)
