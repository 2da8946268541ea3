"""MariaDB or MySQL by PyMySQL: started by us, or where a connection string leads; in a database of a fresh name.

Does not know what is run.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from troubadour.hunt.engines.protocol import Answer, Database, EngineDied, EngineError, Level, levels_of
from troubadour.hunt.engines.threaded import Threaded, now
from troubadour.record.drivers.detection import mysql_state, python_value
from troubadour.record.drivers.mysql import COLLATION, connect, describe
from troubadour.record.errors import RecordError
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

LEVELS = levels_of(
    Level("repeatable-read", "REPEATABLE READ", "mysql:repeatable-read", "snapshot"),
    Level("read-committed", "READ COMMITTED", "mysql:read-committed", "read-committed"),
    Level("serializable", "SERIALIZABLE", "mysql:serializable", "serializable"),
)
_OPTIONS = ("--innodb-flush-log-at-trx-commit=2",)
"""What is committed is with the operating system: it outlives a killed server."""
_COUNTED = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_TABLES = (
    "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
    " OR (DATABASE() IS NULL AND TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys'))"
)
_ROW_WAITS = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"
"""Not INNODB_TRX, whose copy is never made anew while it is read more than ten times a second."""
_TABLE_WAITS = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'"


class MariaDB:
    """A server. `dsn` None: one is started."""

    dialect = "mysql"
    levels = LEVELS
    at_once = True
    undoes = True

    def __init__(self, name: str, dsn: str | None = None) -> None:
        self.name = name
        self._database = _fresh()
        self._left: list[str] = []
        self._sessions: dict[int, MariaConnection] = {}
        self._given = dsn
        self._server: PrivateMariaDB | None = None
        reason = missing() if dsn is None else None
        if reason is not None:
            raise EngineError(f"{name}: {reason}")
        try:
            with ExitStack() as stack:
                if dsn is None:
                    self._server = stack.enter_context(PrivateMariaDB(_OPTIONS))
                    dsn = self._server.dsn
                self._dsn = dsn
                self._connect()
                self._stack = stack.pop_all()
        except (RecordError, RuntimeError, OSError, EngineDied, subprocess.SubprocessError) as error:
            raise EngineError(f"{name}: {error}") from error

    @property
    def crashes(self) -> bool:
        """See `Engine`."""
        return self._server is not None

    def crash(self) -> None:
        """See `Database`."""
        self.restart()

    def _connect(self) -> None:
        self.side = _beside(self._dsn)
        ((tables,),) = self.ask(_TABLES)
        if self._given is not None and tables:
            self.side.close()
            raise EngineError(f"{self.name}: the database has {tables} tables; give one that is empty")
        told = describe(self.side)
        self.dbms = str(told["dbms"])
        self._settings: Any = told["settings"]

    def ask(self, sql: str, *params: object) -> list[Any]:
        """On the connection beside the sessions. Raises EngineDied."""
        import pymysql

        try:
            with self.side.cursor() as cursor:
                cursor.execute(sql, params or None)
                return list(cursor.fetchall())
        except pymysql.MySQLError as error:
            raise EngineDied(str(error)) from error

    def all_wait(self) -> bool:
        """Whether every session without its answer waits for another one: the server tells how many wait."""
        ((_, rows),), ((tables,),) = self.ask(_ROW_WAITS), self.ask(_TABLE_WAITS)
        return int(rows) + int(tables) >= sum(session.unanswered for session in self._sessions.values())

    @contextmanager
    def database(self, flavour: str = "") -> Iterator[Database]:
        """A fresh database."""
        import pymysql

        try:
            self.ask(f"DROP DATABASE IF EXISTS {self._database}")
            self.ask(f"CREATE DATABASE {self._database} CHARACTER SET utf8mb4 COLLATE {COLLATION}")
            for session in self._sessions.values():
                session.use(self._database)
        except pymysql.MySQLError as error:
            raise EngineDied(str(error)) from error
        try:
            yield self
        finally:
            for session in self._sessions.values():
                session.roll_back()

    def connection(self, number: int, level: Level) -> MariaConnection:
        """See `Database`."""
        import pymysql

        found = self._sessions.get(number)
        if found is None or found.closed:
            try:
                found = self._sessions[number] = MariaConnection(self, connect(self._dsn, self._database))
            except (RecordError, pymysql.MySQLError) as error:
                raise EngineDied(str(error)) from error
        if found.level != level.sql:
            found.set(f"SET SESSION TRANSACTION ISOLATION LEVEL {level.sql}")
            found.level = level.sql
        return found

    def settings(self) -> dict[str, Any]:
        """See `Engine`."""
        return dict(self._settings)

    def restart(self) -> None:
        """Connect again, to a server of our own once it is started anew; elsewhere for another database, since what
        goes on in the one before may hold its locks."""
        try:
            if self._server is not None:
                self._server.crash()
            else:
                self._left.append(self._database)
                self._database = _fresh()
            for session in self._sessions.values():
                session.close()
            self._sessions = {}
            self.side = _beside(self._dsn)
        except (RecordError, RuntimeError) as error:
            raise EngineError(f"{self.name}: {error}") from error

    def close(self) -> None:
        """End the server where it was started here, and with it what still runs there; else drop the database."""
        import pymysql

        self._stack.close()
        for session in self._sessions.values():
            session.close()
        with suppress(pymysql.MySQLError, EngineDied):
            for database in (*self._left, self._database) if self._server is None else ():
                self.ask(f"DROP DATABASE IF EXISTS {database}")
            self.side.close()


def _fresh() -> str:
    """A name that is taken by nothing."""
    return f"troubadour_hunt_{secrets.token_hex(4)}"


def _beside(dsn: str) -> Any:
    """The connection beside the sessions, which waits for no lock for long."""
    side = connect(dsn)
    with side.cursor() as cursor:
        cursor.execute("SET SESSION lock_wait_timeout = 20")
    return side


class MariaConnection(Threaded):
    """A session."""

    def __init__(self, engine: MariaDB, connection: Any) -> None:
        self._engine = engine
        self._connection = connection
        self.level = ""
        self.set("SET SESSION innodb_lock_wait_timeout = 20")
        super().__init__()

    @property
    def closed(self) -> bool:
        """Whether it is gone."""
        return not self._connection.open

    def set(self, sql: str) -> None:
        """Run what answers nothing."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def use(self, database: str) -> None:
        """Go to a database of that name."""
        if not self.closed:
            self._connection.select_db(database)

    def _run(self, sql: str) -> Answer:
        import pymysql

        invoked = now()
        try:
            with self._connection.cursor() as cursor:
                count = cursor.execute(sql)
                found = None if cursor.description is None else cursor.fetchall()
                columns = tuple(column[0] for column in cursor.description or ())
        except pymysql.MySQLError as error:
            state = mysql_state(self._connection, error)
            return Answer(invoked, now(), error=state or "08006", message=str(error), lost=state is None)
        returned = now()
        if found is None:
            return Answer(
                invoked, returned, affected=count if sql.lstrip().split(None, 1)[0].upper() in _COUNTED else None
            )
        return Answer(invoked, returned, columns, [list(map(python_value, row)) for row in found])

    def _descriptor(self) -> int:
        return int(self._connection._sock.fileno())

    def waits(self) -> bool:
        """See `Connection`."""
        return self._engine.all_wait()

    def cancel(self) -> None:
        """See `Connection`."""
        self._engine.ask(f"KILL QUERY {self._connection.thread_id()}")

    def vanish(self) -> None:
        """See `Connection`."""
        self._engine.ask(f"KILL CONNECTION {self._connection.thread_id()}")
        self.close()

    def roll_back(self) -> None:
        """End what a case left open. Raises EngineDied."""
        import pymysql

        if not self.ended(self.cancel):
            raise EngineDied("a statement that was cancelled goes on")
        try:
            if not self.closed:
                self._connection.rollback()
        except pymysql.MySQLError as error:
            raise EngineDied(str(error)) from error

    def close(self) -> None:
        """Close it."""
        if self.end() and not self.closed:
            self._connection.close()
