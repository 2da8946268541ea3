"""The state of one guarded run (paper §5.4, the constraint *C*). Does not know statements.

Errors are collected under their guards instead of ending the run: where such a guard is true, nothing that the run
did or answered means anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.guarded.lifting import Failure, is_failure, under
from sql_semantics.guarded.native.counting import count
from sql_semantics.guarded.native.expressions import Arguments
from sql_semantics.guarded.native.predicates import Predicate
from sql_semantics.outcome import GuardedResult
from sql_semantics.records import dataclass, field
from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Scalar, choose, conj, disj, neg
from sql_semantics.view import GuardedView

T = TypeVar("T")

GuardedRows = list[tuple[Guard, tuple[Scalar, ...]]]
"""Rows under their guards; a guard means something within the path condition only."""


class GuardedFrame(list[Scalar]):
    """The variables, with what expressions need for the subqueries in them: the execution, the environment rows of the
    enclosing queries (the innermost last), and what was evaluated already."""

    __slots__ = ("execution", "memo", "rows")

    def __init__(self, frame: Sequence[Scalar], execution: Execution) -> None:
        super().__init__(frame)
        self.execution = execution
        self.rows: list[Sequence[Scalar]] = []
        self.memo: dict[Hashable, tuple[object, Any]] = {}


@dataclass(slots=True)
class Execution:
    """One call's or top-level statement's run.

    `entry` is the path condition under which the call was reached, `local` what holds besides it at this point (the
    conditions of enclosing IFs), `path` both. `frame` holds the variables, first those given, meaningful under `entry`.
    """

    view: GuardedView
    arguments: Arguments
    entry: Guard
    variables: Sequence[Scalar] = ()
    local: Guard = TRUE
    path: Guard = TRUE
    results: list[GuardedResult] = field(default_factory=list)
    failures: dict[Failure, list[Guard]] = field(default_factory=dict)
    frame: GuardedFrame = field(init=False)

    def __post_init__(self) -> None:
        self.frame = GuardedFrame(self.variables, self)

    def begin(self) -> None:
        """A statement execution begins: what subqueries gave is forgotten."""
        self.view.begin(self.path)
        self.frame.memo.clear()

    def fail(self, guard: Guard, failure: Failure) -> None:
        """The error is raised under `guard` within the path."""
        full = conj(self.path, guard)
        if full is not FALSE:
            self.failures.setdefault(failure, []).append(full)

    def settle(self, guard: Guard, scalar: Scalar) -> Scalar:
        """The scalar without its failures, which become errors of the run under `guard`."""
        return self.settled(guard, (scalar,))[0][0]

    def settled(self, guard: Guard, scalars: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], Guard]:
        """A row's values without their failures, which become errors, and the row's guard where none of them is."""
        failing: list[Guard] = []
        values: list[Scalar] = []
        for scalar in scalars:
            value = scalar
            if is_failure(scalar):
                self.fail(guard, scalar)
                failing.append(TRUE)
                value = None
            elif isinstance(scalar, Cases) and any(is_failure(leaf) for _, leaf in scalar.items):
                for case, leaf in scalar.items:
                    if is_failure(leaf):
                        self.fail(conj(guard, case), leaf)
                        failing.append(case)
                value = choose((case, leaf) for case, leaf in scalar.items if not is_failure(leaf))
            values.append(value)
        return tuple(values), conj(guard, neg(disj(*failing))) if failing else guard

    def holds(self, guard: Guard, predicate: Predicate) -> Guard:
        """Where a row of this guard satisfies the predicate; its failures become errors."""
        for case, failure in predicate.failures:
            self.fail(conj(guard, case), failure)
        return conj(guard, predicate.true)

    def certain(self, guard: Guard) -> bool:
        """Whether a row's guard holds wherever the path does."""
        return conj(self.path, guard) is self.path

    def narrowed(self, guard: Guard, scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """A row's values without the cases that the row's guard and the path exclude."""
        if not any(isinstance(scalar, Cases) for scalar in scalars):
            return tuple(scalars)
        context = conj(self.path, guard)
        return tuple([under(context, scalar) for scalar in scalars])

    def count(self, guards: Sequence[Guard]) -> Scalar:
        """How many of these guards hold within the path."""
        return count(self.path, guards)

    def errors(self) -> list[tuple[Guard, SqlError]]:
        """Each error once, under all guards that raise it."""
        return [(disj(*guards), failure.error()) for failure, guards in self.failures.items()]


def without_errors(execution: Execution, run: Callable[[], T]) -> T:
    """Run a part of a statement; raises Unsupported where it fails anywhere."""
    before, execution.failures = execution.failures, {}
    try:
        result = run()
        if execution.failures:
            raise Unsupported("an error in a subquery on symbolic rows")
    finally:
        execution.failures = before
    return result
