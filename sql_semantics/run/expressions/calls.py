"""Source of IN, LIKE, function calls and casts, given to the expression compiler.

Every function here is handed the emitter and returns source. Does not know statements or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import (
    Binary,
    Cast,
    Column,
    Const,
    Expr,
    Free,
    InList,
    Like,
    Param,
    Unary,
    Variable,
)
from sql_semantics.ir.walks.traverse import can_raise, char_lengths, walk
from sql_semantics.run.expressions.operators import comparison
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions import like, scalar_function
from sql_semantics.values.order import sort_key
from sql_semantics.values.text import (
    TextRule,
    common_rule,
    equal_by_code_points,
    padded_length,
    rule_of,
    text_equality,
    text_order,
    text_rule,
)
from sql_semantics.values.types import (
    BOOLEAN,
    INTEGER_KINDS,
    INTEGER_RANGE,
    TEMPORAL_KINDS,
    TEXT,
    ZEROFILL,
    Kind,
    SqlType,
    Value,
)

if TYPE_CHECKING:
    from sql_semantics.run.expressions.expressions import Arguments, Emitter


def _operands(emitter: Emitter, expressions: Sequence[Expr]) -> tuple[list[str], bool]:
    """The operands' source, and whether all must be evaluated even behind a NULL because a later one may raise."""
    return [emitter.value(e) for e in expressions], any(can_raise(e) for e in expressions[1:])


def emit_in_list(emitter: Emitter, expr: InList) -> str:
    """IN: a set where plain equality decides and all items are constants, else a chain of OR."""
    operand = expr.operand
    native = all(emitter.native_equality(operand.type, item.type) for item in expr.items)
    if native and all(isinstance(item, Const) for item in expr.items):
        values = [_list_constant(cast(Const, item), operand.type) for item in expr.items]
        present = frozenset(value for value in values if value is not None)
        found, missing = ("False", "True") if expr.negated else ("True", "False")
        if None in values:
            missing = "None"
        members = emitter.name(present)
        return emitter.strict(
            [emitter.value(operand)],
            lambda v: f"({found} if {v[0]} in {members} else {missing})",
        )
    if native and len(expr.items) > _CHAIN and all(_is_given(item, operand.type) for item in expr.items):
        find = emitter.name(_Members(cast("Sequence[Const | Param]", expr.items), expr.negated).find)
        return emitter.strict([emitter.value(operand)], lambda v: f"{find}({v[0]}, args)")
    if len(expr.items) > _CHAIN and not can_raise(operand) and all(map(_is_text, expr.items)) and _unpadded(operand):
        rule = common_rule((operand.type, *(item.type for item in expr.items)), emitter.rule)
        texts = _Texts(cast("Sequence[Const | Param]", expr.items), expr.negated, text_equality(rule))
        compare = emitter.name(texts.find)
        return emitter.strict([emitter.value(operand)], lambda v: f"{compare}({v[0]}, args)")
    if len(expr.items) > _CHAIN:
        groups = [replace(expr, items=expr.items[at : at + _CHAIN]) for at in range(0, len(expr.items), _CHAIN)]
        found_in = _any_of([emitter.apart(replace(group, negated=False)) for group in groups])
        source = f"{emitter.name(found_in)}({emitter.row}, args, frame)"
        return emitter.strict([source], lambda v: f"(not {v[0]})") if expr.negated else source
    test: Expr = Binary("=", operand, expr.items[0], BOOLEAN)
    for item in expr.items[1:]:
        test = Binary("or", test, Binary("=", operand, item, BOOLEAN), BOOLEAN)
    return emitter.value(Unary("not", test, BOOLEAN) if expr.negated else test)


def _is_given(item: Expr, operand: SqlType) -> bool:
    """Whether an item's value is known before any row is looked at, and is equal to an operand's as it stands."""
    kinds = {item.type.kind, operand.kind}
    padded = item.type.padded or operand.padded
    return isinstance(item, (Const, Param)) and not padded and (len(kinds) == 1 or kinds <= INTEGER_KINDS)


def _is_text(item: Expr) -> bool:
    """Whether an item is a text that is known before any row is looked at."""
    return isinstance(item, (Const, Param)) and _unpadded(item)


def _unpadded(expr: Expr) -> bool:
    return expr.type.kind is Kind.TEXT and not expr.type.padded


class _Texts:
    """The items of IN that are texts whose equality code points do not decide, compared one after the other."""

    def __init__(self, items: Sequence[Const | Param], negated: bool, equal: Callable[[str, str], bool]) -> None:
        self._items: list[tuple[Any, Any]] = [
            (item.key, None) if isinstance(item, Param) else (None, item.value) for item in items
        ]
        self._found = not negated
        self._equal = equal

    def find(self, value: str, args: Any) -> bool | None:
        """What IN, or NOT IN, says of a text."""
        unknown = False
        for key, fixed in self._items:
            item = fixed if key is None else args[key]
            if item is None:
                unknown = True
            elif self._equal(value, item):
                return self._found
        return None if unknown else not self._found


