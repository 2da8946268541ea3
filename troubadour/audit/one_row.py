"""A transaction that read something else than the newest state, and the part of the log that is about the row it read.

The part is small where the log has many rows, so that it is searched where the log would take too long. Does not know
how a log is decided.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sql_semantics.library import SqlLibrary
from troubadour.audit.parts import told_of_whole
from troubadour.facts.rows.one_row import Part, about_one_row
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.problem.budget import HUNDREDS
from troubadour.proof.wording import key_text
from troubadour.replay.newest import Unexplained


def refuted_by_one_row(
    log: Log, library: SqlLibrary, isolation: str | None, stopped: Unexplained, judge: Callable[[Log], Verdict]
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
