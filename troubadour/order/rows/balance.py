"""Whether the versions of a row add up: each is changed as often as it came to be, but for the one that is the last.

In a log of any order each writer of a row takes it from one version to another. So a version that more writers changed
than left (or began with) excludes every order, and so do two versions that were left more often than they were changed.
That needs no order, and grows with the log. Does not know which writer is before which.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from sql_semantics.records import dataclass, field
from troubadour.facts.rows.local import Does, Untold
from troubadour.facts.rows.programs import Step
from troubadour.facts.rows.tables import Key
from troubadour.facts.sql.effects import Accounts, Known, Place, Unknown
from troubadour.order.rows.states import PER_WRITER, RowStates, Vague, Version
from troubadour.order.rows.ways import Ways
from troubadour.order.rows.written import WrittenRows


@dataclass(frozen=True, slots=True)
class Unbalanced:
    """A row, by table and place, whose versions do not add up. `version` was changed by the transactions `changed`, but
    came to be `came` times at most; where `both` are given, these came to be more often than they were changed."""

    table: str
    place: Key
    version: Version = None
    changed: tuple[int, ...] = ()
    came: int = 0
    both: tuple[Version, ...] = ()


@dataclass(slots=True)
class _Kind:
    """Writers of a row with the same steps and answers, by their numbers, and from what to what they may change it."""

    places: list[int] = field(default_factory=list)
    pairs: set[tuple[Version, Version]] = field(default_factory=set)

    @property
    def rests(self) -> bool:
        """Whether they may leave the row as it is."""
        return any(old == new for old, new in self.pairs)


def unbalanced(ways: Ways, written: WrittenRows) -> Unbalanced | None:
    """The first row whose versions do not add up in any order. Nothing is told where a write that leaves a row as its
    snapshot has it may bring back an older version. Raises OutOfTime."""
    if ways.brings_back:
        return None
    for rows in written.tables.values():
        for row in rows.values():
            if len(row.writers) > 1:
                found = _Row(ways, row).unbalanced()
                if found is not None:
                    return found
    return None


class _Row:
    def __init__(self, ways: Ways, row: RowStates) -> None:
        self._ways = ways
        self._row = row
        self._budget = ways.programs.problem.budget
        kinds: dict[Hashable, _Kind] = defaultdict(_Kind)
        for place, item in enumerate(row.writers):
            if item not in row.vague:
                steps = row.steps[item]
                same = [(step.statement, step.shape, step.idle, step.alone, step.told.same) for step in steps]
                gone = [frozenset(row.forbidden.get((item, step.statement), ())) for step in steps]
                kinds[item in row.optional, tuple(same), tuple(gone)].places.append(place)
        self._kinds = list(kinds.values())
        self._by_first: dict[int, tuple[Step, dict[object, list[_Kind]]]] = {}
        """By what their first steps ask, those that were shown one row then, by that."""
        self._others: list[_Kind] = []
        for kind in self._kinds:
            first = row.steps[row.writers[kind.places[0]]][0]
            shown = first.told.only if ways.whole and first.alone and first.part.does is Does.READS else None
            if shown is None:
                self._others.append(kind)
            else:
                _, by_shown = self._by_first.setdefault(first.shape, (first, defaultdict(list)))
                by_shown[shown].append(kind)

    def unbalanced(self) -> Unbalanced | None:
        """Why its versions do not add up; None where they do, or that is not told."""
        if not self._follow() or not all(kind.pairs for kind in self._kinds):
            return None  # an answer that no version gives is told otherwise
        return self._changed_too_often() or self._left_too_often()

    def _follow(self) -> bool:
        """Find what all kinds may make of all versions that there may be; False where they are too many."""
        row = self._row
        found: set[Version] = {row.initial} if not row.vague else {row.initial, Vague.VERSION}
        open_, asked = list(found), 0
        while open_:
            version = open_.pop()
            for kind in self._meeting(version):
                asked += 1
                # a row that is changed is as its snapshot has it; an older one may be deleted since
                view = None if version is None else frozenset((version,))
                for way in self._ways.of(row, kind.places[0], version, view):
                    kind.pairs.add((version, way.new))
                    if way.new not in found:
                        found.add(way.new)
                        open_.append(way.new)
            self._budget.note(len(self._others) + len(self._by_first))
            self._budget.left()
            if asked > PER_WRITER * len(row.writers):
                return False
        return True

    def _meeting(self, version: Version) -> Iterator[_Kind]:
        """The kinds that may meet a version, by what they were shown first."""
        yield from self._others
        for first, by_shown in self._by_first.values():
            effect = Untold.ANYTHING if isinstance(version, Vague) else self._ways.programs.effect(first, version)
            if effect is Untold.FAILS:
                continue
            if isinstance(effect, Untold) or first.part.maybe or first.part.blurs:
                for kinds in by_shown.values():
                    yield from kinds
            else:
                yield from by_shown.get(effect.shown, ())

    def _moved(self, end: int) -> tuple[dict[Version, list[int]], Counter[Version], int]:
        """By version the writers that certainly take the row from it (`end` 0) or to it (1), how many may do the
        opposite, and how many may do anything."""
        certain: dict[Version, list[int]] = defaultdict(list)
        opposite, anything = Counter[Version](), len(self._row.vague)
        for kind in self._kinds:
            count = len(kind.places)
            if any(isinstance(version, Vague) for pair in kind.pairs for version in pair):
                anything += count
                continue
            others = {pair[1 - end] for pair in kind.pairs if pair[0] != pair[1]}
            opposite.update(dict.fromkeys(others, count))
            ends = {pair[end] for pair in kind.pairs}
            if len(ends) == 1 and not kind.rests and not ends & others:
                certain[ends.pop()] += [self._row.writers[place] for place in kind.places]
        return certain, opposite, anything

    def _changed_too_often(self) -> Unbalanced | None:
        row = self._row
        changed, came, anything = self._moved(0)
        came[row.initial] += 1
        for version, items in changed.items():
            if len(items) > came[version] + anything:
                return Unbalanced(row.table, row.place, version, tuple(sorted(items)), came[version] + anything)
        return None

    def _left_too_often(self) -> Unbalanced | None:
        """Two that are the last one each, or one that is twice."""
        row = self._row
        came, changed, anything = self._moved(1)
        last: list[Version] = []
        for version in {**came, row.initial: []}:
            times = len(came.get(version, ())) + (version == row.initial)
            last += [version] * min(2, times - changed[version] - anything)
        return Unbalanced(row.table, row.place, both=tuple(last[:2])) if len(last) > 1 else None


def may_be_unbalanced(accounts: Accounts, items: Sequence[int]) -> bool:
    """Whether some version of a row seems to be changed more often than it came to be, by what each transaction met and
    left: quickly told, and proof of nothing."""
    changed: Counter[tuple[Place, Known]] = Counter()
    came: Counter[tuple[Place, Known]] = Counter()
    for item in items:
        account = accounts.of(item)
        if account.wild:
            return False
        for place, written in account.wrote.items():
            met = account.met.get(place, Unknown.ROW)
            if written.certain and met is not Unknown.ROW and met != written.after:
                changed[place, met] += 1
            came[place, written.after] += 1
    return any(
        count > came[place, known] + (accounts.initial.get(place) == known) for (place, known), count in changed.items()
    )
