"""Ground instances: what follows from quantified conditions for the elements that an obligation names.

Every universal condition is instantiated over the constants, every existential one names a new constant; a
contradiction among the instances is one of the conditions, and no search for instances can run away. Does not know
what it instantiates, nor the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from troubadour.protocols.terms import (
    BOOL,
    CLIENT,
    KEY,
    TXN,
    VAL,
    ModelError,
    Sort,
    Term,
    all_of,
    any_of,
    free_variables,
    negation,
    quantify,
    rebuild,
    show,
    substitute,
    var,
    walk,
)

SORTS = (TXN, KEY, CLIENT, VAL)
"""The sorts whose elements are instantiated."""


def has_quantifier(one: Term, known: dict[Term, bool] | None = None) -> bool:
    """Whether a quantifier occurs within."""
    memo = _quantified if known is None else known
    found = memo.get(one)
    if found is None:
        found = one.op in ("forall", "exists") or any(
            has_quantifier(part, memo) for part in one.args if isinstance(part, Term)
        )
        memo[one] = found
    return found


_quantified: dict[Term, bool] = {}


def normal(one: Term, positive: bool = True) -> Term:
    """Negation normal form as far as quantifiers need it: each stands under and, or and quantifiers only."""
    if not has_quantifier(one):
        return one if positive else negation(one)
    match one.op:
        case "not":
            return normal(one.args[0], not positive)
        case "and" | "or":
            parts = [normal(part, positive) for part in one.args]
            return all_of(*parts) if (one.op == "and") == positive else any_of(*parts)
        case "forall" | "exists":
            other = "exists" if one.op == "forall" else "forall"
            return quantify(one.op if positive else other, one.args[0], normal(one.args[1], positive))
        case "eq" if one.args[0].sort == BOOL:
            left, right = one.args
            both = all_of(normal(left), normal(right, positive))
            return any_of(both, all_of(normal(left, False), normal(right, not positive)))
        case _:
            return normal(_lifted(one), positive)


def _lifted(one: Term) -> Term:
    """A condition without a choice within it that a quantifier decides. One within a quantifier is lifted when that is
    what is looked at: its condition may be about what the quantifier names."""
    choice = _choice(one)
    if choice is None:
        raise ModelError(f"a quantifier has no place in {show(one)}")
    condition, then, other = choice.args
    return any_of(
        all_of(condition, _replaced(one, choice, then)), all_of(negation(condition), _replaced(one, choice, other))
    )


def _choice(one: Term) -> Term | None:
    if one.op in ("forall", "exists") or not has_quantifier(one):
        return None
    if one.op == "ite" and has_quantifier(one.args[0]):
        return one
    return next((found for part in one.args if isinstance(part, Term) and (found := _choice(part)) is not None), None)


def _replaced(one: Term, old: Term, new: Term) -> Term:
    if one is old:
        return new
    if one.op in ("const", "var"):
        return one
    args = [_replaced(part, old, new) if isinstance(part, Term) else part for part in one.args]
    return rebuild(one, args)


class Instances:
    """Instances of conditions, remembered: the same ones come again in many obligations. `tick` is called at every
    instance and ends it by raising."""

    def __init__(self, tick: Callable[[], object] = int) -> None:
        self._tick = tick
        self._normal: dict[Term, Term] = {}
        self._made: dict[tuple[Term, tuple[int, ...]], Term] = {}
        self._skolem: dict[Term, Term] = {}

    def of(self, conditions: Iterable[Term], constants: Sequence[Term], limit: int) -> list[Term] | None:
        """The conditions, instantiated over these constants; None where that is more than `limit` terms."""
        # every sort has an element, also where the obligation names none
        by_sort = {sort: [one for one in constants if one.sort == sort] or [_anything(sort)] for sort in SORTS}
        key = tuple(one.number for one in constants)
        found: list[Term] = []
        self._left = limit
        for condition in conditions:
            made = self._made.get((condition, key))
            if made is None:
                made = self._instance(self._in_normal_form(condition), by_sort)
                if self._left < 0:
                    return None
                self._made[condition, key] = made
            found.extend(made.args if made.op == "and" else (made,))
        return found

    def _in_normal_form(self, condition: Term) -> Term:
        found = self._normal.get(condition)
        if found is None:
            found = self._normal[condition] = normal(condition)
        return found

    def _instance(self, one: Term, constants: dict[Sort, list[Term]]) -> Term:
        if self._left < 0 or not has_quantifier(one):
            return one
        match one.op:
            case "and":
                return all_of(*(self._instance(part, constants) for part in one.args))
            case "or":
                return any_of(*(self._instance(part, constants) for part in one.args))
            case "exists":
                return self._instance(self._named(one), constants)
            case "forall":
                names, body = one.args
                parts = []
                for chosen in product(*(constants.get(name.sort, []) for name in names)):
                    self._tick()
                    self._left -= 1
                    if self._left < 0:
                        break
                    parts.append(self._instance(substitute(body, dict(zip(names, chosen, strict=True))), constants))
                return all_of(*parts)
        raise AssertionError(f"{one.op} is not in normal form")

    def _named(self, one: Term) -> Term:
        """An existential condition without free variables, its elements named."""
        found = self._skolem.get(one)
        if found is None:
            assert all("#" in name.args[0] for name in free_variables(one))
            names = {
                name: var(f"some_{name.sort.name.lower()}#{one.number}_{name.args[0]}", name.sort)
                for name in one.args[0]
            }
            found = self._skolem[one] = substitute(one.args[1], names)
        return found


def _anything(sort: Sort) -> Term:
    return var(f"any_{sort.name.lower()}#", sort)


def elements_in(conditions: Iterable[Term]) -> list[Term]:
    """The closed terms of the instantiated sorts that occur, in a fixed order: names, then what functions give."""
    found: dict[Term, None] = {}
    seen: set[int] = set()

    def visit(one: Term) -> None:
        if (
            one.sort in SORTS
            and one.op in ("var", "app", "rigid")
            and all("#" in n.args[0] for n in free_variables(one))
        ):
            found[one] = None

    for condition in conditions:
        walk(condition, visit, seen)
    return sorted(found, key=lambda one: (one.op != "var", one.number))
