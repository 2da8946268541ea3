"""Is an observation impossible in every order? (CONTRACT §2 *scope*; DESIGN §6, §7.)

What every row may ever have been is computed without an order: all other transactions, those of unknown outcome too,
are run on rows that may hold any value that the row ever had, and what they write is added, until nothing new comes.
Numbers that keep growing become unbounded. What has no explanation there has none in any order, whatever happened.
Aborted, garbage and half-applied values are refuted so; what depends on the order of values that did occur is not.
Does not know levels (dirty reads are not for it).
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.ir.walks.effects import touched_tables, written_tables
from sql_semantics.terms import FALSE, conj
from troubadour.execution.states.history import Guarded, RowHistory
from troubadour.model.log import TransactionId
from troubadour.search.problem.orders import must_precede
from troubadour.search.problem.problem import OutOfTime, Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder

ROUNDS = 12
"""Rounds after which no end is in sight."""

EXACT_ROUNDS = 2
"""Rounds in which values are listed; those that still grow then become unbounded."""

SECONDS = 20.0
"""Effort for one refutation, in seconds of an idle machine."""


def is_refuted_anywhere(problem: Problem, item: int) -> bool:
    """Whether no order of the log's transactions explains what an item observed; False where that is not shown."""
    others = [
        other
        for other, status in enumerate(problem.statuses)
        if other != item and status != "aborted" and not must_precede(problem, item, other)
    ]
    try:
        with problem.budget.within(effort=SECONDS):
            return _Everywhere(problem, item).refutes(_concerned(problem, item, others))
    except (Unsupported, OutOfTime):
        return False


def _concerned(problem: Problem, item: int, others: list[int]) -> list[int]:
    """Those of which the item may see a write, or a write that hangs on one: by the tables that they touch. What is not
    modelled of the rest, and what grows there without end, says nothing of the item."""
    catalog = problem.library.catalog
    fires = bool(catalog.triggers) or any(table.fires for table in catalog.tables.values())
    if problem.discovery.unknown or catalog.transient or fires:
        return others
    reached = _touched(problem, item)
    left, kept = dict.fromkeys(others), set[int]()
    grown = reached is not None
    while reached is not None and grown:
        grown = False
        for other in list(left):
            written = _written(problem, other)
            if written is not None and not written & reached:
                continue
            del left[other]
            kept.add(other)
            touched = _touched(problem, other)
            if touched is None:
                return others
            grown = grown or not touched <= reached
            reached |= touched
    return others if reached is None else [other for other in others if other in kept]


def _touched(problem: Problem, item: int) -> frozenset[str] | None:
    """The tables that a transaction looks at or writes to; None where that is not known."""
    found: set[str] = set()
    for statement in problem.prepared(item).statements:
        if statement.program is None:
            return None
        found |= touched_tables(statement.program.statement, problem.library.catalog)
    return frozenset(found)


def _written(problem: Problem, item: int) -> frozenset[str] | None:
    """The tables that it writes to; None where that is not known."""
    programs = [statement.program for statement in problem.prepared(item).statements]
    if any(program is None for program in programs):
        return None
    bound = [program.statement for program in programs if program is not None]
    return frozenset(name for name, _ in written_tables(bound, problem.library.catalog))


class _Everywhere(AbstractEncoder):
    def __init__(self, problem: Problem, item: int) -> None:
        super().__init__(Trace(problem), item)
        self._item = item
        self._inserted: dict[tuple[str, TransactionId | None, int], RowHistory] = {}

    def refutes(self, others: list[int]) -> bool:
        """Whether the item has no explanation beside these. Raises Unsupported and OutOfTime."""
        for number in range(ROUNDS):
            changed = False
            named = self.problem.discovery.total
            for other in others:
                self.problem.budget.left()
                changed = self._spread(other, listed=number < EXACT_ROUNDS) or changed
            if not changed and self.problem.discovery.total == named:
                encoded = self._run(self._item, 0, self.trace.states.length, None)
                return conj(*encoded.guards) is FALSE
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
