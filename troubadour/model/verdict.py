"""Verdicts and the evidence they carry. Does not know how they were reached."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from sql_semantics.values.types import Value
from troubadour.model.account import Account, Edge
from troubadour.model.breaches import Breaches
from troubadour.model.certificate import Examined
from troubadour.model.log import TransactionId
from troubadour.model.witness import Witness


class Status(Enum):
    """The three answers; never a bool."""

    CORRECT = "correct"
    VIOLATION = "violation"
    UNDECIDED = "undecided"


class Scope(Enum):
    """Which orders a violation excludes, and whether readings of old states are excluded by assumption only; with
    ``certificate`` the execution that the database told of, and no other."""

    EVERY_ORDER = "every-order"
    RECORDED_ORDER = "recorded-order"
    BOUNDED_STALENESS = "bounded-staleness"
    CERTIFICATE = "certificate"


class CoreScope(Enum):
    """In which orders a core contradicts itself."""

    EVERY_ORDER = "every-order"
    ONE_ORDER = "one-order"


class StatementRef(msgspec.Struct, frozen=True):
    """A statement by its transaction and 0-based index."""

    transaction: TransactionId
    index: int


class Clash(msgspec.Struct, frozen=True):
    """A transaction that saw a row as it never was, among what the row's last writers wrote: the first `explained`
    transactions of the order as they were explained, and `writers` with what they wrote there."""

    transactions: tuple[TransactionId, ...]
    explained: int
    writers: tuple[TransactionId, ...]


class Unjudged(msgspec.Struct, frozen=True):
    """Statements that were not judged for one reason: a construct that is not modelled, on one table where that can be
    told. `example` is the first of them."""

    construct: str
    table: str | None
    statements: int
    example: str


class Coverage(msgspec.Struct, frozen=True):
    """How many statements the log has, how many were judged in all that was observed of them, of how many something
    was observed (rows, a count or an error), and what kept the others from being judged. `filtered`: statements of
    transactions whose answers the user left out."""

    statements: int
    judged: int
    observed: int
    unjudged: tuple[Unjudged, ...] = ()
    filtered: int = 0


class Claim(msgspec.Struct, frozen=True):
    """That a statement of a transaction, by its 0-based index, does not answer what was observed in any of `states`,
    each with the rows of every table as SQL values. `garbage`: what it read of a row that is in no version of it, where
    one order alone is left."""

    transaction: TransactionId
    statement: int
    states: tuple[Mapping[str, tuple[tuple[Value, ...], ...]], ...]
    garbage: Edge | None = None


class StepCount(msgspec.Struct, frozen=True):
    """What one step of an audit came to: how often it was tried and gave what it is for, the units of work and the
    processor seconds that it took itself, without the steps within it."""

    step: str
    tried: int
    helped: int
    units: int
    seconds: float


REASON = 490
"""Characters of a reason, which names what stopped an audit and does not quote it whole."""


class Verdict(msgspec.Struct, frozen=True):
    """What an audit found. `verified_prefix` counts committed transactions in hint order; `witness`
    explains the whole log on `correct`; `notes` are remarks for people (why an order was not tried, and the like).
    `max_staleness`: what the user took for granted of how old a state is read. `certificate`: what the database's own
    account came to, where there was one. `coverage`: what was judged of the log. `claim`: what a violation says of one
    statement. `core_scope`: whether the core contradicts itself in every order that the level allows, or in the one
    that was tried last, where the others were excluded otherwise. `account`: the anomaly that a violation is, and
    why. `violations`: of a log that is judged by its timestamps, all of them. `engine`: which step decided, where it
    was none of the search's (``dependencies``: facts and order alone; ``timestamps``: the database's own).
    `levels`: of an undecided log, what other levels and profiles come to.
    `stats`: what the steps of the audit came to, where that was asked for, those first that took most."""

    status: Status
    isolation: str
    total: int
    committed: int
    aborted: int
    unknown: int
    verified_prefix: int
    failing_transaction: TransactionId | None = None
    core: tuple[TransactionId, ...] | None = None
    core_scope: CoreScope | None = None
    clash: Clash | None = None
    scope: Scope | None = None
    explanation: str | None = None
    reason: str | None = None
    statement: StatementRef | None = None
    seconds: float = 0.0
    witness: Witness | None = None
    notes: tuple[str, ...] = ()
    max_staleness: int | None = None
    certificate: Examined | None = None
    coverage: Coverage | None = None
    claim: Claim | None = None
    account: Account | None = None
    violations: Breaches | None = None
    engine: str | None = None
    levels: tuple[tuple[str, Status], ...] = ()
    stats: tuple[StepCount, ...] = ()

    def left_open(self, reason: str, **more: Any) -> Verdict:
        """The same audit, undecided: of what was found to be correct or a violation nothing is said any more. `more`
        fields are as given."""
        return msgspec.structs.replace(
            self,
            status=Status.UNDECIDED,
            reason=reason,
            failing_transaction=None,
            core=None,
            core_scope=None,
            clash=None,
            scope=None,
            explanation=None,
            witness=None,
            **more,
        )

    def __post_init__(self) -> None:
        if self.reason is not None and len(self.reason) > REASON:
            msgspec.structs.force_setattr(self, "reason", f"{self.reason[: REASON - 3]}...")
