"""One recorded run: its verdict, and what became of its witness on the server. Does not know how it was recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.replayed.course import NotDriven, Part, States, course_of
from benchmarks.replayed.driving import PRODUCTS, Contents, Disagreed, Refused, as_texts, drive
from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.view import Row
from troubadour.audit.driver import Options, audit, stats_of
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.model.log import Log, Transaction
from troubadour.model.verdict import Status
from troubadour.model.witness import Witness
from troubadour.replay.checker import Replay, check


@dataclass(frozen=True, slots=True)
class Told:
    """`refused`: witnesses that replay refused before; `driven`: ``agreed``, ``disagreed``, or why the witness was not
    driven; `answers`: how many were compared; `cpu`: of the audit, in seconds."""

    verdict: str
    committed: int
    refused: int
    driven: str
    answers: int
    cpu: float
    text: str

    @property
    def is_fine(self) -> bool:
        """Whether nothing is to be looked at."""
        return self.verdict == Status.CORRECT.value and not self.refused and self.driven != "disagreed"


def told_of(path: Path, product: str, dsn: str | None, timeout: float) -> Told:
    """Audit a log at its own levels, and drive its witness on a server of the product (None: nowhere)."""
    begun = time.process_time()
    log = read_log([path])
    library = library_of(log)
    options = Options(None, timeout=timeout)
    verdict = audit(log, library, options)
    cpu = time.process_time() - begun
    replays = [one for one in stats_of(options.budget) if one.step == "replay"]
    refused = sum(one.tried - one.helped for one in replays)
    text = f"{verdict.verified_prefix} of {log.committed}, at {verdict.failing_transaction}: "
    text += str(verdict.explanation or verdict.reason)
    driven, answers = "not asked for", 0
    if verdict.status is Status.CORRECT and verdict.witness is not None and dsn is not None:
        driven, answers, text = _driven(log, library, verdict.witness, product, dsn)
    return Told(verdict.status.value, log.committed, refused, driven, answers, cpu, text)


ATTEMPTS = 24
"""Courses that are tried of one witness, each with one statement sent earlier, or a snapshot taken later, than in the
one before."""


def _driven(log: Log, library: SqlLibrary, witness: Witness, product: str, dsn: str) -> tuple[str, int, str]:
    """What became of it, how many answers were compared, and which one was otherwise. The witness says in which order
    transactions end and what they read; when in between a statement that writes was sent it leaves open: as late as
    that order has it, or else as the clients' times have it."""
    try:
        rows = rows_of(log, witness, library)
        states = [{name: as_texts(found) for name, found in one.items()} for one in rows[1:]]
        changes = [place == 0 or states[place] != states[place - 1] for place in range(len(states))]
        late = course_of(log, witness, library, rows)
        in_time = course_of(log, witness, library, rows, in_time=True)
    except (NotDriven, Unsupported) as error:
        return str(error), 0, ""
    found = "", 0, ""
    for course in (late, in_time):
        try:
            found = _attempted(log, library, course, states, changes, product, dsn)
        except (NotDriven, Unsupported) as error:
            found = str(error), 0, ""
        if found[0] == "agreed":
            break
    return found


def _attempted(
    log: Log,
    library: SqlLibrary,
    course: Sequence[Part],
    states: Sequence[Contents],
    changes: Sequence[bool],
    product: str,
    dsn: str,
) -> tuple[str, int, str]:
    """The same of one course, and those that it is changed to. Raises NotDriven."""
    for _ in range(ATTEMPTS):
        with PRODUCTS[product](dsn, log, library) as server:
            try:
                return "agreed", drive(server, course, states), ""
            except Refused as error:
                if not error.part.opened_later(changes):
                    raise
            except Disagreed as error:
                part, number = error.part, error.number
                suspected = range(len(part.steps) - 1 if number is None else number, -1, -1)
                if any(part.earlier(one, changes) for one in suspected):
                    continue
                if part.apart & {*suspected}:
                    raise NotDriven("rows of several moments in one statement") from error
                if number is not None and part.steps[number].error is not None:
                    raise NotDriven("an error that no state before the end gives") from error
                if part.may_have_waited(changes):
                    raise NotDriven("a row that changed while its lock was waited for") from error
                if part.chosen:
                    raise NotDriven("values that the server chose") from error
                if part.passes_over():
                    raise NotDriven("rows passed over as others lock them") from error
                return "disagreed", 0, str(error)
    raise NotDriven("too many ways to send what writes")


def states_of(log: Log, witness: Witness, library: SqlLibrary) -> list[Contents]:
    """What the tables hold after each transaction of the order, as replay has it."""
    after = rows_of(log, witness, library)[1:]
    return [{name: as_texts(found) for name, found in one.items()} for one in after]


def rows_of(log: Log, witness: Witness, library: SqlLibrary) -> States:
    """The rows of each table at first, and after each transaction of the order."""
    found: list[dict[str, list[Row]]] = []

    def placed(transaction: Transaction, replay: Replay) -> None:
        tables = replay.store.tables.items()
        found.append({name: [*table.newest.values()] for name, table in tables})

    assert check(log, witness, library, isolation=None, placed=placed) is None
    initial = known_rows(log, library)
    first = {name: [row for row in initial.get(name, ()) if row is not None] for name in (found[0] if found else ())}
    return [first, *found]
