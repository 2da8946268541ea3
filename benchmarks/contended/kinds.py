"""What an anomaly is called, by what its transactions read and wrote in the run as it really went (P2, P4, A5A, A5B of
Berenson et al. 1995; Fekete et al. 2004 for the read-only anomaly).

Goes by an explanation at the level that the run ran at. Does not decide whether there is an anomaly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from troubadour.execution.free.choices import Looked
from troubadour.execution.states.history import RowHistory
from troubadour.execution.views.statementwise import StatementView
from troubadour.problem.problem import Problem
from troubadour.search.found import Found
from troubadour.search.schedule.placement import Candidate
from troubadour.search.schedule.trace import Trace

Rows = frozenset[RowHistory]


@dataclass(slots=True)
class Deed:
    """A transaction at its place: what it read there, each with the state that it read, and the rows that it wrote."""

    place: int
    reads: list[tuple[int, Looked]]
    wrote: Rows = field(default=frozenset())

    def missed(self, other: Deed) -> Rows:
        """Rows that the other one wrote, and that this one read as they were before."""
        return frozenset(row for state, looked in self.reads if state < other.place for row in _met(looked, other))

    def saw(self, other: Deed) -> Rows:
        """Rows that the other one wrote, and that this one read after that."""
        return frozenset(row for state, looked in self.reads if state >= other.place for row in _met(looked, other))


def _met(looked: Looked, other: Deed) -> Iterator[RowHistory]:
    return (row for row in other.wrote if row in looked.rows or row.table in looked.tables)


def kind_of(problem: Problem, found: Found, core: Sequence[int], *, serial: bool) -> str:
    """The anomaly of a core; `found` explains `problem`, which is at the level that the run ran at. `serial`: the run
    was held to a serial order."""
    deeds = _deeds(problem, found)
    own = [deeds[item] for item in core]
    rest = [deed for item, deed in deeds.items() if item not in core]
    for deed in reversed(own):
        for other in (*own, *rest):
            missed = deed.missed(other) if other is not deed else frozenset()
            if missed & deed.wrote and deed.place > other.place:
                return "lost update"
    for deed in reversed(own):
        for other in (*own, *rest):
            missed, saw = (deed.missed(other), deed.saw(other)) if other is not deed else (frozenset(), frozenset())
            if missed and saw:
                return "non-repeatable read" if missed & saw else "read skew"
    if not serial:
        # what was gone meanwhile was not read
        return "read skew"
    if any(a.missed(b) and b.missed(a) for n, a in enumerate(own) for b in own[:n]):
        return "write skew"
    return "read-only anomaly" if any(not deed.wrote for deed in own) else "cycle of several"


def _deeds(problem: Problem, found: Found) -> dict[int, Deed]:
    trace, deeds = Trace(problem), {}
    for place, placement in enumerate(found.trace.placements, 1):
        assert placement.choices is not None
        candidate = trace.run(placement.item, placement.choices)
        trace.keep(candidate)
        wrote = frozenset(trace.states.written_at(place))
        deeds[placement.item] = Deed(place, list(_reads(candidate, place)), wrote)
    return deeds


def _reads(candidate: Candidate, place: int) -> Iterator[tuple[int, Looked]]:
    view = candidate.view
    if isinstance(view, StatementView):
        for execution, state in view.states_read():
            yield state, view.looked_at(execution)
        return
    yield candidate.choices.state, view.plainly
    yield place - 1, view.acted
