"""A log in the making: its header, and the sessions that write to it (CONTRACT §1).

Does not know which transactions the sessions run.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from troubadour.formats import LogWriter
from troubadour.record.errors import RecordError
from troubadour.record.server import (
    ISOLATION_LEVELS,
    connect,
    describe,
    initial_rows,
    require_commit_timestamps,
)
from troubadour.record.session import RecordedSession
from troubadour.record.sink import BATCH, LogSink

INLINE_ROWS = 1000
"""A table of more rows goes to `rows` lines, so that no line of the log gets out of hand."""


class Recorder:
    """A context manager around the recording of one log.

    `schema` are the CREATE statements of the tables, `procedures` those of the routines; `tables` names
    each table's columns, whose rows at this moment become the log's initial state: nobody may write to them but the
    sessions of this recorder, from now until `close`. `search_path`: the database schema that they live in.
    `isolation` is a key of `ISOLATION_LEVELS`.
    Raises RecordError if the server cannot be reached or keeps no commit timestamps.
    """

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
    ) -> None:
        if isolation not in ISOLATION_LEVELS:
            raise RecordError(f"isolation {isolation!r} is none of {', '.join(ISOLATION_LEVELS)}")
        self._dsn = dsn
        self._isolation = isolation
        self._search_path = search_path
        self._names: set[str] = set()
        connection = connect(dsn, search_path)
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
            self._sink = LogSink(writer, connection, batch)
        except BaseException:
            connection.close()
            raise

    def session(self, name: str) -> RecordedSession:
        """A session on a connection of its own. Raises RecordError if the name is taken: ids are made of it."""
        if name in self._names:
            raise RecordError(f"session {name!r} is in this log already")
        self._names.add(name)
        return RecordedSession(connect(self._dsn, self._search_path), name, self._isolation, self._sink)

    def close(self) -> None:
        """Finish the log; the sessions must be idle. Raises RecordError if commit timestamps are missing."""
        self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
