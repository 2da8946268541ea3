"""Non-null scalar terms over unknowns (paper §5.3). Does not know NULL: that is a case of its own.

Numbers are exact: a term of scale s denotes an integer divided by 10**s, so that a solver can work in integers alone.
Every numeric term carries the hull of its possible values; comparisons outside the hull fold on construction, which is
what makes an impossible observation cheap to refute.
"""

from __future__ import annotations

from collections.abc import Hashable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any
from weakref import WeakValueDictionary

from sql_semantics.terms.guards import FALSE, TRUE, Guard, intern_guard, neg
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value

EXACT = Context(prec=4000, Emax=MAX_EMAX, Emin=MIN_EMIN) if MAX_PREC > 4000 else Context()
"""Arithmetic on bounds and constants never rounds."""

Number = int | Decimal


class TermLeaf(Exception):
    """A concrete operation was asked of a term that has no concrete value."""


class Term:
    """One interned scalar term that is not NULL.

    `op` is ``var`` (`args` is the key), ``add``, ``sub``, ``mul``, ``neg``, ``ite`` (guard, then, else; leaves may be
    values). `scale` is the number of decimal digits after the point (0 for integers and non-numbers); `low` and
    `high` bound the value inclusively, None where unbounded.
    """

    __slots__ = ("__weakref__", "args", "high", "kind", "low", "op", "scale")

    def __init__(
        self, op: str, args: tuple[Any, ...], kind: Kind, scale: int, low: Number | None, high: Number | None
    ) -> None:
        self.op = op
        self.args = args
        self.kind = kind
        self.scale = scale
        self.low = low
        self.high = high

    def __repr__(self) -> str:
        return f"({self.op} {' '.join(map(repr, self.args))})"


Leaf = Value | Term

_interned: WeakValueDictionary[tuple[Hashable, ...], Term] = WeakValueDictionary()


def leaf_key(leaf: Leaf) -> Hashable:
    """What makes two leaves the same: identity of terms, type and value of values (TRUE is not 1)."""
    if isinstance(leaf, Term):
        return id(leaf)
    return (leaf.__class__, leaf)


def scale_of(leaf: Leaf) -> int:
    """Digits after the decimal point of a number."""
    if isinstance(leaf, Term):
        return leaf.scale
    if isinstance(leaf, Decimal):
        exponent = leaf.as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0
    return 0


def is_number(leaf: Leaf) -> bool:
    """Whether exact arithmetic applies: integers and decimals, not floats, booleans or text."""
    if isinstance(leaf, Term):
        return leaf.kind in INTEGER_KINDS or leaf.kind is Kind.NUMERIC
    return isinstance(leaf, int | Decimal) and not isinstance(leaf, bool)


def bounds_of(leaf: Leaf) -> tuple[Number | None, Number | None]:
    """The inclusive hull of a number."""
    if isinstance(leaf, Term):
        return leaf.low, leaf.high
    if isinstance(leaf, int | Decimal):
        return leaf, leaf
    return None, None


def kind_of(leaf: Leaf) -> Kind:
    """The kind of a leaf; decimals are NUMERIC, integers BIGINT."""
    if isinstance(leaf, Term):
        return leaf.kind
    if isinstance(leaf, bool):
        return Kind.BOOLEAN
    if isinstance(leaf, int):
        return Kind.BIGINT
    if isinstance(leaf, Decimal):
        return Kind.NUMERIC
    if isinstance(leaf, float):
        return Kind.DOUBLE
    return Kind.TEXT if isinstance(leaf, str) else Kind.NULL


def _make(
    op: str, args: tuple[Any, ...], key: tuple[Hashable, ...], kind: Kind, scale: int, low: Any, high: Any
) -> Term:
    full = (op, kind, scale, *key)
    found = _interned.get(full)
    if found is None:
        found = Term(op, args, kind, scale, low, high)
        _interned[full] = found
    return found


def unknown(key: Hashable, kind: Kind, scale: int = 0, low: Number | None = None, high: Number | None = None) -> Term:
    """A fresh non-null unknown; the key names it. Bounds, where given, are part of its meaning."""
    return _make("var", (key,), (key, low, high), kind, scale, low, high)


def _arithmetic(op: str, left: Leaf, right: Leaf, scale: int, low: Number | None, high: Number | None) -> Term:
    both = (left, right)
    kind = Kind.NUMERIC if Kind.NUMERIC in (kind_of(left), kind_of(right)) else Kind.BIGINT
    return _make(op, both, (leaf_key(left), leaf_key(right)), kind, scale, low, high)


def _require_numbers(*leaves: Leaf) -> None:
    for leaf in leaves:
        if not is_number(leaf):
            raise TermLeaf(f"arithmetic on {leaf!r}")


def _plus(a: Number | None, b: Number | None) -> Number | None:
    return None if a is None or b is None else _exact_add(a, b)


