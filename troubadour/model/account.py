"""What a violation is called and why it is one, edge by edge. Does not know how it
was found, nor how it is shown."""

from __future__ import annotations

import msgspec

from troubadour.model.log import InitialTable, TransactionId
from troubadour.model.witness import Witness

ANSWERS_ALONE = "the answers alone, in any order"
"""The basis of a chain that no explanation was needed for; weaker levels were not asked then."""


class Edge(msgspec.Struct, frozen=True):
    """One transaction comes before another, and what in the log says so.

    `kind` is ww, wr, rw, session or real-time; or internal: two statements of one transaction tell different things of
    a row, `written` the earlier one, or what it left there, and `seen` the later. `statement`: the 0-based index of the
    one that read (of `later` for wr, of `earlier` for rw) or wrote (of `later` for ww). `row` is the row's identity
    text as witnesses write it, `key` the row by its key, `seen` the values that were read, `writer` the transaction
    that wrote these (None: they are initial), `writer_status` its status, `written` the values that the other
    transaction wrote there. `predicate`: the version read did not meet the statement's condition, so that a condition
    was read and not a row. `text` says all this in a sentence."""

    kind: str
    earlier: TransactionId
    later: TransactionId
    text: str
    statement: int | None = None
    table: str | None = None
    row: str | None = None
    key: str | None = None
    predicate: bool = False
    seen: str | None = None
    writer: TransactionId | None = None
    writer_status: str | None = None
    written: str | None = None


class Difference(msgspec.Struct, frozen=True):
    """A statement's answer, row by row: the rows `missing` from what was observed, those that were observed and are
    `extra`, and how many are `common`. `against` says which state's answer it is held against."""

    transaction: TransactionId
    statement: int
    against: str
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    common: int


class Lost(msgspec.Struct, frozen=True):
    """Commits that were acknowledged and that nothing later has: how many, the first of them, and the last commit that
    is there; `since` is when that one's client was answered, in that client's clock, and `moment` tells people."""

    commits: int
    first: TransactionId
    last_there: TransactionId | None
    since: int | None
    moment: str | None = None


class Change(msgspec.Struct, frozen=True):
    """A row that a transaction changed, by its key: its values `before` (None: it was not there) and `after` (None: it
    is gone)."""

    transaction: TransactionId
    key: str
    before: str | None
    after: str | None


class Explained(msgspec.Struct, frozen=True):
    """What a chain was read from: the witness of the log's first `transactions` at a weaker `level`, of its statements
    one by one where they are `apart`; `edges` as that names transactions, for `replay.chain` to check."""

    transactions: int
    level: str
    witness: Witness
    edges: tuple[Edge, ...]
    apart: bool = False


class Sight(msgspec.Struct, frozen=True):
    """Whether a statement of `reader` comes after the commit of `writer`: it read what that wrote (`seen`), or an older
    version of it."""

    reader: TransactionId
    statement: int
    writer: TransactionId
    seen: bool


class Account(msgspec.Struct, frozen=True):
    """An anomaly by its name in `isolation.anomalies`, and its `chain`: a circle of edges, or what is known without
    one. `basis` names the explanation that the edges were read from: that of a weaker level, or of the statements one
    by one. `holds`: the strongest levels at which the failing prefix is correct. `next`: what to look at. `explained`
    is what the chain can be checked against. `changes` are what the transactions of the chain wrote, one after
    another; `before` makes, as SQL, the rows that were there before the first of them, and `initial` has them as a log
    writes them. `beside` are transactions that
    wrote, after that, rows which these looked at; `sights` say which statements of all of them see which commits."""

    anomaly: str
    title: str
    aka: str
    meaning: str
    citation: str
    chain: tuple[Edge, ...] = ()
    basis: str | None = None
    holds: tuple[str, ...] = ()
    difference: Difference | None = None
    lost: Lost | None = None
    next: tuple[str, ...] = ()
    explained: Explained | None = None
    changes: tuple[Change, ...] = ()
    before: tuple[str, ...] | None = None
    initial: tuple[InitialTable, ...] | None = None
    beside: tuple[TransactionId, ...] = ()
    sights: tuple[Sight, ...] = ()
