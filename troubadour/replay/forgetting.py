"""Which states no transaction of a witness looks at any more (Emme §6).

A witness names every state that is read, and the log when answers came: what only older states have can be dropped,
exactly. Does not know what the states hold.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import UNSET

from troubadour.model.log import Transaction, TransactionId
from troubadour.model.witness import TransactionView, Witness
from troubadour.replay.commit_tests.times import Timeline
from troubadour.replay.witness.listed import hidden_of, reads_of

EVERY = 256
"""Transactions between two times that old states are forgotten."""

NEVER = (1 << 63) - 1


def earliest(transaction: Transaction) -> int:
    """No later than any time that the client noted of a transaction; NEVER where it noted none."""
    times = [transaction.invoked, transaction.returned]
    for statement in transaction.statements:
        times += (statement.invoked, statement.returned)
    if transaction.end is not None:
        times += (transaction.end.invoked, transaction.end.returned)
    return min((time for time in times if time is not None), default=NEVER)


class Bounds(Protocol):
    """What transactions that are still to be placed may look at."""

    def answered(self, place: int) -> int:
        """No answer to those behind the first `place` is older."""

    def began(self, place: int) -> int:
        """None of those behind the first `place` began or committed earlier by the DBMS's clock."""

    def rank(self, place: int) -> int:
        """No lower place in hint order has one of those behind the first `place`."""

    def oldest(self, place: int, timeline: Timeline) -> int:
        """No older state is looked at by those behind the first `place`, which are in the timeline."""


class Horizon:
    """What the transactions of a witness from a place on may look at."""

    def __init__(
        self, witness: Witness, ranks: Mapping[TransactionId, int], since: Sequence[int], began: Sequence[int]
    ) -> None:
        """`since[rank]`: no answer to a transaction is older; `began[rank]`: none of its times by the DBMS's clock
        is (empty: that is not asked)."""
        order = array("q", map(ranks.__getitem__, witness.order))
        self._states = array("q", map(_lowest, witness.views))
        self._answers = array("q", map(since.__getitem__, order))
        self._began = array("q", map(began.__getitem__, order)) if began else array("q")
        self._ranks = order if began else array("q")
        for bounds in (self._states, self._answers, self._began, self._ranks):
            lower_to_later(bounds)

    def answered(self, place: int) -> int:
        """No answer to those behind the first `place` is older."""
        return self._answers[place] if place < len(self._answers) else NEVER

    def began(self, place: int) -> int:
        """None of those behind the first `place` began or committed earlier by the DBMS's clock."""
        return self._began[place] if place < len(self._began) else NEVER

    def rank(self, place: int) -> int:
        """No lower place in hint order has one of those behind the first `place`."""
        return self._ranks[place] if place < len(self._ranks) else NEVER

    def oldest(self, place: int, timeline: Timeline) -> int:
        """No older state is looked at by those behind the first `place`, which are in the timeline."""
        if place >= len(self._states):
            return place
        late = timeline.first_sent_after(self.answered(place))
        return self._states[place] if late is None else min(self._states[place], late - 1)


def lower_to_later(bounds: array[int]) -> None:
    """Lower each bound to the least of those behind it."""
    for place in range(len(bounds) - 2, -1, -1):
        bounds[place] = min(bounds[place], bounds[place + 1])


def by_server(transaction: Transaction) -> int:
    """No later than any time of a transaction by the DBMS's clock; NEVER where there is none."""
    return min((time for time in (transaction.start, transaction.commit) if time is not None), default=NEVER)


def _lowest(view: TransactionView) -> int:
    if not view.exceptions and view.statements is UNSET and view.hidden is UNSET:
        return max(0, min(view.state, NEVER))
    states = [view.state, *(read.state for read in view.exceptions), *(read.state for read in reads_of(view))]
    found = min([*states, *(position - 1 for position in hidden_of(view))])
    return max(0, min(found, NEVER))
