"""A transaction that did not read the one state that is left to it, as nothing overlaps it, nor any before it.

What decides is then a few: the transaction, and those that last wrote what it looked at, from a state before them. An
execution of the log is one of these, so that their violation is the log's. Does not know how a log is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import msgspec

from sql_semantics.errors import SqlSemanticsError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.types import SqlType, Value
from troubadour.audit.parts import told_of_whole
from troubadour.execution.free.values import json_of
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.sql.effects import Known, Unknown
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.isolation.course import Course
from troubadour.model.log import InitialTable, JsonValue, Log, LogError
from troubadour.model.values import read_value
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.problem.budget import HUNDREDS, MANY, THOUSANDS
from troubadour.problem.problem import Problem, level_of
from troubadour.replay.newest import Unexplained
from troubadour.replay.newest.slice import Slice, slice_before

Judge = Callable[[Log], Verdict]
"""f(log): the verdict on a log."""


def refuted_by_one_state(
    log: Log, library: SqlLibrary, isolation: str | None, stopped: Unexplained, judge: Judge
) -> Verdict | None:
    """A violation where one state is left, and the transaction read something else; None where that is not known."""
    if stopped.place < HUNDREDS:
        return None  # few are searched in no time, and more is told of them
    tables = frozenset(name.lower() for name in library.catalog.tables)
    course = Course(log, library.dialect.name, tables, lambda one: level_of(one, log, isolation))
    if not course.is_only(stopped.place):
        return None
    few = sum(1 for table in stopped.rows.tables for _ in islice(stopped.rows.found(table, None, ()), THOUSANDS))
    part = slice_before(stopped, log, MANY, whole=few < THOUSANDS or library.has_references)
    sliced = None if part is None else _log_of(part, log, library)
    if part is None or sliced is None or not _tells_all(part, sliced, library, isolation):
        return None
    verdict = judge(sliced)
    if verdict.status is not Status.VIOLATION or verdict.scope is not Scope.EVERY_ORDER:
        return None
    if verdict.failing_transaction != log.transactions[stopped.place].id:
        return None
    verdict = told_of_whole(log, verdict)
    claim = verdict.claim
    if claim is None or claim.garbage is None or _is_garbage(log, library, stopped, part, claim.statement):
        return verdict
    return msgspec.structs.replace(verdict, claim=msgspec.structs.replace(claim, garbage=None), account=None)


def _tells_all(part: Slice, log: Log, library: SqlLibrary, isolation: str | None) -> bool:
    """Whether the transactions of a part tell by their own answers what the last one met, and nothing hangs on what
    others had left before them: so the core is one of the whole log."""
    if not part.assumed:
        return True
    problem = Problem(log, library, known_rows(log, library), isolation=isolation)
    *writers, reader = range(len(part.transactions))
    accounts = accounts_for(problem, problem.levels[reader])
    try:
        last = accounts.of(reader)
        told = [accounts.of(item) for item in writers]
    except Unsupported:
        return False
    if last.contradicts:
        return True
    met = [last.met, *last.views.values()]
    for table, row in part.assumed:
        if table not in accounts.places or any(table in one.wild for one in (last, *told)):
            return False
        place = table, tuple([row[column] for column in accounts.places[table]])
        seen = [one[place] for one in met if place in one]
        wrote = [one.wrote[place] for one in told if place in one.wrote]
        if not any(one.certain and _is_told(one.after, seen) for one in wrote):
            return False
    return True


def _is_told(after: Known, seen: Sequence[Known]) -> bool:
    """Whether it is known what was left, as far as that was seen: whether there is a row, or its columns."""
    if after is Unknown.ROW or not isinstance(after, tuple) or (seen and all(row is None for row in seen)):
        return after is not Unknown.ROW
    rows = [row for row in seen if isinstance(row, tuple)]
    return all(
        told is not Unknown.VALUE or (rows and all(row[column] is Unknown.VALUE for row in rows))
        for column, told in enumerate(after)
    )


def _is_garbage(log: Log, library: SqlLibrary, stopped: Unexplained, part: Slice, statement: int) -> bool:
    """Whether none of the rows that it looked at had, in any version before it, a value that the statement read."""
    if log.aborted or log.unknown:
        return False  # which may have written it
    observed = log.transactions[stopped.place].statements[statement].results or ()
    values = {value for result in observed for row in result.rows for value in row if value.__hash__ is not None}
    return not any(
        stopped.writers.may_have_had(row, column, read)
        for table, row in part.rows
        for column, one in enumerate(library.catalog.tables[table].columns)
        for read in _readings(values, one.type)
    )


def _readings(values: Collection[JsonValue], type_: SqlType) -> Iterator[Value]:
    for value in values:
        with suppress(ValueError, SqlSemanticsError):
            yield read_value(value, type_)


def _log_of(part: Slice, log: Log, library: SqlLibrary) -> Log | None:
    """A part as a log of its own; None where it cannot be written so."""
    try:
        tables = tuple(
            InitialTable(name, None, [[json_of(value) for value in row] for row in rows])
            for name, rows in part.initial.items()
            if rows
        )
        sliced = Log(msgspec.structs.replace(log.header, initial=tables), part.transactions, log.digest)
        read = known_rows(sliced, library)
    except (LogError, SqlSemanticsError):
        return None
    same = all(read.get(name, []) == list(rows) for name, rows in part.initial.items())
    return sliced if same else None
