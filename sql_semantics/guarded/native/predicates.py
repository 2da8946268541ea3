"""Three-valued logic on guards. Does not know rows.

A predicate is kept as the guards under which it is TRUE, FALSE and NULL, so that AND, OR and NOT stay linear where
cases would multiply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sql_semantics.guarded.lifting import Failure, is_failure, on_terms
from sql_semantics.records import dataclass
from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Scalar, Term, choose, compare, conj, disj, items_of, neg

Failures = tuple[tuple[Guard, Failure], ...]


@dataclass(frozen=True, slots=True)
class Predicate:
    """Where it is TRUE, FALSE and NULL; `failures` are the cases in which its evaluation raises an error (they may
    overlap with the rest, which then means nothing)."""

    true: Guard
    false: Guard
    null: Guard = FALSE
    failures: Failures = ()


YES = Predicate(TRUE, FALSE)
NO = Predicate(FALSE, TRUE)
UNKNOWN = Predicate(FALSE, FALSE, TRUE)


def of_scalar(scalar: Scalar) -> Predicate:
    """The predicate of a Boolean scalar; numbers count as TRUE where they are not zero (MySQL)."""
    if not isinstance(scalar, Cases | Term) and not isinstance(cast(object, scalar), Failure):
        return UNKNOWN if scalar is None else YES if scalar else NO
    true: list[Guard] = []
    false: list[Guard] = []
    null: list[Guard] = []
    failures: list[tuple[Guard, Failure]] = []
    for guard, leaf in items_of(scalar):
        if is_failure(leaf):
            failures.append((guard, leaf))
        elif isinstance(leaf, Term):
            holds = _truth(leaf)
            true.append(conj(guard, holds))
            false.append(conj(guard, neg(holds)))
        elif leaf is None:
            null.append(guard)
        else:
            (true if leaf else false).append(guard)
    return Predicate(disj(*true), disj(*false), disj(*null), tuple(failures))


def _truth(term: Term) -> Guard:
    boolean = term.kind.value == "boolean"
    tested: Callable[..., Guard] = (lambda leaf: compare("=", leaf, True)) if boolean else _not_zero
    return cast(Guard, on_terms("a condition", tested, (term,)))


def _not_zero(leaf: Any) -> Guard:
    return neg(compare("=", leaf, 0))


def to_scalar(symbolic: Scalar | Predicate) -> Scalar:
    """The Boolean scalar of a predicate; scalars stay as they are."""
    if not isinstance(symbolic, Predicate):
        return symbolic
    items: list[tuple[Guard, Any]] = list(symbolic.failures)
    items += [(symbolic.true, True), (symbolic.false, False), (symbolic.null, None)]
    return choose(cast("list[tuple[Guard, Scalar]]", items))


def to_predicate(symbolic: Scalar | Predicate) -> Predicate:
    """The predicate of a Boolean scalar; predicates stay as they are."""
    return symbolic if isinstance(symbolic, Predicate) else of_scalar(symbolic)


def negation(operand: Predicate) -> Predicate:
    """NOT."""
    return Predicate(operand.false, operand.true, operand.null, operand.failures)


def both(left: Predicate, right: Predicate) -> Predicate:
    """AND. Errors of the right operand count where the left one is not FALSE."""
    null = FALSE
    if left.null is not FALSE or right.null is not FALSE:
        null = disj(conj(left.null, disj(right.true, right.null)), conj(left.true, right.null))
    failures = left.failures + where(neg(left.false), right.failures)
    return Predicate(conj(left.true, right.true), disj(left.false, right.false), null, failures)


def either(left: Predicate, right: Predicate) -> Predicate:
    """OR. Errors of the right operand count where the left one is not TRUE."""
    return negation(both(negation(left), negation(right)))


def where(guard: Guard, failures: Failures) -> Failures:
    """Failures narrowed to a condition."""
    narrowed = ((conj(guard, case), failure) for case, failure in failures)
    return tuple((case, failure) for case, failure in narrowed if case is not FALSE)
