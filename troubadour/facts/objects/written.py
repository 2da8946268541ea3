"""Which transactions wrote what was read, by the values alone, and so which of unknown outcome happened. Does not know
an order."""

from __future__ import annotations

import numpy as np

from troubadour.model.objects import COMMITTED, READ, UNKNOWN, UNREAD, ObjectLog


def read_of_unknown(log: ObjectLog) -> set[int]:
    """The transactions of unknown outcome that write what a committed one read; a counter tells of none."""
    statuses = np.frombuffer(log.statuses, np.uint8)
    unknown = np.flatnonzero(statuses == UNKNOWN).tolist()
    written = {
        (log.subjects[at], log.keys[at])
        for one in unknown
        for at in range(log.first[one], log.first[one + 1])
        if log.kinds[at] != READ
    }
    if not written:
        return set()
    keys = np.array([key for _, key in written], np.int64)
    near = np.frombuffer(log.kinds, np.uint8) == READ
    near &= np.isin(np.frombuffer(log.keys, np.int64), keys) & (np.frombuffer(log.values, np.int64) != UNREAD)
    places = np.flatnonzero(near)
    owners = np.searchsorted(np.frombuffer(log.first, np.int64), places, side="right") - 1
    wanted = {
        (log.subjects[at], log.keys[at], value)
        for at, owner in zip(places.tolist(), owners.tolist(), strict=True)
        if statuses[owner] == COMMITTED and (log.subjects[at], log.keys[at]) in written
        for value in values_read(log, at)
    }
    return writers_of(log, wanted).intersection(unknown)


def writers_of(log: ObjectLog, wanted: set[tuple[int, int, int]]) -> set[int]:
    """The transactions that write some values to some keys."""
    if not wanted:
        return set()
    keys, values = (np.array([one[number] for one in wanted], np.int64) for number in (1, 2))
    change = np.frombuffer(log.kinds, np.uint8) != READ
    of_key = np.isin(np.frombuffer(log.keys, np.int64), keys)
    near = np.flatnonzero(change & of_key & np.isin(np.frombuffer(log.values, np.int64), values)).tolist()
    found = [at for at in near if (log.subjects[at], log.keys[at], log.values[at]) in wanted]
    return {int(np.searchsorted(np.frombuffer(log.first, np.int64), at, side="right")) - 1 for at in found}


def values_read(log: ObjectLog, at: int) -> list[int]:
    """What a read shows, as values that were written."""
    code = log.values[at]
    if log.objects[log.subjects[at]].type in ("list", "set"):
        return list(log.sequences.at(code))
    return [code]
