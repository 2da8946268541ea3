"""Is an observation impossible in every order?

What every row may ever have been is computed without an order: all other transactions, those of unknown outcome too,
are run on rows that may hold any value that the row ever had, and what they write is added, until nothing new comes.
Numbers that keep growing become unbounded. What has no explanation there has none in any order, whatever happened.
Aborted, garbage and half-applied values are refuted so; what depends on the order of values that did occur is not.
Does not know levels (dirty reads are not for it).
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Catalog
from sql_semantics.library import Program
from sql_semantics.terms import FALSE, conj
from troubadour.execution.prepared import tables_touched, tables_written
from troubadour.execution.states.history import Guarded, RowHistory
from troubadour.model.log import TransactionId
from troubadour.problem.budget import SEVERAL, THOROUGHLY
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder

EXACT_ROUNDS = 2
"""Rounds in which values are listed; those that still grow then become unbounded."""


def is_refuted_anywhere(problem: Problem, item: int) -> bool:
    """Whether no order of the log's transactions explains what an item observed; False where that is not shown."""
    others = [
        other
        for other, status in enumerate(problem.statuses)
        if other != item and status != "aborted" and not must_precede(problem, item, other)
    ]
    try:
        with problem.budget.within(effort=THOROUGHLY):
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
    reached = _tables(problem, item, tables_touched)
    left, kept = {other: _tables(problem, other, tables_written) for other in others}, set[int]()
    grown = True
    while reached is not None and grown:
        grown = False
        for other, written in list(left.items()):
            if written is not None and not written & reached:
                continue
            touched = _tables(problem, other, tables_touched)
            if touched is None:
                return others
            del left[other]
            kept.add(other)
            grown = grown or not touched <= reached
            reached |= touched
    return others if reached is None else [other for other in others if other in kept]


def _tables(problem: Problem, item: int, of: Callable[[Program, Catalog], frozenset[str]]) -> frozenset[str] | None:
    """The tables of all statements of a transaction; None where they are not known."""
    found: set[str] = set()
    for statement in problem.prepared(item).statements:
        if statement.program is None:
            return None
        found |= of(statement.program, problem.library.catalog)
    return frozenset(found)


class _Everywhere(AbstractEncoder):
    def __init__(self, problem: Problem, item: int) -> None:
        super().__init__(Trace(problem), item)
        self._item = item
        self._inserted: dict[tuple[str, TransactionId | None, int], RowHistory] = {}

    def refutes(self, others: list[int]) -> bool:
        """Whether the item has no explanation beside these. Raises Unsupported and OutOfTime."""
        for number in range(SEVERAL):
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
