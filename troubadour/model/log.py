"""A log of transactions and what the client observed of them (paper §3.1, output *o*).

Does not know the file format, nor what any statement means: values are kept as the JSON values that were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

TransactionId = str | int
JsonValue = Any
"""An observed value or a parameter as JSON gave it: int, Decimal (any number with a fraction or an exponent, digits
kept; a float where no file was read), str, bool, None, or `troubadour.model.values.REDACTED`."""


class ObservedRows(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The rows returned, in the order returned. `columns` only counts; `truncated`: the client stopped reading."""

    columns: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    truncated: bool = False


class ObservedError(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The error answered; messages are never compared."""

    sqlstate: str
    message: str = ""


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One SQL statement and at most one observation.

    `params` is a tuple for positional, a mapping for named parameters, None for none. Where `results`, `affected` and
    `error` are all None, nothing is known but that it did not fail (and not even that with `outcome_unknown`). A
    plain ``result`` is a `results` of length one with `several` False; several result sets of one CALL have `several`
    True. `invoked` and `returned` are client times in microseconds. `unjudged`: what keeps it from being judged, so
    that it is neither run nor compared, empty for nothing; no log says so, `troubadour.coverage` does. `scope`: which
    definitions hold for it, where they change (`troubadour.coverage.scopes`). `references`: what becomes of foreign
    keys where it writes, the same in a whole transaction (`troubadour.coverage.enforcement`). `implied`: its count was
    not observed, but cannot be another one.
    """

    sql: str
    params: tuple[JsonValue, ...] | Mapping[str, JsonValue] | None = None
    results: tuple[ObservedRows, ...] | None = None
    several: bool = False
    affected: int | None = None
    error: ObservedError | None = None
    outcome_unknown: bool = False
    invoked: int | None = None
    returned: int | None = None
    unjudged: str = ""
    scope: int = 0
    references: Literal["kept", "ignored", "unknown"] = "kept"
    implied: bool = False


class End(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The COMMIT or ROLLBACK itself."""

    invoked: int | None = None
    returned: int | None = None
    error: ObservedError | None = None


class Begin(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The BEGIN or START TRANSACTION itself; with `snapshot` it took the transaction's."""

    invoked: int | None = None
    returned: int | None = None
    snapshot: bool | None = None


class Transaction(msgspec.Struct, frozen=True, gc=False):
    """One transaction. `status` is ``committed``, ``aborted`` or ``unknown``; `place` its 0-based place in the log
    (over all segments, transaction lines and intents counted). `start` and `commit` are of the DBMS's clock, `invoked`
    and `returned` of the client's clock named `clock` (the reader fills in the header's; None: the one unnamed clock).
    All four are 64-bit integers. `xid` and `snapshot` are PostgreSQL's, for people.
    `snapshot_at`: where the client had the snapshot taken, ``begin``, ``statement`` or ``imported`` (another's, which
    may be older); None: not known. `sno`: its number within its session, from 0. `trace_id`: the OpenTelemetry trace
    that it is part of, for people.
    """

    id: TransactionId
    status: str
    statements: tuple[Statement, ...]
    place: int
    session: str | None = None
    isolation: str | None = None
    read_only: bool | None = None
    start: int | None = None
    commit: int | None = None
    invoked: int | None = None
    returned: int | None = None
    end: End | None = None
    clock: str | None = None
    xid: str | None = None
    snapshot: str | None = None
    snapshot_at: str | None = None
    begin: Begin | None = None
    sno: int | None = None
    trace_id: str | None = None

    @property
    def references(self) -> Literal["kept", "ignored", "unknown"]:
        """What becomes of foreign keys where it writes."""
        return self.statements[0].references if self.statements else "kept"


class InitialTable(msgspec.Struct, frozen=True):
    """Rows of one table in the initial state; `columns` None: all columns in order of the schema."""

    table: str
    columns: tuple[str, ...] | None
    rows: Sequence[Sequence[JsonValue]]


class Gap(msgspec.Struct, frozen=True):
    """Transactions are missing from the log that may have written: so many (None: not known), none of which committed
    before `since` of the clock named `clock` (None: not known), nor after `until`."""

    reason: str
    since: int | None = None
    until: int | None = None
    transactions: int | None = None
    clock: str | None = None


class Header(msgspec.Struct, frozen=True):
    """Line 1 of a log, and the `gaps` that other lines tell of. `order` is ``exact`` or ``hint``. `initial_unknown`
    names tables whose initial rows are not known (``"initial": {"t": "unknown"}``)."""

    dialect: str
    schema: tuple[str, ...]
    dbms: str | None = None
    isolation: str | None = None
    procedures: tuple[str, ...] = ()
    initial: tuple[InitialTable, ...] = ()
    initial_unknown: tuple[str, ...] = ()
    order: str = "hint"
    settings: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)
    clock: str | None = None
    log_id: str | None = None
    segment: JsonValue = None
    gaps: tuple[Gap, ...] = ()


class LogError(Exception):
    """The log cannot be used (exit status 2). The text is one line: file, line, transaction, statement, what is
    wrong. `transaction`: the one at fault, where the text does not say in which line it stands."""

    def __init__(self, text: str, transaction: TransactionId | None = None) -> None:
        super().__init__(text)
        self.transaction = transaction


class Sent(msgspec.Struct, frozen=True, gc=False):
    """When a statement was sent."""

    invoked: int | None = None


class Outline(msgspec.Struct, frozen=True, gc=False):
    """What of a transaction tells when it ran, at which level, and what became of it: fields of `Transaction`."""

    status: str
    statements: tuple[Sent, ...]
    isolation: str | None = None
    start: int | None = None
    commit: int | None = None
    invoked: int | None = None
    returned: int | None = None
    end: End | None = None
    clock: str | None = None
    snapshot_at: str | None = None
    begin: Begin | None = None


@runtime_checkable
class _Brief(Protocol):
    def statuses(self) -> Iterator[tuple[TransactionId, str]]: ...

    def outlines(self, first: int) -> Iterator[Outline | Transaction]: ...


class Observed(msgspec.Struct, frozen=True):
    """How many statements a log has, and of how many of them something was observed."""

    statements: int
    observed: int


class Log:
    """A whole log: the header (initial rows of `rows` lines included) and its transactions in **hint order**.

    `committed`, `aborted` and `unknown` count by status. `digest` is the SHA-256 of the log's content, which a
    witness names. `transactions` may be iterated more than once and indexed; for a large log it is lazy, and each
    access decodes anew (equal objects, not the same ones).
    """

    __slots__ = ("_texts", "aborted", "committed", "digest", "header", "observed", "transactions", "unknown")

    def __init__(
        self,
        header: Header,
        transactions: Sequence[Transaction],
        digest: str,
        counts: tuple[int, int, int] | None = None,
        *,
        texts: frozenset[str] | None = None,
        observed: Observed | None = None,
    ) -> None:
        """`counts` is (committed, aborted, unknown) where it is known already; None: counted here. `texts`: as the
        property, None: gathered when first asked for. `observed`: None: it has to be counted."""
        self.header = header
        self.transactions = transactions
        self.digest = digest
        self._texts = texts
        self.observed = observed
        if counts is None:
            statuses = [transaction.status for transaction in transactions]
            counts = (statuses.count("committed"), statuses.count("aborted"), statuses.count("unknown"))
        self.committed, self.aborted, self.unknown = counts

    @property
    def texts(self) -> frozenset[str]:
        """The texts of all statements, each once; gathered when first asked for."""
        if self._texts is None:
            self._texts = frozenset({one.sql for transaction in self.transactions for one in transaction.statements})
        return self._texts

    def statuses(self) -> Iterator[tuple[TransactionId, str]]:
        """Id and status of each transaction, in hint order; of a large log nothing else is decoded for that."""
        if isinstance(self.transactions, _Brief):
            return self.transactions.statuses()
        return ((one.id, one.status) for one in self.transactions)

    def outlines(self, first: int) -> Iterator[Outline | Transaction]:
        """When each transaction ran, in hint order, from the one at place `first` on; of a log that is read again
        nothing else is decoded for that."""
        if isinstance(self.transactions, _Brief):
            return self.transactions.outlines(first)
        # one by one: to skip those before the first one would be to decode them
        return (self.transactions[place] for place in range(first, len(self.transactions)))

    def with_transactions(self, transactions: Sequence[Transaction]) -> Log:
        """The same log with its transactions, in the same order, told otherwise."""
        return Log(self.header, transactions, self.digest, (self.committed, self.aborted, self.unknown))

    def with_levels(self, names: Mapping[str, str]) -> Log:
        """The same log with its isolation levels called otherwise; those that are not named keep theirs."""
        if not names:
            return self
        isolation = self.header.isolation
        header = msgspec.structs.replace(self.header, isolation=names.get(isolation or "", isolation))
        transactions = self.transactions
        if any(transaction.isolation in names for transaction in transactions):
            transactions = [
                msgspec.structs.replace(t, isolation=names.get(t.isolation or "", t.isolation)) for t in transactions
            ]
        return Log(header, transactions, self.digest, (self.committed, self.aborted, self.unknown))
