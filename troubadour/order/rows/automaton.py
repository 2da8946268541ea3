"""One row's versions: which sets of its writers may have committed, and what they left then.

A state is a set of writers that are before some moment (bits) and the version of the row there. States are kept that
lie on a way from none to all writers on which each transaction gives its own answers about the row. What all states
agree on orders the writers. Does not know other rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from sql_semantics.records import dataclass, field
from sql_semantics.view import Row
from troubadour.facts.rows.local import Does, Untold
from troubadour.facts.rows.programs import RowPrograms, Step
from troubadour.facts.rows.tables import Key
from troubadour.facts.rows.told import NOTHING, Share
from troubadour.isolation.times import sent_after, was_there
from troubadour.order.graph import ones
from troubadour.order.rows.events import Events, Model
from troubadour.problem.budget import Budget

LIMIT = 2_000
"""Transitions of one row, beside `PER_WRITER` for each of its writers, beyond which nothing is told of it until more is
known of their order."""

PER_WRITER = 30


class Vague(Enum):
    """What stands for a version, or for a share in an answer, of which nothing is known."""

    VERSION = "any version"
    SHARE = "any share"
    VIEW = "the share of the version that its view has"


Version = Row | Vague | None
Entry = Share | Vague
Made = tuple[Version, tuple[tuple[int, Entry], ...], bool]
"""The version that is left, by statement what the row has in its answer, and whether the row was written."""


class Transition(NamedTuple):
    """Writer number `writer` commits where `before` are: the version becomes another. `shares`: by statement what the
    row has in its answer (None: its answers are not asked for). `touches`: it wrote the row."""

    before: int
    old: Version
    writer: int
    new: Version
    shares: tuple[tuple[int, Entry], ...] | None
    touches: bool

    @property
    def blurs(self) -> bool:
        """Whether nothing is known of the row before it nor after: it may as well have left it alone."""
        return self.old is Vague.VERSION and self.new is Vague.VERSION


class NoWay(Exception):
    """No order of a row's writers gives each one's own answers."""


@dataclass(slots=True)
class RowStates:
    """A row at a place of a table, with its `initial` version. `writers` are the transactions that may write it, in
    turn, with their steps on it; of those that are `vague` nothing is known, those that are `optional` need not have
    happened. `states`: by set of writers the versions; None before they are worked out. `open`: nothing is told."""

    table: str
    place: Key
    initial: Version
    writers: list[int] = field(default_factory=list)
    steps: dict[int, list[Step]] = field(default_factory=dict)
    vague: set[int] = field(default_factory=set)
    optional: set[int] = field(default_factory=set)
    forbidden: dict[tuple[int, int], set[Share]] = field(default_factory=lambda: defaultdict(set))
    states: dict[int, set[Version]] | None = None
    by_writer: dict[int, list[Transition]] = field(default_factory=dict)
    built: int = 0
    looked_at: object = None
    signature: object = None
    views: dict[tuple[int, int], frozenset[Version]] = field(default_factory=dict)
    """Of the states as they are, the versions at a moment, by the writers before it and those after it."""
    made: dict[tuple[int, Version], list[Made]] = field(default_factory=dict)
    """What a writer makes of a version, by both."""
    number: dict[int, int] = field(default_factory=dict)
    windows: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    certain: int = 0
    """The writers, as bits, that write the row for certain."""
    _events: list[int] = field(default_factory=list)
    _first: list[int] = field(default_factory=list)

    def close(self, commit: Mapping[int, int]) -> None:
        """All writers are noted; `commit` are the events of their commits."""
        self.number = {item: place for place, item in enumerate(self.writers)}
        self._events = [commit[item] for item in self.writers]
        self._first = [0]
        for event in self._events:
            self._first.append(self._first[-1] | 1 << event)

    def mask(self, events: int, late: bool) -> int:
        """The writers, as bits, whose commits are among events: mostly these are the first, or the last (`late`)."""
        everything = self._first[-1]
        own = events & everything
        count = own.bit_count()
        total = len(self._events)
        guess = everything ^ self._first[total - count] if late else self._first[count]
        found = (1 << total) - (1 << total - count) if late else (1 << count) - 1
        if own != guess:
            for event in ones(own ^ guess):
                found ^= 1 << bisect_left(self._events, event)
        return found


def _between(states: Mapping[int, set[Version]], before: int, after: int) -> Iterator[tuple[int, Version]]:
    """The states that have the writers `before` and none of those `after`."""
    for mask, versions in states.items():
        if not before & ~mask and not mask & after:
            for version in versions:
                yield mask, version


class Automata:
    """Makes the states of rows."""

    def __init__(self, programs: RowPrograms, model: Model, events: Events, budget: Budget) -> None:
        self._programs = programs
        self._model = model
        self._events = events
        self._budget = budget
        self._times = programs.problem.times

    def sides(self, row: RowStates, event: int) -> tuple[int, int]:
        """The writers that are before an event, and those that are after it (its own transaction's among them)."""
        graph = self._events.graph
        return row.mask(graph.before[event], False), row.mask(graph.after[event] | 1 << event, True)

    def at(self, row: RowStates, event: int, but: int = 0) -> Iterator[tuple[int, Version]]:
        """The states that a row may be in at an event, none of them after the writers `but` (bits)."""
        assert row.states is not None
        before, after = self.sides(row, event)
        return _between(row.states, before, after | but)

    def build(self, row: RowStates) -> bool:
        """Make a row's states anew; whether anything may have changed. Raises NoWay."""
        writers = row.writers
        count = len(writers)
        commit, snapshot, graph = self._events.commit, self._events.snapshot, self._events.graph
        refused = sum(map(len, row.forbidden.values()))
        order = [(graph.before[commit[i]], graph.before[snapshot[i]], graph.after[snapshot[i]]) for i in writers]
        looked_at = order, row.built, refused
        if looked_at == row.looked_at:
            return False
        row.looked_at = looked_at
        required = [self.sides(row, commit[item])[0] for item in writers]
        views = [self._views(row, item) for item in writers]
        barred = [self._barred(row, item) for item in writers]
        signature = required, views, barred, refused
        if signature == row.signature:
            return False
        row.signature = signature
        layer: dict[int, set[Version]] = {0: {row.initial}}
        layers = [layer]
        found: list[list[Transition]] = []
        total, limit = 0, LIMIT + PER_WRITER * count
        known: dict[tuple[int, Version], list[Transition]] = {}
        met = {row.initial}
        apart = self._model.follows_values
        for _ in range(count):
            # a snapshot is one of the states that were there before
            met.update(*layer.values())
            following: dict[int, set[Version]] = defaultdict(set)
            taken: list[Transition] = []
            for mask, versions in layer.items():
                if total + len(taken) > limit:
                    break
                for place in range(count):
                    if mask >> place & 1 or required[place] & ~mask:
                        continue
                    for version in versions:
                        ways = known.get((place, version))
                        if apart and views[place] is None:
                            ways = list(self._ways(row, place, version, frozenset(met)))
                        elif ways is None:
                            ways = list(self._ways(row, place, version, views[place]))
                            known[place, version] = ways
                        for way in ways:
                            if way.touches and isinstance(version, tuple) and mask & barred[place]:
                                continue
                            taken.append(Transition(mask, version, place, way.new, way.shares, way.touches))
                            following[mask | 1 << place].add(way.new)
            total += len(taken)
            self._budget.note(len(taken))
            self._budget.left()
            if total > limit:
                was = row.states is not None
                row.states, row.views, row.by_writer = None, {}, {}
                row.built += was
                return was
            if not following:
                raise NoWay
            found.append(taken)
            layers.append(following)
            layer = following
        self._keep(row, layers, found)
        row.built += 1
        return True

    def _keep(self, row: RowStates, layers: list[dict[int, set[Version]]], found: list[list[Transition]]) -> None:
        """Keep what leads to the end."""
        good = layers[-1]
        states: dict[int, set[Version]] = {mask: set(versions) for mask, versions in good.items()}
        kept: list[Transition] = []
        for taken in reversed(found):
            before: dict[int, set[Version]] = defaultdict(set)
            for one in taken:
                if one.new in good.get(one.before | 1 << one.writer, ()):
                    kept.append(one)
                    before[one.before].add(one.old)
            states.update(before)
            good = before
        row.states, row.views = states, {}
        row.by_writer = defaultdict(list)
        for one in kept:
            row.by_writer[one.writer].append(one)
        row.certain = self._certain(row)

    def _views(self, row: RowStates, item: int) -> frozenset[Version] | None:
        """The versions that the snapshot of a writer may have; None where it has none, or nothing is known yet."""
        model = self._model
        if model.whole or model.acts or row.states is None or item in row.vague:
            return None
        before, after = self.sides(row, self._events.snapshot[item])
        key = before, after | 1 << row.number[item]
        found = row.views.get(key)
        if found is None:
            found = row.views[key] = frozenset(version for _, version in _between(row.states, *key))
        return found

    def window(self, row: RowStates, item: int, statement: int) -> Iterator[Version]:
        """The versions that a row may have had while a statement ran that writes or locks."""
        assert row.states is not None
        key = item, statement
        bounds = row.windows.get(key)
        if bounds is None:
            own = self._times[item]
            before = after = 0
            for place, other in enumerate(row.writers):
                if other not in row.optional and was_there(self._times[other], own, own.put[statement]):
                    before |= 1 << place
                if other not in row.optional and sent_after(self._times[other], own, statement):
                    after |= 1 << place
            bounds = row.windows[key] = before, after
        before, after = bounds
        after |= self.sides(row, self._events.commit[item])[1]
        for mask, versions in row.states.items():
            if not before & ~mask and not mask & after:
                yield from versions

    def shares(self, step: Step, version: Version) -> list[Entry]:
        """The shares that a row of a version may have in a step's answer; what changes it uncounted is any share."""
        return [
            Vague.SHARE if share == NOTHING and after != version else share
            for after, share in self.stepped(step, version)
        ]

    def _barred(self, row: RowStates, item: int) -> int:
        """The certain writers of the row that are not in the snapshot of another one, which may not write it then."""
        if not self._model.versions or row.states is None or item in row.vague or item in row.optional:
            return 0
        _, after = self.sides(row, self._events.snapshot[item])
        return after & row.certain & ~(1 << row.number[item])

    def _certain(self, row: RowStates) -> int:
        bits = 0
        for place, item in enumerate(row.writers):
            sure = item not in row.vague and item not in row.optional
            if sure and all(one.touches and not one.blurs for one in row.by_writer.get(place, ())):
                bits |= 1 << place
        return bits

    def conflicts(self, row: RowStates) -> Iterator[tuple[int, int]]:
        """Writers of which the second may only write the row if its snapshot has the first, which is before it."""
        if not self._model.versions or row.states is None:
            return
        certain = row.certain
        graph, commit = self._events.graph, self._events.commit
        places = [place for place in range(len(row.writers)) if certain >> place & 1]
        # over a row that is deleted, as one of which nothing is known may be, a new one is inserted
        updating = [place for place in places if all(isinstance(one.old, tuple) for one in row.by_writer[place])]
        for second in updating:
            for first in places:
                if first != second and graph.precedes(commit[row.writers[first]], commit[row.writers[second]]):
                    yield row.writers[first], row.writers[second]

    def ordered(self, row: RowStates) -> Iterator[tuple[int, int]]:
        """Writers of which the first is before the second in all states."""
        if row.states is None:
            return
        shared: dict[int, int] = {}
        for mask in row.states:
            for place in ones(mask):
                shared[place] = shared.get(place, -1) & mask
        graph, commit = self._events.graph, self._events.commit
        for place, others in shared.items():
            second = commit[row.writers[place]]
            for other in ones(others & ~(1 << place)):
                first = commit[row.writers[other]]
                if not graph.precedes(first, second):
                    yield first, second

    def _ways(
        self,
        row: RowStates,
        place: int,
        version: Version,
        views: frozenset[Version] | None,
    ) -> Iterator[Transition]:
        """What a writer may make of a version, but for the set of writers before it."""
        item = row.writers[place]

        def way(new: Version, shares: tuple[tuple[int, Entry], ...] | None, touches: bool) -> Transition:
            return Transition(0, version, place, new, shares, touches)

        if item in row.vague:
            yield way(Vague.VERSION, None, False)
            return
        if item in row.optional:
            yield way(version, None, False)
        found: dict[Made, None] = {}
        if self._model.acts:
            only = row.initial is None and row.writers == [item]
            for new, shares, touches in self._acted(row.steps[item], version, only=only):
                found[new, shares, touches] = None
        elif self._model.whole:
            found.update(dict.fromkeys(self._followed(row, item, version)))
        else:
            self._at_snapshot(row, item, version, views, found)
        for new, shares, touches in found:
            if item in row.optional:
                yield way(new, None, False)
            elif not any(share in row.forbidden.get((item, statement), ()) for statement, share in shares):
                yield way(new, shares, touches)

    def _at_snapshot(
        self,
        row: RowStates,
        item: int,
        version: Version,
        views: frozenset[Version] | None,
        found: dict[Made, None],
    ) -> None:
        """A snapshot that has the version where it is changed, and that is as it is where the row is left alone."""
        steps = row.steps[item]
        untold = tuple(dict.fromkeys((step.statement, Vague.SHARE) for step in steps if step.told.something))
        if version is None and (views is None or not views <= {None}):
            found.update(dict.fromkeys((new, untold, True) for new in self._inserted_anew(steps)))
        elif version in (None, Vague.VERSION) or views is None or version in views or Vague.VERSION in views:
            for new, shares, touches in self._followed(row, item, version):
                if touches if self._model.versions else new != version or new is Vague.VERSION:
                    found[new, shares, True] = None
        if self._model.versions and any(step.writes and not step.fits(NOTHING) for step in steps):
            return
        later = {step.statement for step in steps if step.part.conditional}
        # a row that its snapshot does not have may have been in its way
        blocked = bool(later) and all(step.part.conditional for step in steps if step.writes)
        if views is None or blocked:
            found[version, untold, False] = None
        if views is None:
            return
        for view in views:
            for new, shares, touches in self._followed(row, item, view):
                changes = touches if self._model.versions else new != view
                if not changes or new is Vague.VERSION:
                    # where values are compared, what a write leaves as its snapshot has it is written all the same
                    writes = touches and not self._model.versions and view is not None
                    told = tuple((n, Vague.SHARE if n in later else share) for n, share in shares)
                    found[view if writes else version, told, False] = None

    def _inserted_anew(self, steps: list[Step]) -> set[Version]:
        """What is left where the row that a snapshot may have is deleted since. An insert meets none; what the same
        transaction reads is the old row, perhaps beside its own."""
        writing = [step for step in steps if step.writes]
        if not self._model.versions and any(step.part.does is not Does.INSERTS for step in writing):
            return {Vague.VERSION}
        return {new for new, _, touches in self._make(writing, None) if touches}

    def _followed(self, row: RowStates, item: int, version: Version) -> list[Made]:
        """All steps of a writer in turn on one version and what they make of it; nothing where they would fail."""
        found = row.made.get((item, version))
        if found is None:
            found = row.made[item, version] = self._make(row.steps[item], version)
        return found

    def _make(self, steps: list[Step], version: Version) -> list[Made]:
        ways: list[tuple[Version, dict[int, Entry], bool]] = [(version, {}, False)]
        for step in steps:
            following: list[tuple[Version, dict[int, Entry], bool]] = []
            for current, shares, touched in ways:
                for after, share in self.stepped(step, current):
                    if isinstance(share, tuple) and not step.fits(share):
                        continue
                    wrote = not isinstance(share, tuple) or share[0] > 0 or after != current or after is Vague.VERSION
                    following.append((after, self._with(shares, step, share), touched or (step.writes and wrote)))
            ways = following
        return [(after, tuple(shares.items()), touched) for after, shares, touched in ways]

    def _with(self, shares: dict[int, Entry], step: Step, share: Entry) -> dict[int, Entry]:
        """Shares with one more."""
        if not step.told.something:
            return shares
        # of two parts of one statement on one row no share is told
        return {**shares, step.statement: Vague.SHARE if step.statement in shares else share}

    def stepped(self, step: Step, version: Version) -> list[tuple[Version, Entry]]:
        """What a step may make of a version, each with the row's share in its answer: nothing where it would fail."""
        if step.part.blurs and step.part.does is Does.INSERTS:
            return [(Vague.VERSION, Vague.SHARE), (version, NOTHING)]
        found = self._stepped(step, version)
        if step.part.blurs:
            # what is set is not told
            found = [(Vague.VERSION if share != NOTHING else after, share) for after, share in found]
        if step.part.maybe and (version, NOTHING) not in found:
            found.append((version, NOTHING))
        return found

    def _stepped(self, step: Step, version: Version) -> list[tuple[Version, Entry]]:
        if version is Vague.VERSION:
            # a plain INSERT met no row there
            effect = self._programs.effect(step, None) if step.part.plain else Untold.ANYTHING
            if isinstance(effect, Untold):
                return [(version, Vague.SHARE)]
            return [(effect.after, (effect.affected, effect.shown))]
        effect = self._programs.effect(step, version)  # type: ignore[arg-type]  # a row, or none
        if effect is Untold.FAILS:
            return []
        if isinstance(effect, Untold):
            return [(Vague.VERSION if step.part.does in (Does.CHANGES, Does.INSERTS) else version, Vague.SHARE)]
        return [(effect.after, (effect.affected, effect.shown))]

    def _acted(
        self, steps: list[Step], version: Version, *, only: bool
    ) -> Iterator[tuple[Version, tuple[tuple[int, Entry], ...], bool]]:
        """Steps in turn, those that write or lock on the newest version, which stays from the first that meets it on;
        before that a statement may as well have met another one, and passed the row over. `only`: no other transaction
        has, or may have, left a row of that key."""
        ways: list[tuple[Version, dict[int, Entry], bool, bool]] = [(version, {}, False, False)]
        for step in steps:
            following: list[tuple[Version, dict[int, Entry], bool, bool]] = []
            for current, shares, held, changed in ways:
                if step.part.does is Does.READS and not changed:
                    following.append((current, self._with(shares, step, Vague.VIEW), held, changed))
                    continue
                if step.part.does is Does.READS and version is None and not only:
                    # beside its own row its view may have an older one of that key, which is deleted
                    following.append((current, self._with(shares, step, Vague.SHARE), held, changed))
                    continue
                found = self.stepped(step, current)
                passes = step.part.does is not Does.INSERTS or step.part.conditional
                if not held and passes and (current, NOTHING) not in found:
                    found.append((current, NOTHING))
                for after, share in found:
                    if isinstance(share, tuple) and not step.fits(share):
                        continue
                    meets = share != NOTHING or after != current
                    acts = meets and step.part.does is not Does.READS
                    now = changed or (acts and step.part.does is not Does.LOCKS)
                    following.append((after, self._with(shares, step, share), held or acts, now))
            ways = following
        for current, shares, _, changed in ways:
            yield current, tuple(shares.items()), changed
