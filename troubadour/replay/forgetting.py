"""Which states no transaction of a witness looks at any more (Emme §6; DESIGN §9).

A witness names every state that is read, and the log when answers came: what only older states have can be dropped,
exactly. Does not know what the states hold.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from troubadour.model.log import Transaction, TransactionId
from troubadour.model.witness import TransactionView, Witness
from troubadour.replay.listed import hidden_of, reads_of
from troubadour.replay.times import Timeline

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


class Horizon:
    """What the transactions of a witness from a place on may look at."""

    def __init__(self, witness: Witness, since: Sequence[int], ranks: Mapping[TransactionId, int]) -> None:
        """`since[rank]`: no answer to a transaction is older."""
        self._states = array("q", [_lowest(view) for view in witness.views])
        self._answers = array("q", [since[ranks[one]] for one in witness.order])
        for bounds in (self._states, self._answers):
            for place in range(len(bounds) - 2, -1, -1):
                bounds[place] = min(bounds[place], bounds[place + 1])

    def answered(self, place: int) -> int:
        """No answer to those behind the first `place` is older."""
        return self._answers[place] if place < len(self._answers) else NEVER

    def oldest(self, place: int, timeline: Timeline) -> int:
        """No older state is looked at by those behind the first `place`, which are in the timeline."""
        if place >= len(self._states):
            return place
        late = timeline.first_sent_after(self.answered(place))
        return self._states[place] if late is None else min(self._states[place], late - 1)


def _lowest(view: TransactionView) -> int:
    states = [view.state, *(read.state for read in view.exceptions), *(read.state for read in reads_of(view))]
    found = min([*states, *(position - 1 for position in hidden_of(view))])
    return max(0, min(found, NEVER))
