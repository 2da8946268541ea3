"""The events of a log's transactions and what is known of their order from times, sessions and the level alone.

Each transaction has a commit event, where it reads one older state a snapshot event before it, and where its statements
read states of their own one event for each of their views. Does not know what anyone read or wrote.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from sql_semantics.records import dataclass, field, replace
from troubadour.facts.sql.events import Moment, ViewClocks, clocks, item_at, view_moment
from troubadour.isolation.levels import Conflict, Level, Scope, Visible
from troubadour.isolation.times import Times
from troubadour.order.graph import Graph
from troubadour.order.history import bits_of
from troubadour.order.saturation import Known
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Model:
    """How transactions read and write rows at a level. `whole`: all at one event; `acts`: what is written or locked is
    in its newest version; `views`: each query reads a state of its own; else all reads are of one snapshot, and a
    row that is changed is then as it was there, which by `versions` was not written since."""

    level: Level
    whole: bool
    acts: bool
    views: bool
    versions: bool

    @property
    def follows_values(self) -> bool:
        """Whether all reads are of one snapshot, and a write that leaves a row as that has it is none."""
        return not (self.whole or self.acts or self.views or self.versions)

    @property
    def mixes(self) -> bool:
        """Whether a transaction sees newer rows that it changed beside those of its one snapshot."""
        return self.acts and not self.whole and not self.views


def model_of(problem: Problem) -> Model | None:
    """How the transactions of a problem read rows; None where that is not followed."""
    level = problem.levels[problem.committed[0]] if problem.committed else None
    if level is None or any(other is not level for other in problem.levels):
        return None
    if level.visible is not Visible.STATE or level.dirty or level.conflict is Conflict.COLUMNS:
        return None
    if level.scope is Scope.ROW or (level.own_states and level.dialect is None):
        return None
    if level.scope is Scope.STATEMENT:
        return Model(level, whole=False, acts=True, views=True, versions=False)
    if level.horizon.latest:
        return Model(level, whole=True, acts=False, views=False, versions=False)
    if level.acts and level.conflict is Conflict.NEVER:
        return Model(level, whole=False, acts=True, views=False, versions=False)
    if level.acts or not level.write_conflict:
        return None
    return Model(level, whole=False, acts=False, views=False, versions=level.conflict is Conflict.VERSIONS)


@dataclass(slots=True)
class Events:
    """The events as vertices of a graph whose closure is kept. `commit` and `snapshot` by transaction (where all is at
    one event they are one), `view` by transaction and statement."""

    graph: Graph[str]
    names: list[Moment] = field(default_factory=list)
    commit: dict[int, int] = field(default_factory=dict)
    snapshot: dict[int, int] = field(default_factory=dict)
    view: dict[tuple[int, int], int] = field(default_factory=dict)

    def reading(self, model: Model, item: int, statement: int) -> int:
        """The event of the state that a query reads."""
        return self.view[item, statement] if model.views else self.snapshot[item]

    def in_play(self, items: Sequence[int], optional: Collection[int]) -> list[int]:
        """The transactions without those `optional` ones that are after all events of the others: whether these
        happened or not, no answer of the others has to do with them."""
        own = map(item_at, self.names)
        sure = bits_of(event for event, item in enumerate(own) if item is not None and item not in optional)
        return [item for item in items if item not in optional or sure & ~self.graph.before[self.commit[item]]]


def events_of(
    problem: Problem,
    model: Model,
    items: Sequence[int],
    optional: Collection[int],
    writers: Collection[int],
    queries: Mapping[int, Sequence[int]],
    known: Known | None = None,
) -> Events | None:
    """The events of transactions; None where what is known of them has a circle. `optional` need not have happened;
    `writers` certainly wrote something; `queries` are the statements that read states of their own. `known`: what is
    known of the order besides."""
    events = Events(Graph())

    def number(moment: Moment) -> int:
        events.names.append(moment)
        return events.graph.add_event()

    level = model.level
    one_event = model.whole
    for item in items:
        events.commit[item] = number(("place", item))
        has_snapshot = not one_event and not model.views
        events.snapshot[item] = number(("snapshot", item)) if has_snapshot else events.commit[item]
        if has_snapshot:
            events.graph.add(events.snapshot[item], events.commit[item], "a snapshot is before its commit")
        before: int | None = None
        for statement in queries.get(item, ()) if model.views else ():
            view = events.view[item, statement] = number((view_moment(statement), item))
            events.graph.add(view, events.commit[item], "a view is before the commit")
            if before is not None:
                events.graph.add(before, view, "views do not go back")
            before = view
    _follow_sessions(problem, level, items, events)
    numbers = _follow_times(problem, model, items, optional, writers, events, number)
    if known is not None:
        _follow_known(known, events, numbers, number)
    return events if events.graph.close() else None


def _follow_sessions(problem: Problem, level: Level, items: Sequence[int], events: Events) -> None:
    if not level.session:
        return
    for item in items:
        for other in problem.earlier_in_session(item):
            if other in events.commit and must_precede(problem, other, item):
                events.graph.add(events.commit[other], events.snapshot[item], "their session has them so")
                break


def _without_end(times: Times) -> Times:
    """The times of what need not have happened: it may be last."""
    return replace(times, commit=None, returned=None, answered=None, start=None, opened=None)


def _follow_times(
    problem: Problem,
    model: Model,
    items: Sequence[int],
    optional: Collection[int],
    writers: Collection[int],
    events: Events,
    number: Callable[[Moment], int],
) -> dict[Moment, int]:
    level = model.level
    after: dict[Moment, set[Moment]] = defaultdict(set)
    times = {item: _without_end(problem.times[item]) if item in optional else problem.times[item] for item in items}
    sure = [item for item in items if item not in optional]
    for clock in clocks(problem, level, sure):
        clock.start(after)
        for item in items:
            at_once = events.snapshot[item] == events.commit[item]
            clock.place(after, item, times[item], writes=item in writers or item in optional, at_once=at_once)
    if model.views:
        of_views = ViewClocks([problem.times[item] for item in sure])
        of_views.start(after)
        for item in items:
            if item in writers or item in optional:
                of_views.place_commit(after, item, times[item])
        for item, statement in events.view:
            if item not in optional:
                of_views.place_view(after, item, times[item], statement)
    _follow_among_later(problem, level, sorted(optional), after)
    numbers: dict[Moment, int] = {name: place for place, name in enumerate(events.names)}
    for item in items:
        numbers["snapshot", item] = events.snapshot[item]
    for one in after:
        for other in sorted(after[one], key=repr):
            for moment in (one, other):
                if moment not in numbers:
                    numbers[moment] = number(moment)
            if numbers[one] != numbers[other]:
                events.graph.add(numbers[one], numbers[other], "times have them so")
    return numbers


def _follow_known(known: Known, events: Events, numbers: dict[Moment, int], number: Callable[[Moment], int]) -> None:
    """What is known of the order besides, by the same moments."""
    names = known.history.names
    own: list[int] = []
    for event in range(len(known.graph)):
        moment: Moment = names[event] if event < len(names) else ("tick", ("known", event))
        if moment not in numbers:
            numbers[moment] = number(moment)
        own.append(numbers[moment])
    for edge in known.graph.edges:
        events.graph.add(own[edge.earlier], own[edge.later], "what was read has them so")


def _follow_among_later(
    problem: Problem, level: Level, optional: Sequence[int], after: dict[Moment, set[Moment]]
) -> None:
    """What need not have happened is in the order of its times among itself, where the level keeps that."""
    if not level.commits and not level.real_time:
        return
    over, begun = ("answered", "sent") if level.commits else ("returned", "invoked")
    by_clock: dict[str | None, list[int]] = defaultdict(list)
    for item in optional:
        if getattr(problem.times[item], over) is not None:
            by_clock[problem.times[item].clock].append(item)
    for clock, ended in by_clock.items():
        ended.sort(key=lambda item: getattr(problem.times[item], over))
        ends = [getattr(problem.times[item], over) for item in ended]
        for number, item in enumerate(ended):
            after["place", item].add(("tick", ("later", clock, number)))
            if number:
                after["tick", ("later", clock, number - 1)].add(("tick", ("later", clock, number)))
        for item in optional:
            own = problem.times[item]
            begin = getattr(own, begun)
            number = bisect_left(ends, begin) - 1 if own.clock == clock and begin is not None else -1
            if number >= 0:
                after["tick", ("later", clock, number)].add(("place", item))
