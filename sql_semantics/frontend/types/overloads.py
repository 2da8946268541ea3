"""Which overload of a function a call means, and its arguments converted to it (PostgreSQL 10.2 and 10.3).

An argument that needs no conversion costs nothing, an implicit conversion one; the cheapest rule wins, the first listed
among equals. What has no type yet costs least where a text is taken (PostgreSQL 10.3, step 4e: the string category is
selected if any candidate accepts it). Does not know the parse tree, nor what a function computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.types.castability import implicit
from sql_semantics.frontend.types.coerce import (
    adapted,
    as_value,
    cast,
    is_loose,
    null,
    settle,
    settle_alone,
    text_number,
)
from sql_semantics.frontend.types.collation import COMPARING, collated
from sql_semantics.ir.expressions import Cast, Const, Expr, Function, Param
from sql_semantics.values.functions import Rule, Slot, rules
from sql_semantics.values.types import (
    DOUBLE,
    FAMILY_KINDS,
    FLOAT_KINDS,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NUMBER_KINDS,
    TEXT,
    Kind,
    SqlType,
)

_OF_MOMENTS = frozenset({"extract", "date_part", "date_trunc"})
"""Functions that take moments of several types, so that an untyped one tells none."""

_FURTHER: Mapping[str, frozenset[int]] = {
    "age": frozenset({1}), "btrim": frozenset({2}), "date_trunc": frozenset({3}), "length": frozenset({2}),
    "ltrim": frozenset({2}), "mod": frozenset({2}), "reverse": frozenset({1}), "rtrim": frozenset({2}),
    "regexp_replace": frozenset({4}), "substring": frozenset({2, 3}), "trim": frozenset({2}),
}  # fmt: skip
"""PostgreSQL's overloads that are not in the tables, by how many arguments they take: a call of so many that fits none
of ours may be one of them."""


def call_function(
    name: str, arguments: Sequence[Expr], context: Context, result: SqlType | None = None, operator: bool = False
) -> Expr:
    """The bound call. Raises SqlError 42883 (PostgreSQL) or Unsupported where no overload takes the arguments."""
    dialect, types = context.dialect, context.dialect.rules.types
    table = rules(dialect).get(name)
    if table is None:
        raise Unsupported(f"function {name}()")
    given = [as_value(argument, context) for argument in arguments]
    if types.enums_are_texts:
        kinds = [Kind.TEXT if item.type.kind is Kind.ENUM or is_loose(item) else item.type.kind for item in given]
        if any(item.type.kind is Kind.ENUM for item in given) and any(rule.takes(kinds) for rule in table):
            given = [Cast(item, TEXT) if item.type.kind is Kind.ENUM else item for item in given]
    if types.reals_compute_as_doubles:
        given = [Cast(item, DOUBLE) if item.type.kind is Kind.REAL else item for item in given]
    if name in _OF_MOMENTS and given and is_loose(given[-1]) and isinstance(given[-1], Const):
        fitting = len(given) == 2 and (is_loose(given[0]) or given[0].type.kind is Kind.TEXT)
        if types.ambiguity_error is not None and fitting:
            raise SqlError(types.ambiguity_error, f"function {name}(unknown, unknown) is not unique")
        raise Unsupported(f"function {name}() of an untyped value")
    if name in ("year", "month", "day", "octet_length", "repeat") and types.picks_untyped_types and is_loose(given[0]):
        raise Unsupported(f"function {name}() of an untyped value")
    if name == "hex" and isinstance(given[0], Param) and is_loose(given[0]) and len(table) > 2:
        raise Unsupported("hex() of a parameter, which may be a number")
    if types.picks_untyped_types and not operator and given and all(item == null() for item in given):
        raise Unsupported(f"function {name}() of NULL alone in {dialect.name}")
    if operator:
        given = adapted(given, dialect)
        given = _same_type_first(name, given, table, context)
    if types.ambiguity_error is not None and not operator:
        _check_untyped(name, given, types.ambiguity_error)
    candidates = [(rule, slots) for rule in table if (slots := rule.slots_for(len(given))) is not None]
    if not candidates:
        raise _no_such_function(name, given, context, by_count=True)
    best: tuple[tuple[int, int], Rule, tuple[Slot, ...]] | None = None
    for rule, slots in candidates:
        cost = _cost(given, slots, context)
        if cost is not None and (best is None or cost < best[0]):
            best = (cost, rule, slots)
    if best is None:
        raise _no_such_function(name, given, context)
    _, rule, slots = best
    converted = tuple(_converted(item, slot, name, context) for item, slot in zip(given, slots, strict=True))
    if result is None:
        result = rule.result if isinstance(rule.result, SqlType) else _computed(rule, converted)
    if name in COMPARING:
        converted = tuple(collated(converted, context))
    return Function(name, converted, result)


def _check_untyped(name: str, given: Sequence[Expr], ambiguity_error: str) -> None:
    """PostgreSQL 10.3: literals of no type that leave several overloads, none of them preferred."""
    literals = [isinstance(item, Const) and is_loose(item) for item in given]
    if (name == "mod" and literals == [True, True]) or (name == "trunc" and literals == [True]):
        raise SqlError(ambiguity_error, f"function {name} of untyped literals is not unique")
    if name in ("extract", "date_part", "date_trunc", "age") and any(literals[1:]):
        raise Unsupported(f"{name}() of an untyped literal")


def _computed(rule: Rule, arguments: Sequence[Expr]) -> SqlType:
    if isinstance(rule.result, SqlType):
        return rule.result
    constants = [argument.value if isinstance(argument, Const) else None for argument in arguments]
    return rule.result([argument.type for argument in arguments], constants)


def _same_type_first(name: str, given: list[Expr], table: Sequence[Rule], context: Context) -> list[Expr]:
    """PostgreSQL 10.2: an untyped operand is taken to have the other's type, if there is such an operator."""
    loose, types = [is_loose(item) for item in given], context.dialect.rules.types
    if all(loose) and types.ambiguity_error is not None and all(isinstance(item, Const) for item in given):
        raise SqlError(types.ambiguity_error, f"operator is not unique: unknown {name} unknown")
    if any(loose) and types.picks_untyped_types:
        raise Unsupported(f"operator {name} with an untyped operand in {context.dialect.name}")
    if loose.count(True) != 1 or len(given) != 2:
        return given
    place = loose.index(True)
    other = given[1 - place].type
    if any(rule.takes([other.kind, other.kind]) for rule in table):
        given[place] = settle(given[place], other, context)
        return given
    fitting = [
        rule for rule in table
        if (slots := rule.slots_for(2)) is not None and other.kind in slots[1 - place].kinds
    ]  # fmt: skip
    if len(fitting) != 1:
        refused = isinstance(given[place], Const)
        converts = other.kind is Kind.TIME or (not fitting and other.kind in INTEGER_KINDS)
        if types.ambiguity_error is None or not refused or converts:
            # a time is an interval as well, a smallint an integer
            raise Unsupported(f"operator {name} with an untyped operand")
        state = types.ambiguity_error if fitting else "42883"
        raise SqlError(state, f"operator {name} with an untyped operand does not exist, or is not unique")
    return given


