"""The one state that is left where nothing overlaps a transaction, nor those before it: its answer is that of this
state, or none (Gray and Reuter 1993, serial executions).

Names the last writer of the row that was seen otherwise, what that left and what was read. Does not know how the
transactions before it were explained: it takes the states that they made.
"""

from __future__ import annotations

from itertools import islice

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Table
from sql_semantics.records import dataclass, replace
from sql_semantics.values.types import Value
from troubadour.execution.states.history import RowHistory
from troubadour.facts.sql.effects import Known, Place, Unknown, may_agree, reads_once
from troubadour.facts.sql.view_accounts import accounts_for, reads_views
from troubadour.model.account import Edge
from troubadour.model.log import TransactionId
from troubadour.problem.budget import SOME, THOUSANDS
from troubadour.problem.orders import is_only_order, must_precede
from troubadour.problem.problem import Heuristics, Problem
from troubadour.proof.cores.core import Core
from troubadour.proof.refutation import Question, Refutation
from troubadour.proof.unknown_outcomes import writers
from troubadour.proof.wording import key_text, value_text
from troubadour.search.schedule.placement import SEMANTIC
from troubadour.search.schedule.trace import Trace


def only_state(question: Question) -> Refutation | None:
    """What refutes a transaction that nothing overlaps: it reads the one state that those before it left."""
    problem, trace, failing = question.problem, question.failed.trace, question.failing
    placements, order = trace.placements, question.failed.order
    if question.failure.condition not in SEMANTIC or not order or order[-1] != failing or failing in problem.aborted:
        return None
    if any(placement.ways for placement in placements) or problem.free.choices or problem.refused.count:
        return None
    if any(not must_precede(problem, failing, item) for item in writers(problem)):
        return None  # of unknown outcome: it may have committed before this, or not at all
    items = [item for item in order if item not in problem.aborted]
    if not is_only_order(problem, failing, reversed(items[:-1])) or len(placements) != len(order) - 1:
        return None
    if len(list(islice(trace.candidates(failing, all_readings=True), 2))) != 1:
        return None
    alone = f"nothing overlaps {problem.transaction(failing).id!r}"
    whole = Refutation(frozenset(items), f"{alone}, so that one state is left", every_order=True)
    shown = _read_otherwise(problem, trace, failing, question.failure.statement)
    if shown is None:
        return whole
    return replace(
        whole,
        core=shown.core(problem),
        says=f"{alone}: {shown.told}",
        garbage=shown.edge if shown.is_of_no_version() else None,
    )


@dataclass(frozen=True, slots=True)
class _ReadOtherwise:
    """A row, told apart by the columns `key`, that `reader` read otherwise than the one state has it, and in which
    column; `writers`: the transactions that tell what it has there, the last one first (none: it is as it was at
    first); `answers`: what all of them tell. `told` says so in words."""

    reader: int
    trace: Trace
    answers: _Told
    row: RowHistory
    place: Place
    key: tuple[int, ...]
    column: int
    left: Value
    read: Value
    statement: int
    writers: tuple[int, ...]

    @property
    def _schema(self) -> Table:
        return self.trace.states.tables[self.row.table].schema

    @property
    def _name(self) -> str:
        return key_text(self._schema, self.key, self.place[1])

    @property
    def _ids(self) -> tuple[TransactionId | None, TransactionId]:
        """The last writer of the row before the reader, if there is one, and the reader."""
        problem, position = self.trace.problem, self.row.changed_at(len(self.trace))
        writer = None if position <= 0 else problem.transaction(self.trace.item_at(position)).id
        return writer, problem.transaction(self.reader).id

    @property
    def told(self) -> str:
        """In words."""
        writer, reader = self._ids
        left = f"{self._schema.columns[self.column].name}={value_text(self.left)}"
        if writer is None:
            before = f"no transaction before it wrote {self._name}, which has {left} from the start"
        else:
            before = f"the last transaction before it that wrote {self._name}, {writer!r}, left {left}"
        return f"statement {self.statement + 1} of {reader!r} read {value_text(self.read)}, but {before}"

    @property
    def edge(self) -> Edge:
        """The last writer before the reader, and what both have of the row."""
        writer, reader = self._ids
        return Edge(
            "wr",
            reader if writer is None else writer,
            reader,
            f"{self.told}: no version of the row has that",
            statement=self.statement,
            table=self.row.table,
            row=self.row.address,
            key=self._name,
            seen=value_text(self.read),
            writer=writer,
            writer_status=None if writer is None else "committed",
            written=value_text(self.left),
        )

    def is_of_no_version(self) -> bool:
        """Whether no version of the row has what was read, nor any that was rolled back or written over at once."""
        if any(isinstance(one, tuple) and one[self.column] == self.read for one in self.row.versions):
            return False
        others = [one for one, status in enumerate(self.trace.problem.statuses) if status != "committed"]
        if len(others) > SOME:
            return False
        last = [self.trace.item_at(position) for position in self.row.positions[-SOME:] if position > 0]
        had = self.answers.may_have_written
        return not any(had(one, self.place, self.column, self.read) for one in (*others, *last))

    def core(self, problem: Problem) -> Core | None:
        """The writers that tell what the row has, with the reader, decided a second time; None where that does not
        show it."""
        off = problem.with_heuristics(Heuristics(index=False, window=None, concretize=False, stronger_first=False))
        again = _Told(off, self.reader)
        value = again.left_by(self.writers, self.place, self.column)
        seen = again.met().get(self.place)
        if value is Unknown.VALUE or not isinstance(seen, tuple) or seen[self.column] in (Unknown.VALUE, value):
            return None
        return Core(tuple(sorted({*self.writers, self.reader})), minimal=True, confirmed=True)


