"""Terms over a protocol's state: small, shared, folded as they are built (VerIso §2.3: guards and updates).

A term is a value of one sort. Equal terms are one object, so that what is seen twice is worked on once. Does not know
what a protocol is, nor any solver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from sql_semantics.records import dataclass


class ModelError(Exception):
    """A protocol's text cannot be used (exit status 2). The text is one line."""


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort by name; `values`: the constants that it consists of, None: any number of elements."""

    name: str
    values: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.name


KEY = Sort("Key")
TXN = Sort("Txn")
CLIENT = Sort("Client")
VAL = Sort("Val")
TIME = Sort("Time")
BOOL = Sort("Bool")


class Term:
    """A term: `op` applied to `args`. `==` and its kin build terms, so a term has no truth value of its own.

    Operators: ``const`` (a value), ``var`` (a name), ``app`` (a state function, its arguments), ``rigid`` (a function
    that no event changes), ``eq``, ``le``, ``lt``, ``add``, ``not``, ``and``, ``or``, ``ite``, ``forall`` and
    ``exists`` (variables, body).
    """

    __slots__ = ("args", "number", "op", "sort")
    number: int
    op: str
    args: tuple[Any, ...]
    sort: Sort

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return equal(self, lift(other, self.sort))

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return negation(equal(self, lift(other, self.sort)))

    def __lt__(self, other: object) -> Term:
        return _compare("lt", self, lift(other, self.sort))

    def __le__(self, other: object) -> Term:
        return _compare("le", self, lift(other, self.sort))

    def __gt__(self, other: object) -> Term:
        return _compare("lt", lift(other, self.sort), self)

    def __ge__(self, other: object) -> Term:
        return _compare("le", lift(other, self.sort), self)

    def __add__(self, other: object) -> Term:
        return _add(self, lift(other, self.sort))

    def __and__(self, other: object) -> Term:
        return all_of(self, other)

    def __or__(self, other: object) -> Term:
        return any_of(self, other)

    def __invert__(self) -> Term:
        return negation(self)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __bool__(self) -> bool:
        raise ModelError(
            "a condition is a term, not true or false yet: use guard, ite, implies, all_of, any_of, none_of"
        )

    def __repr__(self) -> str:
        return show(self)


class Key(Term):
    """A key of the store."""

    __slots__ = ()
    SORT = KEY


class Txn(Term):
    """A transaction."""

    __slots__ = ()
    SORT = TXN


class Client(Term):
    """A client, which runs its transactions one after the other."""

    __slots__ = ()
    SORT = CLIENT


class Val(Term):
    """A value that a key may have; a protocol does not look into it."""

    __slots__ = ()
    SORT = VAL


class Time(Term):
    """A timestamp: an integer."""

    __slots__ = ()
    SORT = TIME


class Bool(Term):
    """True or false."""

    __slots__ = ()
    SORT = BOOL


class Enum:
    """A sort of a few named constants, written as strings."""

    def __init__(self, *values: str) -> None:
        if not values or len(set(values)) != len(values) or not all(isinstance(value, str) for value in values):
            raise ModelError("Enum needs different names")
        self.SORT = Sort("Enum(" + ", ".join(values) + ")", values)


SortName = type[Term] | Enum
"""How a sort is written: one of the classes above, or an Enum."""

_terms: dict[tuple[Any, ...], Term] = {}


def sort_of(name: object) -> Sort:
    """The sort that is written so. Raises ModelError for what is none."""
    found = getattr(name, "SORT", None)
    if isinstance(found, Sort):
        return found
    raise ModelError(f"{name!r} is no sort: Key, Txn, Client, Val, Time, Bool or an Enum is wanted")


def term(op: str, args: tuple[Any, ...], sort: Sort) -> Term:
    """The one term of this form."""
    # True and 1 are one dictionary key, but not one constant
    key = (op, sort, args, args[0].__class__) if op == "const" else (op, sort, *map(_identity, args))
    found = _terms.get(key)
    if found is None:
        found = Term()
        found.number, found.op, found.args, found.sort = len(_terms), op, args, sort
        _terms[key] = found
    return found


def _identity(argument: Any) -> Any:
    if isinstance(argument, Term):
        return id(argument)
    if isinstance(argument, tuple):
        return tuple(map(_identity, argument))
    return argument


def const(value: Any, sort: Sort) -> Term:
    """A constant: a bool, an integer, a name of an Enum, or an element of a finite sort by number."""
    return term("const", (value,), sort)


TRUE = const(True, BOOL)
FALSE = const(False, BOOL)


def var(name: str, sort: Sort) -> Term:
    """A variable, bound or free."""
    return term("var", (name,), sort)


def lift(value: object, sort: Sort) -> Term:
    """A Python value as a term of this sort. Raises ModelError where it is none."""
    if isinstance(value, Term):
        if value.sort is not sort and value.sort != sort:
            raise ModelError(f"{show(value)} is of sort {value.sort}, not {sort}")
        return value
    if sort == BOOL and isinstance(value, bool):
        return TRUE if value else FALSE
    if sort == TIME and isinstance(value, int) and not isinstance(value, bool):
        return const(value, sort)
    if sort.values is not None and isinstance(value, str):
        if value not in sort.values:
            raise ModelError(f"{value!r} is not in {sort}")
        return const(value, sort)
    raise ModelError(f"{value!r} is not of sort {sort}")


def equal(left: Term, right: Term) -> Term:
    """Whether two terms are equal; Booleans too."""
    if left is right:
        return TRUE
    if left.op == "const" and right.op == "const":
        return FALSE
    if left.sort == BOOL:
        if left.op == "const":
            left, right = right, left
        if right.op == "const":
            return left if right is TRUE else negation(left)
    if left.op == "const" or (right.op != "const" and left.number > right.number):
        left, right = right, left
    if left.op == "ite" and right.op == "const" and (left.args[1].op == "const" or left.args[2].op == "const"):
        condition, then, other = left.args
        return ite(condition, equal(then, right), equal(other, right))
    return term("eq", (left, right), BOOL)


def _compare(op: str, left: Term, right: Term) -> Term:
    if left.sort != TIME or right.sort != TIME:
        raise ModelError(f"only times are compared by order, not {show(left)} and {show(right)}")
    if left is right:
        return TRUE if op == "le" else FALSE
    if left.op == "const" and right.op == "const":
        return lift(left.args[0] < right.args[0] if op == "lt" else left.args[0] <= right.args[0], BOOL)
    return term(op, (left, right), BOOL)


def _add(left: Term, right: Term) -> Term:
    if left.sort != TIME or right.sort != TIME:
        raise ModelError(f"only times are added, not {show(left)} and {show(right)}")
    if left.op == "const" and right.op == "const":
        return const(left.args[0] + right.args[0], TIME)
    return term("add", (left, right), TIME)


def negation(condition: object) -> Term:
    """Not."""
    inner = lift(condition, BOOL)
    if inner.op == "const":
        return FALSE if inner is TRUE else TRUE
    inside: Term = inner.args[0]
    return inside if inner.op == "not" else term("not", (inner,), BOOL)


def _junction(op: str, parts: Sequence[object], unit: Term, zero: Term) -> Term:
    kept: dict[int, Term] = {}
    for part in parts:
        lifted = lift(part, BOOL)
        inner: tuple[Term, ...] = lifted.args if lifted.op == op else (lifted,)
        for one in inner:
            if one is zero:
                return zero
            if one is not unit:
                kept[id(one)] = one
    if any(one.op == "not" and id(one.args[0]) in kept for one in kept.values()):
        return zero
    if len(kept) < 2:
        return next(iter(kept.values()), unit)
    return term(op, tuple(kept.values()), BOOL)


def all_of(*parts: object) -> Term:
    """And."""
    return _junction("and", parts, TRUE, FALSE)


def any_of(*parts: object) -> Term:
    """Or."""
    return _junction("or", parts, FALSE, TRUE)


def none_of(*parts: object) -> Term:
    """None of them holds."""
    return all_of(*(negation(part) for part in parts))


def implies(condition: object, consequence: object) -> Term:
    """If the one, then the other."""
    return any_of(negation(condition), consequence)


def ite(condition: object, then: object, other: object) -> Term:
    """One of two terms, as the condition says."""
    chosen = lift(condition, BOOL)
    if not isinstance(then, Term) and not isinstance(other, Term):
        if not isinstance(then, bool):
            raise ModelError("ite needs a term on one side to know the sort")
        then = lift(then, BOOL)
    sort = next(one.sort for one in (then, other) if isinstance(one, Term))
    left, right = lift(then, sort), lift(other, sort)
    if chosen.op == "const":
        return left if chosen is TRUE else right
    if left is right:
        return left
    if sort == BOOL:
        return all_of(implies(chosen, left), any_of(chosen, right))
    return term("ite", (chosen, left, right), sort)


def apply(kind: str, name: str, arguments: Sequence[Term], sort: Sort) -> Term:
    """A function applied: `kind` is ``app`` or ``rigid``."""
    return term(kind, (name, *arguments), sort)


_depth: ContextVar[int] = ContextVar("depth", default=0)


def _quantified(op: str, parts: Sequence[Any]) -> Term:
    *names, body = parts
    if not names or not callable(body):
        raise ModelError(f"{op} wants sorts and then a function of as many variables")
    depth = _depth.get()
    variables = [
        var(f"{sort.name.lower()}_{depth + place}", sort) for place, sort in enumerate(sort_of(name) for name in names)
    ]
    token = _depth.set(depth + len(variables))
    try:
        inner = lift(body(*variables), BOOL)
    finally:
        _depth.reset(token)
    return quantify(op, variables, inner)


def quantify(op: str, variables: Sequence[Term], body: Term) -> Term:
    """A quantified term over these variables, those left out that the body does not mention."""
    needed = tuple(one for one in variables if one in free_variables(body)) if body.op != "const" else ()
    return term(op, (needed, body), BOOL) if needed else body


def forall(*parts: Any) -> Term:
    """``forall(Key, Txn, lambda k, t: ...)``."""
    return _quantified("forall", parts)


def exists(*parts: Any) -> Term:
    """``exists(Key, lambda k: ...)``."""
    return _quantified("exists", parts)


_free: dict[int, frozenset[Term]] = {}


def free_variables(one: Term) -> frozenset[Term]:
    """The variables that occur free."""
    found = _free.get(id(one))
    if found is None:
        if one.op == "var":
            found = frozenset((one,))
        elif one.op in ("forall", "exists"):
            found = free_variables(one.args[1]) - frozenset(one.args[0])
        else:
            found = frozenset().union(*(free_variables(part) for part in one.args if isinstance(part, Term)))
        _free[id(one)] = found
    return found


def rebuild(one: Term, args: Sequence[Any]) -> Term:
    """The same operator on other arguments, folded again."""
    match one.op:
        case "eq":
            return equal(*args)
        case "lt" | "le":
            return _compare(one.op, *args)
        case "add":
            return _add(*args)
        case "not":
            return negation(*args)
        case "and":
            return all_of(*args)
        case "or":
            return any_of(*args)
        case "ite":
            return ite(*args)
        case "forall" | "exists":
            return quantify(one.op, *args)
        case _:
            return term(one.op, tuple(args), one.sort)


def substitute(one: Term, by: dict[Term, Term], seen: dict[Term, Term] | None = None) -> Term:
    """Free variables replaced. What replaces them must not be captured: constants, or variables of other names."""
    if not by or not free_variables(one) & by.keys():
        return one
    if seen is None:
        seen = {}
    found = seen.get(one)
    if found is None:
        if one.op == "var":
            found = by[one]
        elif one.op in ("forall", "exists"):
            hidden = frozenset(one.args[0])
            inner = {name: value for name, value in by.items() if name not in hidden}
            found = rebuild(one, (one.args[0], substitute(one.args[1], inner)))
        else:
            args = [substitute(part, by, seen) if isinstance(part, Term) else part for part in one.args]
            found = rebuild(one, args)
        seen[one] = found
    return found


def walk(one: Term, visit: Callable[[Term], None], seen: set[int] | None = None) -> None:
    """Every term within, each once."""
    if seen is None:
        seen = set()
    if id(one) in seen:
        return
    seen.add(id(one))
    visit(one)
    for part in one.args:
        if isinstance(part, Term):
            walk(part, visit, seen)


_INFIX = {"eq": "==", "lt": "<", "le": "<=", "add": "+", "and": "and", "or": "or"}


def show(one: Term) -> str:
    """The term as text."""
    match one.op:
        case "const" | "var":
            return str(one.args[0])
        case "app" | "rigid":
            return f"{one.args[0]}({', '.join(map(show, one.args[1:]))})" if one.args[1:] else str(one.args[0])
        case "not":
            return f"not {show(one.args[0])}"
        case "ite":
            return f"({show(one.args[1])} if {show(one.args[0])} else {show(one.args[2])})"
        case "forall" | "exists":
            return f"({one.op} {' '.join(map(show, one.args[0]))}: {show(one.args[1])})"
        case "eq" if one.args[1].op != "const":
            # which side is which depends on what was built first, and tells nothing
            return f"({' == '.join(sorted(map(show, one.args)))})"
        case _:
            return "(" + f" {_INFIX[one.op]} ".join(map(show, one.args)) + ")"
