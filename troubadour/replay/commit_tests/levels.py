"""The levels as replay reads them: which commit tests each one asks for (paper §6.2).

Written apart from `troubadour.isolation` on purpose. Does not know how the tests are made.
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, replace
from troubadour.model.log import Log, LogError, Transaction
from troubadour.model.server import refuses_newer_rows


@dataclass(frozen=True, slots=True)
class Level:
    """`latest`: every read is of state i-1 (RMR). `one_snapshot`: all reads are of one state (ROS).
    `write_conflict`: NWC. `real_time`: the order keeps real time. `at_start`: that one state is the state at the
    transaction's start. `session`: it comes after what its session committed before, and sees it. `by_version`: what
    NWC compares is not values, but who wrote last; `by_column`: it compares each column by itself, and writes of
    different ones are merged. `dialect`: the product that it is for. `per_statement`: each
    execution of a statement reads one state. `rechecks`: it meets the rows that it writes or locks in their newest
    versions. `by_row`: one that writes or locks what it reads takes each row from a
    state of its own. `acts`: statements that write or lock what they read do so in state i-1, the others read the
    snapshot. `locks`: what a query locks was not written after the snapshot, and the parent of a new reference is one
    that it sees. `commits`: it comes after all whose commit was answered before its own was sent. `serial`: those with
    it have an order of their own in which each could have run after those before it, and seen what it saw. `ordered`:
    those that have commit timestamps come in their order, the others where clients' times allow it."""

    name: str
    latest: bool
    one_snapshot: bool
    write_conflict: bool
    real_time: bool
    at_start: bool
    session: bool = False
    by_version: bool = False
    dialect: str | None = None
    sets: bool = False
    closed: bool = False
    per_statement: bool = False
    acts: bool = False
    rechecks: bool = False
    by_row: bool = False
    locks: bool = False
    commits: bool = False
    by_column: bool = False
    serial: bool = False
    ordered: bool = False

    @property
    def asks_times(self) -> bool:
        """Whether it asks for the times of single transactions that came before."""
        return self.session or self.at_start or self.per_statement


_REPEATABLE_READ = Level(
    "postgres:repeatable-read",
    False,
    True,
    True,
    True,
    True,
    by_version=True,
    dialect="postgres",
    locks=True,
    commits=True,
)

LEVELS = {
    level.name: level
    for level in (
        Level("read-uncommitted", False, False, False, False, False),
        Level("read-committed", False, False, False, False, False),
        Level("session-read-committed", False, False, False, False, False, session=True),
        Level("prefix", False, True, False, False, False, session=True),
        Level("read-atomic", False, True, False, False, False, sets=True),
        Level("session-read-atomic", False, True, False, False, False, session=True, sets=True),
        Level("update-atomic", False, True, True, False, False, sets=True),
        Level("causal", False, True, False, False, False, session=True, sets=True, closed=True),
        Level("parallel-snapshot", False, True, True, False, False, session=True, sets=True, closed=True),
        Level("snapshot", False, True, True, False, False),
        Level("session-snapshot", False, True, True, False, False, session=True),
        Level("strict-snapshot", False, True, True, True, True),
        Level("serializable", True, True, False, False, False),
        Level("session-serializable", True, True, False, False, False, session=True),
        Level("strict-serializable", True, True, False, True, False),
        Level("timestamp-snapshot", False, True, True, False, True, session=True, by_version=True, ordered=True),
        Level("timestamp-serializable", True, True, False, False, False, ordered=True),
        Level(
            "postgres:read-committed",
            False,
            False,
            False,
            True,
            False,
            dialect="postgres",
            per_statement=True,
            rechecks=True,
            commits=True,
        ),
        _REPEATABLE_READ,
        replace(_REPEATABLE_READ, name="postgres:serializable", serial=True),
        Level(
            "mysql:read-committed",
            False,
            False,
            False,
            True,
            False,
            dialect="mysql",
            per_statement=True,
            rechecks=True,
            by_row=True,
            commits=True,
        ),
        Level("mysql:repeatable-read", False, True, False, True, True, dialect="mysql", acts=True, commits=True),
        Level("mysql:serializable", True, True, False, True, False, dialect="mysql", commits=True),
        Level("sqlite", True, True, False, True, True, dialect="sqlite"),
        Level("duckdb", False, True, True, True, True, dialect="duckdb", by_column=True),
    )
}


def level_of(transaction: Transaction, log: Log, isolation: str | None) -> Level:
    """The level that a transaction is held to: the audit's, its own, or the log's.

    Raises LogError where there is none, Unsupported for one that is not modelled.
    """
    name = isolation or transaction.isolation or log.header.isolation
    if name is None:
        raise LogError(f"transaction {transaction.id!r} has no isolation level, and neither has the log")
    level = LEVELS.get(name)
    if level is None:
        raise Unsupported(f"isolation level {name}")
    if level.acts and refuses_newer_rows(log.header):
        level = replace(level, write_conflict=True, by_version=True, locks=True)
    if level.dialect is not None and level.dialect != log.header.dialect:
        raise LogError(f"isolation level {name} is not for logs of {log.header.dialect}")
    return level


def is_judged(transaction: Transaction, level: Level, *, order_recorded: bool) -> bool:
    """Whether an order must have it: it committed, or it aborted and its product promises what it saw. The recorded
    order, where it binds, is one of commits."""
    if transaction.status != "aborted":
        return transaction.status == "committed"
    if level.dialect is None or order_recorded:
        return False
    return any(one.results is not None or one.affected is not None for one in transaction.statements)
