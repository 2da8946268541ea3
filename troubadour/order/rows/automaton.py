"""One row's versions: which sets of its writers may have committed, and what they left then.

A state is a set of writers that are before some moment (bits) and the version of the row there. States are kept that
lie on a way from none to all writers on which each transaction gives its own answers about the row. What all states
agree on orders the writers. Does not know other rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import and_

from troubadour.facts.rows.programs import Step
from troubadour.facts.rows.told import Share
from troubadour.isolation.times import sent_after, was_there
from troubadour.order.graph import ones
from troubadour.order.rows.events import Events, Model
from troubadour.order.rows.states import NoWay, RowStates, Transition, Vague, Version
from troubadour.order.rows.ways import Ways
from troubadour.problem.budget import Budget
from troubadour.problem.problem import Problem


class Automata:
    """Makes the states of rows."""

    def __init__(self, problem: Problem, ways: Ways, model: Model, events: Events) -> None:
        self._ways = ways
        self._model = model
        self._events = events
        self._budget: Budget = problem.budget
        self._times = problem.times

    def sides(self, row: RowStates, event: int) -> tuple[int, int]:
        """The writers that are before an event, and those that are after it (its own transaction's among them)."""
        graph = self._events.graph
        return row.mask(graph.before[event], False), row.mask(graph.after[event] | 1 << event, True)

    def at(self, row: RowStates, event: int, but: int = 0) -> Iterator[tuple[int, Version]]:
        """The states that a row may be in at an event, none of them after the writers `but` (bits)."""
        before, after = self.sides(row, event)
        return row.between(before, after | but)

    def build(self, row: RowStates) -> bool:
        """Make a row's states anew; whether anything may have changed. Raises NoWay."""
        writers = row.writers
        commit, snapshot, graph = self._events.commit, self._events.snapshot, self._events.graph
        refused = sum(map(len, row.forbidden.values()))
        order = [(graph.before[commit[i]], graph.before[snapshot[i]], graph.after[snapshot[i]]) for i in writers]
        shown = [(*self.sides(row, event), shares) for event, _, shares in row.shown.values()]
        looked_at = order, row.built, refused, shown
        if looked_at == row.looked_at:
            return False
        row.looked_at = looked_at
        required = [self.sides(row, commit[item])[0] for item in writers]
        views = [self._views(row, item) for item in writers]
        barred = [self._barred(row, item) for item in writers]
        signature = required, views, barred, refused, shown
        if signature == row.signature:
            return False
        row.signature = signature
        layer: dict[int, set[Version]] = {0: {row.initial}}
        layers = [layer]
        found: list[list[Transition]] = []
        total, limit = 0, row.limit
        known: dict[Version, list[tuple[int, list[Transition]]]] = {}
        made: dict[tuple[int, Version], list[Transition]] = {}
        met, seen = {row.initial}, views
        newer = self._model.follows_values and None in views
        lates = [self._late(row, place) for place in range(len(writers))]
        left: dict[int, set[Version]] = defaultdict(set)
        for turn, is_other in self._turns(row, required):
            # a snapshot is one of the states that were there before
            met.update(*layer.values())
            if newer or is_other:
                known = {}
            if newer:
                made, seen = {}, [frozenset(met) if view is None else view for view in views]
            following: dict[int, set[Version]] = defaultdict(set)
            taken: list[Transition] = []
            for mask, versions in layer.items():
                if total + len(taken) > limit:
                    break
                for version in versions:
                    ways_of = known.get(version)
                    if ways_of is None:
                        for place in turn:
                            if (place, version) not in made:
                                made[place, version] = list(self._ways.of(row, place, version, seen[place]))
                        ways_of = [(place, made[place, version]) for place in sorted(turn) if made[place, version]]
                        known[version] = ways_of
                    for place, ways in ways_of:
                        if mask >> place & 1 or required[place] & ~mask:
                            continue
                        late = lates[place] & mask
                        for way in ways if not late else self._without(row, place, ways, mask & ~late, left, seen):
                            if way.touches and isinstance(version, tuple) and mask & barred[place]:
                                continue
                            taken.append(Transition(mask, version, place, way.new, way.shares, way.touches))
                            following[mask | 1 << place].add(way.new)
            for one in taken if any(lates) else ():
                left[one.writer].add(one.new)
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

    def _late(self, row: RowStates, place: int) -> int:
        """The writers whose commits were sent after the one statement of another about the row was answered: without
        them it answers and writes the same."""
        item = row.writers[place]
        if not (self._model.whole or self._model.mixes) or item in row.vague or len(row.steps[item]) != 1:
            return 0
        found = row.late.get(place)
        if found is None:
            statement, own = row.steps[item][0].statement, self._times[item]
            others = enumerate(row.writers)
            late = [n for n, one in others if one not in row.optional and sent_after(self._times[one], own, statement)]
            found = row.late[place] = sum(1 << n for n in late)
        return found

    def _without(
        self,
        row: RowStates,
        place: int,
        ways: Sequence[Transition],
        others: int,
        left: dict[int, set[Version]],
        seen: Sequence[frozenset[Version] | None],
    ) -> list[Transition]:
        """Those of its ways that a writer has of a version, too, that one of the `others`, or none, has left."""
        versions = {row.initial}.union(*(left[one] for one in ones(others)))
        if any(isinstance(version, Vague) for version in versions):
            return [*ways]
        made = [way for version in versions for way in self._ways.of(row, place, version, seen[place])]
        same = {(None if way.new == way.old else way.new, way.shares) for way in made}

        def is_same(one: Transition) -> bool:
            # what is written may be what is there already
            alone = one.new == one.old and (None, one.shares) in same
            return alone or isinstance(one.new, Vague) or (one.new, one.shares) in same

        return [*filter(is_same, ways)]

    def _turns(self, row: RowStates, required: Sequence[int]) -> Iterator[tuple[Collection[int], bool]]:
        """Which writers may be next, by how many are before, and whether these are others than at the last turn."""
        graph, commit = self._events.graph, self._events.commit
        turn: set[int] = set()
        changes: dict[int, set[int]] = defaultdict(set)
        for place, item in enumerate(row.writers):
            changes[required[place].bit_count()].add(place)
            changes[len(row.writers) - row.mask(graph.after[commit[item]], True).bit_count()].add(place)
        for size in range(len(row.writers)):
            turn ^= changes[size]
            yield turn, bool(changes[size])

    def _keep(self, row: RowStates, layers: list[dict[int, set[Version]]], found: list[list[Transition]]) -> None:
        """Keep what leads to the end."""
        ways = self._leading(layers[-1], found)
        for event, step, shares in row.shown.values():
            ways = self._through(row, ways, event, step, shares)
        last = {0: {row.initial}} if not ways else defaultdict(set)
        for one in ways[-1] if ways else ():
            last[one.before | 1 << one.writer].add(one.new)
        sizes: list[dict[int, set[Version]]] = []
        row.by_writer = defaultdict(list)
        for taken in ways:
            before: dict[int, set[Version]] = defaultdict(set)
            for one in taken:
                before[one.before].add(one.old)
                row.by_writer[one.writer].append(one)
            sizes.append(before)
        row.states, row.views = [*sizes, last], {}
        row.splits = any(len(versions) > 1 for size in row.states for versions in size.values())
        row.certain = self._certain(row)

    @staticmethod
    def _leading(last: dict[int, set[Version]], found: list[list[Transition]]) -> list[list[Transition]]:
        """The transitions that lead to the end."""
        ways: list[list[Transition]] = []
        good = last
        for taken in reversed(found):
            before: dict[int, set[Version]] = defaultdict(set)
            kept = [one for one in taken if one.new in good.get(one.before | 1 << one.writer, ())]
            for one in kept:
                before[one.before].add(one.old)
            ways.append(kept)
            good = before
        return ways[::-1]

    def _through(
        self, row: RowStates, ways: list[list[Transition]], event: int, step: Step, shares: frozenset[Share]
    ) -> list[list[Transition]]:
        """The transitions on ways on which another transaction met the row as it was shown to it. Raises NoWay."""
        before, after = self.sides(row, event)
        fits: dict[Version, bool] = {}

        def is_met(mask: int, version: Version) -> bool:
            if before & ~mask or mask & after:
                return False
            if version not in fits:
                fits[version] = any(
                    share is Vague.SHARE or share in shares for _, share in self._ways.stepped(step, version)
                )
            return fits[version]

        passed: list[set[tuple[int, Version]]] = [{(0, row.initial)} if is_met(0, row.initial) else set()]
        for taken in ways:
            following: set[tuple[int, Version]] = set()
            for one in taken:
                there = one.before | 1 << one.writer, one.new
                if (one.before, one.old) in passed[-1] or is_met(*there):
                    following.add(there)
            passed.append(following)
        if not passed[-1]:
            raise NoWay
        leads: set[tuple[int, Version]] = {
            there for one in (ways[-1] if ways else ()) if is_met(*(there := (one.before | 1 << one.writer, one.new)))
        }
        kept: list[list[Transition]] = []
        for size in range(len(ways) - 1, -1, -1):
            left: list[Transition] = []
            sooner: set[tuple[int, Version]] = set()
            for one in ways[size]:
                here = one.before, one.old
                leading = (one.before | 1 << one.writer, one.new) in leads
                if leading or here in passed[size]:
                    left.append(one)
                if leading or is_met(*here):
                    sooner.add(here)
            kept.append(left)
            leads = sooner
        return kept[::-1]

    def _views(self, row: RowStates, item: int) -> frozenset[Version] | None:
        """The versions that the snapshot of a writer may have; None where it has none, or nothing is known yet."""
        model = self._model
        if model.whole or model.acts or row.states is None or item in row.vague:
            return None
        before, after = self.sides(row, self._events.snapshot[item])
        key = before, after | 1 << row.number[item]
        found = row.views.get(key)
        if found is None:
            found = row.views[key] = frozenset(version for _, version in row.between(*key))
        return found

    def window(self, row: RowStates, item: int, statement: int) -> Iterator[Version]:
        """The versions that a row may have had while a statement ran that writes or locks."""
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
        yield from (version for _, version in row.between(before, after))

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
        graph, commit = self._events.graph, self._events.commit
        for place, ways in row.by_writer.items():
            second = commit[row.writers[place]]
            # a state that has a writer has what was there when that one was next
            shared = reduce(and_, (one.before for one in ways))
            for other in ones(shared & ~row.mask(graph.before[second], False)):
                yield commit[row.writers[other]], second
