"""The levels, each a row of data (paper §6.2; Crooks et al. 2017; Cerone et al. 2015). Does not know any
transaction.

A transaction sees a set of the transactions before it in the order, and of each row the last version that one of these
wrote. Where the set is everything up to some place, it is a state.
"""

from __future__ import annotations

from enum import Enum

from sql_semantics.records import dataclass, replace
from troubadour.model.log import Log
from troubadour.model.server import refuses_newer_rows


class Scope(Enum):
    """Which reads share one view."""

    TRANSACTION = "transaction"
    STATEMENT = "statement"
    ROW = "row"


class Horizon(Enum):
    """Between which states the view of transaction *i* may lie."""

    LATEST = "[i-1, i-1]"
    START = "the state at its start"
    LATEST_AT_START = "[i-1, i-1], which is the state at its start"
    ANY = "[0, i-1]"

    @property
    def latest(self) -> bool:
        """Whether it is the newest state."""
        return self in (Horizon.LATEST, Horizon.LATEST_AT_START)

    @property
    def at_start(self) -> bool:
        """Whether it is the state at the transaction's start."""
        return self in (Horizon.START, Horizon.LATEST_AT_START)


class Conflict(Enum):
    """When two transactions may not write one row (NWC)."""

    NEVER = "never"
    VALUES = "its value changed since the snapshot"
    COLUMNS = "one of the columns changed since the snapshot; else both writes stand, column by column"
    VERSIONS = "it was written since the snapshot"


class Visible(Enum):
    """What the set of transactions that one transaction sees may be."""

    STATE = "everything up to some place of the order"
    CLOSED = "with each transaction all that this one saw"
    ANY = "any transactions, whole"


@dataclass(frozen=True, slots=True)
class Level:
    """One isolation level. `conflict`: NWC. `real_time`: the order keeps real time. `session`: it keeps the
    sessions' orders, and what a session committed before is seen. `dirty`: what was never committed may be read too,
    which is not modelled. `implies` names the levels that accept whatever this one accepts, those left out that others
    of them imply. `dialect`: that of the product whose profile it is (None: general). `rechecks`: a statement takes the
    newest version of each row that it writes or locks, and tests its condition on that again. `acts`: a
    statement that writes or locks what it reads does so in the newest state, and only the others read the snapshot.
    `by_row`: such a statement reads each row at a moment of its own, and the others a state each; a row that it writes
    or locks is in its newest version from then on.
    `locks`: what a query locks must not have been written since the snapshot either, and is not until the commit; the
    parent of a new reference is one that is read. `commits`: a commit that was answered before another was sent stands
    before it.
    `holds`: what a transaction writes or locks stays as it is until it ends, which only guides the search.
    `serial`: the transactions that ask for it stand in one serial order, beside the order of the commits:
    what they read of one another, and missed, in just those states makes no circle.
    `ordered`: the order is that of the commit timestamps, equal ones either way; client times only place a transaction
    that has none."""

    name: str
    scope: Scope
    horizon: Horizon
    conflict: Conflict
    real_time: bool
    implies: tuple[str, ...]
    citation: str
    visible: Visible = Visible.STATE
    session: bool = False
    dirty: bool = False
    dialect: str | None = None
    rechecks: bool = False
    acts: bool = False
    by_row: bool = False
    locks: bool = False
    commits: bool = False
    holds: bool = False
    serial: bool = False
    ordered: bool = False

    @property
    def own_states(self) -> bool:
        """Whether the reads of a transaction need not all be of one state."""
        return self.scope is not Scope.TRANSACTION or self.acts

    @property
    def write_conflict(self) -> bool:
        """Whether NWC holds, in whichever form."""
        return self.conflict is not Conflict.NEVER

    def missing_timestamp(self, start: int | None, commit: int | None) -> str | None:
        """The name of a timestamp that a transaction that writes needs and does not have; None for none."""
        if not self.ordered:
            return None
        if commit is None:
            return "commit"
        return "start" if start is None and self.horizon.at_start else None


