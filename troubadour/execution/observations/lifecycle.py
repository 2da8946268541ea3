"""What an observed error does to its transaction, per dialect.

PostgreSQL aborts the transaction: until ROLLBACK TO every statement is refused with 25P02 (manual, "Transaction
Isolation" and src/backend/tcop/postgres.c). DuckDB aborts it too and has no savepoints. MySQL and SQLite undo the
statement and go on. Works on what was answered alone; does not know any state, nor which error a statement can raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from sql_semantics.errors import Unsupported
from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass

ALWAYS_POSSIBLE = frozenset({"08", "26", "40", "53", "54", "55", "57", "58", "70", "72", "F0", "XX"})
"""SQLSTATE classes of connections, prepared statements (26, lost behind a pooler), conflicts, resources, limits, locks,
operators, the system, snapshots too old (72), configuration and internal errors; 70 is MySQL's KILL."""

IN_ABORTED = frozenset({"25P02"})
"""What PostgreSQL answers in an aborted transaction ..."""

BEFORE_ABORTED = frozenset({"0A", "42", "54", "XX"})
"""... and the classes of what the parser finds before it looks at the transaction."""

ENCODING = frozenset({"22021", "22025"})
"""Texts that the lexer refuses."""


GENERAL = frozenset({"HY000"})
"""Errors of any kind: MySQL's lock wait timeout, MariaDB's changed record, all of SQLite's. Where they do not come from
the statement itself, what they left behind is not known."""


class Fate(Enum):
    """How a statement is to be explained."""

    RUN = "it succeeded"
    FAILED = "it failed while the transaction was alive: it changed nothing, and its error must be possible"
    REFUSED = "it was refused, as everything is in an aborted transaction, or for a reason that nothing hangs on"
    UNKNOWN = "whether it succeeded is not known, and ROLLBACK TO undid it"
    IMPOSSIBLE = "it cannot have been answered so"


@dataclass(frozen=True, slots=True)
class Step:
    """One statement's answer: `error` is its SQLSTATE (None: none), `unknown` that not even success is known,
    `kind` one of rollback-to, savepoint (SAVEPOINT, RELEASE), other."""

    error: str | None
    unknown: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement's fate, and for an impossible one why."""

    fate: Fate
    text: str = ""


RUN = Judged(Fate.RUN)


def judge(steps: Sequence[Step], dialect: str, *, committed: bool) -> list[Judged]:
    """The fates of a transaction's statements. `committed`: it ended in COMMIT, or (status unknown) would have.

    Raises UnclearFate where the log does not tell what a failure left behind.
    """
    rules = PRODUCTS[dialect].running
    match rules.failure_ends:
        case "until_rollback_to":
            return _postgres(steps, committed)
        case "transaction":
            return _duckdb(steps, committed)
        case "statement":
            found = [_alone(step, place, committed, rules.undoing_classes) for place, step in enumerate(steps)]
            if found and not committed and steps[-1].error in GENERAL:
                found[-1] = Judged(Fate.REFUSED)  # whatever it undid, ROLLBACK did
            return found


class UnclearFate(Unsupported):
    """What a failure left behind is not known; `index` is the statement."""

    def __init__(self, construct: str, index: int) -> None:
        super().__init__(construct)
        self.index = index


def _alone(step: Step, place: int, committed: bool, undoing: frozenset[str]) -> Judged:
    """Dialects in which a failed statement is undone and the transaction goes on."""
    if committed and step.unknown:
        raise UnclearFate("a statement of unknown outcome that may have failed alone", place)
    if step.error is None:
        return Judged(Fate.RUN)
    if committed and step.error[:2] in undoing:
        # InnoDB's deadlock victim loses everything since BEGIN, so what COMMIT then ended is another transaction.
        construct = "a deadlock" if step.error[:2] == "40" else f"error {step.error}, which may undo everything,"
        raise UnclearFate(f"{construct} inside a transaction that went on", place)
    return Judged(Fate.FAILED)


