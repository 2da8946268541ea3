"""Which transactions one sees, where that need not be a state (Cerone et al. 2015, VIS).

A concrete run shows what it *needs* to see: the writers of the versions that it took. All else may be seen or not, so
what is hidden from one transaction is hidden, where sets are closed, together with all that need it, and nothing more.
Does not know how sets are encoded for the solver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sql_semantics.records import dataclass
from troubadour.execution.free.choices import Choices
from troubadour.execution.states.history import RowHistory
from troubadour.execution.views.concrete import ConcreteView
from troubadour.isolation.levels import Scope, Visible
from troubadour.isolation.times import precedes_in_session
from troubadour.problem.budget import HUNDREDS, SOME
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.statement_reads import Constraints

if TYPE_CHECKING:
    from troubadour.problem.problem import Problem
    from troubadour.search.schedule.placement import Candidate, Placement
    from troubadour.search.schedule.trace import Trace


class TooManySets(Exception):
    """Not every set that a transaction may see could be looked at."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The positions that a transaction cannot but see: 1 to `floor`, and the `others`; what its session demands is
    left out."""

    floor: int
    others: frozenset[int]

    def __le__(self, other: Needs) -> bool:
        beyond = [position for position in self.others if position > other.floor]
        return (self.floor <= other.floor or other.others.issuperset(range(other.floor + 1, self.floor + 1))) and (
            other.others.issuperset(beyond)
        )


NOTHING = Needs(0, frozenset())


def sees_a_set(problem: Problem, item: int) -> bool:
    """Whether what the transaction sees need not be a state."""
    level = problem.levels[item]
    return level.scope is Scope.TRANSACTION and level.visible is not Visible.STATE


def reads_any_state(problem: Problem, item: int) -> bool:
    """Whether the transaction reads one state, and which one is open."""
    level = problem.levels[item]
    one_state = level.scope is Scope.TRANSACTION and level.visible is Visible.STATE
    return one_state and not level.horizon.latest


def seen_at(row: RowHistory, state: int, hidden: Collection[int]) -> int:
    """The newest position up to `state` at which the row was written and that is not hidden; -1 for none."""
    position = row.changed_at(state)
    while position in hidden:
        position = row.changed_at(position - 1)
    return position


def needs_of(trace: Trace, candidate: Candidate) -> Needs:
    """What a run took versions of; single row reads pass nothing on."""
    problem, item = trace.problem, candidate.item
    level = problem.levels[item]
    if level.scope is not Scope.TRANSACTION:
        return NOTHING
    if level.visible is Visible.STATE:
        return Needs(candidate.choices.state, frozenset())
    taken = _taken(trace, candidate.view, candidate.choices)
    if candidate.again is not None:
        taken |= {position for position in candidate.again.reads.values() if position > 0}
    return Needs(0, frozenset(taken))


def _taken(trace: Trace, view: ConcreteView, choices: Choices) -> set[int]:
    rows = set(view.footprint)
    for table in view.scanned:
        rows.update(trace.states.tables[table].rows)
    hidden = choices.hidden or frozenset()
    found: set[int] = set()
    for row in rows:
        position = seen_at(row, choices.state, hidden)
        if position > 0:
            found.add(position)
    return found


def least(trace: Trace, candidates: list[Candidate]) -> list[Candidate]:
    """Of runs that write the same, those that need to see least: a run that sees them need not see more."""
    if len(candidates) == 1:
        return candidates
    found: list[tuple[Needs, Candidate]] = []
    for candidate in candidates:
        needs = needs_of(trace, candidate)
        if not any(other <= needs for other, _ in found):
            found = [(other, kept) for other, kept in found if not needs <= other]
            found.append((needs, candidate))
    return [candidate for _, candidate in found]


def with_all_that_need(trace: Trace, position: int) -> frozenset[int]:
    """A position and all that cannot be seen without it. Raises TooManySets where a placement left its reads open."""
    found = {position}
    for later in range(position + 1, len(trace) + 1):
        if _needs_one(trace, later, found, position):
            found.add(later)
    trace.problem.budget.note(len(trace) - position)
    return frozenset(found)


def _needs_one(trace: Trace, position: int, hidden: set[int] | frozenset[int], first: int) -> bool:
    """Whether what stands at a position needs one of those hidden, the `first` of which is before it."""
    placement = trace.placements[position - 1]
    needs = placement.needs
    if needs is None:
        raise TooManySets
    if first <= needs.floor or not needs.others.isdisjoint(hidden):
        return True
    times = trace.timeline.times
    own = times[position - 1]
    return trace.problem.levels[placement.item].session and any(
        other < position and precedes_in_session(times[other - 1], own)
        for other in hidden.intersection(trace.timeline.of_session(own.session))
    )


def unseen_by_session(trace: Trace, item: int, hidden: Iterable[int]) -> int | None:
    """A hidden position that the transaction's session had committed before; None where there is none."""
    if not trace.problem.levels[item].session:
        return None
    own, times = trace.problem.times[item], trace.timeline.times
    return next((position for position in hidden if precedes_in_session(times[position - 1], own)), None)


