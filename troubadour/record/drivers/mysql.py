"""Recording a workload on MariaDB, by PyMySQL: connections, sessions and a recorder as for PostgreSQL.

The server tells no commit timestamps, so a log is ordered by the client's clock. Does not know the workload.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from troubadour.record.core.segments import Captured, begin_anew
from troubadour.record.dbapi import wrap
from troubadour.record.errors import ConnectionLost, RecordError, ServerError
from troubadour.record.runs.workload import Answer
from troubadour.record.settings import ALL_TOLD, mysql_settings
from troubadour.record.values import row_to_json

COLLATION = "utf8mb4_bin"
LEVELS: Mapping[str, tuple[str, str]] = {
    "read-committed": ("READ COMMITTED", "OFF"),
    "mysql:read-committed": ("READ COMMITTED", "OFF"),
    "snapshot": ("REPEATABLE READ", "ON"),
    "mysql:repeatable-read": ("REPEATABLE READ", "OFF"),
    "serializable": ("SERIALIZABLE", "OFF"),
    "mysql:serializable": ("SERIALIZABLE", "OFF"),
}
"""The level that a workload names; the one that MariaDB is asked for, and whether InnoDB is to refuse to write over
what its snapshot does not have (`innodb_snapshot_isolation`; without it REPEATABLE READ is no snapshot isolation)."""

NAMES: Mapping[str, str] = {"read-committed": "mysql:read-committed", "serializable": "mysql:serializable"}
"""What a log is held to where a workload names a general level: what InnoDB promises there."""

LOST = frozenset({1053, 1927, 2003, 2006, 2013, 2055})
"""Errors of a connection that is gone: server shutdown, killed, unreachable, gone away, lost."""
_PLACEHOLDER = re.compile(r"\$(\d+)")


def connect(dsn: str, database: str | None = None) -> Any:
    """An autocommitting connection to ``mysql://user:password@host:port/database?unix_socket=...``, texts compared by
    code points. Raises RecordError if the server cannot be reached."""
    import pymysql

    parts = urlsplit(dsn)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    if parts.hostname and "unix_socket" not in options:
        options |= {"host": parts.hostname, "port": parts.port or 3306}
    try:
        return pymysql.connect(
            user=unquote(parts.username or "root"),
            password=unquote(parts.password or ""),
            database=database or parts.path.lstrip("/") or None,
            charset="utf8mb4",
            collation=COLLATION,
            autocommit=True,
            **options,
        )
    except (pymysql.MySQLError, TypeError) as error:
        raise RecordError(f"cannot connect: {error}") from error


@contextmanager
def scratch_database(dsn: str) -> Iterator[str]:
    """A database of a fresh name for the workload's tables, dropped with them at exit."""
    name = f"troubadour_{secrets.token_hex(4)}"
    with connect(dsn) as connection:
        connection.cursor().execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE {COLLATION}")
    try:
        yield name
    finally:
        with connect(dsn) as connection:
            connection.cursor().execute(f"DROP DATABASE {name}")


def percent(sql: str, params: Sequence[object]) -> tuple[str, list[object]]:
    """A text with ``$1`` placeholders, and its parameters, as PyMySQL takes them: ``%s``, one parameter each."""
    if not params:
        return sql, []
    given: list[object] = []

    def replace(match: re.Match[str]) -> str:
        given.append(params[int(match[1]) - 1])
        return "%s"

    return _PLACEHOLDER.sub(replace, sql.replace("%", "%%")), given


