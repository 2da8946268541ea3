"""Is an observation impossible in every order, by times?

As in `value_closure`, what every row may have been is computed without an order; but for each transaction apart, from
what it may see: not what must come after it, and of a row not the versions before one that it must see. Stale reads,
lost commits and snapshots that were not atomic are refuted so; and lost updates, where two transactions changed a row
and neither can have seen the other. Does not know what answers tell of an order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cached_property

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Statement
from sql_semantics.ir.walks.effects import changes_of, written_tables
from sql_semantics.records import dataclass, field
from sql_semantics.terms import FALSE, TRUE, Guard, atom, conj
from troubadour.execution.states.history import Guarded, RowHistory, SymbolicRow, Version, alternatives_of
from troubadour.execution.views.abstract import Summaries, ValueSet
from troubadour.execution.views.guarded import Alternatives
from troubadour.facts.sql.observations import may_write
from troubadour.isolation.levels import Conflict
from troubadour.model.log import TransactionId
from troubadour.problem.budget import MANY, SEVERAL
from troubadour.problem.orders import must_not_see, must_precede, must_see
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder

EXACT_ROUNDS = 3
"""Rounds in which values are listed; those that still grow then become unbounded."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """`others`: a minimal set of transactions that exclude the item, by what it must see of them, or as it and they
    changed one row; `reason` tells which."""

    others: tuple[int, ...]
    reason: str


def refuted_by_times(problem: Problem, item: int) -> Excluded | None:
    """What excludes an item in every order, by times; None where nothing does. Raises OutOfTime."""
    if len(problem.statuses) > MANY or any(level.dirty for level in problem.levels) or _defines(problem):
        return None
    try:
        closure = _Closure(problem, item)
        if not closure.is_bounded() or not closure.closes():
            return None
        seen = _smallest(closure.excludes, sorted(closure.sees(item)))
        if seen:
            return Excluded(seen, "it began after they had committed, and does not see what they wrote")
        rival = closure.rival()
        if rival is not None:
            return Excluded((rival,), "both changed one row, and neither can have seen what the other wrote")
        return None
    except Unsupported:
        return None


def _defines(problem: Problem) -> bool:
    """Whether tables come, go or are emptied at once: that is of no snapshot, and conflicts with no row."""
    catalog = problem.library.catalog
    for item, status in enumerate(problem.statuses):
        for statement in problem.prepared(item).statements if status != "aborted" else ():
            bound = None if statement.program is None else statement.program.statement
            if bound is not None and (changes_of(bound, catalog).defines or _truncates(bound, catalog)):
                return True
    return False


def _truncates(bound: Statement, catalog: Catalog) -> bool:
    return any(action == "truncate" for _, action in written_tables([bound], catalog))


def _smallest(excludes: Callable[[Collection[int]], bool], among: Sequence[int]) -> tuple[int, ...] | None:
    """A minimal set among these that excludes what is asked about (Junker 2004, QuickXplain)."""
    if not among or not excludes(among):
        return None

    def needed(base: list[int], grown: bool, rest: list[int]) -> list[int]:
        if grown and excludes(base):
            return []
        if len(rest) == 1:
            return rest
        half = len(rest) // 2
        later = needed(base + rest[:half], True, rest[half:])
        return later + needed(base + later, bool(later), rest[:half])

    return tuple(sorted(needed([], False, list(among))))


@dataclass(slots=True)
class _Effect:
    """What one transaction may leave of one row: the values by column, where it leaves any; whether it may delete it;
    whether it writes it whatever it reads."""

    columns: list[ValueSet] = field(default_factory=list)
    deletes: bool = False
    certain: bool = False

    def take(self, version: Version) -> None:
        """Admit a version."""
        for guard, values in alternatives_of(version):
            if guard is FALSE:
                continue
            if values is None:
                self.deletes = True
                continue
            if not self.columns:
                self.columns = [ValueSet() for _ in values]
            for column, value in zip(self.columns, values, strict=True):
                column.add(value)

    def join(self, other: _Effect) -> None:
        """Admit what another may leave."""
        self.deletes = self.deletes or other.deletes
        if other.columns and not self.columns:
            self.columns = [ValueSet() for _ in other.columns]
        for column, more in zip(self.columns, other.columns, strict=False):
            column.join(more)

    def differs(self, other: _Effect) -> bool:
        """Whether no state of the row is one of both."""
        if self.deletes and other.deletes:
            return False
        if not self.columns or not other.columns:
            return True
        return any(mine.is_apart(theirs) for mine, theirs in zip(self.columns, other.columns, strict=True))

    def told(self) -> Hashable:
        """What tells two apart."""
        return tuple(column.listed() for column in self.columns), self.deletes, self.certain

    def alternatives(self, name: Hashable) -> Alternatives:
        """Some state of the row."""
        if not self.columns:
            return []
        values: SymbolicRow = tuple(column.any_of((name, index)) for index, column in enumerate(self.columns))
        exists: Guard = atom(("present", name)) if self.deletes else TRUE
        return [(exists, values)]


class _Visible(Summaries):
    """What one transaction may find in each row; `seen`: the transactions that it must see."""

    def __init__(self, closure: _Closure, item: int, seen: frozenset[int]) -> None:
        self._closure = closure
        self._item = item
        self._seen = seen
        self._rows: dict[RowHistory, _Effect] = {}
        self._met: dict[RowHistory, _Effect] = {}

    def any_of(self, row: RowHistory, name: Hashable) -> Alternatives:
        """Some state of the row."""
        found = self._rows.get(row)
        if found is None:
            found = self._rows[row] = self._closure.may_be(row, self._item, self._seen)
        return found.alternatives((name, row.address))

    def met_as(self, row: RowHistory, name: Hashable) -> Alternatives:
        """Some state of the row since the one that is read."""
        found = self._met.get(row)
        if found is None:
            found = self._met[row] = self._closure.may_be(row, self._item, self._seen, met=True)
        return found.alternatives((name, row.address))


class _Closure(AbstractEncoder):
    """What each transaction may write, from what it may see; of later ones than the item none needs to be there."""

    def __init__(self, problem: Problem, item: int) -> None:
        super().__init__(Trace(problem), item)
        self._item = item
        self._inserted: dict[tuple[str, TransactionId | None, int], RowHistory] = {}
        self._effects: dict[RowHistory, dict[int, _Effect]] = defaultdict(dict)
        self._sees: dict[int, frozenset[int]] = {}
        self._unseen: dict[int, frozenset[int]] = {}
        self._before: dict[int, frozenset[int]] = {}
        self._after: dict[int, frozenset[int]] = {}
        everything = [other for other, status in enumerate(problem.statuses) if status != "aborted"]
        self._others = [other for other in everything if other != item and not must_precede(problem, item, other)]

    def sees(self, item: int) -> frozenset[int]:
        """The transactions of the prefix that an item must see."""
        found = self._sees.get(item)
        if found is None:
            found = self._sees[item] = frozenset(
                other
                for other in self._others
                if other <= self._item and other != item and must_see(self.problem, other, item)
            )
        return found

    def closes(self) -> bool:
        """Whether an end came to what is written. Raises Unsupported and OutOfTime."""
        for number in range(SEVERAL):
            changed = False
            named = self.problem.discovery.total
            for other in self._others:
                self.problem.budget.left()
                changed = self._spread(other, listed=number < EXACT_ROUNDS) or changed
            if not changed and self.problem.discovery.total == named:
                return True
        return False

    def excludes(self, seen: Collection[int]) -> bool:
        """Whether the item has no explanation where it must see these. Raises Unsupported, OutOfTime."""
        self.problem.budget.left()
        self._summaries = _Visible(self, self._item, frozenset(seen))
        encoded = self._run(self._item, 0, self.trace.states.length, None)
        return conj(*encoded.guards) is FALSE

    def is_bounded(self) -> bool:
        """Whether times say anything of what the item sees."""
        return bool(self.sees(self._item)) or any(
            other not in self._others or must_not_see(self.problem, other, self._item)
            for other in range(len(self.problem.statuses))
            if other != self._item
        )

    def rival(self) -> int | None:
        """Another transaction of the prefix that changes a row which the item changes, whatever they read, where
        neither may see the other: whichever comes later meets a conflict. Raises Unsupported, OutOfTime."""
        item = self._item
        if not self._conflicts(item):
            return None
        self._summaries = _Visible(self, item, self.sees(item))
        for row, version in self._run(item, 0, self.trace.states.length, None).writes.items():
            if not row.positions or (isinstance(version, Guarded) and version.written is not TRUE):
                continue
            own = _Effect()
            own.take(version)
            for other, effect in self._effects.get(row, {}).items():
                if other <= item and effect.certain and self._is_apart(other) and self._clash(row, own, other, effect):
                    return other
        return None

    def _conflicts(self, item: int) -> bool:
        level = self.problem.levels[item]
        return level.conflict in (Conflict.VALUES, Conflict.VERSIONS) and not level.acts

    def _is_apart(self, other: int) -> bool:
        """Whether neither the item nor the other may see what the other one writes."""
        problem, item = self.problem, self._item
        return (
            problem.statuses[other] == "committed"
            and self._conflicts(other)
            and must_not_see(problem, other, item)
            and must_not_see(problem, item, other)
        )

    def _clash(self, row: RowHistory, own: _Effect, other: int, effect: _Effect) -> bool:
        """Whether the item and the other overwrite one another's change of a row. Where values count, no third one may
        have put back what was there, and the values must differ."""
        problem, item = self.problem, self._item
        if all(problem.levels[each].conflict is Conflict.VERSIONS for each in (item, other)):
            return True
        for third in {*self._effects[row], *self._later_writers} - {item, other}:
            before = all(must_see(problem, third, each) for each in (item, other))
            after = all(must_precede(problem, each, third) for each in (item, other))
            if not before and not after:
                return False
        met = self.may_be(row, item, self.sees(item))
        return met.differs(own) and met.differs(effect)

    @cached_property
    def _later_writers(self) -> frozenset[int]:
        """The transactions that must follow the item and write something: their effects are not known."""
        return frozenset(
            later
            for later, status in enumerate(self.problem.statuses)
            if status != "aborted"
            and must_precede(self.problem, self._item, later)
            and any(may_write(statement) for statement in self.problem.prepared(later).statements)
        )

    def may_be(self, row: RowHistory, item: int, seen: frozenset[int], *, met: bool = False) -> _Effect:
        """What an item may find in a row; or what a constraint may meet there, also after the state that is read."""
        effects = self._effects.get(row, {})
        latest = [
            other
            for other, effect in effects.items()
            # else it leaves columns to those before it
            if effect.certain and other in seen and self.problem.levels[other].conflict is not Conflict.COLUMNS
        ]
        found = _Effect()
        if not latest:
            if row.author is not None or not row.positions or row.positions[0]:
                found.deletes = True
            else:
                found.take(row.versions[0])
        unseen = self._that_follow(item) if met else self._hidden_from(item)
        hidden = unseen.union(*(self._that_precede(other) for other in latest))
        for other, effect in effects.items():
            if other != item and other not in hidden:
                found.join(effect)
        return found

    def _hidden_from(self, item: int) -> frozenset[int]:
        found = self._unseen.get(item)
        if found is None:
            found = self._unseen[item] = frozenset(
                other for other in self._others if must_not_see(self.problem, other, item)
            )
        return found

    def _that_follow(self, item: int) -> frozenset[int]:
        found = self._after.get(item)
        if found is None:
            found = self._after[item] = frozenset(
                other for other in self._others if must_precede(self.problem, item, other)
            )
        return found

    def _that_precede(self, item: int) -> frozenset[int]:
        found = self._before.get(item)
        if found is None:
            found = self._before[item] = frozenset(
                other for other in self._others if other != item and must_precede(self.problem, other, item)
            )
        return found

    def _spread(self, other: int, *, listed: bool) -> bool:
        """Note what another one may write; whether that is anything new."""
        self._summaries = _Visible(self, other, self.sees(other))
        encoded = self._run(other, 0, self.trace.states.length, None)
        changed = False
        written: set[RowHistory] = set()
        for row, version in encoded.writes.items():
            known = row
            if not row.positions:
                name = (row.table, row.author, row.ordinal)
                known = self._inserted.setdefault(name, row)
                if known is row:
                    self.trace.states.place({row: version})
            written.add(known)
            changed = self._note(known, other, version, listed=listed) or changed
        for row, effects in self._effects.items():
            if row not in written and other in effects and effects[other].certain:
                effects[other].certain = False
                changed = True
        return changed

    def _note(self, row: RowHistory, other: int, version: Version, *, listed: bool) -> bool:
        effect = self._effects[row].get(other)
        if effect is None:
            effect = self._effects[row][other] = _Effect()
        before = effect.told()
        columns = [column.listed() for column in effect.columns]
        effect.take(version)
        effect.certain = not isinstance(version, Guarded) or version.written is TRUE
        if effect.told() == before:
            return False
        if not listed:
            for place, column in enumerate(effect.columns):
                if place >= len(columns) or column.listed() != columns[place]:
                    column.unbind()
        # also as a version, so that an index finds the row by whatever it may hold by now
        self.trace.states.place({row: Guarded(tuple(effect.alternatives(("index", row.address))))})
        return True
