"""The moments of transactions that times order, as edges of a graph.

A transaction has its place in the order and, where it may read older states, the moment of its snapshot. The edges run
through the ticks of a clock, so that they are few. Does not know what was read or written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

from troubadour.isolation.levels import Level
from troubadour.isolation.times import Times
from troubadour.problem.problem import Problem

Moment = tuple[str, object]
"""``(place, item)``, ``(snapshot, item)``, ``(view n, item)`` of statement n, or a moment of some clock."""

_VIEW = "view "


def view_moment(statement: int) -> str:
    """The name of the moment of the state that a statement, by its number, read."""
    return f"{_VIEW}{statement}"


def viewing_statement(name: str) -> int | None:
    """The statement whose view a moment's name says; None where it is no view's."""
    return int(name[len(_VIEW) :]) if name.startswith(_VIEW) else None


def item_at(moment: Moment) -> int | None:
    """The transaction whose moment it is; None for a clock's."""
    kind, item = moment
    return item if kind != "tick" and isinstance(item, int) else None


def snapshot_moment(level: Level) -> str:
    """The name of the moment that reads are of: the place itself where nothing is asked of the state at the start."""
    return "place" if level.horizon.latest and not level.horizon.at_start else "snapshot"


class Clock:
    """One rule of times: a transaction's moment that was over by one time is before another's that had not begun at
    a later one, where both are of one clock. Its ticks are the times of some transactions."""

    def __init__(
        self,
        name: str,
        items: Sequence[Times],
        over: tuple[str, str],
        begun: tuple[str, str],
        writers: tuple[bool, bool] = (False, False),
    ) -> None:
        """`over` and `begun` name a moment and the field of `Times` that bounds it; `writers`: whether only those are
        meant that wrote something (a read-only transaction changes no state)."""
        self._name = name
        self._writers = writers
        self._over_moment, over_field = over
        self._begun_moment, begun_field = begun
        self._over: Callable[[Times], int | None] = attrgetter(over_field)
        self._begun: Callable[[Times], int | None] = attrgetter(begun_field)
        self._of_server = over_field in ("start", "commit")
        ticks: dict[str | None, set[int]] = defaultdict(set)
        for times in items:
            tick = self._over(times)
            if tick is not None:
                ticks[self._clock(times)].add(tick)
        self._ticks = {key: sorted(found) for key, found in ticks.items()}

    def _clock(self, times: Times) -> str | None:
        return None if self._of_server else times.clock

    def start(self, after: dict[Moment, set[Moment]]) -> None:
        """Put the ticks in order."""
        for key, ticks in self._ticks.items():
            for number in range(1, len(ticks)):
                after[self._tick(key, number - 1)].add(self._tick(key, number))

    def place(
        self, after: dict[Moment, set[Moment]], item: int, times: Times, *, writes: bool, at_once: bool = False
    ) -> None:
        """Put a transaction's moments among the ticks. `at_once`: its snapshot and its commit are one moment, which
        ticks must not put before itself: a snapshot without what was sent later has its own commit all the same."""
        key = self._clock(times)
        ticks = self._ticks.get(key, [])
        over, begun = self._over(times), self._begun(times)
        own = at_once and writes and self._over_moment == "snapshot" and self._begun_moment == "place"
        if over is not None and (writes or not self._writers[0]) and not own:
            number = bisect_left(ticks, over)
            if number < len(ticks):
                after[self._over_moment, item].add(self._tick(key, number))
        if begun is not None and (writes or not self._writers[1]):
            number = bisect_left(ticks, begun) - 1
            if number >= 0:
                after[self._tick(key, number)].add((self._begun_moment, item))

    def _tick(self, key: str | None, number: int) -> Moment:
        return "tick", (self._name, key, number)