def _cost(given: Sequence[Expr], slots: Sequence[Slot], context: Context) -> tuple[int, int] | None:
    """How many arguments of a type have to be converted, then how many without one are no texts; None: no such call."""
    total = loose = 0
    for item, slot in zip(given, slots, strict=True):
        kind = item.type.kind
        if kind in slot.kinds:
            continue
        if slot.target is None:
            if not (is_loose(item) and isinstance(item, Param)):
                return None
            continue
        if is_loose(item):
            if not _loose_fits(item, slot.target, context):
                return None
            loose += slot.target.kind is not Kind.TEXT and not _looks_numeric(item, context)
            continue
        if not implicit(item.type, slot.target, context.dialect.rules.types):
            return None
        total += 1
    return total, loose


def _looks_numeric(item: Expr, context: Context) -> bool:
    """Whether it is a parameter whose value is a number, for which a driver tells a type."""
    return isinstance(item, Param) and context.parameters.kinds[item.key] in NUMBER_KINDS


def _loose_fits(item: Expr, target: SqlType, context: Context) -> bool:
    """A parameter fits by what it looks like, a string literal wherever it can be read."""
    if isinstance(item, Param):
        kind = context.parameters.kinds[item.key]
        if kind in INTEGER_KINDS and target.kind in INTEGER_KINDS:
            return INTEGER_RANGE[kind][1] <= max(INTEGER_RANGE[target.kind][1], INTEGER_RANGE[Kind.INT][1])
        if kind in NUMBER_KINDS:
            return target.kind in NUMBER_KINDS or target.kind is Kind.TEXT
        return kind in (Kind.TEXT, Kind.NULL) or target.kind is kind
    text = isinstance(item, Const) and isinstance(item.value, str)
    return not text or not context.dialect.rules.types.picks_untyped_types or target.kind is Kind.TEXT


def _converted(item: Expr, slot: Slot, name: str, context: Context) -> Expr:
    target, types = slot.target, context.dialect.rules.types
    if is_loose(item):
        item = _settled(item, target, name, context)
    if item.type.kind in slot.kinds and not item.type.padded:
        return item
    if item.type.padded and types.functions_see_padding and name in ("octet_length", "concat", "concat_ws", "format"):
        raise Unsupported(f"{name}() of a CHAR value, which sees its padding")
    if target is None:
        raise Unsupported(f"{name}() of {item.type}")
    if item.type.kind is Kind.TEXT and target.kind in FLOAT_KINDS and types.texts_become_numbers:
        return text_number(item)
    if item.type.kind in INTEGER_KINDS and target.kind in INTEGER_KINDS:
        return Cast(item, target) if types.integer_overloads else item
    return cast(item, target)


def _settled(item: Expr, target: SqlType | None, name: str, context: Context) -> Expr:
    if target is None:
        if isinstance(item, Param):
            return settle_alone(item, context)
        raise Unsupported(f"{name}() of an untyped value")
    if isinstance(item, Param) and target.kind is Kind.TEXT and context.parameters.kinds[item.key] in NUMBER_KINDS:
        return settle_alone(item, context)
    text = isinstance(item, Const) and isinstance(item.value, str)
    if text and context.dialect.rules.types.texts_become_numbers and target in (DOUBLE,):
        return text_number(settle(item, TEXT, context))
    return settle(item, target, context)


_LITTLE_KNOWN = frozenset({Kind.BYTES, Kind.JSON, Kind.UUID}) | FAMILY_KINDS
"""Types whose functions are not all in our tables."""


def _no_such_function(name: str, given: Sequence[Expr], context: Context, by_count: bool = False) -> Exception:
    shown = f"{name}({', '.join(str(item.type) for item in given)})"
    elsewhere = by_count or len(given) in _FURTHER.get(name, ())
    plain = not any(isinstance(item, Param) or item.type.kind in _LITTLE_KNOWN for item in given)
    if context.dialect.rules.types.mismatch_is_error and plain and not elsewhere:
        return SqlError("42883", f"function {shown} does not exist")
    return Unsupported(f"function {shown}")  # another form of it, perhaps
