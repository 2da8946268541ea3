"""What a recorded connection finds out once per process and log: where its lines go, the level it runs at, whether the
server keeps commit times. Nearly all on connections of its own. Does not know statements.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import pq

from sql_semantics.records import dataclass
from troubadour.record.core.journal import STOP, Journal, Lookup, shared
from troubadour.record.core.segments import create, open_journal
from troubadour.record.errors import RecordError, Unasked
from troubadour.record.postgres.capture import capture, writing_functions
from troubadour.record.postgres.certificate import Certified
from troubadour.record.postgres.wal import WalOrder
from troubadour.record.servers.server import Connection, commit_times, connect, one_line
from troubadour.record.statements.texts import POSTGRES_LEVELS


@dataclass(frozen=True, slots=True)
class Opened:
    """`level`: the one that connections run at by default. `asks_tickets`: whether the
    id of a transaction that wrote is wanted. `writers`: names of functions that may write."""

    journal: Journal
    level: str
    asks_tickets: bool
    writers: frozenset[str]


class CommitTimes:
    """Looks commit times up, on a connection of its own that is made when it is needed, again if it broke."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: Connection | None = None

    def __call__(self, tickets: Sequence[tuple[str, str | None]]) -> Sequence[int | None]:
        """None for those of an earlier lifetime of the server: what it lost in a crash it has forgotten, and gave
        others its numbers. Raises RecordError."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = connect(self._dsn)
            now = lifetime(self._connection.pgconn)
            known = iter(commit_times(self._connection, [xid for xid, of in tickets if of == now]))
            return [next(known) if of == now else None for _, of in tickets]
        except (psycopg.Error, RecordError) as error:
            told = f"{len(tickets)} transactions are logged without commit time: {one_line(error)}"
            raise Unasked(told) from error

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


LIFETIME = (
    "pg_catalog.to_char(pg_catalog.timezone('UTC', pg_catalog.pg_postmaster_start_time()), 'YYYY-MM-DD HH24:MI:SS.US')"
)
"""When the server was started, as a text that is the same in all its sessions, however they write times."""


def lifetime(pgconn: Any) -> str:
    """When the server was started. Raises psycopg.Error. (Asked for past psycopg, which may be asynchronous.)"""
    result = pgconn.exec_(f"SELECT {LIFETIME}".encode())
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise psycopg.errors.error_from_result(result)
    return str(result.get_value(0, 0).decode())


_FOUND: dict[tuple[str, Path], Opened] = {}
_LOCK = threading.Lock()


def open_log(
    connection: Any,
    path: Path,
    commit_order: str = "timestamps",
    unwritable: str = STOP,
    certificate: Path | None = None,
    durable: bool = False,
) -> Opened:
    """What a connection that was just opened needs to record; `commit_order`, `unwritable`, `certificate`, `durable`:
    see `recorder.connect`. Raises RecordError."""
    if commit_order not in ("timestamps", "wal", "client"):
        raise RecordError(f"commit_order {commit_order!r} is none of timestamps, wal, client")
    for name, wanted in ((b"DateStyle", b"ISO"), (b"IntervalStyle", b"postgres"), (b"client_encoding", b"UTF8")):
        value = connection.pgconn.parameter_status(name)
        if value is not None and not value.startswith(wanted):
            raise RecordError(f"{name.decode()} is {value.decode()}: the recorder reads {wanted.decode()} only")
    password = connection.info.password
    dsn = connection.info.dsn + (f" password='{_escaped(password)}'" if password else "")
    key = (dsn, path.absolute())
    with _LOCK:
        found = _FOUND.get(key)
        if found is None or found.journal.closed:
            found = _FOUND[key] = _open(dsn, path, commit_order, unwritable, certificate, durable)
        found.journal.durable = found.journal.durable or durable
        return found


def _open(dsn: str, path: Path, commit_order: str, unwritable: str, certificate: Path | None, durable: bool) -> Opened:
    with connect(dsn) as own:
        row = own.execute(
            b"SELECT current_setting('default_transaction_isolation'), current_setting('track_commit_timestamp')"
        ).fetchone()
        assert row is not None
        level = POSTGRES_LEVELS[str(row[0]).upper()]
        tracks = certificate is not None or commit_order == "wal" or (row[1] == "on" and commit_order == "timestamps")
        writers = writing_functions(own)

        def begin(target: Path) -> Journal:
            # before anything is captured: the order of all that comes later is known then
            lookup: Lookup | None = None
            if certificate is not None:
                lookup = Certified(dsn, target, certificate)
            elif tracks:
                lookup = WalOrder(dsn) if commit_order == "wal" else CommitTimes(dsn)
            try:
                return open_journal(target, lambda: capture(own), lookup, unwritable, durable)
            except BaseException:
                if lookup is not None:
                    lookup.close()
                raise

        try:
            journal = shared(path, begin)
        except psycopg.Error as error:
            raise RecordError(f"what the log begins with cannot be read: {one_line(error)}") from error
        journal.check_source((own.info.host, own.info.port, own.info.dbname))
    return Opened(journal, level, tracks, writers)


def begin_log(dsn: str, path: Path, tables: Sequence[str] | None = None, level: str | None = None) -> None:
    """Make a log that begins with what the database has now. Raises RecordError, also where `path` exists."""
    with connect(dsn) as own:
        if path.exists() or not create(path, capture(own, tables, level)):
            raise RecordError(f"{path} exists: a log begins once")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
