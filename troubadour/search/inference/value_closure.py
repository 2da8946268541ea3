"""Is an observation impossible in every order? (CONTRACT §2 *scope*; DESIGN §6, §7.)

What every row may ever have been is computed without an order: all other transactions, those of unknown outcome too,
are run on rows that may hold any value that the row ever had, and what they write is added, until nothing new comes.
Numbers that keep growing become unbounded. What has no explanation there has none in any order, whatever happened.
Aborted, garbage and half-applied values are refuted so. Then what a transaction must see, by its level and by times,
leaves out the versions before it: lost commits and states of long ago are refuted so. Does not know what answers tell
of the order of values that did occur (dirty reads are not for it).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.terms import FALSE, TRUE, conj
from troubadour.execution.states.history import Guarded, RowHistory, Version
from troubadour.isolation.levels import Conflict
from troubadour.model.log import TransactionId
from troubadour.search.problem.orders import must_precede, must_see
from troubadour.search.problem.problem import OutOfTime, Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder

ROUNDS = 12
"""Rounds after which no end is in sight."""

EXACT_ROUNDS = 2
"""Rounds in which values are listed; those that still grow then become unbounded."""

SECONDS = 20.0
"""Time spent on one refutation."""


def is_refuted_anywhere(problem: Problem, item: int) -> bool:
    """Whether no order of the log's transactions explains what an item observed; False where that is not shown."""
    try:
        return _Everywhere(problem, item).refutes(_others(problem, item))
    except (Unsupported, OutOfTime):
        return False


def refuted_by_times(problem: Problem, item: int) -> tuple[int, ...] | None:
    """A minimal set of transactions that the item must see, so that none of the versions which are left explains what
    it observed; None where there is none. Raises OutOfTime."""
    others = _others(problem, item)
    # those that come later in the log are not of the prefix that ends with the item
    seen = [other for other in others if other < item and must_see(problem, other, item)]
    if not seen:
        return None
    try:
        closure = _Everywhere(problem, item)
        if not closure.closes(others):
            return None
        closure.list_writes(others)
        return _smallest(closure.excludes, seen)
    except Unsupported:
        return None


def _others(problem: Problem, item: int) -> list[int]:
    return [
        other
        for other, status in enumerate(problem.statuses)
        if other != item and status != "aborted" and not must_precede(problem, item, other)
    ]


def _smallest(excludes: Callable[[Collection[int]], bool], among: Sequence[int]) -> tuple[int, ...] | None:
    """A minimal set among these that excludes what is asked about (Junker 2004, QuickXplain)."""
    if not excludes(among):
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


class _Everywhere(AbstractEncoder):
    def __init__(self, problem: Problem, item: int) -> None:
        super().__init__(Trace(problem), item)
        self._item = item
        self._inserted: dict[tuple[str, TransactionId | None, int], RowHistory] = {}
        self._writes: dict[RowHistory, list[tuple[int, Version]]] = {}

    def refutes(self, others: list[int]) -> bool:
        """Whether the item has no explanation beside these. Raises Unsupported and OutOfTime."""
        return self.closes(others) and self._is_impossible()

    def list_writes(self, others: list[int]) -> None:
        """Note what each of them may write to each row, now that nothing new comes. Raises Unsupported, OutOfTime."""
        for other in others:
            self.problem.deadline.left()
            for row, version in self._run(other, 0, self.trace.states.length, None).writes.items():
                known = row if row.positions else self._inserted[row.table, row.author, row.ordinal]
                self._writes.setdefault(known, []).append((other, version))

    def excludes(self, seen: Collection[int]) -> bool:
        """Whether the item has no explanation where it must see what these wrote. Raises Unsupported, OutOfTime."""
        self.problem.deadline.left()
        seen = frozenset(seen)
        whole = self._summaries
        self._summaries = whole.copy()
        try:
            for row, writes in self._writes.items():
                self._leave_out(row, writes, seen)
            return self._is_impossible()
        finally:
            self._summaries = whole

    def _leave_out(self, row: RowHistory, writes: list[tuple[int, Version]], seen: frozenset[int]) -> None:
        """Forget the versions of a row before those that must be seen and were written whatever was read."""
        latest = [
            other
            for other, version in writes
            if other in seen
            and (not isinstance(version, Guarded) or version.written is TRUE)
            # else it leaves columns to those before it
            and self.problem.levels[other].conflict is not Conflict.COLUMNS
        ]
        if not latest:
            return
        left = [
            version
            for other, version in writes
            if not any(other != newer and must_precede(self.problem, other, newer) for newer in latest)
        ]
        self._summaries.only(row, left, may_be_absent=False)

    def _is_impossible(self) -> bool:
        encoded = self._run(self._item, 0, self.trace.states.length, None)
        return conj(*encoded.guards) is FALSE

    def closes(self, others: list[int]) -> bool:
        """Whether an end came to what rows may be. Raises Unsupported and OutOfTime."""
        end = time.monotonic() + SECONDS
        for number in range(ROUNDS):
            changed = False
            named = self.problem.discovery.total
            for other in others:
                self.problem.deadline.left()
                if time.monotonic() > end:
                    return False
                changed = self._spread(other, listed=number < EXACT_ROUNDS) or changed
            if not changed and self.problem.discovery.total == named:
                return True
        return False

    def _spread(self, other: int, *, listed: bool) -> bool:
        """Add what another one may write to what rows may be; whether that is anything new."""
        encoded = self._run(other, 0, self.trace.states.length, None)
        changed = False
        for row, version in encoded.writes.items():
            known = row
            if not row.positions:
                name = (row.table, row.author, row.ordinal)
                known = self._inserted.setdefault(name, row)
                if known is row:
                    self.trace.states.place({row: version})
            if self._summaries.widen(known, version, listed=listed):
                changed = True
                # also as a version, so that an index finds it by whatever it may hold by now
                self.trace.states.place({known: Guarded(tuple(self._summaries.any_of(known, "index")))})
        return changed