class _Members:
    """The items of IN that are constants and parameters, as one set for all rows of an execution."""

    def __init__(self, items: Sequence[Const | Param], negated: bool) -> None:
        self._constants = frozenset(item.value for item in items if isinstance(item, Const))
        self._keys = tuple(item.key for item in items if isinstance(item, Param))
        self._found = not negated
        self._missing: bool | None = negated
        self._args: Arguments | None = None
        self._present: frozenset[Value] = frozenset()

    def find(self, value: Value, args: Arguments) -> bool | None:
        """What IN, or NOT IN, says of a value that is not NULL."""
        if args is not self._args:
            present = self._constants.union([cast("Any", args)[key] for key in self._keys])
            self._missing = None if None in present else not self._found
            self._present, self._args = present, args
        return self._found if value in self._present else self._missing


_CHAIN = 16
"""Items of IN that are compared in one expression; more are several, for the parser of the generated code."""


def _any_of(conditions: Sequence[Callable[..., Any]]) -> Callable[..., bool | None]:
    """Conditions joined by OR, each in its turn."""

    def any_of(*given: object) -> bool | None:
        unknown = False
        for condition in conditions:
            holds = condition(*given)
            if holds:
                return True
            unknown = unknown or holds is None
        return None if unknown else False

    return any_of


def emit_like(emitter: Emitter, expr: Like) -> str:
    """LIKE and ILIKE."""
    sources, all_first = _operands(emitter, (expr.operand, expr.pattern))
    types = (expr.operand.type, expr.pattern.type)
    match = emitter.name(_like_function(types, emitter.dialect, expr.escape, expr.ignore_case, emitter.may))
    if expr.operand.type.padded and emitter.dialect.rules.running.shows_padding:
        # LIKE sees the blanks that a CHAR(n) is padded with.
        lengths = char_lengths(expr.operand)
        if len(lengths) != 1 or None in lengths:
            raise Unsupported("LIKE on a CHAR value of unknown length")
        length = padded_length(next(iter(lengths)) or 0)
        sources[0] = emitter.strict([sources[0]], lambda v: f"{v[0]}.ljust({length})")
    negation_ = "not " if expr.negated else ""
    return emitter.strict(sources, lambda v: f"({negation_}{match}({v[0]}, {v[1]}))", all_first)


def emit_function(emitter: Emitter, name: str, arguments: tuple[Expr, ...], type_: SqlType) -> str:
    """A scalar function; those that see NULLs are written out here."""
    if name in ("coalesce", "ifnull"):
        sources = [emitter.value(argument) for argument in arguments]
        names = [emitter.temporary() for _ in sources]
        parts = [f"{n} if ({n} := {s}) is not None else" for n, s in zip(names[:-1], sources[:-1], strict=True)]
        return f"({' '.join(parts)} {sources[-1]})"
    if name == "if":
        condition, first, second = arguments
        return f"({emitter.value(first)} if {emitter.truth(condition)} else {emitter.value(second)})"
    if name == "nullif":
        first, second = arguments
        left, right = emitter.temporary(), emitter.temporary()
        a, b = emitter.comparable(first, second)
        equal = comparison(emitter, "=", left, right, first.type, second.type)
        return (
            f"(None if ({left} := {a}) is None else {left} if ({right} := {b}) is None"
            f" else None if {equal} else {left})"
        )
    if name in ("greatest", "least"):
        return _extreme(emitter, name, arguments, type_)
    implementation, strict = scalar_function(name, [a.type for a in arguments], type_, emitter.dialect, emitter.may)
    called = emitter.name(implementation)
    skips = emitter.dialect.rules.running.skips_behind_null
    if not strict and skips:
        sources = [emitter.value(arguments[0]), *_perhaps(emitter, arguments[1:])]
        return f"{called}({', '.join(sources)})"
    sources, all_first = _operands(emitter, arguments)
    if not strict:
        return f"{called}({', '.join(sources)})"
    # MySQL's functions differ in what they look at behind a NULL: such an error may come (`free_errors`).
    all_first = all_first and not skips
    return emitter.strict(sources, lambda v: f"{called}({', '.join(v)})", all_first)


def _perhaps(emitter: Emitter, expressions: Sequence[Expr]) -> list[str]:
    """The source of operands that need not be evaluated."""
    outer, emitter.may = emitter.may, True
    try:
        return [emitter.value(expr) for expr in expressions]
    finally:
        emitter.may = outer