_LEVELS = (
    Level(
        "read-uncommitted",
        Scope.ROW,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        dirty=True,
        implies=(),
        citation="C_RU: true; read uncommitted of Crooks et al. 2017",
    ),
    Level(
        "read-committed",
        Scope.ROW,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        implies=("read-uncommitted",),
        citation="C_RC: NFR (paper §6.2); read committed of Crooks et al. 2017",
    ),
    Level(
        "session-read-committed",
        Scope.ROW,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        session=True,
        implies=("read-committed",),
        citation="NFR, SESSION; read committed of Plume (Liu et al. 2024), but for its order of reads",
    ),
    Level(
        "read-atomic",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        visible=Visible.ANY,
        implies=("read-committed",),
        citation="INT, EXT (Cerone et al. 2015); read atomic isolation of Bailis et al. 2014",
    ),
    Level(
        "session-read-atomic",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        visible=Visible.ANY,
        session=True,
        implies=("read-atomic", "session-read-committed"),
        citation="INT, EXT, SESSION (Cerone et al. 2015); read atomic of Plume (Liu et al. 2024) and AWDIT (2025)",
    ),
    Level(
        "update-atomic",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.VALUES,
        real_time=False,
        visible=Visible.ANY,
        implies=("read-atomic",),
        citation="INT, EXT, NOCONFLICT (Cerone et al. 2015); update atomicity of Liu et al. 2018",
    ),
    Level(
        "causal",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        visible=Visible.CLOSED,
        session=True,
        implies=("session-read-atomic",),
        citation="TRANSVIS, SESSION (Cerone et al. 2015); transactional causal consistency with convergence",
    ),
    Level(
        "parallel-snapshot",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.VALUES,
        real_time=False,
        visible=Visible.CLOSED,
        session=True,
        implies=("causal", "update-atomic"),
        citation="TRANSVIS, NOCONFLICT, SESSION (Cerone et al. 2015); parallel SI of Sovran et al. 2011",
    ),
    Level(
        "prefix",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=False,
        session=True,
        implies=("causal",),
        citation="PREFIX, SESSION (Cerone et al. 2015; Biswas and Enea 2019: prefix consistency)",
    ),
    Level(
        "snapshot",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.VALUES,
        real_time=False,
        implies=("update-atomic",),
        citation="C_SI: ROS, NFR, NWC (paper §6.2); snapshot isolation of Crooks et al. 2017",
    ),
    Level(
        "session-snapshot",
        Scope.TRANSACTION,
        Horizon.ANY,
        conflict=Conflict.VALUES,
        real_time=False,
        session=True,
        implies=("snapshot", "prefix", "parallel-snapshot"),
        citation="PREFIX, NOCONFLICT, SESSION (Cerone and Gotsman 2018); session SI of Crooks et al. 2017",
    ),
    Level(
        "strict-snapshot",
        Scope.TRANSACTION,
        Horizon.START,
        conflict=Conflict.VALUES,
        real_time=True,
        implies=("snapshot",),
        citation="C_SSI: RMR at the start, NWC (paper §6.2); strong snapshot isolation of Crooks et al. 2017",
    ),
    Level(
        "serializable",
        Scope.TRANSACTION,
        Horizon.LATEST,
        conflict=Conflict.NEVER,
        real_time=False,
        implies=("snapshot",),
        citation="C_S: RMR (paper §6.2); serializability of Crooks et al. 2017",
    ),
    Level(
        "session-serializable",
        Scope.TRANSACTION,
        Horizon.LATEST,
        conflict=Conflict.NEVER,
        real_time=False,
        session=True,
        implies=("serializable", "session-snapshot"),
        citation="TOTALVIS, SESSION (Cerone and Gotsman 2018); strong session serializability (Daudjee and Salem 2004)",
    ),
    Level(
        "strict-serializable",
        Scope.TRANSACTION,
        Horizon.LATEST,
        conflict=Conflict.NEVER,
        real_time=True,
        implies=("serializable",),
        citation="C_SS: RMR, seq (paper §6.2); strict serializability of Crooks et al. 2017",
    ),
    Level(
        "timestamp-snapshot",
        Scope.TRANSACTION,
        Horizon.START,
        conflict=Conflict.VERSIONS,
        real_time=False,
        implies=("session-snapshot",),
        citation="SESSION, INT, EXT, PREFIX, NOCONFLICT by timestamps (Chronos and Aion, Definitions 4 to 6)",
        session=True,
        ordered=True,
    ),
    Level(
        "timestamp-serializable",
        Scope.TRANSACTION,
        Horizon.LATEST,
        conflict=Conflict.NEVER,
        real_time=False,
        implies=("serializable",),
        citation="RMR in the order of the commit timestamps (Aion-SER, section VI-A)",
        ordered=True,
    ),
    Level(
        "postgres:read-committed",
        Scope.STATEMENT,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=True,
        implies=(),
        citation="PostgreSQL manual, 13.2.1 Read Committed Isolation Level",
        dialect="postgres",
        rechecks=True,
        commits=True,
    ),
    Level(
        "postgres:repeatable-read",
        Scope.TRANSACTION,
        Horizon.START,
        conflict=Conflict.VERSIONS,
        real_time=True,
        implies=("strict-snapshot",),
        citation="PostgreSQL manual, 13.2.2 Repeatable Read Isolation Level",
        dialect="postgres",
        locks=True,
        commits=True,
    ),
    Level(
        "postgres:serializable",
        Scope.TRANSACTION,
        Horizon.START,
        conflict=Conflict.VERSIONS,
        real_time=True,
        implies=("postgres:repeatable-read", "serializable"),
        citation="PostgreSQL manual, 13.2.3 Serializable Isolation Level",
        dialect="postgres",
        locks=True,
        commits=True,
        serial=True,
    ),
    Level(
        "mysql:read-committed",
        Scope.STATEMENT,
        Horizon.ANY,
        conflict=Conflict.NEVER,
        real_time=True,
        implies=(),
        citation="MySQL 8.0 manual, 17.7.2.1 Transaction Isolation Levels and 17.7.2.4 Locking Reads",
        dialect="mysql",
        rechecks=True,
        by_row=True,
        commits=True,
        holds=True,
    ),
    Level(
        "mysql:repeatable-read",
        Scope.TRANSACTION,
        Horizon.START,
        conflict=Conflict.NEVER,
        real_time=True,
        implies=("read-committed",),
        citation="MySQL 8.0 manual, 17.7.2.1 Transaction Isolation Levels and 17.7.2.3 Consistent Nonlocking Reads",
        dialect="mysql",
        acts=True,
        commits=True,
        holds=True,
    ),
    Level(
        "mysql:serializable",
        Scope.TRANSACTION,
        Horizon.LATEST,
        conflict=Conflict.NEVER,
        real_time=True,
        implies=("strict-serializable",),
        citation="MySQL 8.0 manual, 17.7.2.1 Transaction Isolation Levels",
        dialect="mysql",
        commits=True,
        holds=True,
    ),
    Level(
        "sqlite",
        Scope.TRANSACTION,
        Horizon.LATEST_AT_START,
        conflict=Conflict.NEVER,
        real_time=True,
        implies=("strict-serializable", "strict-snapshot"),
        citation="SQLite, Isolation In SQLite (isolation.html)",
        dialect="sqlite",
    ),
    Level(
        "duckdb",
        Scope.TRANSACTION,
        Horizon.START,
        conflict=Conflict.COLUMNS,
        real_time=True,
        implies=(),
        citation="DuckDB manual, Concurrency",
        dialect="duckdb",
    ),
)

