"""PostgreSQL, embedded, of a folder with its programs, or where a connection string leads.

Everything is done in a schema of a fresh name. Does not know what is run.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from troubadour.hunt.engines.installed import InstalledPostgres
from troubadour.hunt.engines.protocol import Answer, Database, EngineDied, EngineError, Level, levels_of
from troubadour.hunt.engines.threaded import Threaded, now
from troubadour.record.errors import RecordError
from troubadour.record.servers.embedded import EmbeddedPostgres
from troubadour.record.servers.server import describe
from troubadour.record.values import adapt, row_to_json

LEVELS = levels_of(
    Level("read-committed", "READ COMMITTED", "postgres:read-committed", "read-committed"),
    Level("repeatable-read", "REPEATABLE READ", "postgres:repeatable-read", "snapshot"),
    Level("serializable", "SERIALIZABLE", "postgres:serializable", "serializable"),
)
_COUNTED = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
_TABLES = (
    "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'f')"
    " AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'"
)


class Postgres:
    """A server. `dsn` None: it is started from `programs`, the folder of its programs (None: the embedded one)."""

    dialect = "postgres"
    levels = LEVELS
    at_once = True
    undoes = False

    def __init__(self, name: str, dsn: str | None = None, programs: Path | None = None) -> None:
        self.name = name
        self._schema = _fresh()
        self._left: list[str] = []
        self._sessions: dict[int, PostgresConnection] = {}
        self._given = dsn
        self._server: EmbeddedPostgres | InstalledPostgres | None = None
        self._impatient = False
        try:
            with ExitStack() as stack:
                if dsn is not None:
                    self._dsn = dsn
                else:
                    if programs is None:
                        self._server = stack.enter_context(EmbeddedPostgres())
                    else:
                        self._server = stack.enter_context(InstalledPostgres(programs))
                    self._dsn = self._server.dsn
                self._connect()
                self._stack = stack.pop_all()
        except (psycopg.Error, RecordError, OSError, subprocess.SubprocessError) as error:
            raise EngineError(f"{name}: {str(error).strip().splitlines()[0]}") from error

    @property
    def crashes(self) -> bool:
        """See `Engine`."""
        return self._server is not None

    def crash(self) -> None:
        """See `Database`."""
        self.restart()

    def _crash(self) -> None:
        assert self._server is not None
        try:
            self._server.crash()
        except RecordError as error:
            raise EngineError(f"{self.name}: {error}") from error

    def _connect(self) -> None:
        self.side = _beside(self._dsn)
        ((tables,),) = self.side.execute(_TABLES).fetchall()
        if self._given is not None and tables:
            self.side.close()
            raise EngineError(f"{self.name}: the database has {tables} tables; give one that is empty")
        told = describe(self.side)
        self.dbms = str(told["dbms"])
        self._settings: Any = told["settings"]

    @contextmanager
    def database(self, flavour: str = "") -> Iterator[Database]:
        """A fresh schema; *impatient*: sessions wait for a lock for a moment only."""
        self._impatient = "impatient" in flavour
        try:
            self.side.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE".encode())
            self.side.execute(f"CREATE SCHEMA {self._schema}".encode())
        except psycopg.Error as error:
            raise EngineDied(str(error).strip()) from error
        try:
            yield self
        finally:
            for session in self._sessions.values():
                session.roll_back()

    def connection(self, number: int, level: Level) -> PostgresConnection:
        """See `Database`."""
        found = self._sessions.get(number)
        if found is None or found.closed:
            try:
                found = self._sessions[number] = PostgresConnection(self._dsn, self._schema, self.side)
            except psycopg.Error as error:
                raise EngineDied(str(error).strip()) from error
        if found.level != level.sql:
            found.set(f"SET default_transaction_isolation = '{level.sql.lower()}'")
            found.level = level.sql
        if found.impatient != self._impatient:
            found.set(f"SET lock_timeout = {30 if self._impatient else 0}")
            found.impatient = self._impatient
        return found

    def settings(self) -> dict[str, Any]:
        """See `Engine`."""
        return dict(self._settings)

    def restart(self) -> None:
        """Connect again, to a server of our own once it is started anew; elsewhere in another schema, since what
        goes on in the one before may hold its locks."""
        if self._server is not None:
            self._crash()
        for session in self._sessions.values():
            session.close()
        self._sessions = {}
        self.side.close()
        if self._server is None:
            self._left.append(self._schema)
            self._schema = _fresh()
        deadline = time.monotonic() + 30
        while True:
            try:
                self.side = _beside(self._dsn)
                return
            except psycopg.Error as error:
                if time.monotonic() > deadline:
                    raise EngineError(f"{self.name}: {error}") from error
                time.sleep(0.2)

    def close(self) -> None:
        """End the server where it was started here, and with it what still runs there; else drop the schema."""
        self._stack.close()
        for session in self._sessions.values():
            session.close()
        with closing(self.side), suppress(psycopg.Error):
            for schema in (*self._left, self._schema) if self._given is not None else ():
                self.side.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


def _fresh() -> str:
    """A name that is taken by nothing."""
    return f"troubadour_hunt_{secrets.token_hex(4)}"


def _beside(dsn: str) -> psycopg.Connection[Any]:
    """The connection beside the sessions, which waits for no lock for long."""
    side = psycopg.connect(dsn, autocommit=True)
    side.execute("SET client_min_messages = error")
    side.execute("SET lock_timeout = '10s'")
    side.execute("SET statement_timeout = '60s'")
    return side


class PostgresConnection(Threaded):
    """A session."""

    def __init__(self, dsn: str, schema: str, side: psycopg.Connection[Any]) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True, options=f"-c search_path={schema}")
        self._connection.prepare_threshold = None
        adapt(self._connection)
        self.set("SET DateStyle = 'ISO'")
        self.set("SET client_min_messages = error")
        self.level = ""
        self.impatient = False
        self._side = side
        self._pid = self._connection.info.backend_pid
        super().__init__()

    @property
    def closed(self) -> bool:
        """Whether it is gone."""
        return self._connection.closed or self._connection.broken

    def set(self, sql: str) -> None:
        """Run what answers nothing."""
        self._connection.execute(sql.encode())

    def _run(self, sql: str) -> Answer:
        invoked = now()
        try:
            cursor = self._connection.execute(sql.encode())
            found = None if cursor.description is None else cursor.fetchall()
        except psycopg.Error as error:
            state = error.sqlstate
            lost = self._connection.closed or state is None
            internal = state is not None and state.startswith("XX")
            return Answer(invoked, now(), error=state or "08006", message=str(error), lost=lost, internal=internal)
        returned = now()
        counted = (cursor.statusmessage or "").partition(" ")[0] in _COUNTED
        affected = cursor.rowcount if counted else None
        if found is None:
            return Answer(invoked, returned, affected=affected)
        columns = tuple(column.name for column in cursor.description or ())
        return Answer(invoked, returned, columns, [row_to_json(row) for row in found], affected)

    def _descriptor(self) -> int:
        return self._connection.pgconn.socket

    def waits(self) -> bool:
        """See `Connection`."""
        return self._beside("SELECT pg_blocking_pids(%s) <> '{}'")

    def cancel(self) -> None:
        """See `Connection`."""
        self._beside("SELECT pg_cancel_backend(%s)")

    def vanish(self) -> None:
        """See `Connection`."""
        self._beside("SELECT pg_terminate_backend(%s)")
        self.close()

    def _beside(self, sql: LiteralString) -> bool:
        """What is answered of the session on the connection beside it. Raises EngineDied."""
        try:
            ((answer,),) = self._side.execute(sql, (self._pid,)).fetchall()
        except psycopg.Error as error:
            raise EngineDied(str(error).strip()) from error
        return bool(answer)

    def roll_back(self) -> None:
        """End what a case left open. Raises EngineDied."""
        if not self.ended(self.cancel):
            raise EngineDied("a statement that was cancelled goes on")
        try:
            if not self.closed:
                self._connection.rollback()
        except psycopg.Error as error:
            raise EngineDied(str(error).strip()) from error

    def close(self) -> None:
        """Close it."""
        if self.end():
            self._connection.close()
