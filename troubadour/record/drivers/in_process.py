"""Recording a workload on SQLite and DuckDB, in this process: databases, and sessions as on servers.

Conflicts and locks come as errors of SQLSTATE 40001, and a COMMIT that fails is rolled back. Does not know the
workload.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sql_semantics.products import PRODUCTS
from troubadour.record.core.segments import Captured, begin_anew
from troubadour.record.dbapi import wrap
from troubadour.record.drivers.detection import driver_of
from troubadour.record.errors import RecordError, ServerError
from troubadour.record.runs.workload import Answer, Workload, load

PATIENCE = 0.02
"""Seconds for which SQLite waits for a lock."""
TRIES = 50
"""So often a COMMIT of SQLite is sent that finds readers."""
_PLACEHOLDER = re.compile(r"\$(\d+)")


def marks(sql: str, params: Sequence[object]) -> tuple[str, list[object]]:
    """A text with ``$1`` placeholders, and its parameters, with ``?``: one parameter each."""
    given: list[object] = []

    def replace(match: re.Match[str]) -> str:
        given.append(params[int(match[1]) - 1])
        return "?"

    return _PLACEHOLDER.sub(replace, sql), given


class InProcessSession:
    """As `PostgresSession`, on a recorded connection of sqlite3 or DuckDB that begins nothing by itself."""

    def __init__(self, connection: Any, errors: type[Exception]) -> None:
        """`errors`: what the driver raises."""
        self._connection = connection
        self._errors = errors
        self._driver = connection.recording.driver
        self._begun = 0
        self._failed = False

    def begin(self) -> None:
        """Start a transaction."""
        self._failed = False
        if PRODUCTS[self._driver.dialect].running.begins_immediate and self._begin_at_once():
            return
        self._send("BEGIN TRANSACTION")

    def _begin_at_once(self) -> bool:
        """Every second time: keep other writers out from the start, where there is none."""
        self._begun += 1
        if self._begun % 2:
            return False
        try:
            self._send("BEGIN IMMEDIATE")
        except ServerError:
            return False
        return True

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run one statement with ``$1`` placeholders."""
        cursor = self._send(*marks(sql, params))
        rows = cursor.fetchall() if cursor.description is not None else []
        return Answer([tuple(row) for row in rows], cursor.rowcount if cursor.rowcount >= 0 else None)

    def commit(self) -> bool:
        """COMMIT; False if that was impossible, and all is rolled back."""
        for _ in range(1 if self._failed and not self._driver.lasts else TRIES):
            try:
                self._send("COMMIT")
            except ServerError:
                if not self._connection.recording.is_open():
                    return False
            else:
                return self._driver.lasts or not self._failed
        self.rollback()
        return False

    def rollback(self) -> None:
        """ROLLBACK, where something is open."""
        if self._connection.recording.is_open():
            self._send("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _send(self, sql: str, params: Sequence[object] = ()) -> Any:
        try:
            return self._connection.execute(sql, params) if params else self._connection.execute(sql)
        except self._errors as error:
            self._failed = True
            state = self._driver.sqlstate(self._connection, error)  # raises what the product did not answer
            raise ServerError(state or "HY000", str(error), 0) from error


@contextmanager
def on_sqlite(workload: Workload, path: Path, out: Path, *, wal: bool) -> Iterator[Callable[[str], InProcessSession]]:
    """Sessions on a new database at `path`, with a write-ahead log or a rollback journal. Raises RecordError where
    there is a file already."""
    if path.exists():
        raise RecordError(f"{path} exists already")

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)

    connection = connect()
    connection.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
    connection.execute("PRAGMA synchronous = OFF")
    load(workload, connection.cursor())
    with _recording(connection, sqlite3.Error, out) as session:
        yield lambda name: session(connect(), name)


@contextmanager
def on_duckdb(workload: Workload, out: Path) -> Iterator[Callable[[str], InProcessSession]]:
    """Sessions on a new database in memory."""
    import duckdb

    connection = duckdb.connect()
    load(workload, connection)
    with _recording(connection, duckdb.Error, out) as session:
        yield lambda name: session(connection.cursor(), name)


@contextmanager
def _recording(connection: Any, errors: type[Exception], out: Path) -> Iterator[Callable[[Any, str], InProcessSession]]:
    """Begin a log with what `connection` has, and close both at the end."""
    driver = driver_of(connection)
    captured = driver.capture(connection)
    header = {**captured.header, "isolation": driver.level(connection)}
    journal = begin_anew(out, Captured(header, captured.rows))

    def session(own: Any, name: str) -> InProcessSession:
        recorded = wrap(own, log=out)
        recorded.recording.tape.named(name)
        return InProcessSession(recorded, errors)

    try:
        yield session
    finally:
        journal.close()
        connection.close()
