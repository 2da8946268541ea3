"""All violations of a log of operations that has the database's timestamps (Chronos, Algorithm 2). Does not know what a
verdict is made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from troubadour.model.objects import MISSING, READ, STATUSES, UNREAD, ObjectLog
from troubadour.timestamps.ledger import Ledger, Rules, Stamped
from troubadour.timestamps.visits import Cell, Done


def ledger_of(log: ObjectLog, rules: Rules) -> Ledger:
    """Every transaction of a log, by the place in it."""
    ledger = Ledger(
        [one.type for one in log.objects], [one.name for one in log.objects], partial(initial_of, log), rules
    )
    for place in log.order:
        ledger.add(stamped(log, place))
    return ledger


def stamped(log: ObjectLog, place: int) -> Stamped:
    """A transaction of a log."""

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
        _operations(log, place),
    )


def initial_of(log: ObjectLog, cell: Cell) -> object:
    """What a key holds at first."""
    definition = log.objects[cell[0]]
    value = log.shown(definition.initial(log.codes.code(cell[1])), definition.type)
    return frozenset(value) if definition.type == "set" and isinstance(value, tuple) else value


def _operations(log: ObjectLog, place: int) -> Iterator[Done]:
    for at in range(log.first[place], log.first[place + 1]):
        kind, subject, code = log.kinds[at], log.subjects[at], log.values[at]
        value = None if code == UNREAD else log.seen(at)
        yield kind, subject, log.codes.value(log.keys[at]), value, kind != READ or code != UNREAD