class MariaSession:
    """As `PostgresSession`, on a connection of PyMySQL, recorded or not, that `set_level` has set up. Raises
    ServerError where the server answers with an error."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._name = name

    def begin(self) -> None:
        """Start a transaction."""
        self._send("START TRANSACTION", None)

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run one statement with ``$1`` placeholders."""
        text, given = percent(sql, params)
        self._send(text, given or None)
        cursor = self._cursor
        if cursor.description is None:
            return Answer((), None if text.lstrip()[:4].upper() == "CALL" else cursor.rowcount)
        while True:
            rows = cursor.fetchall()
            if not cursor.nextset() or cursor.description is None:
                return Answer(rows, None)

    def commit(self) -> bool:
        """COMMIT."""
        self._send("COMMIT", None)
        return True

    def rollback(self) -> None:
        """ROLLBACK."""
        self._send("ROLLBACK", None)

    def close(self) -> None:
        """Close the connection."""
        if self._connection.open:
            self._connection.close()

    def _send(self, sql: str, params: Sequence[object] | None) -> None:
        import pymysql

        try:
            self._cursor.execute(sql, params)
        except pymysql.MySQLError as error:
            raise self._translated(error) from error

    def _translated(self, error: Any) -> Exception:
        code = error.args[0] if error.args else 0
        if code in LOST or not self._connection.open:
            self.close()
            return ConnectionLost(f"session {self._name}: connection lost: {error}")
        return ServerError(error.sqlstate or "HY000", str(error.args[1]), code)


def set_level(connection: Any, isolation: str) -> None:
    """Make later transactions of a connection run at a level of `LEVELS`. Raises RecordError where that is none."""
    level, refuses = LEVELS[isolation]
    cursor = connection.cursor()
    cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
    cursor.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
    if cursor.fetchall():
        cursor.execute(f"SET SESSION innodb_snapshot_isolation = {refuses}")
    elif refuses == "ON":
        raise RecordError("this server has no innodb_snapshot_isolation, so none of its levels is snapshot isolation")


class MariaRecorder:
    """As `Recorder`, on MariaDB: `database` holds the tables, whose rows become the log's initial state."""

    def __init__(
        self,
        dsn: str,
        path: Path,
        *,
        isolation: str,
        schema: Sequence[str],
        tables: Mapping[str, Sequence[str]],
        database: str,
        procedures: Sequence[str] = (),
    ) -> None:
        if isolation not in LEVELS:
            raise RecordError(f"isolation {isolation!r} is none of {', '.join(LEVELS)}")
        self._dsn, self._database, self._isolation, self._path = dsn, database, isolation, path
        self._names: set[str] = set()
        with connect(dsn, database) as connection:
            named = NAMES.get(isolation, isolation)
            header = {**describe(connection), "isolation": named, "schema": schema, "procedures": procedures}
            cursor = connection.cursor()
            rows = []
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            for table, columns in tables.items():
                cursor.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1")
                rows.append((table, columns, [row_to_json(row) for row in cursor.fetchall()]))
        self._journal = begin_anew(path, Captured(header, rows))

    def session(self, name: str) -> MariaSession:
        """A session on a connection of its own. Raises RecordError as `Recorder.session` does."""
        if name in self._names:
            raise RecordError(f"session {name!r} is in this log already")
        connection = connect(self._dsn, self._database)
        set_level(connection, self._isolation)
        recorded = wrap(connection, log=self._path)
        recorded.recording.tape.named(name)
        self._names.add(name)
        return MariaSession(recorded, name)

    def close(self) -> None:
        """Finish the log; the sessions must be idle."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def describe(connection: Any) -> dict[str, object]:
    """The header's `dialect`, `dbms` and `settings`, from the server."""
    cursor = connection.cursor()

    def ask(sql: str) -> list[tuple[Any, ...]]:
        cursor.execute(sql)
        return list(cursor.fetchall())

    ((version, mode, collation, zone, system),) = ask(
        "SELECT version(), @@sql_mode, @@collation_connection, @@time_zone, @@system_time_zone"
    )
    return {
        "dialect": "mysql",
        "dbms": f"MariaDB {version.split('-')[0]}",
        "settings": {
            "sql_mode": mode,
            "collation": collation,
            "timezone": system if zone == "SYSTEM" else zone,
            "found_rows": False,
            **ALL_TOLD,
            **mysql_settings(ask),
        },
    }
