"""Another reading of one earlier transaction, with those after it that it touches, where each row read may be of a
state of its own (back to the choice that is to blame).

Where servers let a transaction read in several ways that write different values, the first that explains it need not be
the one that was: a later transaction shows. So the choices before a failing one are taken otherwise, the latest first.
What follows is kept as it is where it looked at nothing that changed, and is read anew where it did; a choice that
leaves one of these without a reading is given up at once. Does not know which of several readings is the likelier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sql_semantics.records import dataclass
from troubadour.execution.states.history import RowHistory, Version, WriteMap
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import SEVERAL, THOUSANDS
from troubadour.search.schedule.placement import Candidate, Looks, TakenBack, content, looks_of
from troubadour.search.schedule.read_candidates import likely_for
from troubadour.search.schedule.row_scope.readings import NO_EXECUTION, read_again, reads_alike
from troubadour.search.schedule.trace import Trace

RUNS = (THOUSANDS, 3 * THOUSANDS)
"""Runs of earlier transactions that are spent on a failing one, where one of them is read otherwise and where two
are."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a row's newest version was and is. `keys`: by which it was or is looked for, but not both (hashed, see
    `TableHistory.sought`)."""

    was: Version
    now: Version
    keys: frozenset[int]


Changed = dict[RowHistory, _Change]
"""The rows whose newest versions are not what they were."""


def reread_touched(trace: Trace, item: int) -> bool:
    """Read one of the last placed transactions otherwise, or two, so that the item can be placed next, in the order
    that there is; False, with everything as before, where that is not found."""
    if trace.problem.levels[item].scope is not Scope.ROW:
        return False
    return any(_Rereading(trace, runs).mend(item, depth, 0) is not None for depth, runs in enumerate(RUNS, 1))


class _Rereading:
    """Changes of readings, the second one after the first."""

    def __init__(self, trace: Trace, runs: int) -> None:
        self._trace = trace
        self._left = runs * SEVERAL

    def mend(self, item: int, depth: int, first: int) -> Changed | None:
        """Give a failing item a place next, with up to `depth` of those after the first placements read otherwise: what
        that changed; None, with everything as before, where it has none."""
        trace = self._trace
        newest = len(trace)
        looks = looks_of(next(likely_for(trace, item)).view)
        old: list[TakenBack] = []
        for position in range(newest, max(trace.fixed, newest - THOUSANDS, first), -1):
            old[:0] = trace.take_back(position - 1)
            one = old[0]
            if one.placement.looks is None or self._left < 0:
                break
            for candidate in self._others(one):
                changed: Changed = {}
                self._keep(candidate, one, changed)
                follows = self._follow(old[1:], changed, depth - 1, position)
                if follows and self._ends(item, looks, changed, depth - 1, position):
                    return changed
                trace.truncate(position - 1)
        trace.truncate(newest - len(old))
        trace.put_back(old)
        return None

    def _others(self, one: TakenBack) -> Iterator[Candidate]:
        """Other readings of one to be placed next, one for each write map."""
        placement, trace, wrote = one.placement, self._trace, content(one.writes)
        self._left -= 1
        missed = placement.cuts or {}
        if not placement.alike and all(unit == NO_EXECUTION for unit in missed.values()):
            self._left -= SEVERAL
            placement.alike = reads_alike(trace, one.item, wrote)
        if placement.alike:
            return
        known = {wrote}
        for candidate in likely_for(trace, one.item, losing=False):
            self._left -= SEVERAL
            if self._left < 0:
                return
            writes = content(candidate.view.writes()) if candidate.failure is None else wrote
            if writes not in known:
                known.add(writes)
                yield candidate
        placement.alike = len(known) == 1

    def _keep(self, candidate: Candidate, before: TakenBack, changed: Changed) -> None:
        """Place one as a candidate ran it that was placed otherwise before."""
        writes = _same_rows(candidate.view.writes(), before.writes)
        self._note(before.writes, writes, changed)
        self._trace.keep(candidate, writes)

    def _note(self, before: WriteMap, writes: WriteMap, changed: Changed) -> None:
        """What is written next was otherwise before."""
        last = len(self._trace)
        for row in dict.fromkeys((*before, *writes)):
            stands = row.at(last)
            stood = changed[row].was if row in changed else stands
            self._change(changed, row, before.get(row, stood), writes.get(row, stands))

    def _change(self, changed: Changed, row: RowHistory, was: Version, now: Version) -> None:
        if was == now:
            changed.pop(row, None)
            return
        table = self._trace.states.tables[row.table]
        keys = [set(table.sought(version)) if isinstance(version, tuple) else set() for version in (was, now)]
        changed[row] = _Change(was, now, frozenset(keys[0] ^ keys[1]))

    def _merge(self, changed: Changed, later: Changed) -> None:
        """Add to what changed what was changed after it."""
        for row, change in later.items():
            self._change(changed, row, changed[row].was if row in changed else change.was, change.now)

    def _follow(self, taken: Sequence[TakenBack], changed: Changed, depth: int, first: int) -> bool:
        """Place those after it again; False where one has no reading any more."""
        trace = self._trace
        for one in taken:
            if self._left < 0:
                return False
            self._left -= 1
            trace.problem.budget.left()
            looks = one.placement.looks
            if looks is not None and not self._touches(changed, looks, one.writes):
                trace.put_back([one])
            elif not self._placed_anew(one, changed):
                inner = self.mend(one.item, depth, first) if depth else None
                if inner is None:
                    return False
                self._merge(changed, inner)
                (taken_back,) = trace.take_back(len(trace) - 1)
                self._note(one.writes, taken_back.writes, changed)
                trace.put_back([taken_back])
        return True

    def _ends(self, item: int, looks: Looks, changed: Changed, depth: int, first: int) -> bool:
        """Whether the failing one, which looked at this, has a place now."""
        if self._touches(changed, looks) and self._trace.place(item, likely=True) is None:
            return True
        inner = self.mend(item, depth, first) if depth else None
        if inner is not None:
            self._merge(changed, inner)
        return inner is not None

    def _placed_anew(self, one: TakenBack, changed: Changed) -> bool:
        """Place one by its reading as it was, or else by its likeliest one. Which versions it did not take stays the
        same; where it took older ones for another reason, that is one only if it then writes the same."""
        trace, choices, cuts = self._trace, one.choices, one.placement.cuts
        assert choices is not None
        trace.problem.budget.left()
        self._left -= SEVERAL
        if cuts is not None:
            again = read_again(trace, one.item, dict(cuts))
        else:
            again = trace.run(one.item, choices, tolerant=True)
            if again.failure is not None or content(again.view.writes()) != content(one.writes):
                again = None
        if again is not None:
            self._keep(again, one, changed)
            return True
        for candidate in likely_for(trace, one.item):
            self._left -= SEVERAL
            if candidate.failure is None:
                self._keep(candidate, one, changed)
                return True
        return False

    def _touches(self, changed: Changed, looks: Looks, wrote: Collection[RowHistory] = ()) -> bool:
        """Whether what changed is among what a run looked at or wrote."""
        return any(
            row in looks.rows or row.table in looks.scanned or row in wrote or not looks.keys.isdisjoint(change.keys)
            for row, change in changed.items()
        )


def _same_rows(writes: Mapping[RowHistory, Version], before: WriteMap) -> WriteMap:
    """What is written, with the rows that are inserted again as those that were before."""
    known = {(row.table, row.author, row.ordinal): row for row in before}
    return {
        row if row.positions else known.get((row.table, row.author, row.ordinal), row): version
        for row, version in writes.items()
    }
