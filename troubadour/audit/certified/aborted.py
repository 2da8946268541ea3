"""Aborted transactions in a certified order: products promise them their snapshots, certificates do not tell these.

Nothing is left of them, so the order of the others stands; each is put where times allow it and a state explains its
answers. Does not know commits.
"""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.audit.certified.order import Incomplete, began
from troubadour.problem.budget import SOME
from troubadour.problem.orders import must_precede
from troubadour.search.schedule.trace import Trace


class Unplaced:
    """The aborted transactions of a trace that have no place yet, in the order in which they began."""

    def __init__(self, trace: Trace, order: Sequence[int]) -> None:
        self._trace, self._order = trace, order
        self._waiting = sorted(trace.problem.aborted, key=lambda item: began(trace.problem, item))

    def place(self, number: int) -> None:
        """Place those that have a place before the transaction of this number. Raises Incomplete for one that has
        none although it must stand before that one."""
        if not self._waiting:
            return
        problem, coming = self._trace.problem, self._order[number : number + SOME]
        left: list[int] = []
        for place, item in enumerate(self._waiting):
            if coming and must_precede(problem, coming[-1], item):
                left += self._waiting[place:]
                break
            early = any(must_precede(problem, other, item) for other in (*coming, *left))
            failure = None if early else self._trace.place(item)
            if early or failure is not None:
                if not coming or must_precede(problem, item, coming[0]):
                    text = "it aborted, and no state that its times allow in the certified order explains its answers"
                    raise Incomplete(text, problem.transaction(item).id)
                left.append(item)
        self._waiting = left
