"""Certificates that name one place in an expected serialization order for each transaction (Emme §6, Alg. 4).

One pass and the newest state are enough: every transaction reads what those before it left. Of each a few numbers are
kept. Does not know rows.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence

from troubadour.audit.certified.order import Certified, Incomplete
from troubadour.model.certificate import Certificate
from troubadour.model.ids import Chosen, Ids
from troubadour.model.log import Log

_RUN = 1 << 13
"""Transactions that are sorted at once: the runs are merged."""


def timestamp_order(log: Log, certificate: Certificate) -> Certified:
    """The items by their timestamps. Raises Incomplete where one is missing."""
    names, items, stamps = Ids(), array("q"), _Stamps()
    by_xid = {commit.xid: commit for commit in certificate.commits}
    commits = {}
    for item, (identifier, status) in enumerate(log.statuses()):
        read = certificate.reads.get(identifier)
        names.append(identifier)
        if read is None or read.timestamp is None:
            if status == "committed":
                raise Incomplete("its timestamp is missing", identifier)
        elif status == "aborted":
            raise Incomplete("it has a timestamp in the certificate, and aborted in the log", identifier)
        else:
            stamps.append(read.timestamp)
            items.append(item)
            if read.xid is not None and read.xid in by_xid:
                commits[identifier] = by_xid[read.xid]
    order: Sequence[int] = items
    if not stamps.ascending:
        order = array("q", map(items.__getitem__, _sorted(stamps)))
    return Certified(order, Chosen(names.__getitem__, order), range(len(order)), commits)


class _Stamps:
    """Timestamps, which may have more than 64 bits."""

    def __init__(self) -> None:
        self._high, self._low = array("Q"), array("Q")
        self._last = -1
        self.ascending = True

    def append(self, stamp: int) -> None:
        self.ascending = self.ascending and stamp > self._last
        self._last = stamp
        self._high.append(stamp >> 64)
        self._low.append(stamp & (1 << 64) - 1)

    def at(self, place: int) -> int:
        return self._high[place] << 64 | self._low[place]

    def __len__(self) -> int:
        return len(self._low)


def _sorted(stamps: _Stamps) -> array[int]:
    """The places of the timestamps, ascending; equal ones as they are."""
    runs = [
        array("q", sorted(range(start, min(start + _RUN, len(stamps))), key=stamps.at))
        for start in range(0, len(stamps), _RUN)
    ]
    return array("q", heapq.merge(*runs, key=stamps.at))
