"""Recording on MariaDB, through PyMySQL: connections, sessions and a recorder as for PostgreSQL (CONTRACT §1).

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

from troubadour.formats import LogWriter
from troubadour.record.errors import ConnectionLost, RecordError, ServerError
from troubadour.record.recorder import INLINE_ROWS
from troubadour.record.session import monotonic_us
from troubadour.record.sink import transaction_line
from troubadour.record.values import row_to_json
from troubadour.record.workload import Answer

COLLATION = "utf8mb4_bin"
LEVELS: Mapping[str, tuple[str, str]] = {
    "read-committed": ("READ COMMITTED", "OFF"),
    "snapshot": ("REPEATABLE READ", "ON"),
    "mysql:repeatable-read": ("REPEATABLE READ", "OFF"),
    "serializable": ("SERIALIZABLE", "OFF"),
}
"""The level that a log names; the one that MariaDB is asked for, and whether InnoDB is to refuse to write over what its
snapshot does not have (`innodb_snapshot_isolation`; without it REPEATABLE READ is no snapshot isolation)."""

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
    """As `RecordedSession`, on a connection of PyMySQL. Raises ServerError where the server answers with an error."""

    def __init__(self, connection: Any, name: str, isolation: str, writer: LogWriter) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._name = name
        self._writer = writer
        self._count = 0
        self._invoked = 0
        self._statements: list[dict[str, object]] = []
        level, refuses = LEVELS[isolation]
        self._cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        self._cursor.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
        if self._cursor.fetchall():
            self._cursor.execute(f"SET SESSION innodb_snapshot_isolation = {refuses}")
        elif refuses == "ON":
            raise RecordError(
                "this server has no innodb_snapshot_isolation, so none of its levels is snapshot isolation"
            )

    def begin(self) -> None:
        """Start a transaction."""
        self._statements = []
        self._invoked = monotonic_us()
        self._send("START TRANSACTION", None)
        self._count += 1

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run and log one statement with ``$1`` placeholders; the log has it with ``%s``."""
        text, given = percent(sql, params)
        entry: dict[str, object] = {"sql": text}
        if given:
            entry["params"] = row_to_json(given)
        entry["invoked"] = monotonic_us()
        try:
            self._send(text, given or None)
            results = self._results()
        except ServerError as error:
            entry["returned"] = monotonic_us()
            entry["error"] = {"sqlstate": error.sqlstate, "message": str(error)}
            self._statements.append(entry)
            raise
        except ConnectionLost:
            entry["outcome"] = "unknown"
            self._statements.append(entry)
            self._put("aborted", None, None)
            raise
        entry["returned"] = monotonic_us()
        affected = None
        if text.lstrip()[:4].upper() == "CALL":
            if results:
                entry["results"] = results
        elif results:
            (entry["result"],) = results
        else:
            affected = entry["affected"] = self._cursor.rowcount
        self._statements.append(entry)
        return Answer(self._rows, affected)

    def commit(self) -> bool:
        """COMMIT; without an answer the transaction is logged as unknown and ConnectionLost raised."""
        invoked = monotonic_us()
        self._writer.intent(self._line("unknown", {"invoked": invoked}, None))
        try:
            self._send("COMMIT", None)
        except ConnectionLost:
            self._put("unknown", {"invoked": invoked}, None)
            raise
        except ServerError as error:
            end = {"invoked": invoked, "returned": monotonic_us(), "error": {"sqlstate": error.sqlstate}}
            self._put("aborted", end, monotonic_us())
            raise
        self._put("committed", {"invoked": invoked, "returned": monotonic_us()}, monotonic_us())
        return True

    def rollback(self) -> None:
        """ROLLBACK."""
        invoked = monotonic_us()
        try:
            self._send("ROLLBACK", None)
        except ConnectionLost:
            self._put("aborted", {"invoked": invoked}, None)
            raise
        self._put("aborted", {"invoked": invoked, "returned": monotonic_us()}, monotonic_us())

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
            self._connection.close() if self._connection.open else None
            return ConnectionLost(f"session {self._name}: connection lost: {error}")
        return ServerError(error.sqlstate or "HY000", str(error.args[1]), code)

    def _results(self) -> list[dict[str, object]]:
        import pymysql

        results: list[dict[str, object]] = []
        self._rows: Sequence[tuple[object, ...]] = []
        try:
            while True:
                if self._cursor.description is not None:
                    self._rows = self._cursor.fetchall()
                    columns = [column[0] for column in self._cursor.description]
                    results.append({"columns": columns, "rows": [row_to_json(row) for row in self._rows]})
                if not self._cursor.nextset():
                    return results
        except pymysql.MySQLError as error:
            raise self._translated(error) from error

    def _line(self, status: str, end: Mapping[str, object] | None, returned: int | None) -> dict[str, object]:
        return transaction_line(self._name, self._count, status, self._invoked, self._statements, end, returned)

    def _put(self, status: str, end: Mapping[str, object] | None, returned: int | None) -> None:
        self._writer.transaction(self._line(status, end, returned))


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
        self._dsn, self._database, self._isolation = dsn, database, isolation
        with connect(dsn, database) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT version(), @@sql_mode, @@collation_connection, @@time_zone, @@system_time_zone")
            version, mode, collation, zone, system = cursor.fetchone()
            rows: dict[str, list[Any]] = {}
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            for table, columns in tables.items():
                cursor.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1")
                rows[table] = [row_to_json(row) for row in cursor.fetchall()]
        inline = {table: found for table, found in rows.items() if len(found) <= INLINE_ROWS}
        header = {
            "dialect": "mysql",
            "dbms": f"MariaDB {version.split('-')[0]}",
            "isolation": isolation,
            "order": "hint",
            "clock": f"monotonic-{secrets.token_hex(4)}",
            "settings": {
                "sql_mode": mode,
                "collation": collation,
                "timezone": system if zone == "SYSTEM" else zone,
                "found_rows": False,
            },
            "schema": list(schema),
            "procedures": list(procedures),
            "initial": {table: {"columns": list(tables[table]), "rows": found} for table, found in inline.items()},
        }
        self._writer = LogWriter(path, header)
        for table in rows.keys() - inline.keys():
            self._writer.rows(table, tables[table], rows[table])

    def session(self, name: str) -> MariaSession:
        """A session on a connection of its own."""
        return MariaSession(connect(self._dsn, self._database), name, self._isolation, self._writer)

    def close(self) -> None:
        """Finish the log; the sessions must be idle."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