def refused_set(trace: Trace, item: int, choices: Choices) -> Failure | None:
    """Why a level does not let the transaction see the set that it is to see."""
    hidden = choices.hidden
    if not hidden:
        return None
    problem = trace.problem
    if unseen_by_session(trace, item, hidden) is not None:
        return Failure(item, "visibility", "it does not see what its session committed before")
    if problem.levels[item].visible is Visible.CLOSED:
        first = min(hidden)
        for position in range(first + 1, choices.state + 1):
            if position not in hidden and _needs_one(trace, position, hidden, first):
                return Failure(item, "visibility", "it sees a transaction without what that one saw")
    return None


def set_candidates(
    trace: Trace, item: int, masked: list[frozenset[int]] | None, *, exhaustive: bool
) -> Iterator[Candidate]:
    """Runs on the sets that the level allows, depth first: what a run took a version of is hidden next, and all that
    need it. A set that explains the observations differs from one that does not in a version that the latter takes, so
    none is missed. Raises TooManySets beyond a bound where they are to be exhaustive."""
    closed = trace.problem.levels[item].visible is Visible.CLOSED
    newest = len(trace)
    pending: list[frozenset[int]] = [frozenset()]
    known: set[frozenset[int]] = {frozenset()}
    runs = 0
    while pending:
        hidden = pending.pop()
        looked_at: dict[int, None] = {}
        seen = next((position for position in range(newest, 0, -1) if position not in hidden), 0)
        constraints = Constraints(seen, newest)
        more = True
        while more:
            runs += 1
            if runs > (HUNDREDS if exhaustive else SOME):
                if exhaustive:
                    raise TooManySets
                return
            met = dict(constraints.newests)
            candidate = trace.run(
                item, Choices(newest, newest=newest, newests=met, hidden=hidden), 0, masked, tolerant=not exhaustive
            )
            yield candidate
            looked_at.update(_looked_at(candidate))
            failing = candidate.failure.statement if candidate.failure is not None else None
            more = constraints.advance(candidate.view, failing, seen)
        for position in sorted(position for position in looked_at if position > trace.problem.oldest(newest)):
            larger = hidden | (with_all_that_need(trace, position) if closed else {position})
            if larger not in known and unseen_by_session(trace, item, larger - hidden) is None:
                known.add(larger)
                pending.append(larger)


def _looked_at(candidate: Candidate) -> dict[int, None]:
    """The positions whose versions a run took, up to the statement that failed."""
    failure = candidate.failure
    last = failure.statement if failure is not None else None
    found: dict[int, None] = {}
    for view in (candidate.view, candidate.again):
        if view is not None:
            for (statement, _, _), position in view.reads.items():
                if position > 0 and (last is None or statement <= last):
                    found[position] = None
    return found


def hidden_from_each(trace: Trace) -> list[frozenset[int]]:
    """Per placement, what is hidden from it in the end: where sets are closed, what is hidden from one is hidden from
    all that it sees."""
    problem, placements = trace.problem, trace.placements
    found: list[set[int]] = [set(_hidden(placement)) for placement in placements]
    for place in range(len(placements) - 1, -1, -1):
        item, own = placements[place].item, found[place]
        if not own or not sees_a_set(problem, item) or problem.levels[item].visible is not Visible.CLOSED:
            continue
        for position in range(min(own) + 1, _state(placements, place) + 1):
            if position not in own and sees_a_set(problem, placements[position - 1].item):
                found[position - 1].update(one for one in own if one < position)
    return [frozenset(one) for one in found]


def _hidden(placement: Placement) -> frozenset[int]:
    return (placement.choices.hidden if placement.choices is not None else None) or frozenset()


def _state(placements: Sequence[Placement], place: int) -> int:
    choices = placements[place].choices
    assert choices is not None
    return choices.state
