"""The value of guards and scalars under an assignment (STYLE: everything the solver says is replayed concretely).

Does not know where the assignment comes from. Iterative, because chains of versions nest deeply.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from sql_semantics.terms.guards import Guard
from sql_semantics.terms.numbers import EXACT, Leaf, Term
from sql_semantics.terms.scalars import Scalar, items_of
from sql_semantics.values.types import Interval, Kind, Value


class Assignment(Protocol):
    """What the atoms and the unknowns are."""

    def holds(self, key: Hashable) -> bool:
        """Whether the atom with this key is true."""

    def value(self, key: Hashable) -> Value:
        """The value of the unknown with this key, which is never NULL; None where nothing is said of it."""


def evaluate_guard(guard: Guard, assignment: Assignment) -> bool:
    """The truth of a guard."""
    return bool(_evaluate(guard, assignment, {}))


def evaluate(scalar: Scalar, assignment: Assignment) -> Value:
    """The value of a scalar: that of its first case whose guard is true (None where no case is)."""
    memo: dict[int, Any] = {}
    for guard, leaf in items_of(scalar):
        if _evaluate(guard, assignment, memo):
            value: Value = _evaluate(leaf, assignment, memo) if isinstance(leaf, Term) else leaf
            return value
    return None


def _children(node: Guard | Term) -> list[Guard | Term]:
    if isinstance(node, Guard):
        if node.kind in ("not", "and", "or"):
            return list(node.args)
        return [arg for arg in node.args if isinstance(arg, Term)] if node.kind == "cmp" else []
    return [] if node.op == "var" else [arg for arg in node.args if isinstance(arg, Guard | Term)]


def _evaluate(root: Guard | Term, assignment: Assignment, memo: dict[int, Any]) -> Any:
    stack: list[Guard | Term] = [root]
    while stack:
        node = stack[-1]
        if id(node) in memo:
            stack.pop()
            continue
        pending = [child for child in _children(node) if id(child) not in memo]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        memo[id(node)] = (
            _guard_value(node, assignment, memo) if isinstance(node, Guard) else _term_value(node, assignment, memo)
        )
    return memo[id(root)]


def _guard_value(guard: Guard, assignment: Assignment, memo: dict[int, Any]) -> bool:
    match guard.kind:
        case "true":
            return True
        case "false":
            return False
        case "atom":
            return assignment.holds(guard.args[0])
        case "not":
            return not memo[id(guard.args[0])]
        case "and":
            return all(memo[id(part)] for part in guard.args)
        case "or":
            return any(memo[id(part)] for part in guard.args)
    operator, *operands = guard.args
    left, right = (_leaf_value(operand, memo) for operand in operands)
    if operator == "=":
        return bool(left == right)
    return bool(left < right) if operator == "<" else bool(left <= right)


def _plain(unknown: Term) -> Value:
    """Some value that an unknown of which nothing is said may have."""
    if unknown.kind is Kind.NUMERIC:
        return Decimal(0).scaleb(-unknown.scale)
    return _PLAIN.get(unknown.kind, 0)


_PLAIN: dict[Kind, Value] = {
    Kind.TEXT: "",
    Kind.JSON: "null",
    Kind.BOOLEAN: False,
    Kind.REAL: 0.0,
    Kind.DOUBLE: 0.0,
    Kind.DATE: date(2000, 1, 1),
    Kind.TIME: time(0),
    Kind.TIMESTAMP: datetime(2000, 1, 1),
    Kind.TIMESTAMPTZ: datetime(2000, 1, 1, tzinfo=UTC),
    Kind.INTERVAL: Interval(),
    Kind.BYTES: b"",
    Kind.UUID: UUID(int=0),
}
"""Of each kind that is no number."""


def _leaf_value(leaf: Leaf, memo: dict[int, Any]) -> Any:
    return memo[id(leaf)] if isinstance(leaf, Term) else leaf


def _term_value(term: Term, assignment: Assignment, memo: dict[int, Any]) -> Any:
    if term.op == "var":
        said = assignment.value(term.args[0])
        return _plain(term) if said is None else said
    if term.op == "ite":
        guard, then, otherwise = term.args
        return _leaf_value(then if memo[id(guard)] else otherwise, memo)
    if term.op == "neg":
        return -_leaf_value(term.args[0], memo)
    left, right = (_leaf_value(arg, memo) for arg in term.args)
    if isinstance(left, int) and isinstance(right, int):
        return left + right if term.op == "add" else left * right
    exact = EXACT.add if term.op == "add" else EXACT.multiply
    return exact(Decimal(left), Decimal(right))
