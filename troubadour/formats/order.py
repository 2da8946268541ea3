"""The hint order (paper §4.1, where it is taken as given).

Does not know whether the order explains anything: that is for the audit to find out.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, groupby, pairwise
from operator import lt

import msgspec

from troubadour.model.objects import MISSING

LONG = 20_000
"""Transactions from which on all are ordered at once."""


class Times(msgspec.Struct, frozen=True, gc=False):
    """Columns over all transactions in file order; `MISSING` where a time or a number is absent.

    `commit` is of the DBMS's clock. `returned` and `sent` are of the client clock numbered `clock`; `sent[i]` is the
    time before which everything answered stands before i: when i was invoked, for an unknown one when its COMMIT was.
    `session` numbers the sessions, `number` is a transaction's own within its session.
    """

    commit: array[int]
    returned: array[int]
    sent: array[int]
    clock: array[int]
    session: array[int]
    number: array[int]


def hint_order(times: Times, alive: Sequence[int]) -> array[int]:
    """The transactions `alive` (indices, ascending) in hint order; O(n log n).

    1. The *spine*: those with `commit`, by `commit`; ties by `returned`. If there are none: those with `returned`, by
       `returned`. If there are none either: the order is that of the file.
    2. Each of the others goes into the spine as early as it can: right after the last member of its own clock that
       had returned before it was sent. That is before all those that were invoked after it returned, unless the spine
       itself contradicts the client's times; then the first of the two conditions is kept. Without a time, or
       without a member of its clock in the spine, it follows the spine's member nearest before it in the file.
    3. Those that fall into one gap stand by `returned` (else by when they were sent).

    4. Where the transactions of a session are numbered, the places that they have are filled in the order of the
       numbers.

    "By `returned`" never compares two clocks: the places that a clock's transactions have in the file remain that
    clock's, and are filled in the order of `returned`; transactions without the time keep their place.
    """
    return _by_number(_by_times(times, alive), times)


def _by_times(times: Times, alive: Sequence[int]) -> array[int]:
    if len(alive) == len(times.commit):
        if all(map(lt, chain((MISSING,), times.commit), times.commit)):
            # as most logs are written
            return array("q", alive)
        if len(alive) >= LONG:
            return _of_all(times)
    spine = [i for i in alive if times.commit[i] != MISSING]
    if spine:
        spine = _by_commit(spine, times)
    else:
        spine = _by_time([i for i in alive if times.returned[i] != MISSING], times.returned, times.clock)
    if not spine:
        return array("q", alive)
    if len(spine) == len(alive):
        return array("q", spine)
    return _inserted(spine, alive, times)


def _of_all(times: Times) -> array[int]:
    """The same of all transactions of a long log."""
    # numpy, which short logs of SQL start without
    from troubadour.formats import long_order

    spine = long_order.by_commit(times.commit, lambda some: _by_time(some, times.returned, times.clock))
    if not len(spine):
        spine = long_order.by_returned(times.returned, times.clock)
    if not len(spine):
        return array("q", range(len(times.commit)))
    if len(spine) == len(times.commit):
        return array("q", spine.tobytes())
    return long_order.inserted(
        spine, times.returned, times.sent, times.clock, lambda some, moment: _by_time(some, moment, times.clock)
    )


def _by_number(order: array[int], times: Times) -> array[int]:
    if times.number.count(MISSING) == len(times.number) or _ascend(order, times):
        return order
    slots: dict[int, list[int]] = {}
    for slot, index in enumerate(order):
        if times.number[index] != MISSING:
            slots.setdefault(times.session[index], []).append(slot)
    ordered = order[:]
    for mine in slots.values():
        numbers = [times.number[order[slot]] for slot in mine]
        if any(one > other for one, other in pairwise(numbers)):
            for slot, index in zip(
                mine, sorted((order[slot] for slot in mine), key=times.number.__getitem__), strict=True
            ):
                ordered[slot] = index
    return ordered


def _ascend(order: array[int], times: Times) -> bool:
    """Whether the numbers of every session ascend already."""
    if len(order) >= LONG:
        from troubadour.formats import long_order

        return long_order.ascend(order, times.session, times.number)
    last: dict[int, int] = {}
    for index in order:
        number = times.number[index]
        if number != MISSING:
            session = times.session[index]
            if last.get(session, MISSING) > number:
                return False
            last[session] = number
    return True


def _by_commit(indices: list[int], times: Times) -> list[int]:
    indices.sort(key=times.commit.__getitem__)
    ordered: list[int] = []
    for _, tied in groupby(indices, times.commit.__getitem__):
        group = list(tied)
        ordered.extend(group if len(group) == 1 else _by_time(group, times.returned, times.clock))
    return ordered


def _by_time(indices: list[int], time: Sequence[int], clock: Sequence[int]) -> list[int]:
    """`indices` (ascending) with each clock's members sorted by `time` among the slots that they have."""
    slots: dict[int, list[int]] = {}
    for slot, index in enumerate(indices):
        if time[index] != MISSING:
            slots.setdefault(clock[index], []).append(slot)
    ordered = list(indices)
    for mine in slots.values():
        members = sorted((indices[slot] for slot in mine), key=time.__getitem__)
        for slot, index in zip(mine, members, strict=True):
            ordered[slot] = index
    return ordered


def _inserted(spine: list[int], alive: Sequence[int], times: Times) -> array[int]:
    position = {index: at for at, index in enumerate(spine)}
    in_file = sorted(spine)
    reached = _reached(spine, times)
    gaps: dict[int, list[int]] = {}
    for index in alive:
        if index in position:
            continue
        curve = reached.get(times.clock[index])
        if curve is not None and times.sent[index] != MISSING:
            gap = curve[1][bisect_left(curve[0], times.sent[index])]
        else:
            before = bisect_left(in_file, index)
            gap = position[in_file[before - 1]] + 1 if before else 0
        gaps.setdefault(gap, []).append(index)
    moment = array("q", times.returned)
    for index in (i for group in gaps.values() for i in group):
        if moment[index] == MISSING:
            moment[index] = times.sent[index]
    order = array("q", _by_time(gaps.get(0, []), moment, times.clock))
    for at, index in enumerate(spine, 1):
        order.append(index)
        if at in gaps:
            order.extend(_by_time(gaps[at], moment, times.clock))
    return order


def _reached(spine: Iterable[int], times: Times) -> dict[int, tuple[list[int], list[int]]]:
    """Per clock: the times of return, ascending, and for each number k of them how far the first k reach into the
    spine (a gap: 0 is before everything)."""
    members: dict[int, list[tuple[int, int]]] = {}
    for at, index in enumerate(spine, 1):
        if times.returned[index] != MISSING:
            members.setdefault(times.clock[index], []).append((times.returned[index], at))
    reached = {}
    for clock, pairs in members.items():
        pairs.sort()
        furthest = [0]
        for _, at in pairs:
            furthest.append(max(furthest[-1], at))
        reached[clock] = ([time for time, _ in pairs], furthest)
    return reached
