"""What transactions that are still to be placed may look at, where the witness is in the making.

Does not know any state.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from troubadour.model.log import Log
from troubadour.replay.commit_tests.times import Timeline
from troubadour.replay.forgetting import NEVER, by_server, earliest, lower_to_later

KEPT = 512
"""States that are kept, the newest: what reads an older one is left to others."""


class Times:
    """The times of all transactions of a log, by their places in hint order."""

    def __init__(self, log: Log) -> None:
        self._answers = array("q", map(earliest, log.transactions))
        self._began = array("q", map(by_server, log.transactions))
        self._answers_from, self._began_from = self._answers[:], self._began[:]
        for bounds in (self._answers_from, self._began_from):
            lower_to_later(bounds)

    def since(self, place: int, others: Iterable[int]) -> Since:
        """Bounds of those from a place on, and of others."""
        others = list(others)
        left = place < len(self._answers)
        return Since(
            min([self._answers_from[place] if left else NEVER, *(self._answers[one] for one in others)]),
            min([self._began_from[place] if left else NEVER, *(self._began[one] for one in others)]),
            min([place, *others]),
        )


class Since:
    """See `troubadour.replay.forgetting.Bounds`: those of one moment."""

    def __init__(self, answered: int, began: int, rank: int) -> None:
        self._answered, self._began, self._rank = answered, began, rank

    def answered(self, place: int) -> int:
        """No answer is older."""
        return self._answered

    def began(self, place: int) -> int:
        """None began or committed earlier by the DBMS's clock."""
        return self._began

    def rank(self, place: int) -> int:
        """None has a lower place in hint order."""
        return self._rank

    def oldest(self, place: int, timeline: Timeline) -> int:
        """No older state is looked at; what was sent after an answer is looked past."""
        late = timeline.first_sent_after(self._answered)
        oldest = max(0, place - KEPT)
        return oldest if late is None else min(oldest, late - 1)