def _exact_add(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return EXACT.add(Decimal(a), Decimal(b))


def _exact_multiply(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return EXACT.multiply(Decimal(a), Decimal(b))


def _exact_negate(a: Number) -> Number:
    return -a if isinstance(a, int) else a.copy_negate()


def add(left: Leaf, right: Leaf) -> Leaf:
    """left + right, exact; (+ (+ x c) d) = (+ x (+ c d))."""
    _require_numbers(left, right)
    if not isinstance(left, Term) and not isinstance(right, Term):
        return _exact_add(left, right)  # type: ignore[arg-type]
    if not isinstance(left, Term):
        left, right = right, left
    if not isinstance(right, Term):
        if right == 0 and scale_of(right) <= scale_of(left):
            return left
        if isinstance(left, Term) and left.op == "add" and not isinstance(left.args[1], Term):
            return add(left.args[0], _exact_add(left.args[1], right))  # type: ignore[arg-type]
    (low1, high1), (low2, high2) = bounds_of(left), bounds_of(right)
    scale = max(scale_of(left), scale_of(right))
    return _arithmetic("add", left, right, scale, _plus(low1, low2), _plus(high1, high2))


def negate(operand: Leaf) -> Leaf:
    """-operand, exact."""
    _require_numbers(operand)
    if not isinstance(operand, Term):
        return _exact_negate(operand)  # type: ignore[arg-type]
    if operand.op == "neg":
        inner: Leaf = operand.args[0]
        return inner
    low = None if operand.high is None else _exact_negate(operand.high)
    high = None if operand.low is None else _exact_negate(operand.low)
    return _make("neg", (operand,), (id(operand),), operand.kind, operand.scale, low, high)


def sub(left: Leaf, right: Leaf) -> Leaf:
    """left - right, exact; (- x c) = (+ x -c)."""
    _require_numbers(left, right)
    return add(left, negate(right))


def mul(left: Leaf, right: Leaf) -> Leaf:
    """left * right, exact; the scale is the sum of the scales."""
    _require_numbers(left, right)
    if not isinstance(left, Term) and not isinstance(right, Term):
        return _exact_multiply(left, right)  # type: ignore[arg-type]
    corners = [
        None if a is None or b is None else _exact_multiply(a, b) for a in bounds_of(left) for b in bounds_of(right)
    ]
    known = [corner for corner in corners if corner is not None]
    low, high = (min(known), max(known)) if len(known) == 4 else (None, None)
    return _arithmetic("mul", left, right, scale_of(left) + scale_of(right), low, high)


def if_then_else(guard: Guard, then: Leaf, otherwise: Leaf) -> Leaf:
    """(ite g a b) over non-null leaves of one kind; used where cases would outgrow their bound."""
    if guard is TRUE or leaf_key(then) == leaf_key(otherwise):
        return then
    if guard is FALSE:
        return otherwise
    (low1, high1), (low2, high2) = bounds_of(then), bounds_of(otherwise)
    low = None if low1 is None or low2 is None else min(low1, low2)
    high = None if high1 is None or high2 is None else max(high1, high2)
    kind = kind_of(then) if kind_of(then) is kind_of(otherwise) else Kind.NUMERIC
    scale = max(scale_of(then), scale_of(otherwise))
    key = (guard.serial, leaf_key(then), leaf_key(otherwise))
    return _make("ite", (guard, then, otherwise), key, kind, scale, low, high)


_CONCRETE = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}


def compare(op: str, left: Leaf, right: Leaf) -> Guard:
    """The guard of a comparison of two non-null leaves; `op` is one of = <> < <= > >=.

    Folds on constants, on the same term twice and outside the hulls. Ordering of text terms raises TermLeaf.
    """
    match op:
        case "<>":
            return neg(compare("=", left, right))
        case ">":
            return compare("<", right, left)
        case ">=":
            return compare("<=", right, left)
    if not isinstance(left, Term) and not isinstance(right, Term):
        return TRUE if _CONCRETE[op](left, right) else FALSE
    if left is right:
        return FALSE if op == "<" else TRUE
    if is_number(left) and is_number(right):
        (base1, plus1), (base2, plus2) = _offset(left), _offset(right)
        if base1 is base2:
            # (op (+ x c) (+ x d)) = (op c d)
            return TRUE if _CONCRETE[op](plus1, plus2) else FALSE
        folded = _fold_by_hull(op, left, right)
        if folded is not None:
            return folded
    elif op != "=":
        raise TermLeaf(f"ordering of {left!r} and {right!r}")
    if op == "=" and ((not isinstance(left, Term)) or (isinstance(right, Term) and id(right) < id(left))):
        left, right = right, left
    # a term's id may be used again after it died, so the guard's arguments keep both alive
    return intern_guard("cmp", (op, leaf_key(left), leaf_key(right)), (op, left, right))


def _offset(leaf: Leaf) -> tuple[Leaf, Number]:
    """(+ x c) as x and c."""
    if isinstance(leaf, Term) and leaf.op == "add" and not isinstance(leaf.args[1], Term):
        return leaf.args[0], leaf.args[1]
    return leaf, 0


def _fold_by_hull(op: str, left: Leaf, right: Leaf) -> Guard | None:
    (low1, high1), (low2, high2) = bounds_of(left), bounds_of(right)
    left_below = high1 is not None and low2 is not None and high1 < low2
    left_above = low1 is not None and high2 is not None and low1 > high2
    if op == "=":
        return FALSE if left_below or left_above else None
    if left_below:
        return TRUE
    if left_above:
        return FALSE
    if op == "<=" and high1 is not None and low2 is not None and high1 <= low2:
        return TRUE
    if op == "<" and low1 is not None and high2 is not None and low1 >= high2:
        return FALSE
    return None
