"""A core decided a second time: its transactions alone, and what they read, as SQL before the general audit.

Does not know how the core was found.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from troubadour.facts.objects.written import values_read, writers_of
from troubadour.formats.objects.read import kept
from troubadour.model.objects import ABORTED, COMMITTED, READ, UNREAD, ObjectLog
from troubadour.model.verdict import Status
from troubadour.problem.budget import BRIEFLY, SEVERAL


def core_log(log: ObjectLog, members: Iterable[int], operations: Iterable[int]) -> ObjectLog | None:
    """The core's transactions with what they do to the keys of some operations, and before these the writers of what
    they read there (of counters all that add to them), of which nothing is observed; None where these are many."""
    members = set(members)
    cells = {(log.subjects[at], log.keys[at]) for at in operations}
    told = [
        at
        for one in members
        for at in range(log.first[one], log.first[one + 1])
        if log.kinds[at] == READ and log.values[at] != UNREAD and (log.subjects[at], log.keys[at]) in cells
    ]
    wanted = {(log.subjects[at], log.keys[at], value) for at in told for value in values_read(log, at)}
    counted = {(subject, key) for subject, key in cells if log.objects[subject].type == "counter"}
    writers = (writers_of(log, wanted) | _changing(log, counted)) - members
    if len(members) + len(writers) > SEVERAL:
        return None
    rank = {place: number for number, place in enumerate(log.order)}
    places = sorted(members | writers, key=rank.__getitem__)
    small = kept(log, places)
    small.order.extend(range(len(places)))
    _narrow(small, cells, {number for number, place in enumerate(places) if place in writers})
    for number, place in enumerate(places):
        if log.statuses[place] != ABORTED and place in members:
            small.statuses[number] = COMMITTED
    return small


def by_sql(core: ObjectLog, level: str) -> Status:
    """What the general audit of its SQL says of a core."""
    from troubadour.audit.driver import Options, audit
    from troubadour.coverage.library import library_for
    from troubadour.formats.objects.expand import expanded

    return audit(*library_for(expanded(core), level), Options(level, effort=BRIEFLY)).status


def _changing(log: ObjectLog, cells: set[tuple[int, int]]) -> set[int]:
    """The transactions that did not abort and change some cells."""
    keys = np.array([key for _, key in cells], np.int64)
    change = np.frombuffer(log.kinds, np.uint8) != READ
    near = np.flatnonzero(change & np.isin(np.frombuffer(log.keys, np.int64), keys)).tolist()
    found = [at for at in near if (log.subjects[at], log.keys[at]) in cells]
    owners = np.searchsorted(np.frombuffer(log.first, np.int64), found, side="right") - 1
    return {one for one in owners.tolist() if log.statuses[one] != ABORTED}


def _narrow(log: ObjectLog, cells: set[tuple[int, int]], blind: set[int]) -> None:
    """Keep the operations on some keys, and of the `blind` the changes alone."""
    kept_at = []
    first = [0]
    for place in range(len(log)):
        for at in range(log.first[place], log.first[place + 1]):
            if (log.subjects[at], log.keys[at]) in cells and (log.kinds[at] != READ or place not in blind):
                kept_at.append(at)
        first.append(len(kept_at))
    log.kinds = bytearray(log.kinds[at] for at in kept_at)
    log.subjects = array("H", (log.subjects[at] for at in kept_at))
    log.keys, log.values = (array("q", (column[at] for at in kept_at)) for column in (log.keys, log.values))
    log.first = array("q", first)
