"""The recorders' front door: connections that keep a log while an application uses them as it always did (`connect`),
and `Recorder`, a log in the making whose sessions a workload drives (CONTRACT §1).

Does not know which transactions run.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from troubadour.formats import LogWriter
from troubadour.record import server
from troubadour.record.alchemy import listen
from troubadour.record.dbapi import wrap
from troubadour.record.errors import RecordError
from troubadour.record.journal import close_all as close
from troubadour.record.postgres.connection import RecordedAsyncConnection, RecordedConnection
from troubadour.record.server import (
    ISOLATION_LEVELS,
    describe,
    initial_rows,
    require_commit_timestamps,
)
from troubadour.record.session import RecordedSession
from troubadour.record.sink import BATCH, LogSink

__all__ = [
    "RecordedAsyncConnection",
    "RecordedConnection",
    "Recorder",
    "close",
    "connect",
    "connect_async",
    "listen",
    "wrap",
]

INLINE_ROWS = 1000
"""A table of more rows goes to `rows` lines, so that no line of the log gets out of hand."""


def connect(dsn: str = "", *, log: str | Path, **options: Any) -> RecordedConnection:
    """A `psycopg.Connection` that keeps a log at the path `log`; `options` are those of `psycopg.connect`, and
    `commit_order`: ``"timestamps"`` (of the server, where it keeps them), ``"wal"`` (the order in its write-ahead log,
    where it may be decoded), or ``"client"`` (the client's clock alone).

    The first connection to a log that does not exist captures schema, routines and rows of the database: from then on
    only recorded connections may write to it. Segments of other processes lie beside it. `close` finishes the log, and
    so does the end of the process. Raises psycopg's errors, and RecordError where nothing can be recorded.
    """
    return RecordedConnection.connect(dsn, log=log, **options)


async def connect_async(dsn: str = "", *, log: str | Path, **options: Any) -> RecordedAsyncConnection:
    """As `connect`, for a `psycopg.AsyncConnection`. Capturing what the log begins with blocks the event loop."""
    return await RecordedAsyncConnection.connect(dsn, log=log, **options)


class Recorder:
    """A context manager around the recording of one log.

    `schema` are the CREATE statements of the tables, `procedures` those of the routines; `tables` names
    each table's columns, whose rows at this moment become the log's initial state: nobody may write to them but the
    sessions of this recorder, from now until `close`. `search_path`: the database schema that they live in.
    `isolation` is a key of `ISOLATION_LEVELS`. `survives`: the server may crash meanwhile; what then waits for its
    commit timestamp is logged without one. Raises RecordError if the server cannot be reached or keeps no commit
    timestamps."""

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
        batch: int = BATCH,
        survives: bool = False,
    ) -> None:
        if isolation not in ISOLATION_LEVELS:
            raise RecordError(f"isolation {isolation!r} is none of {', '.join(ISOLATION_LEVELS)}")
        self._dsn = dsn
        self._isolation = isolation
        self._search_path = search_path
        self._names: set[str] = set()
        connection = server.connect(dsn, search_path)
        try:
            require_commit_timestamps(connection)
            rows = initial_rows(connection, tables)
            inline = {table: found for table, found in rows.items() if len(found) <= INLINE_ROWS}
            header = {
                **describe(connection),
                "isolation": isolation,
                "order": "hint",
                # Clocks of the same name are taken to be one clock, so the name is this recorder's own.
                "clock": f"monotonic-{secrets.token_hex(4)}",
                "schema": list(schema),
                "procedures": list(procedures),
                "initial": {name: {"columns": list(tables[name]), "rows": found} for name, found in inline.items()},
            }
            writer = LogWriter(path, header)
            for table in rows.keys() - inline.keys():
                writer.rows(table, tables[table], rows[table])
            again = (lambda: server.connect(dsn, search_path)) if survives else None
            self._sink = LogSink(writer, connection, batch, again)
        except BaseException:
            connection.close()
            raise

    def session(self, name: str) -> RecordedSession:
        """A session on a connection of its own. Raises RecordError if the name is taken: ids are made of it."""
        if name in self._names:
            raise RecordError(f"session {name!r} is in this log already")
        connection = server.connect(self._dsn, self._search_path)
        self._names.add(name)
        return RecordedSession(connection, name, self._isolation, self._sink)

    def close(self) -> None:
        """Finish the log; the sessions must be idle. Raises RecordError if commit timestamps are missing."""
        self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
