"""All violations of a log of operations that has the database's timestamps (Chronos, Algorithm 2), and which
numbers its sessions lack. Does not know what a verdict is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from troubadour.facts.objects.accesses import column
from troubadour.model.objects import MISSING, READ, STATUSES, UNREAD, ObjectLog
from troubadour.timestamps.counted import doubt
from troubadour.timestamps.ledger import Ledger, Rules, Stamped
from troubadour.timestamps.visits import Cell, Done

LONG = 200_000
"""Operations from which on those are counted that need no look one by one."""


def ledger_of(log: ObjectLog, rules: Rules, long: int = LONG) -> Ledger:
    """Every transaction of a log, by the place in it; of a log of at least so many operations only what has to be
    looked at, with a count of the violations elsewhere."""
    ledger = Ledger(
        [one.type for one in log.objects], [one.name for one in log.objects], partial(initial_of, log), rules
    )
    found = doubt(log, rules) if len(log.kinds) >= long else None
    if found is None:
        for place in log.order:
            ledger.add(stamped(log, place))
        return ledger
    ledger.elsewhere, ledger.upto = found.elsewhere, found.upto
    chosen = np.flatnonzero(found.operations)
    places = np.searchsorted(np.frombuffer(log.first, np.int64), chosen, side="right") - 1
    kept: dict[int, list[int]] = {}
    for place, at in zip(places.tolist(), chosen.tolist(), strict=True):
        kept.setdefault(place, []).append(at)
    for place in log.order:
        if place in kept:
            ledger.add(stamped(log, place, kept[place]))
    return ledger


def stamped(log: ObjectLog, place: int, operations: Iterable[int] | None = None) -> Stamped:
    """A transaction of a log, with some of its operations (None: all)."""

    def known(time: int) -> int | None:
        return None if time == MISSING else time

    return Stamped(
        place,
        log.ids[place],
        STATUSES[log.statuses[place]],
        log.session(place),
        known(log.numbers[place]),
        known(log.starts[place]),
        known(log.commits[place]),
        _operations(log, range(log.first[place], log.first[place + 1]) if operations is None else operations),
    )


def initial_of(log: ObjectLog, cell: Cell) -> object:
    """What a key holds at first."""
    definition = log.objects[cell[0]]
    value = log.shown(definition.initial(log.codes.code(cell[1])), definition.type)
    return frozenset(value) if definition.type == "set" and isinstance(value, tuple) else value


def gaps_of(log: ObjectLog) -> str | None:
    """What is said of the numbers that are missing in sessions; None where none is."""
    if not len(log):
        return None
    sessions, numbers = column(log.sessions), column(log.numbers)
    chosen = np.flatnonzero((sessions >= 0) & (numbers != MISSING))
    chosen = chosen[np.lexsort((numbers[chosen], sessions[chosen]))]
    session, number = sessions[chosen], numbers[chosen]
    expected = np.zeros(len(chosen), np.int64)
    expected[1:] = np.where(session[1:] == session[:-1], number[:-1] + 1, 0)
    wrong = np.flatnonzero(number != expected)
    if not len(wrong):
        return None
    first, where = int(chosen[wrong[0]]), "1 place" if len(wrong) == 1 else f"{len(wrong):,} places"
    one = f"session {log.session(first)}, number {log.numbers[first]}"
    return f"numbers of sessions are missing in {where}, the first before {log.ids[first]} ({one})"


def _operations(log: ObjectLog, operations: Iterable[int]) -> Iterator[Done]:
    for at in operations:
        kind, subject, code = log.kinds[at], log.subjects[at], log.values[at]
        value = None if code == UNREAD else log.seen(at)
        yield kind, subject, log.codes.value(log.keys[at]), value, kind != READ or code != UNREAD
