"""Operators on leaves of which one at least is an unknown. Does not know guards of rows.

Every function here answers what the concrete operator would, for every value that the unknowns may have: a leaf, or
cases where an overflow is possible. What has no exact counterpart raises TermLeaf, which callers turn into
Unsupported.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.guarded.lifting import failed, unknown_operand
from sql_semantics.terms import (
    FALSE,
    TRUE,
    Guard,
    Leaf,
    Scalar,
    Term,
    TermLeaf,
    add,
    choose,
    compare,
    compared_either_way,
    conj,
    ite,
    items_of,
    mul,
    neg,
    negate,
    sub,
)
from sql_semantics.terms.numbers import is_number, scale_of
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.order import sort_key
from sql_semantics.values.text import common_rule, equal_by_code_points, text_rule
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType

Symbolic = Callable[..., Scalar]


def truth(guard: Guard) -> Scalar:
    """The Boolean that is TRUE where the guard holds and FALSE elsewhere."""
    if guard is TRUE:
        return True
    return False if guard is FALSE else choose(((guard, True), (neg(guard), False)))


def checked(leaf: Leaf, low: Any, high: Any, error: SqlError) -> Scalar:
    """The number where it lies in [low, high], the error elsewhere; folds by the number's hull."""
    inside = conj(compare("<=", low, leaf), compare("<=", leaf, high))
    return choose(((inside, leaf), (neg(inside), failed(error))))


def _checked_integer(leaf: Leaf, type_: SqlType, dialect: Dialect, may: bool) -> Scalar:
    rules = dialect.rules.values
    kind = type_.kind if rules.narrow_arithmetic else Kind.BIGINT
    low, high = INTEGER_RANGE[kind]
    result = checked(leaf, low, high, SqlError("22003", f"{type_} out of range", may=may))
    if rules.overflow_to_double and result is not leaf:
        raise Unsupported("integer overflow in sqlite (continues in floating point)")
    return result


def arithmetic(op: str, type_: SqlType, dialect: Dialect, may: bool) -> Symbolic | None:
    """``+ - *`` (two operands) or unary ``-``, giving `type_`; None for operators without a counterpart."""
    operations: dict[str, Callable[..., Leaf]] = {"+": add, "-": sub, "*": mul, "negate": negate}
    operation = operations.get(op)
    if operation is None or type_.kind not in INTEGER_KINDS | {Kind.NUMERIC}:
        return None

    def apply(*leaves: Leaf) -> Scalar:
        if any(leaf is None for leaf in leaves):
            return None
        result = operation(*leaves)
        return _checked_integer(result, type_, dialect, may) if type_.kind in INTEGER_KINDS else result

    return apply


def comparison(op: str, left: SqlType, right: SqlType, dialect: Dialect) -> Symbolic:
    """``= <> < <= > >= is_distinct is_not_distinct``. Where a term's comparison is not modelled it may come out
    either way, or raises Unsupported where that is not asked for."""
    kinds = {left.kind, right.kind}
    if any(sort_key(kind) is not None for kind in kinds) or left.padded or right.padded:
        return _either_way(op)
    if Kind.TEXT in kinds and not equal_by_code_points(common_rule((left, right), text_rule(dialect))):
        return _either_way(op)
    if op in ("is_distinct", "is_not_distinct"):

        def null_safe(a: Leaf, b: Leaf) -> Scalar:
            equal = TRUE if a is b else FALSE if a is None or b is None else compare("=", a, b)
            return truth(equal if op == "is_not_distinct" else neg(equal))

        return null_safe

    def apply(a: Leaf, b: Leaf) -> Scalar:
        return None if a is None or b is None else truth(compare(op, a, b))

    return apply


def _either_way(op: str) -> Symbolic:
    def apply(a: Leaf, b: Leaf) -> Scalar:
        if a is None or b is None:
            return None if op not in _NULL_SAFE else (op == "is_distinct") is (a is not b)
        found = compared_either_way(op, a, b)
        if found is None:
            raise unknown_operand(op)
        return truth(found)

    return apply


_NULL_SAFE = frozenset({"is_distinct", "is_not_distinct"})


def extreme(name: str, type_: SqlType, dialect: Dialect) -> Symbolic | None:
    """greatest and least over exact numbers."""
    if type_.kind not in INTEGER_KINDS | {Kind.NUMERIC}:
        return None
    op = ">" if name == "greatest" else "<"
    skip_nulls = dialect.rules.values.extremes_skip_nulls

    def pick(*leaves: Leaf) -> Scalar:
        if not skip_nulls and any(leaf is None for leaf in leaves):
            return None
        best: Scalar = None
        for leaf in leaves:
            if leaf is not None:
                best = leaf if best is None else better(op, best, leaf)
        return best

    return pick


def better(op: str, best: Scalar, leaf: Leaf) -> Scalar:
    """`leaf` where it stands in `op` to the best so far, which is not NULL."""
    return choose((guard, ite(compare(op, leaf, current), leaf, current)) for guard, current in items_of(best))


def conversion(source: SqlType, target: SqlType, assignment: bool, dialect: Dialect, may: bool) -> Symbolic | None:
    """CAST where no rounding and no text is involved; None for other pairs of types."""
    exact = INTEGER_KINDS | {Kind.NUMERIC}
    if Kind.NULL in (source.kind, target.kind) or (source == target and source.kind in (Kind.BOOLEAN, Kind.TEXT)):
        return _unchanged
    if source.kind not in exact or target.kind not in exact:
        return None
    if target.kind in INTEGER_KINDS:
        low, high = INTEGER_RANGE[Kind.BIGINT if dialect.rules.values.integers_of_64_bits else target.kind]
        error = SqlError("22003", f"{target} out of range", may=may)
        return lambda leaf: None if leaf is None else checked(_scaled(leaf, 0), low, high, error)
    if target.precision is None:
        return _unchanged
    return _to_fixed(target, assignment, dialect, may)


def _unchanged(leaf: Leaf) -> Scalar:
    return leaf


def _scaled(leaf: Leaf, scale: int) -> Leaf:
    if not is_number(leaf) or scale_of(leaf) > scale:
        raise TermLeaf(f"rounding of {leaf!r}")
    return leaf


def _to_fixed(target: SqlType, assignment: bool, dialect: Dialect, may: bool) -> Symbolic:
    scale = target.scale or 0
    most = Decimal((0, (9,) * (target.precision or 0), -scale))
    least = most.copy_negate()
    error = SqlError("22003", "numeric field overflow", may=may)
    clamp = dialect.rules.values.casts_clamp and not assignment

    def convert(leaf: Leaf) -> Scalar:
        if leaf is None:
            return None
        number = _scaled(leaf, scale)
        if not clamp:
            return checked(number, least, most, error)
        above, below = compare(">", number, most), compare("<", number, least)
        return choose(((above, most), (below, least), (conj(neg(above), neg(below)), number)))

    return convert


def not_null(leaf: Leaf) -> bool:
    """Whether a leaf is not NULL: terms never are."""
    return leaf is not None or isinstance(leaf, Term)
