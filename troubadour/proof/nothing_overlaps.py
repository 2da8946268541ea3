"""The one state that is left where nothing overlaps a transaction, nor those before it: its answer is that of this
state, or none (Gray and Reuter 1993, serial executions).

Names the last writer of the row that was seen otherwise, what that left and what was read. Does not know how the
transactions before it were explained: it takes the states that they made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from sql_semantics.errors import Unsupported
from sql_semantics.values.types import Value
from troubadour.execution.states.history import RowHistory
from troubadour.facts.sql.effects import Account, Known, Place, Unknown, may_agree, reads_once
from troubadour.facts.sql.view_accounts import accounts_for, reads_views
from troubadour.model.account import Edge
from troubadour.model.log import TransactionId
from troubadour.problem.budget import SOME, THOUSANDS
from troubadour.problem.orders import is_only_order, must_precede
from troubadour.problem.problem import Heuristics, Problem
from troubadour.proof.cores.core import Core
from troubadour.proof.refutation import Question, Refutation
from troubadour.proof.unknown_outcomes import writers
from troubadour.search.schedule.placement import SEMANTIC
from troubadour.search.schedule.trace import Trace


def only_state(question: Question) -> Refutation | None:
    """What refutes a transaction that nothing overlaps: it reads the one state that those before it left."""
    problem, found = question.problem, question.failed
    placements = found.trace.placements
    items = [item for item in found.order if item not in problem.aborted]
    if question.failure.condition not in SEMANTIC or not found.order or found.order[-1] != question.failing:
        return None
    if any(placement.ways for placement in placements) or problem.free.choices or problem.refused.count:
        return None
    if any(not must_precede(problem, question.failing, item) for item in writers(problem)):
        return None  # of unknown outcome: it may have committed before this, or not at all
    if not is_only_order(problem, items) or len(placements) != len(found.order) - 1:
        return None
    if len(list(islice(found.trace.candidates(question.failing, all_readings=True), 2))) != 1:
        return None
    shown = _read_otherwise(problem, found.trace, question.failing)
    name = repr(problem.transaction(question.failing).id)
    if shown is None:
        return Refutation(frozenset(items), f"nothing overlaps {name}, so that one state is left", every_order=True)
    core = shown.core(problem, found.trace, question.failing)
    return Refutation(
        frozenset(items),
        f"nothing overlaps {name}, so that one state is left",
        every_order=True,
        core=core,
        says=f"nothing overlaps {name}: {shown.told(problem, found.trace, question.failing)}",
        garbage=shown.edge(problem, found.trace, question.failing)
        if shown.is_of_no_version(problem, found.trace, question.failing)
        else None,
    )


@dataclass(frozen=True, slots=True)
class _ReadOtherwise:
    """A row that a transaction read otherwise than the one state has it, and in which column; `writers`: the
    transactions that tell what it has there, the last one first (none: it is as it was at first)."""

    row: RowHistory
    place: Place
    column: int
    left: Value
    read: Value
    statement: int
    writers: tuple[int, ...]

    def told(self, problem: Problem, trace: Trace, item: int) -> str:
        """In words."""
        writer, row = self._writer(problem, trace), self._row(trace)
        column, name = (
            trace.states.tables[self.row.table].schema.columns[self.column].name,
            problem.transaction(item).id,
        )
        if writer is None:
            before = f"no transaction before it wrote {row}, which has {column}={_text(self.left)} from the start"
        else:
            before = f"{writer!r}, the last one before it to write {row}, left {column}={_text(self.left)}"
        return f"{before}, and statement {self.statement + 1} of {name!r} read {_text(self.read)}"

    def edge(self, problem: Problem, trace: Trace, item: int) -> Edge:
        """The last writer before the reader, and what both have of the row."""
        writer, reader = self._writer(problem, trace), problem.transaction(item).id
        text = self.told(problem, trace, item)
        return Edge(
            "wr",
            reader if writer is None else writer,
            reader,
            f"{text}: no version of the row has that",
            statement=self.statement,
            table=self.row.table,
            row=self.row.address,
            key=self._row(trace),
            seen=_text(self.read),
            writer=writer,
            writer_status=None if writer is None else "committed",
            written=_text(self.left),
        )

    def is_of_no_version(self, problem: Problem, trace: Trace, item: int) -> bool:
        """Whether no version of the row has what was read, nor any that was rolled back or written over at once."""
        if any(isinstance(one, tuple) and one[self.column] == self.read for one in self.row.versions):
            return False
        others = [one for one, status in enumerate(problem.statuses) if status != "committed"]
        if len(others) > SOME:
            return False
        writers = [trace.item_at(position) for position in self.row.positions[-SOME:] if position > 0]
        told = _Told(problem, trace, item)
        return not any(told.may_have_written(one, self.place, self.column, self.read) for one in (*others, *writers))

    def _writer(self, problem: Problem, trace: Trace) -> TransactionId | None:
        position = self.row.changed_at(len(trace))
        return None if position <= 0 else problem.transaction(trace.item_at(position)).id

    def _row(self, trace: Trace) -> str:
        schema = trace.states.tables[self.row.table].schema
        columns = next(key.columns for key in schema.keys if key.plain)
        named = ", ".join(f"{schema.columns[c].name}={_text(v)}" for c, v in zip(columns, self.place[1], strict=True))
        return f"{self.row.table}({named})"

    def core(self, problem: Problem, trace: Trace, item: int) -> Core | None:
        """The writers that tell what the row has, with the reader, decided a second time; None where that does not
        show it."""
        off = problem.with_heuristics(Heuristics(index=False, window=None, concretize=False, stronger_first=False))
        again = _Told(off, trace, item)
        value = again.left_by(self.writers, self.place, self.column)
        seen = again.read(self.place)
        if value is Unknown.VALUE or not isinstance(seen, tuple) or seen[self.column] in (Unknown.VALUE, value):
            return None
        return Core(tuple(sorted({*self.writers, item})), minimal=True, confirmed=True)


class _Told:
    """What the transactions' own answers tell of the rows that they met and wrote."""

    def __init__(self, problem: Problem, trace: Trace, item: int) -> None:
        self._problem = problem
        self._trace = trace
        self._item = item
        self._accounts = accounts_for(problem, problem.levels[item])
        self.places = self._accounts.places

    def account(self, item: int) -> Account:
        """What one transaction's answers tell."""
        return self._accounts.of(item)

    def read(self, place: Place) -> object:
        """What the reader met at a place."""
        return self.met().get(place, Unknown.ROW)

    def met(self) -> dict[Place, Known]:
        """What the reader met in the one state, whichever of its views are of it."""
        account = self.account(self._item)
        found = dict(account.met)
        for view in account.views.values():
            found.update(view)
        return found

    def left_by(self, writers: tuple[int, ...], place: Place, column: int) -> object:
        """What writers, the last one first, leave in a column; where there are none, what was there at first."""
        added = 0
        for item in writers:
            written = self.account(item).wrote.get(place)
            if written is None or not written.certain:
                return Unknown.VALUE
            if isinstance(written.after, tuple) and written.after[column] is not Unknown.VALUE:
                return _plus(written.after[column], added)
            more = written.added[column] if column < len(written.added) else None
            if more is None:
                return Unknown.VALUE
            added += more
        first = self._accounts.initial.get(place)
        return Unknown.VALUE if first is None else _plus(first[column], added)

    def writers(self, place: Place, column: int) -> tuple[int, ...] | None:
        """The transactions that tell what the one state has in a column of a row, the last one first; None where one
        before the reader may have written there and it is not known what."""
        found: list[int] = []
        for item in islice(self._before(), THOUSANDS):
            account = self.account(item)
            if place[0] in account.wild or place in account.inserted:
                return None
            written = account.wrote.get(place)
            if written is None:
                continue
            found.append(item)
            if not written.certain:
                return None
            if isinstance(written.after, tuple) and written.after[column] is not Unknown.VALUE:
                return tuple(found)
        return tuple(found) if len(self._trace) <= THOUSANDS else None

    def may_have_written(self, item: int, place: Place, column: int, value: Value) -> bool:
        """Whether a transaction may have had a value in a column of a row, after any of its statements."""
        statements = self._problem.prepared(item).statements
        for count in range(1, len(statements) + 1):
            account = self._accounts.of_statements(item, statements[:count])
            written = account.wrote.get(place)
            if place[0] in account.wild or (written is not None and written.after is Unknown.ROW):
                return True
            if written is not None and isinstance(written.after, tuple) and written.after[column] == value:
                return True
        return False

    def _before(self) -> Iterator[int]:
        for placement in reversed(self._trace.placements):
            if placement.item not in self._problem.aborted:
                yield placement.item


