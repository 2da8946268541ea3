"""The hint order of a long log, for all its transactions at once.

It is that of `troubadour.formats.order`, whose rules stand there. Does not know what makes a log long.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from troubadour.model.objects import ABORTED, MISSING, ObjectLog

Ints = npt.NDArray[np.int64]
ByTime = Callable[[list[int]], list[int]]
"""Few transactions, ascending, as they stand by a time of theirs."""


def whole(values: array[int]) -> Ints:
    """A column of 64-bit integers, not copied."""
    return np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)


def by_commit(commits: array[int], tied: ByTime) -> Ints:
    """Those that have a commit time, by that. `tied`: what stands at one commit time, as it is ordered."""
    commit = whole(commits)
    spine = np.flatnonzero(commit != MISSING)
    spine = spine[np.argsort(commit[spine], kind="stable")]
    equal = np.flatnonzero(commit[spine[1:]] == commit[spine[:-1]])
    if len(equal):
        for first, last in _runs(equal):
            spine[first : last + 2] = tied(spine[first : last + 2].tolist())
    return spine


def by_returned(returned: array[int], clocks: array[int]) -> Ints:
    """Those that have a time of return, in file order; each clock's fill the places of that clock by the time."""
    time, clock = whole(returned), whole(clocks)
    spine = np.flatnonzero(time != MISSING)
    for one in np.unique(clock[spine]).tolist():
        slots = np.flatnonzero(clock[spine] == one)
        members = spine[slots]
        spine[slots] = members[np.argsort(time[members], kind="stable")]
    return spine


def inserted(
    spine: Ints,
    returned: array[int],
    sent: array[int],
    clocks: array[int],
    tied: Callable[[list[int], array[int]], list[int]],
) -> array[int]:
    """The spine with the others in their gaps. `tied`: what stands in one gap, as it is ordered by these times."""
    time, asked, clock = whole(returned), whole(sent), whole(clocks)
    position = np.full(len(time), -1, np.int64)
    position[spine] = np.arange(len(spine))
    others = np.flatnonzero(position < 0)
    in_file = np.sort(spine)
    before = np.searchsorted(in_file, others)
    gap = np.where(before > 0, position[in_file[np.maximum(before - 1, 0)]] + 1, 0)
    for one in np.unique(clock[others]).tolist():
        members = spine[(clock[spine] == one) & (time[spine] != MISSING)]
        mine = np.flatnonzero((clock[others] == one) & (asked[others] != MISSING))
        if not len(members) or not len(mine):
            continue
        members = members[np.lexsort((position[members], time[members]))]
        furthest = np.concatenate(([0], np.maximum.accumulate(position[members] + 1)))
        gap[mine] = furthest[np.searchsorted(time[members], asked[others[mine]])]
    ordered = np.argsort(gap, kind="stable")
    others, gap = others[ordered], gap[ordered]
    moment = array("q", np.where(time == MISSING, asked, time).tobytes())
    for first, last in _runs(np.flatnonzero(gap[1:] == gap[:-1])):
        others[first : last + 2] = tied(others[first : last + 2].tolist(), moment)
    keys = np.concatenate((2 * np.arange(len(spine)) + 1, 2 * gap))
    order = np.concatenate((spine, others))[np.argsort(keys, kind="stable")]
    return array("q", order.astype(np.int64).tobytes())


def ascend(order: array[int], sessions: array[int], numbers: array[int]) -> bool:
    """Whether the numbers of every session ascend along an order; equal ones do."""
    chosen = whole(order)
    chosen = chosen[whole(numbers)[chosen] != MISSING]
    session = whole(sessions)[chosen]
    by_session = np.argsort(session, kind="stable")
    number, session = whole(numbers)[chosen[by_session]], session[by_session]
    return not bool(((session[1:] == session[:-1]) & (number[1:] < number[:-1])).any())


def ascend_in_file(sessions: array[int], numbers: array[int]) -> bool:
    """Whether each session has its numbers in ascending order in the file, so that none comes twice."""
    number, session = whole(numbers), whole(sessions)
    chosen = np.flatnonzero((number != MISSING) & (session >= 0))
    chosen = chosen[np.argsort(session[chosen], kind="stable")]
    number, session = number[chosen], session[chosen]
    return not bool((number < 0).any() or ((session[1:] == session[:-1]) & (number[1:] <= number[:-1])).any())


def told_times(log: ObjectLog) -> tuple[array[int], array[int], array[int]]:
    """What the hint order is made of beside commits: when each transaction had returned, and was sent, and its number
    in its session."""
    aborted = np.frombuffer(log.statuses, np.uint8) == ABORTED
    commits, invoked, end = whole(log.commits), whole(log.invoked), whole(log.end_invoked)
    returned = np.where(aborted, invoked, whole(log.returned))
    otherwise = np.where(invoked != MISSING, invoked, returned)
    sent = np.where((commits == MISSING) & (end != MISSING) & ~aborted, end, otherwise)
    sent[aborted] = invoked[aborted]
    numbers = np.where(whole(log.sessions) < 0, MISSING, whole(log.numbers))
    return array("q", returned.tobytes()), array("q", sent.tobytes()), array("q", numbers.tobytes())


def _runs(numbers: Ints) -> list[tuple[int, int]]:
    """First and last of each run of consecutive numbers, of some that ascend."""
    if not len(numbers):
        return []
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.concatenate(([0], breaks + 1))]
    lasts = numbers[np.concatenate((breaks, [len(numbers) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
