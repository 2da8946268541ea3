"""What one transaction does to each key, and whether its reads agree with what it did itself (the axiom INT).

The first read of a key that tells what other transactions had left there is its *outer* read. Does not know other
transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from troubadour.model.objects import READ

Cell = tuple[int, Any]
"""The number of an object, and a key."""

Done = tuple[int, int, Any, Any, bool]
"""An operation: kind, object, key, value (a tuple for a read of a list or a set), and whether its answer is known."""

Fault = tuple[Cell, Any, Any]
"""A read that contradicts its own transaction: what it should have shown, and what it showed."""

NONE: Any = object()
"""No value, which is not the value None."""


class Visit:
    """Of one key: `base` is what its outer read tells of other transactions' writes (NONE: there is none; of a set, all
    that was shown), `own` what the transaction had added before that read, `change` what it adds or leaves (NONE:
    nothing), `passed` the values of a register that it overwrote itself."""

    __slots__ = ("base", "change", "latest", "own", "passed")

    def __init__(self) -> None:
        self.base = self.own = self.change = self.latest = NONE
        self.passed: tuple[Any, ...] = ()


def visits_of(types: tuple[str, ...], operations: Iterable[Done]) -> tuple[dict[Cell, Visit], list[Fault]]:
    """Of a transaction's operations, in program order; `types` of the objects. A fault for each read that is
    wrong."""
    visits: dict[Cell, Visit] = {}
    faults: list[Fault] = []
    for kind, subject, key, value, known in operations:
        cell = subject, key
        visit = visits.get(cell)
        if visit is None:
            visit = visits[cell] = Visit()
            if types[subject] == "register":
                # nearly always all that is to be done
                if kind != READ:
                    visit.change = visit.latest = value
                elif known:
                    visit.base = visit.latest = value
                continue
        if kind != READ:
            _change(visit, types[subject], value)
        elif known:
            expected = _READ[types[subject]](visit, value)
            if expected is not NONE:
                faults.append((cell, expected, value))
    return visits, faults


def registers(
    names: Mapping[str, int], operations: Iterable[tuple[str, str, Any, Any]]
) -> tuple[dict[Cell, Visit], list[Fault]]:
    """The same of registers alone, of which all answers are known: operations as a log has them, with the number of
    each object by its name."""
    visits: dict[Cell, Visit] = {}
    faults: list[Fault] = []
    for kind, name, key, value in operations:
        cell = names[name], key
        visit = visits.get(cell)
        if visit is None:
            visit = visits[cell] = Visit()
            if kind == "r":
                visit.base = visit.latest = value
            else:
                visit.change = visit.latest = value
        elif kind == "r":
            expected = _read_register(visit, value)
            if expected is not NONE:
                faults.append((cell, expected, value))
        else:
            if visit.change is not NONE:
                visit.passed = (*visit.passed, visit.change)
            visit.change = visit.latest = value
    return visits, faults


def _change(visit: Visit, kind: str, value: Any) -> None:
    if kind == "register":
        if visit.change is not NONE:
            visit.passed = (*visit.passed, visit.change)
        visit.change = visit.latest = value
    elif kind == "list":
        visit.change = (value,) if visit.change is NONE else (*visit.change, value)
    elif kind == "counter":
        visit.change = value if visit.change is NONE else visit.change + value
    else:
        visit.change = frozenset((value,)) if visit.change is NONE else visit.change | {value}


def _read_register(visit: Visit, value: Any) -> Any:
    latest, visit.latest = visit.latest, value
    if latest is NONE:
        visit.base = value
        return NONE
    return NONE if latest == value else latest


def _read_list(visit: Visit, value: Any) -> Any:
    own = () if visit.change is NONE else visit.change
    kept = len(value) - len(own)
    fits = kept >= 0 and value[kept:] == own
    if visit.latest is NONE:
        if not fits:
            return own
        visit.base = visit.latest = value[:kept]
        return NONE
    expected = (*visit.latest, *own)
    if fits:
        visit.latest = value[:kept]
    return NONE if expected == value else expected


def _read_counter(visit: Visit, value: Any) -> Any:
    own = 0 if visit.change is NONE else visit.change
    latest, visit.latest = visit.latest, value - own
    if latest is NONE:
        visit.base = value - own
        return NONE
    return NONE if latest + own == value else latest + own


def _read_set(visit: Visit, value: Any) -> Any:
    own: frozenset[Any] = frozenset() if visit.change is NONE else visit.change
    shown = frozenset(value)
    latest = visit.latest
    if len(shown) != len(value) or not own <= shown:
        return tuple(own if latest is NONE else latest | own)
    visit.latest = shown
    if latest is NONE:
        visit.base, visit.own = shown, own
        return NONE
    return NONE if latest | own == shown else tuple(latest | own)


_READ = {"register": _read_register, "list": _read_list, "counter": _read_counter, "set": _read_set}
