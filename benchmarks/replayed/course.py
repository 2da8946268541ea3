"""The course of a witness: after how many commits each transaction takes its snapshot and sends each of its statements.

Does not know a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from sql_semantics.library import SqlLibrary
from troubadour.model.log import Log, Statement, Transaction
from troubadour.model.schedule import Sent
from troubadour.model.witness import TransactionView, Witness
from troubadour.report.reproduction import sent_of

SNAPSHOTS = frozenset({"postgres:repeatable-read", "postgres:serializable", "mysql:repeatable-read"})
"""Levels at which a transaction's plain reads are of one snapshot."""

GIVEN_UP = ("08", "40", "55", "57", "HY")
"""Beginnings of the SQLSTATEs of what a server may always answer: deadlocks, time limits, lost connections."""

_ACTS = re.compile(
    r"(?!\s*SELECT\b)|.*\b(FOR\s+(NO\s+KEY\s+|KEY\s+)?(UPDATE|SHARE)|LOCK\s+IN\s+SHARE\s+MODE)\b", re.I | re.S
)
"""Statements that write or lock rows, as their texts show."""


class NotDriven(Exception):
    """The witness says what a client cannot bring about."""


@dataclass(slots=True)
class Part:
    """What one transaction does: it takes its snapshot after so many commits (None: it has none), sends each of its
    `steps` after as many as `after` says, and ends as the `place`-th. `since`: how early each step may be sent at most;
    `apart`: those that read rows of several moments."""

    transaction: Transaction
    level: str
    place: int
    snapshot: int | None
    steps: Sequence[Sent]
    after: list[int]
    since: Sequence[int]
    apart: frozenset[int]

    def earlier(self, number: int, changes: Sequence[bool]) -> bool:
        """Send a step, and what comes before it, before the last commit that changed something (`changes`: by place);
        False where it may not be."""
        sooner = self.after[number]
        while sooner > self.since[number] and not changes[sooner - 1]:
            sooner -= 1
        if sooner <= self.since[number]:
            return False
        sooner -= 1
        self.after[: number + 1] = [min(after, sooner) for after in self.after[: number + 1]]
        return True

    def may_have_waited(self, changes: Sequence[bool]) -> bool:
        """Whether some step that is no plain query read a state before the last: it may have waited there for a lock,
        and met a row as that was later."""
        return self.snapshot is None and any(
            _ACTS.match(step.sql) and any(changes[since : self.place - 1])
            for step, since in zip(self.steps, self.since, strict=True)
        )


def course_of(log: Log, witness: Witness, library: SqlLibrary) -> list[Part]:
    """In the order of the ends, each statement sent as late as that order leaves it. Raises NotDriven, and Unsupported
    for a statement that has no form with its values in it."""
    transactions = {one.id: one for one in log.transactions}
    return [
        _part(log, transactions[identifier], place, view, library)
        for place, (identifier, view) in enumerate(zip(witness.order, witness.views, strict=True), 1)
    ]


def _part(log: Log, transaction: Transaction, place: int, view: TransactionView, library: SqlLibrary) -> Part:
    if not isinstance(view.free, msgspec.UnsetType):
        raise NotDriven("values that the server chose")
    level = transaction.isolation or log.header.isolation or ""
    snapshot = view.state if level in SNAPSHOTS else None
    sent = list(_sent(transaction))
    read = [place - 1 if snapshot is not None else _read(view, number) for number, _ in sent]
    # an error tells of rows that may have gone since
    since = [snapshot or 0 if one.error is not None else read[n] for n, (_, one) in enumerate(sent)]
    after = [place - 1 for _ in sent]
    steps = [sent_of(str(transaction.id), one, library) for _, one in sent]
    apart = frozenset(n for n, (number, _) in enumerate(sent) if len(_moments(view, number)) > 1)
    return Part(transaction, level, place, snapshot, steps, after, since, apart)


def _sent(transaction: Transaction) -> Iterator[tuple[int, Statement]]:
    """Its statements up to one that the server gave up, or of which nothing came back."""
    for number, one in enumerate(transaction.statements):
        if one.outcome_unknown or (one.error is not None and one.error.sqlstate.startswith(GIVEN_UP)):
            return
        yield number, one


def _read(view: TransactionView, number: int) -> int:
    """After how many commits a statement that reads a state of its own read it."""
    listed = () if isinstance(view.statements, msgspec.UnsetType) else view.statements
    own = [read for read in listed if read.statement == number]
    if any(read.execution for read in own):
        raise NotDriven("statements within a statement")
    return own[0].state if own else view.state


def _moments(view: TransactionView, number: int) -> set[int]:
    """The states from which a statement read rows apart."""
    return {read.state for read in view.exceptions if read.statement == number}