def _extreme(emitter: Emitter, name: str, arguments: tuple[Expr, ...], type_: SqlType) -> str:
    pick = emitter.name(_extreme_function(name, type_, rule_of(type_, emitter.rule), emitter.dialect))
    return f"{pick}({', '.join(emitter.value(a) for a in arguments)})"


def as_text(emitter: Emitter, source: str, type_: SqlType) -> str:
    """An operand of a concatenation as text."""
    convert = caster(type_, TEXT, False, emitter.dialect, emitter.may) if type_.kind is not Kind.TEXT else None
    if convert is None:
        return source
    name = emitter.name(convert)
    return emitter.strict([source], lambda v: f"{name}({v[0]})")


def emit_cast(emitter: Emitter, operand: Expr, type_: SqlType, assignment: bool) -> str:
    """A conversion; constants fold, widening costs nothing. A moment that the DBMS chose is chosen as converted."""
    if isinstance(operand, Free) and {operand.type.kind, type_.kind} <= TEMPORAL_KINDS:
        return emitter.value(Free(operand.source, operand.name, type_))
    if type_.kind is Kind.TEXT and any(part.type.name == ZEROFILL for part in walk(operand)):
        raise Unsupported("a text of a ZEROFILL column")
    source = emitter.value(operand)
    fixed = isinstance(operand, (Column, Variable, Cast)) and operand.type == type_
    if fixed:
        return source
    rules = emitter.dialect.rules.values
    checked = not rules.integers_of_64_bits and (assignment or not rules.casts_clamp)
    if checked and type_.kind in INTEGER_KINDS and operand.type.kind in INTEGER_KINDS:
        low, high = INTEGER_RANGE[type_.kind]
        inner = INTEGER_RANGE[operand.type.kind]
        if low <= inner[0] <= inner[1] <= high and not isinstance(operand, (Param, Const)):
            return source
        fail = emitter.failure("22003", f"{type_} out of range")
        return emitter.strict(
            [source],
            lambda v: f"({v[0]} if {low} <= {v[0]} <= {high} else {fail}())",
        )
    convert = caster(operand.type, type_, assignment, emitter.dialect, emitter.may)
    if convert is None:
        return source
    if isinstance(operand, Const) and operand.value is not None:
        try:
            return emitter.constant(convert(operand.value), type_)
        except SqlError:
            pass  # raised again where it is evaluated
    name = emitter.name(convert)
    return emitter.strict([source], lambda v: f"{name}({v[0]})")


def _list_constant(item: Const, operand: SqlType) -> Value:
    if operand.padded and isinstance(item.value, str):
        return item.value.rstrip(" ")
    return item.value


def _like_function(
    types: Sequence[SqlType], dialect: Dialect, escape: str | None, ignore_case: bool, may: bool
) -> Callable[[str, str], bool]:
    rules = dialect.rules.values
    character = rules.like_escape if escape is None else escape
    rule = common_rule(types, text_rule(dialect))
    if rule is TextRule.IGNORE_CASE or (rules.like_ignores_case and not dialect.like_keeps_case):
        ignore_case = True

    def match(text: str, pattern: str) -> bool:
        return like(text, pattern, character, ignore_case, may, rules.trailing_escape)

    if equal_by_code_points(rule) or rule is not TextRule.UNKNOWN:
        return match

    def match_unknown(text: str, pattern: str) -> bool:
        exact = like(text, pattern, character, False, may, rules.trailing_escape)
        folded = like(text, pattern, character, True, may, rules.trailing_escape)
        if not (text.isascii() and pattern.isascii()) or exact != folded:
            raise Unsupported("LIKE under an unknown collation")
        return exact

    return match_unknown


def _extreme_function(name: str, type_: SqlType, rule: TextRule, dialect: Dialect) -> Callable[..., Value]:
    sign = 1 if name == "greatest" else -1
    key = sort_key(type_.kind)
    order: Callable[[Any, Any], int]
    if type_.kind is Kind.TEXT:
        order = text_order(rule)
    elif key is not None:
        of: Callable[[Any], Any] = key

        def order(a: Any, b: Any) -> int:
            return (of(a) > of(b)) - (of(a) < of(b))  # type: ignore[no-any-return]
    else:

        def order(a: Any, b: Any) -> int:
            return (a > b) - (a < b)  # type: ignore[no-any-return]

    skip_nulls = dialect.rules.values.extremes_skip_nulls
    ordered: Callable[[Any, Any], int] = order

    def pick(*values: Value) -> Value:
        best: Value = None
        for value in values:
            if value is None:
                if skip_nulls:
                    continue
                return None
            if best is None or ordered(value, best) * sign > 0:
                best = value
        return Decimal(best) if type_.kind is Kind.NUMERIC and isinstance(best, int) else best

    return pick
