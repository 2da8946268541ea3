"""Boolean terms over opaque atoms (paper §5.4: *smp*). Does not know what an atom stands for.

Guards are interned: two guards built alike are the same object, so equality is identity. Construction folds
constants, duplicates and complementary operands; it does no deeper reasoning, that is the solver's business.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakValueDictionary

_serial = itertools.count()

_spend: Callable[[int], None] | None = None


@contextmanager
def metered(spend: Callable[[int], None]) -> Iterator[None]:
    """While the context lasts, `spend` is called with the number of operands of each junction that is built. It may
    raise, so that building terms ends: the number follows from what is built alone, not from the machine's load."""
    global _spend
    before, _spend = _spend, spend
    try:
        yield
    finally:
        _spend = before


class Guard:
    """One interned Boolean term.

    `kind` is ``true``, ``false``, ``atom`` (`args` is the key), ``not``, ``and``, ``or`` (`args` are guards) or
    ``cmp`` (`args` are operator ``=``/``<``/``<=`` and two leaves). Build it with the functions below only.
    """

    __slots__ = ("__weakref__", "args", "kind", "negation", "serial")

    def __init__(self, kind: str, args: tuple[Any, ...]) -> None:
        self.kind = kind
        self.args = args
        self.serial = next(_serial)
        self.negation: Guard | None = None

    def __repr__(self) -> str:
        match self.kind:
            case "true" | "false":
                return self.kind
            case "atom":
                return f"{self.args[0]!r}"
            case "not":
                return f"(not {self.args[0]!r})"
            case "cmp":
                operator, left, right = self.args
                return f"({operator} {left!r} {right!r})"
        return f"({self.kind} {' '.join(map(repr, self.args))})"


TRUE: Final = Guard("true", ())
FALSE: Final = Guard("false", ())
TRUE.negation = FALSE
FALSE.negation = TRUE

_interned: WeakValueDictionary[tuple[Hashable, ...], Guard] = WeakValueDictionary()


def intern_guard(kind: str, key: tuple[Hashable, ...], args: tuple[Any, ...]) -> Guard:
    """The one guard of this kind and key; `key` must determine `args`."""
    full = (kind, *key)
    found = _interned.get(full)
    if found is None:
        found = Guard(kind, args)
        _interned[full] = found
    return found


def atom(key: Hashable) -> Guard:
    """The opaque atom with this key."""
    return intern_guard("atom", (key,), (key,))


def neg(guard: Guard) -> Guard:
    """(not g); (not (not g)) = g."""
    negation = guard.negation
    if negation is None:
        negation = intern_guard("not", (guard.serial,), (guard,))
        negation.negation = guard
        guard.negation = negation
    return negation


def conj(*guards: Guard) -> Guard:
    """(and g ...), flattened: (and) = true, (and g) = g, (and g (not g)) = false, (and g false) = false."""
    if len(guards) == 2:
        # most have nothing to combine
        left, right = guards
        if left is TRUE or right is FALSE or left is right:
            return right
        if right is TRUE or left is FALSE:
            return left
    return _junction("and", guards, TRUE, FALSE)


def disj(*guards: Guard) -> Guard:
    """(or g ...), flattened: (or) = false, (or g) = g, (or g (not g)) = true, (or g true) = true."""
    if len(guards) == 2:
        left, right = guards
        if left is FALSE or right is TRUE or left is right:
            return right
        if right is FALSE or left is TRUE:
            return left
    return _junction("or", guards, FALSE, TRUE)


def _junction(kind: str, guards: Iterable[Guard], unit: Guard, zero: Guard) -> Guard:
    parts: dict[int, Guard] = {}
    for guard in guards:
        if guard is unit:
            continue
        if guard is zero:
            return zero
        if guard.kind == kind:
            for part in guard.args:
                parts[part.serial] = part
        else:
            parts[guard.serial] = guard
    if not parts:
        return unit
    if len(parts) == 1:
        return next(iter(parts.values()))
    if _spend is not None:
        _spend(len(parts))
    for guard in parts.values():
        negation = guard.negation
        if negation is not None and negation.serial in parts:
            return zero
    # (or a (and a b)) = a and (and a (or a b)) = a
    dual = "or" if kind == "and" else "and"
    absorbed = []
    for serial, guard in parts.items():
        if guard.kind == dual:
            for part in guard.args:
                if part.serial in parts:
                    absorbed.append(serial)
                    break
    for serial in absorbed:
        del parts[serial]
    if len(parts) == 1:
        return next(iter(parts.values()))
    serials = tuple(sorted(parts))
    return intern_guard(kind, serials, tuple([parts[serial] for serial in serials]))
