"""A transaction that did not read the newest state, decided by a few transactions.

Where one state is left to it, as nothing overlaps those before it and few it, these few are the transaction, those that
overlap it, and those that last wrote what these looked at, from a state before them. Else they are the part of the log
that is about the row it read. An execution of the log is one of these, so that their violation is the log's. Does not
know how a log is decided.
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
from troubadour.facts.rows.one_row import Part, about_one_row
from troubadour.facts.rows.touched import Touching
from troubadour.facts.sql.effects import Known, Unknown
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.isolation.course import Course
from troubadour.model.log import InitialTable, JsonValue, Log, LogError
from troubadour.model.values import read_value
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.problem.budget import HUNDREDS, MANY, MOST, SOME, THOUSANDS
from troubadour.problem.problem import Problem, level_of
from troubadour.proof.wording import key_text
from troubadour.replay.newest import Unexplained
from troubadour.replay.newest.slice import Slice, effective, rows_before, slice_before

TAKEN = "the core takes for granted what those before it left"

Judge = Callable[[Log], Verdict]
"""f(log): the verdict on a log."""


def refuted_by_one_state(
    log: Log, library: SqlLibrary, isolation: str | None, stopped: Unexplained, window: range, judge: Judge
) -> Verdict | None:
    """A violation where one state is left to a transaction, or to few that overlap it (`window`), and it read something
    else; None where that is not known."""
    few = sum(1 for table in stopped.rows.tables for _ in islice(stopped.rows.found(table, None, ()), THOUSANDS))
    whole = few < THOUSANDS or library.has_references
    part = slice_before(stopped, log, window, MANY, whole=whole)
    sliced = None if part is None else _log_of(part, log, library)
    if part is None or sliced is None:
        return None
    problem = Problem(sliced, library, known_rows(sliced, library), isolation=isolation)
    if not (whole or part.readers == 1 or _names_its_rows(part, problem)) or not _tells_all(part, problem):
        return None
    verdict = judge(sliced)
    if verdict.status is not Status.VIOLATION or verdict.scope is not Scope.EVERY_ORDER:
        return None
    mine = log.transactions[stopped.place].id
    if all(verdict.failing_transaction != one.id for one in part.transactions[-part.readers :]):
        return None
    verdict = told_of_whole(log, verdict)
    claim = verdict.claim
    own = verdict.failing_transaction == mine and part.readers == 1
    if claim is None or claim.garbage is None or (own and _is_garbage(log, library, stopped, part, claim.statement)):
        return verdict
    return msgspec.structs.replace(verdict, claim=msgspec.structs.replace(claim, garbage=None), account=None)


def refuted_by_known_rows(
    log: Log, library: SqlLibrary, stopped: Unexplained, window: range, judge: Judge
) -> Verdict | None:
    """A violation of a transaction and of those that overlap it (`window`), whatever rows they began with, or else from
    the rows that those before them left, which its core takes for granted; None where that is not known."""
    rows = rows_before(stopped, log, window)
    if rows is None or sum(map(len, rows.values())) > MOST:
        return None
    few = effective(log, window)
    free = msgspec.structs.replace(log.header, initial=(), initial_unknown=tuple(rows))
    logs = [Log(free, few, log.digest), _log_of(Slice(rows, few, len(few), frozenset(), frozenset()), log, library)]
    for part, notes in zip(logs, ((), (TAKEN,)), strict=True):
        verdict = None if part is None else judge(part)
        if verdict is None or verdict.status is not Status.VIOLATION or verdict.scope is not Scope.EVERY_ORDER:
            continue
        told = told_of_whole(log, verdict)
        claim = None if told.claim is None else msgspec.structs.replace(told.claim, garbage=None)
        account = None if claim is not told.claim else told.account
        return msgspec.structs.replace(told, claim=claim, account=account, notes=(*told.notes, *notes))
    return None


def window_of(log: Log, library: SqlLibrary, isolation: str | None, stopped: Unexplained) -> range | None:
    """The places of the transaction and those that overlap it, where one state is left to them."""
    if stopped.place < HUNDREDS:
        return None  # few are searched in no time, and more is told of them
    tables = frozenset(name.lower() for name in library.catalog.tables)
    course = Course(log, library.dialect.name, tables, lambda place: level_of(log.transactions[place], log, isolation))
    window = course.window(stopped.place, SOME)
    return None if window is None or len(window) == len(log.transactions) else window


def _names_its_rows(part: Slice, problem: Problem) -> bool:
    """Whether the statements of those that overlap name their rows by keys, whatever they read."""
    touching = Touching(problem, by_key=True)
    readers = range(len(part.transactions))[-part.readers :]
    try:
        return all(touching.rows(one) is not None for item in readers for one in problem.prepared(item).statements)
    except Unsupported:
        return False


def _tells_all(part: Slice, problem: Problem) -> bool:
    """Whether the transactions of a part tell by their own answers what the last ones met, and nothing hangs on what
    others had left before them: so the core is one of the whole log."""
    if not part.assumed:
        return True
    everything = range(len(part.transactions))
    writers, readers = everything[: -part.readers], everything[-part.readers :]
    accounts = accounts_for(problem, problem.levels[readers[-1]])
    try:
        last = [accounts.of(item) for item in readers]
        told = [accounts.of(item) for item in writers]
    except Unsupported:
        return False
    if any(one.contradicts for one in last):
        return True
    met = [seen for one in last for seen in (one.met, *one.views.values())]
    for table, row in part.assumed:
        if table not in accounts.places or any(table in one.wild for one in (*last, *told)):
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


def refuted_by_one_row(
    log: Log, library: SqlLibrary, isolation: str | None, stopped: Unexplained, judge: Judge
) -> Verdict | None:
    """A violation of the part of a log that is about the row which the statement names that was not explained; None
    where there is none. `judge`: the verdict on a log."""
    if stopped.place < HUNDREDS:
        return None  # few are searched in no time, and more is told of them
    part = about_one_row(log, library, isolation, stopped.place, stopped.rows.statement)
    verdict = None if part is None else judge(part.log)
    if part is None or verdict is None:
        return None
    if verdict.status is not Status.VIOLATION or verdict.scope is not Scope.EVERY_ORDER:
        return None
    return told_of_whole(log, _with_last_writer(verdict, log, library, stopped, part))


def _with_last_writer(verdict: Verdict, log: Log, library: SqlLibrary, stopped: Unexplained, part: Part) -> Verdict:
    """A violation that says first what was left where something else was read, along the log; as it is, where it says
    that itself."""
    reader = log.transactions[stopped.place].id
    garbage = verdict.claim is not None and verdict.claim.garbage is not None
    rows = list(stopped.rows.found(part.table, part.columns, part.key))
    link = stopped.writers.of(rows[0][0]) if len(rows) == 1 else None
    if garbage or link is None:
        return verdict
    writer = log.transactions[link[0]].id
    name = key_text(library.catalog.tables[part.table], part.columns, part.key)
    left = f"{writer!r} was the last one to write {name} by then"
    along = "" if verdict.failing_transaction == reader else "along the log, "
    said = f"{along}statement {stopped.rows.statement + 1} of {reader!r}: {stopped.reason}, where {left}"
    return msgspec.structs.replace(verdict, explanation=f"{said}; {verdict.explanation}")
