"""What guards say at once of the atoms and unknowns in them, such as ``u + 10 = 310``. Proves nothing that
is not said so plainly: there is no search here. Does not know where guards come from.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from sql_semantics.records import dataclass, field
from sql_semantics.terms import Guard, Scalar, Term, evaluate_guard, items_of, neg
from sql_semantics.terms.numbers import Leaf
from sql_semantics.values.types import INTEGER_KINDS, Value


@dataclass(slots=True)
class Facts:
    """What is taken to be known of atoms and unknowns (an `Assignment` that need not say everything)."""

    atoms: dict[Hashable, bool] = field(default_factory=dict)
    values: dict[Hashable, Value] = field(default_factory=dict)
    comparisons: dict[Guard, bool] = field(default_factory=dict)
    """Those that are said to hold, or not to, whatever the values are."""

    def holds(self, key: Hashable) -> bool:
        """See `Assignment`."""
        return self.atoms.get(key, False)

    def value(self, key: Hashable) -> Value:
        """See `Assignment`."""
        return self.values.get(key)

    def mentions(self, scalar: Scalar) -> bool:
        """Whether everything that a scalar is made of is known."""
        return all(self.knows(part) for _, leaf in items_of(scalar) for part in keys_of(leaf))

    def knows(self, key: tuple[str, Hashable]) -> bool:
        """Whether an atom or an unknown is known."""
        return key[1] in (self.atoms if key[0] == "atom" else self.values)

    def learn(self, guard: Guard) -> bool:
        """Take over what a guard says at once if it is true; whether that is all that it says."""
        match guard.kind:
            case "true":
                return True
            case "false":
                # some fact was wrong; others may be right
                return True
            case "atom":
                self.atoms.setdefault(guard.args[0], True)
                return True
            case "and":
                return self._learn_all(guard.args)
            case "or":
                return self._learn_one_of(guard.args)
            case "cmp":
                self.comparisons.setdefault(guard, True)
                return guard.args[0] == "=" and self._equate(guard.args[1], guard.args[2])
        (inner,) = guard.args
        if inner.kind == "cmp":
            self.comparisons.setdefault(inner, False)
        if inner.kind == "atom":
            self.atoms.setdefault(inner.args[0], False)
            return True
        if inner.kind == "or":
            return self._learn_all([neg(part) for part in inner.args])
        if inner.kind == "and":
            return self._learn_one_of([neg(part) for part in inner.args])
        return False

    def _learn_all(self, parts: Sequence[Guard]) -> bool:
        told = [self.learn(part) for part in parts]
        return all(told)

    def _learn_one_of(self, parts: Sequence[Guard]) -> bool:
        """Where all parts but one are known to be false, the last one is true."""
        left: list[Guard] = []
        for part in parts:
            if all(self.knows(key) for key in keys_of(part)):
                if evaluate_guard(part, self):
                    return True
            else:
                left.append(part)
        return self.learn(left[0]) if len(left) == 1 else False

    def _equate(self, left: Leaf, right: Leaf) -> bool:
        term, value = (left, right) if isinstance(left, Term) else (right, left)
        if not isinstance(term, Term) or isinstance(value, Term):
            return False
        inner: Any = term
        rest: Any = value
        while inner.op != "var":
            if inner.op == "neg":
                inner, rest = inner.args[0], -rest
            elif inner.op == "add" and not isinstance(inner.args[1], Term):
                inner, rest = inner.args[0], rest - inner.args[1]
            else:
                return False
        if inner.kind in INTEGER_KINDS:
            if rest != int(rest):
                return False
            rest = int(rest)
        self.values.setdefault(inner.args[0], rest)
        return True


def keys_of(root: Guard | Leaf) -> set[tuple[str, Hashable]]:
    """The atoms and unknowns that a guard or a leaf is made of."""
    found: set[tuple[str, Hashable]] = set()
    seen: set[int] = set()
    pending: list[object] = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Guard):
            if node.kind == "atom":
                found.add(("atom", node.args[0]))
            else:
                pending.extend(node.args)
        elif isinstance(node, Term):
            if node.op == "var":
                found.add(("value", node.args[0]))
            else:
                pending.extend(node.args)
    return found


def unknowns_of(root: Guard) -> dict[Hashable, Term]:
    """The unknowns that a guard is made of, by their keys."""
    found: dict[Hashable, Term] = {}
    seen: set[int] = set()
    pending: list[object] = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen or not isinstance(node, Guard | Term):
            continue
        seen.add(id(node))
        if isinstance(node, Term) and node.op == "var":
            found[node.args[0]] = node
        elif not (isinstance(node, Guard) and node.kind == "atom"):
            pending.extend(node.args)
    return found