LEVELS = {level.name: level for level in _LEVELS}
"""All levels by name."""


_REFUSING = {"mysql:repeatable-read": replace(LEVELS["mysql:repeatable-read"], conflict=Conflict.VERSIONS, locks=True)}
"""Levels on a server that refuses to write over, or to lock, what its snapshot does not have."""


def level_in(name: str, log: Log) -> Level | None:
    """The level of a name, as the log's server has it by its settings; None where there is none."""
    return (_REFUSING.get(name) if refuses_newer_rows(log.header) else None) or LEVELS.get(name)


def implied_by(name: str) -> frozenset[str]:
    """The level and all that accept whatever it accepts."""
    found = {name}
    pending = [name]
    while pending:
        for weaker in LEVELS[pending.pop()].implies:
            if weaker not in found:
                found.add(weaker)
                pending.append(weaker)
    return frozenset(found)


_SNAPSHOTS = {"postgres:serializable": "postgres:repeatable-read"}
"""What levels with a serial order of their own ask for besides."""


def snapshots_of(log: Log, isolation: str | None) -> dict[str, str]:
    """The levels with a serial order that a log is held to, by name, each with the one that asks for all but that."""
    named = {isolation} if isolation is not None else {log.header.isolation, *(t.isolation for t in log.transactions)}
    return {name: snapshots for name, snapshots in _SNAPSHOTS.items() if name in named}


def is_serial_throughout(log: Log, isolation: str | None) -> bool:
    """Whether all transactions of a log that may have committed are held to levels with one serial order."""
    names = (isolation or t.isolation or log.header.isolation for t in log.transactions if t.status != "aborted")
    return all(name in _SNAPSHOTS for name in names)


def names_of(log: Log, isolation: str | None) -> str:
    """All levels that a log is held to, joined."""
    found = {isolation or transaction.isolation or log.header.isolation or "" for transaction in log.transactions}
    return ", ".join(sorted(found)) or isolation or log.header.isolation or ""
