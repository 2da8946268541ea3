"""What one transaction's own answers say against each other: a row that was not as the transaction left it itself, or
that it read twice in two versions (Elle, *internal*; Berenson et al. 1995, P2).

Goes statement by statement, by what each one's answer tells of rows by their keys. Needs no other transaction and no
order. Does not know which of the versions were ever there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Delete, Insert, Update
from sql_semantics.library import SqlLibrary
from sql_semantics.run.memory import MemoryView
from sql_semantics.view import Row
from troubadour.audit.account.rerun import Rerun
from troubadour.audit.told.explain import name
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.observation import mismatch
from troubadour.execution.prepared import PreparedStatement
from troubadour.facts.sql.effects import Accounts, Known, Place, Unknown, may_agree, reads_once
from troubadour.model.account import Edge
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.problem.budget import SOME, Budget
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.wording import key_text, value_text

MISSED = "internal-inconsistency"
"""What it is called where a transaction does not see what it wrote."""
_Said = tuple[int, Known]
"""A statement, and what it says of a row."""


def contradicts_itself(
    log: Log, library: SqlLibrary, level: str, identifier: TransactionId, budget: Budget
) -> tuple[str, Edge] | None:
    """The anomaly that two statements of a transaction show, and what they say; None where no two do."""
    rows, unknown = known_rows(log, library), unknown_tables(log, library)
    try:
        problem = Problem(log, library, rows, isolation=level, budget=budget, unknown=unknown)
        item = problem.index_of(identifier)
        held = problem.levels[item]
        found = _Own(problem, item).first() if not held.dirty else None
        # what was read twice tells something only of a transaction that reads each row once
        return found if found is None or found[0] == MISSED or reads_once(problem, held) else None
    except (Unsupported, OutOfTime):
        return None


def missed_write(before: Rerun, transaction: Transaction, statement: int) -> Edge | None:
    """An answer that would be right if the transaction had not written before, in some state of the explained log:
    which write it misses; None where there is none."""
    prepared = before.prepared(transaction)
    earlier = [one for one in prepared.statements[:statement] if _is_write(one)]
    asked = prepared.statements[statement]
    if not earlier or asked.program is None:
        return None
    left_out = [*([one] for one in reversed(earlier)), *([earlier] if len(earlier) > 1 else [])]
    for state in range(len(before), max(-1, len(before) - SOME), -1):
        rows = before.rows_at(state)
        for missed in left_out:
            kept = [one for one in earlier if one not in missed]
            if _answers(rows, [*kept, asked]) and not _answers(rows, [*earlier, asked]):
                own, index = name(transaction.id), missed[-1].index
                text = (
                    f"{own}'s statement {statement + 1} answers as if its statement {index + 1} had not written "
                    f"what it wrote"
                )
                return Edge("internal", transaction.id, transaction.id, text, statement=statement)
    return None


def _is_write(one: PreparedStatement) -> bool:
    return one.judged.fate is Fate.RUN and one.program is not None and not one.program.read_only


def _answers(rows: Mapping[str, Sequence[Row]], statements: Sequence[PreparedStatement]) -> bool:
    """Whether the last of some statements answers as observed, run one after another on the rows of a state."""
    view = MemoryView(rows)
    try:
        for one in statements:
            assert one.program is not None
            view.begin()
            outcome = one.program.run(view, one.arguments)
        return mismatch(statements[-1].observation, outcome) is None
    except (SqlError, Unsupported):
        return False


class _Own:
    """The statements of one transaction, one after the other."""

    def __init__(self, problem: Problem, item: int) -> None:
        self._problem = problem
        self._item = item
        self._accounts = Accounts(problem, latest=False)
        self._left: dict[Place, _Said] = {}
        self._read: dict[Place, _Said] = {}

    def first(self) -> tuple[str, Edge] | None:
        """The first two that contradict each other."""
        for statement in self._problem.prepared(self._item).statements:
            bound = None if statement.program is None else statement.program.statement
            plain = isinstance(bound, Query | Insert | Update | Delete) and statement.judged.fate is Fate.RUN
            if not plain or self._problem.transaction(self._item).statements[statement.index].error is not None:
                return None
            told = self._accounts.of_statements(self._item, [statement])
            if told.contradicts or told.wild:
                # what it says of rows is not to be had
                return None
            for place, known in told.met.items():
                now = statement.index, known
                if place in self._left:
                    if not may_agree(known, self._left[place][1]):
                        return MISSED, self._edge(place, self._left[place], now, "left")
                elif place in self._read and not may_agree(known, self._read[place][1]):
                    before = self._read[place]
                    if known is None or before[1] is None:
                        return None
                    return "non-repeatable-read", self._edge(place, before, now, "read")
                else:
                    self._read[place] = now
            for place, written in told.wrote.items():
                self._left[place] = statement.index, written.after if written.certain else Unknown.ROW
        return None

    def _edge(self, place: Place, before: _Said, after: _Said, verb: str) -> Edge:
        table, key = place
        schema = self._problem.library.catalog.tables[table]
        columns = next(one.columns for one in schema.keys if one.plain)
        row = key_text(schema, columns, key)
        names = [column.name for column in schema.columns]
        one, other = _told(names, before[1], after[1]), _told(names, after[1], before[1])
        own = self._problem.transaction(self._item).id
        text = (
            f"{name(own)}'s statement {before[0] + 1} {verb} {one} of {row}, its statement {after[0] + 1} read {other}"
        )
        return Edge("internal", own, own, text, statement=after[0], table=table, key=row, seen=other, written=one)


def _told(names: Sequence[str], one: Known, other: Known) -> str:
    """What is known of a row where the other says otherwise."""
    if not isinstance(one, tuple):
        return "no row"
    values = [
        f"{column}={value_text(value)}"
        for column, value, beside in zip(names, one, other if isinstance(other, tuple) else one, strict=True)
        if value is not Unknown.VALUE
        and beside is not Unknown.VALUE
        and (value != beside or not isinstance(other, tuple))
    ]
    return ", ".join(values)