def _postgres(steps: Sequence[Step], committed: bool) -> list[Judged]:
    found: list[Judged] = []
    aborted_by: int | None = None
    for place, step in enumerate(steps):
        if aborted_by is None:
            judged = _postgres_alive(steps, place)
            if judged.fate is Fate.FAILED or (judged.fate is Fate.UNKNOWN and _failed_after(steps, place)):
                aborted_by = place
        elif step.kind == "rollback-to" and step.error is None:
            if step.unknown:
                raise UnclearFate("ROLLBACK TO of unknown outcome", place)
            judged = Judged(Fate.RUN)
            aborted_by = None
        elif step.error is None and not step.unknown:
            judged = Judged(Fate.IMPOSSIBLE, "succeeded in a transaction that an error had aborted")
        elif step.kind == "rollback-to":
            judged = Judged(Fate.FAILED)
        else:
            judged = _in_aborted(step)
        found.append(judged)
    if committed and aborted_by is not None and found[aborted_by].fate is not Fate.IMPOSSIBLE:
        error = steps[aborted_by].error
        answered = "failed, as the next answer shows" if error is None else f"answered error {error}"
        text = f"{answered}, which aborts the transaction, and yet it committed"
        found[aborted_by] = Judged(Fate.IMPOSSIBLE, text)
    return found


def _postgres_alive(steps: Sequence[Step], place: int) -> Judged:
    step = steps[place]
    if step.unknown:
        return _unknown_alive(steps, place)
    if step.error is None:
        return Judged(Fate.RUN)
    if step.error in IN_ABORTED:
        return Judged(Fate.IMPOSSIBLE, f"answered error {step.error}, but nothing had aborted the transaction")
    return Judged(Fate.FAILED)


def _unknown_alive(steps: Sequence[Step], place: int) -> Judged:
    """A statement of unknown outcome: what comes next tells, unless that is ROLLBACK TO."""
    if _failed_after(steps, place):
        return Judged(Fate.UNKNOWN)
    following = steps[place + 1] if place + 1 < len(steps) else None
    if following is not None and following.kind == "rollback-to":
        if steps[place].kind != "other":
            raise UnclearFate("a savepoint statement of unknown outcome", place)
        return Judged(Fate.UNKNOWN)
    if following is not None and (following.unknown or (following.error is not None and _may_be_refused(following))):
        raise UnclearFate("a statement of unknown outcome that may have failed", place)
    return Judged(Fate.RUN)


def _failed_after(steps: Sequence[Step], place: int) -> bool:
    """Whether the next answer says that this statement failed."""
    return place + 1 < len(steps) and steps[place + 1].error in IN_ABORTED


def _in_aborted(step: Step) -> Judged:
    if _may_be_refused(step):
        return Judged(Fate.REFUSED)
    text = f"answered error {step.error} in a transaction that an error had aborted, not 25P02"
    return Judged(Fate.IMPOSSIBLE, text)


def _may_be_refused(step: Step) -> bool:
    """Whether PostgreSQL may answer so in an aborted transaction."""
    error = step.error
    if error is None or error in IN_ABORTED | ENCODING:
        return True
    return error[:2] in ALWAYS_POSSIBLE | BEFORE_ABORTED


def _duckdb(steps: Sequence[Step], committed: bool) -> list[Judged]:
    """Errors abort; whether those that the parser and binder find do depends on the version."""
    found: list[Judged] = []
    aborted = perhaps = False
    for place, step in enumerate(steps):
        if step.unknown:
            if place + 1 < len(steps) or committed:
                raise UnclearFate("a statement of unknown outcome that may have failed", place)
            found.append(Judged(Fate.UNKNOWN))
        elif step.error is None:
            impossible = Judged(Fate.IMPOSSIBLE, "succeeded in a transaction that an error had aborted")
            found.append(impossible if aborted else Judged(Fate.RUN))
            perhaps = False
        elif aborted or (perhaps and step.error[:2] not in BEFORE_ABORTED):
            found.append(Judged(Fate.REFUSED))
            aborted = True
        else:
            found.append(Judged(Fate.FAILED))
            perhaps = step.error[:2] in BEFORE_ABORTED
            aborted = not perhaps
    if committed and (aborted or perhaps):
        # DuckDB answers COMMIT of an aborted transaction without an error, and rolls back.
        raise UnclearFate("a COMMIT after an error, which DuckDB answers although it rolls back", len(steps) - 1)
    return found
