"""The recorders' front door: connections that keep a log while an application uses them as it always did (`connect`),
and `Recorder`, a log in the making whose sessions a workload drives.

Does not know which transactions run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from troubadour.record.core.journal import close_all
from troubadour.record.core.segments import Captured, begin_anew
from troubadour.record.dbapi import wrap
from troubadour.record.drivers.alchemy import listen
from troubadour.record.errors import RecordError
from troubadour.record.everything import everything, nothing
from troubadour.record.postgres.certificate import Certified
from troubadour.record.postgres.connection import RecordedAsyncConnection, RecordedConnection
from troubadour.record.postgres.log import CommitTimes
from troubadour.record.proxy import beside
from troubadour.record.runs.session import PostgresSession
from troubadour.record.servers import server
from troubadour.record.servers.server import (
    ISOLATION_LEVELS,
    NAMES,
    describe,
    initial_rows,
    inside,
    require_commit_timestamps,
)

__all__ = [
    "RecordedAsyncConnection",
    "RecordedConnection",
    "Recorder",
    "close",
    "connect",
    "connect_async",
    "everything",
    "listen",
    "nothing",
    "proxy",
    "wrap",
]


def connect(dsn: str = "", *, log: str | Path, **options: Any) -> RecordedConnection:
    """A `psycopg.Connection` that keeps a log at the path `log`; `options` are those of `psycopg.connect`, and
    `commit_order`: ``"timestamps"`` (of the server, where it keeps them), ``"wal"`` (the order in its write-ahead log,
    where it may be decoded), or ``"client"`` (the client's clock alone). With `snapshots` each transaction that wrote
    is logged with its id, and each at REPEATABLE READ or SERIALIZABLE with its snapshot. `unwritable`: what becomes of
    a COMMIT where the log cannot be written, of a full disk for one. ``"stop"``: the transaction is rolled back, and
    RecordError raised; ``"go-on"``: it commits, and the log has a gap, of which every later verdict knows.
    With `durable` what must survive is on the disk before a COMMIT is sent, and so survives the machine's death as well
    as that of the process. `checkpoints`: all rows are read and logged after so many transactions, for `audit --jobs`
    to cut the log there (docs/recording.md). `compatible`: 1 leaves out what earlier versions of this program cannot
    read (``begin``). `certificate` is a path for the server's own account of the run beside the log
    (docs/certificates.md); it needs what ``"wal"`` needs.

    The first connection to a log that does not exist captures schema, routines and rows of the database: from then on
    only recorded connections may write to it. Segments of other processes lie beside it. `close` finishes the log, and
    so does the end of the process. Raises psycopg's errors, and RecordError where nothing can be recorded.
    """
    return RecordedConnection.connect(dsn, log=log, **options)


async def connect_async(dsn: str = "", *, log: str | Path, **options: Any) -> RecordedAsyncConnection:
    """As `connect`, for a `psycopg.AsyncConnection`. Capturing what the log begins with blocks the event loop."""
    return await RecordedAsyncConnection.connect(dsn, log=log, **options)


def proxy(dsn: str, *, log: str | Path, **options: Any) -> str:
    """A connection string that leads to the same database through a recording proxy, for clients of this process and
    others that speak PostgreSQL's, MariaDB's or MySQL's protocol: psycopg2 and asyncpg, pipelines, several statements
    in one text. It has the form of `dsn`; ``mysql://`` is of MariaDB and MySQL. The proxy is a process beside this one;
    schema and rows are captured as it starts. `options`: `commit_order`, `unwritable` and `durable` as `connect` has
    them. `close`, or the end of this process, ends it and finishes the log. Raises RecordError."""
    return beside.start(dsn, log, **options)


def close() -> None:
    """Finish all logs of this process, those of its proxies too; runs at exit by itself. Raises the first RecordError,
    with all closed."""
    try:
        close_all()
    finally:
        beside.end_all()


class Recorder:
    """A context manager around the recording of one log of a workload, over `RecordedConnection`s.

    `schema` are the CREATE statements of the tables, `procedures` those of the routines; `tables` names
    each table's columns, whose rows at this moment become the log's initial state: only the
    sessions of this recorder may write to them, from now until `close`. `search_path`: the database schema that they
    live in.
    `isolation` is a key of `ISOLATION_LEVELS`, `certificate` where the server's own account of the run goes (None:
    nowhere). A log that is at `path` already is overwritten. Raises RecordError if the server cannot be reached, or
    keeps no commit timestamps."""

    def __init__(
        self,
        dsn: str,
        path: Path,
        *,
        isolation: str,
        schema: Sequence[str],
        tables: Mapping[str, Sequence[str]],
        procedures: Sequence[str] = (),
        search_path: str | None = None,
        certificate: Path | None = None,
    ) -> None:
        if isolation not in ISOLATION_LEVELS:
            raise RecordError(f"isolation {isolation!r} is none of {', '.join(ISOLATION_LEVELS)}")
        self._dsn = inside(dsn, search_path)
        self._path = path
        self._isolation = isolation
        self._level = NAMES.get(isolation, isolation)
        self._names: set[str] = set()
        with server.connect(self._dsn) as connection:
            require_commit_timestamps(connection)
            rows = initial_rows(connection, tables)
            header = {
                **describe(connection), "isolation": self._level,
                "schema": list(schema), "procedures": list(procedures),
            }  # fmt: skip
        captured = Captured(header, [(table, tables[table], found) for table, found in rows.items()])
        self._certificate = certificate
        lookup = CommitTimes(dsn) if certificate is None else Certified(dsn, path, certificate)
        self._journal = begin_anew(path, captured, lookup)

    def session(self, name: str) -> PostgresSession:
        """A session on a connection of its own; the ids of its transactions are ``<name>-<n>``. Raises RecordError if
        the name is taken, or the server cannot be reached."""
        if name in self._names:
            raise RecordError(f"session {name!r} is in this log already")
        try:
            connection = RecordedConnection.connect(
                self._dsn, log=self._path, certificate=self._certificate, cursor_factory=psycopg.RawCursor
            )
        except psycopg.Error as error:
            raise RecordError(f"cannot connect: {server.one_line(error)}") from error
        assert connection.tape is not None
        connection.tape.named(name)
        connection.tape.level = self._level
        connection.levels = {ISOLATION_LEVELS[self._isolation]: self._level}
        self._names.add(name)
        return PostgresSession(connection, name, self._isolation)

    def close(self) -> None:
        """Finish the log; the sessions must be idle. Raises RecordError if commit timestamps are missing."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