class _Chain:
    """Ticks at given times of a clock: what was over by one is before what had not begun at a later one."""

    def __init__(self, name: str, times: Iterable[tuple[str | None, int | None]]) -> None:
        """`times`, each with its clock."""
        self._name = name
        found: dict[str | None, set[int]] = defaultdict(set)
        for clock, time in times:
            if time is not None:
                found[clock].add(time)
        self._ticks = {clock: sorted(ticks) for clock, ticks in found.items()}

    def start(self, after: dict[Moment, set[Moment]]) -> None:
        """Put the ticks in order."""
        for clock, ticks in self._ticks.items():
            for one, other in pairwise(range(len(ticks))):
                after["tick", (self._name, clock, one)].add(("tick", (self._name, clock, other)))

    def over(self, after: dict[Moment, set[Moment]], moment: Moment, clock: str | None, time: int | None) -> None:
        """A moment was over by a time."""
        ticks = self._ticks.get(clock, [])
        number = len(ticks) if time is None else bisect_left(ticks, time)
        if number < len(ticks):
            after[moment].add(("tick", (self._name, clock, number)))

    def begun(self, after: dict[Moment, set[Moment]], moment: Moment, clock: str | None, time: int | None) -> None:
        """A moment had not begun at a time."""
        number = -1 if time is None else bisect_left(self._ticks.get(clock, []), time) - 1
        if number >= 0:
            after["tick", (self._name, clock, number)].add(moment)


class ViewClocks:
    """What times say of the views of statements: `isolation.times.was_there` and `sent_after`. Only commits that write
    something are placed."""

    def __init__(self, times: Sequence[Times]) -> None:
        self._server = _Chain("view by the server", ((None, own.commit) for own in times))
        self._seen = _Chain("view sees", ((own.clock, own.answered) for own in times))
        self._unseen = _Chain("view misses", ((own.clock, got) for own in times for got in own.got))

    def start(self, after: dict[Moment, set[Moment]]) -> None:
        """Put the ticks in order."""
        for chain in (self._server, self._seen, self._unseen):
            chain.start(after)

    def place_commit(self, after: dict[Moment, set[Moment]], item: int, times: Times) -> None:
        """Put a commit among the ticks."""
        moment = "place", item
        self._server.over(after, moment, None, times.commit)
        self._seen.over(after, moment, times.clock, times.answered)
        self._unseen.begun(after, moment, times.clock, times.sent)

    def place_view(self, after: dict[Moment, set[Moment]], item: int, times: Times, statement: int) -> None:
        """Put the view of a statement among the ticks."""
        moment = view_moment(statement), item
        self._server.begun(after, moment, None, times.start)
        self._seen.begun(after, moment, times.clock, times.put[statement])
        self._unseen.over(after, moment, times.clock, times.got[statement])


def clocks(problem: Problem, level: Level, items: Sequence[int]) -> Iterator[Clock]:
    """What times say of the moments at a level (`problem.orders.must_precede`, `isolation.times.in_snapshot`)."""
    snapshot = snapshot_moment(level)
    times = [problem.times[item] for item in items]
    if level.real_time:
        yield Clock("server", times, ("place", "commit"), ("place", "start"))
        yield Clock("client", times, ("place", "returned"), ("place", "invoked"))
    if level.commits:
        yield Clock("commits", times, ("place", "answered"), ("place", "sent"))
    if all(map(problem.binds_commit_order, items)):
        yield Clock("exact", times, ("place", "commit"), ("place", "commit"))
    if not level.horizon.at_start:
        return
    live = [own for own, status in zip(problem.times, problem.statuses, strict=True) if status != "aborted"]
    if all(own.start is None for own in live):
        yield Clock("seen", times, ("place", "answered"), (snapshot, "asked"), (True, False))
        yield Clock("unseen", times, (snapshot, "opened"), ("place", "sent"), (False, True))
    elif all(own.start is not None and own.commit is not None for own in live):
        yield Clock("seen", times, ("place", "commit"), (snapshot, "start"), (True, False))
        yield Clock("unseen", times, (snapshot, "start"), ("place", "commit"), (False, True))