def _plus(value: object, added: int) -> object:
    return value + added if added and isinstance(value, int) and not isinstance(value, bool) else value


def _read_otherwise(problem: Problem, trace: Trace, item: int) -> _ReadOtherwise | None:
    """The row that a transaction read otherwise that the fewest others tell of."""
    level = problem.levels[item]
    if not (reads_once(problem, level) or reads_views(problem, level)):
        return None
    told = _Told(problem, trace, item)
    found: list[_ReadOtherwise] = []
    statement = _failing_statement(trace, item)
    try:
        for place, known in told.met().items():
            row = _row_at(trace, place, told.places[place[0]])
            has = None if row is None else row.at(len(trace))
            if row is None or not isinstance(has, tuple) or not isinstance(known, tuple) or may_agree(known, has):
                continue
            column = next(n for n, value in enumerate(known) if value is not Unknown.VALUE and value != has[n])
            writers = told.writers(place, column)
            read = known[column]
            if writers is not None and read is not Unknown.VALUE and statement is not None:
                found.append(_ReadOtherwise(row, place, column, has[column], read, statement, writers))
    except Unsupported:
        return None
    return min(found, key=lambda one: len(one.writers), default=None)


def _failing_statement(trace: Trace, item: int) -> int | None:
    candidate = next(iter(trace.candidates(item)), None)
    return None if candidate is None or candidate.failure is None else candidate.failure.statement


def _row_at(trace: Trace, place: Place, columns: tuple[int, ...]) -> RowHistory | None:
    """The row that the newest state has at a place."""
    for row in trace.states.tables[place[0]].bucket(columns, place[1]):
        has = row.at(len(trace))
        if isinstance(has, tuple) and tuple(has[column] for column in columns) == place[1]:
            return row
    return None


def _text(value: Value) -> str:
    """A value as SQL shows it."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    return f"'{value}'" if isinstance(value, str) else str(value)