class _Told:
    """What the transactions' own answers tell of the rows that they met and wrote; `reader` met one state."""

    def __init__(self, problem: Problem, reader: int) -> None:
        self._problem = problem
        self._reader = reader
        self._accounts = accounts_for(problem, problem.levels[reader])
        self.places = self._accounts.places

    def met(self) -> dict[Place, Known]:
        """What the reader met in the one state, whichever of its views are of it."""
        account = self._accounts.of(self._reader)
        found = dict(account.met)
        for view in account.views.values():
            found.update(view)
        return found

    def left_by(self, writers: tuple[int, ...], place: Place, column: int) -> object:
        """What writers, the last one first, leave in a column; where there are none, what was there at first."""
        added = 0
        for item in writers:
            written = self._accounts.of(item).wrote.get(place)
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

    def writers(self, trace: Trace, place: Place, column: int) -> tuple[int, ...] | None:
        """The placed transactions that tell what the one state has in a column of a row, the last one first; None where
        one of them may have written there and it is not known what."""
        found: list[int] = []
        before = (one.item for one in reversed(trace.placements) if one.item not in self._problem.aborted)
        for item in islice(before, THOUSANDS):
            account = self._accounts.of(item)
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
        return tuple(found) if len(trace) <= THOUSANDS else None

    def may_have_written(self, item: int, place: Place, column: int, value: Value) -> bool:
        """Whether a transaction may have had a value in a column of a row, after any of its statements. What it
        committed there is asked of the versions instead, which tell it."""
        statements = self._problem.prepared(item).statements
        left = self._accounts.of(item).wrote.get(place) if self._problem.statuses[item] == "committed" else None
        for count in range(1, len(statements) + 1):
            account = self._accounts.of_statements(item, statements[:count])
            if place[0] in account.wild:
                return True
            written = account.wrote.get(place)
            if written is None or (written == left and written.certain):
                continue
            after = written.after
            if after is Unknown.ROW or (isinstance(after, tuple) and after[column] in (Unknown.VALUE, value)):
                return True
        return False


def _plus(value: object, added: int) -> object:
    return value + added if added and isinstance(value, int) and not isinstance(value, bool) else value


def _read_otherwise(problem: Problem, trace: Trace, item: int, statement: int | None) -> _ReadOtherwise | None:
    """The row that a transaction read otherwise, by a statement that failed, that the fewest others tell of."""
    level = problem.levels[item]
    if statement is None or not (reads_once(problem, level) or reads_views(problem, level)):
        return None
    told = _Told(problem, item)
    found: list[_ReadOtherwise] = []
    try:
        for place, known in told.met().items():
            key = told.places[place[0]]
            row = _row_at(trace, place, key)
            has = None if row is None else row.at(len(trace))
            if row is None or not isinstance(has, tuple) or not isinstance(known, tuple) or may_agree(known, has):
                continue
            for column, read in enumerate(known):
                if read is not Unknown.VALUE and read != has[column]:
                    writers = told.writers(trace, place, column)
                    if writers is not None:
                        found.append(
                            _ReadOtherwise(
                                item, trace, told, row, place, key, column, has[column], read, statement, writers
                            )
                        )
                    break
    except Unsupported:
        return None
    return min(found, key=lambda one: len(one.writers), default=None)


def _row_at(trace: Trace, place: Place, columns: tuple[int, ...]) -> RowHistory | None:
    """The row that the newest state has at a place."""
    for row in trace.states.tables[place[0]].bucket(columns, place[1]):
        has = row.at(len(trace))
        if isinstance(has, tuple) and tuple(has[column] for column in columns) == place[1]:
            return row
    return None
