"""Concrete operations on guarded cases (paper §5.3, §5.4 *ITE*). Does not know rows or SQL operators.

A concrete function is applied to every combination of cases and equal results are merged. Where it raises an SqlError
the case becomes a `Failure`, a leaf that travels upwards until a statement turns it into an error under its guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, TypeGuard, cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.records import dataclass
from sql_semantics.terms import (
    FALSE,
    CaseBound,
    Cases,
    Guard,
    Leaf,
    Scalar,
    Term,
    TermLeaf,
    choose,
    compact,
    conj,
    items_of,
)
from sql_semantics.terms.scalars import CASE_BOUND, CASE_LIMIT
from sql_semantics.values.types import Value

NARROW = 32
"""Cases per operand beyond which numbers become arithmetic terms once their combinations are too many."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The leaf of a case in which a concrete operation raised an SqlError."""

    sqlstate: str
    message: str
    may: bool

    def error(self) -> SqlError:
        """The error as it is raised."""
        return SqlError(self.sqlstate, self.message, may=self.may)


def is_failure(leaf: object) -> TypeGuard[Failure]:
    """Whether a leaf is a failure (leaves are typed without them)."""
    return isinstance(leaf, Failure)


def failed(error: SqlError) -> Scalar:
    """The leaf for an error. Failures live among leaves only until a statement collects them."""
    return cast(Scalar, Failure(error.sqlstate, error.message, error.may))


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, or the failure leaf where it raises SqlError."""
    try:
        return function(*arguments)
    except SqlError as error:
        return failed(error)


def too_many(what: str) -> Unsupported:
    """The refusal of an operation whose combinations of cases outgrow the bound."""
    return Unsupported(f"too many cases in {what}")


def combinations(what: str, scalars: Sequence[Scalar]) -> Iterable[tuple[Guard, tuple[Leaf, ...]]]:
    """Every possible combination of cases. Raises Unsupported beyond the bound."""
    count = 1
    for scalar in scalars:
        count *= len(scalar.items) if isinstance(scalar, Cases) else 1
    if count > CASE_BOUND:
        raise too_many(what)
    for combination in product(*map(items_of, scalars)):
        guard = conj(*(case[0] for case in combination))
        if guard is not FALSE:
            yield guard, tuple(case[1] for case in combination)


def lifted(
    what: str,
    concrete: Callable[..., Any],
    symbolic: Callable[..., Scalar] | None,
    scalars: Sequence[Scalar],
    strict: int = 0,
) -> Scalar:
    """Apply an operation to all combinations of cases.

    `concrete` takes plain values and may raise SqlError; `symbolic` takes leaves of which one at least is a Term, and
    may answer with cases. Without `symbolic` a term raises Unsupported("`what` of an unknown value"); too many
    combinations raise Unsupported, after numbers were folded into terms where `symbolic` can take them. A NULL among
    the first `strict` operands makes the result NULL without a look at those behind it.
    """
    if not any(isinstance(scalar, Term | Cases) for scalar in scalars) and not any(
        is_failure(scalar) for scalar in scalars
    ):
        return cast(Scalar, attempt(concrete, *scalars))
    if symbolic is not None:
        scalars = _narrowed(scalars)
    results: list[tuple[Guard, Scalar]] = []
    for guard, leaves in combinations(what, scalars):
        term = False
        decided: tuple[Any] | None = None
        for position, leaf in enumerate(leaves):
            if is_failure(leaf) or (leaf is None and position < strict):
                decided = (leaf,)
                break
            term = term or isinstance(leaf, Term)
        if decided is not None:
            results.append((guard, decided[0]))
        elif not term:
            results.append((guard, attempt(concrete, *leaves)))
        elif symbolic is None:
            raise unknown_operand(what)
        else:
            results.append((guard, on_terms(what, symbolic, leaves)))
    return compact(choose(results), CASE_LIMIT)


def unknown_operand(what: str) -> Unsupported:
    """The refusal of an operation on a value that has no cases."""
    return Unsupported(f"{what} of an unknown value")


def on_terms(what: str, symbolic: Callable[..., Any], leaves: Sequence[Leaf]) -> Any:
    """`symbolic(*leaves)`; raises Unsupported where the terms are not of the right kind for it."""
    try:
        return symbolic(*leaves)
    except TermLeaf as error:
        raise unknown_operand(what) from error
    except CaseBound as error:
        raise too_many(what) from error


def _narrowed(scalars: Sequence[Scalar]) -> Sequence[Scalar]:
    count = 1
    for scalar in scalars:
        count *= len(scalar.items) if isinstance(scalar, Cases) else 1
    return [compact(scalar, NARROW) for scalar in scalars] if count > CASE_BOUND else scalars


def under(context: Guard, scalar: Scalar) -> Scalar:
    """The same scalar wherever `context` holds, without the cases that the context excludes."""
    if not isinstance(scalar, Cases):
        return scalar
    kept: list[tuple[Guard, Leaf]] = []
    for guard, leaf in scalar.items:
        both = conj(context, guard)
        if both is context:
            return leaf
        if both is not FALSE:
            kept.append((guard, leaf))
    return scalar if len(kept) == len(scalar.items) else choose(kept)


def split(what: str, guard: Guard, scalars: Sequence[Scalar]) -> Iterable[tuple[Guard, tuple[Value, ...]]]:
    """The concrete combinations of some scalars of a row, each with the row's guard narrowed to it.

    Raises Unsupported(`what` ...) where a term is among them or the combinations are too many.
    """
    if not any(isinstance(scalar, Term | Cases) for scalar in scalars):
        yield guard, tuple(cast("Sequence[Value]", scalars))
        return
    for case, leaves in combinations(what, scalars):
        both = conj(guard, case)
        if both is FALSE:
            continue
        if any(isinstance(leaf, Term) for leaf in leaves):
            raise Unsupported(f"{what} by an unknown value")
        yield both, cast("tuple[Value, ...]", leaves)
