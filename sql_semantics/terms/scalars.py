"""Guarded cases, the normal form of a symbolic value (paper §5.4 *ITE*). Does not know SQL's operators.

A `Scalar` is a plain value, a term, or `Cases`: leaves under pairwise exclusive guards, exhaustive wherever the scalar
means anything at all (a row's values mean something only where the row exists).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import product
from typing import Any

from sql_semantics.terms.guards import FALSE, TRUE, Guard, conj, disj, neg
from sql_semantics.terms.numbers import Leaf, Term, TermLeaf, compare, if_then_else, is_number, leaf_key
from sql_semantics.values.types import Value

CASE_BOUND = 4096
"""Combinations of cases that one operation may look at."""

CASE_LIMIT = 256
"""Numeric cases beyond which `compact` makes a value an arithmetic term."""


class CaseBound(Exception):
    """An operation would look at more combinations of cases than the bound allows."""


class Cases:
    """At least two leaves under exclusive guards. Built by `choose` only."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[tuple[Guard, Leaf], ...]) -> None:
        self.items = items

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{leaf!r}: {guard!r}" for guard, leaf in self.items) + "}"


Scalar = Leaf | Cases


def is_concrete(scalar: Scalar) -> bool:
    """Whether it is a plain value."""
    return not isinstance(scalar, Term | Cases)


def items_of(scalar: Scalar) -> tuple[tuple[Guard, Leaf], ...]:
    """The cases of any scalar; one case under TRUE for a leaf."""
    if isinstance(scalar, Cases):
        return scalar.items
    return ((TRUE, scalar),)


def choose(items: Iterable[tuple[Guard, Scalar]]) -> Scalar:
    """The scalar that is each item where its guard is true. Guards must be exclusive.

    Nested cases are flattened, equal leaves merged, impossible ones dropped; a single case left is its leaf. No case
    left means that the scalar is nowhere meaningful: None.
    """
    merged: dict[Hashable, tuple[list[Guard], Leaf]] = {}
    for guard, scalar in items:
        if guard is FALSE:
            continue
        if isinstance(scalar, Cases):
            for inner, leaf in scalar.items:
                both = conj(guard, inner)
                if both is not FALSE:
                    merged.setdefault(leaf_key(leaf), ([], leaf))[0].append(both)
        else:
            merged.setdefault(leaf_key(scalar), ([], scalar))[0].append(guard)
    if len(merged) == 1:
        return next(iter(merged.values()))[1]
    if not merged:
        return None
    return Cases(tuple((disj(*guards), leaf) for guards, leaf in merged.values()))


def ite(guard: Guard, then: Scalar, otherwise: Scalar) -> Scalar:
    """`then` where the guard is true, `otherwise` where it is not."""
    if guard is TRUE:
        return then
    if guard is FALSE:
        return otherwise
    return choose(((guard, then), (neg(guard), otherwise)))


def lift(function: Callable[..., Any], *scalars: Scalar) -> Any:
    """Apply a concrete function to every combination of cases and merge equal results.

    The function may return any hashable object (not only values). Raises TermLeaf where an argument has a term among
    its cases, CaseBound where the combinations are too many.
    """
    if not any(isinstance(scalar, Term | Cases) for scalar in scalars):
        return function(*scalars)
    cases = [items_of(scalar) for scalar in scalars]
    count = 1
    for items in cases:
        count *= len(items)
    if count > CASE_BOUND:
        raise CaseBound(f"{count} combinations of cases")
    results: list[tuple[Guard, Any]] = []
    for combination in product(*cases):
        guard = conj(*(case[0] for case in combination))
        if guard is FALSE:
            continue
        leaves = [case[1] for case in combination]
        for leaf in leaves:
            if isinstance(leaf, Term):
                raise TermLeaf(repr(leaf))
        results.append((guard, function(*leaves)))
    return choose(results)


def same(left: Scalar, right: Scalar) -> Guard:
    """Where two scalars are not distinct: equal values, or both NULL."""
    if left is right:
        return TRUE
    parts = []
    by_key: dict[Value, Guard] = {}
    terms: list[tuple[Guard, Term]] = []
    for guard, leaf in items_of(right):
        if isinstance(leaf, Term):
            terms.append((guard, leaf))
        else:
            # hashing makes 1 and 1.0, or 1.5 and 1.50, one value, as SQL does
            by_key[leaf] = disj(by_key[leaf], guard) if leaf in by_key else guard
    for guard, leaf in items_of(left):
        if not isinstance(leaf, Term):
            match = by_key.get(leaf)
            if match is not None:
                parts.append(conj(guard, match))
            if leaf is not None:
                parts.extend(conj(guard, other, compare("=", leaf, term)) for other, term in terms)
            continue
        for value, other in by_key.items():
            if value is not None:
                parts.append(conj(guard, other, compare("=", leaf, value)))
        parts.extend(conj(guard, other, compare("=", leaf, term)) for other, term in terms)
    return disj(*parts)


def compact(scalar: Scalar, limit: int = CASE_LIMIT) -> Scalar:
    """The same scalar with its numeric cases folded into one arithmetic term where they are more than `limit`."""
    if not isinstance(scalar, Cases) or len(scalar.items) <= limit:
        return scalar
    numbers = [(guard, leaf) for guard, leaf in scalar.items if is_number(leaf)]
    if len(numbers) <= limit // 2:
        return scalar
    others = [(guard, leaf) for guard, leaf in scalar.items if not is_number(leaf)]
    folded: Leaf = numbers[-1][1]
    for guard, leaf in reversed(numbers[:-1]):
        folded = if_then_else(guard, leaf, folded)
    if not others:
        return folded
    return choose([*others, (neg(disj(*(guard for guard, _ in others))), folded)])
