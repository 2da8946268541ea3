"""How each product reads and writes an object: its SQL, its driver's errors, its levels.

Objects of one type live in one table: registers and counters as ``(k, v)``, lists as texts that are appended to, sets
as a row for each element. Does not know what is drawn, nor what is logged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.record.drivers.mysql import LEVELS
from troubadour.record.errors import RecordError
from troubadour.record.servers.server import ISOLATION_LEVELS
from troubadour.workloads.objects import Operation, Type

Connection = Any
"""A DB-API connection in autocommit mode."""
Answer = int | list[int] | None


@dataclass(frozen=True, slots=True)
class Store:
    """A product. `begin`: by level, weaker ones first, what a session is told once and what begins each
    transaction."""

    name: str
    connect: Callable[[str], Connection]
    errors: Callable[[], tuple[type[Exception], ...]]
    lost: Callable[[Connection, Exception], bool]
    begin: Mapping[str, tuple[tuple[str, ...], str]]
    placeholder: str
    text: str
    """The type of lists."""
    upsert: str
    """``ON CONFLICT ... `` up to the new value of v."""
    new: str
    """What was to be inserted, as the upsert names it."""
    joined: str
    """A list and a new element, as one text."""
    ignore: str
    """An insert that leaves what is there."""
    wins: str = ""
    """What ends an insert that leaves what is there."""
    cursor: Callable[[Connection], Any] = field(default=lambda connection: connection.cursor())
    """What runs statements of a connection."""

    def create(self, type: Type) -> str:
        """The table's definition."""
        if type == "set":
            return "CREATE TABLE objects (k BIGINT, v BIGINT, PRIMARY KEY (k, v))"
        return f"CREATE TABLE objects (k BIGINT PRIMARY KEY, v {self.text if type == 'list' else 'BIGINT'} NOT NULL)"

    def write(self, type: Type) -> str:
        """Takes key and value."""
        if type == "set":
            return self._filled(f"{self.ignore} INTO objects (k, v) VALUES (?, ?) {self.wins}".strip())
        new = {"register": self.new, "list": self.joined, "counter": f"objects.v + {self.new}"}[type]
        return self._filled(f"INSERT INTO objects (k, v) VALUES (?, ?) {self.upsert} {new}")

    def read(self, type: Type) -> str:
        """Takes the key."""
        return self._filled("SELECT v FROM objects WHERE k = ?" + (" ORDER BY v" if type == "set" else ""))

    def _filled(self, sql: str) -> str:
        return sql.replace("?", self.placeholder)


def answer(type: Type, rows: list[tuple[Any, ...]]) -> Answer:
    """What a read says of an object, from its rows."""
    match type:
        case "set":
            return [int(value) for (value,) in rows]
        case "list":
            return [int(value) for value in rows[0][0].split()] if rows else []
        case "counter":
            return int(rows[0][0]) if rows else 0
        case "register":
            return int(rows[0][0]) if rows else None


def parameters(type: Type, operation: Operation) -> tuple[object, ...]:
    """Of a write."""
    return (operation.key, str(operation.value) if type == "list" else operation.value)


# --- products -------------------------------------------------------------------------------------------------------


def _postgres(dsn: str) -> Connection:
    import psycopg

    try:
        return psycopg.connect(dsn, autocommit=True)
    except psycopg.OperationalError as error:
        raise RecordError(f"cannot connect: {' '.join(str(error).split())}") from error


def _postgres_errors() -> tuple[type[Exception], ...]:
    import psycopg

    return (psycopg.Error,)


def _mysql(dsn: str) -> Connection:
    from troubadour.record.drivers.mysql import connect

    return connect(dsn)


def _mysql_errors() -> tuple[type[Exception], ...]:
    import pymysql

    return (pymysql.MySQLError,)


def _mysql_lost(connection: Connection, error: Exception) -> bool:
    from troubadour.record.drivers.mysql import LOST

    return not connection.open or (error.args[:1] and error.args[0] in LOST) or type(error).__name__ == "InterfaceError"


def _sqlite(dsn: str) -> Connection:
    connection = sqlite3.connect(dsn.partition(":")[2], isolation_level=None, check_same_thread=False, timeout=2)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _duckdb(dsn: str) -> Connection:
    import duckdb

    return duckdb.connect(dsn.partition(":")[2]).cursor()


def _duckdb_errors() -> tuple[type[Exception], ...]:
    import duckdb

    return (duckdb.Error,)


_CONFLICT = "ON CONFLICT (k) DO UPDATE SET v ="
_STANDARD: dict[str, Any] = {
    "upsert": _CONFLICT,
    "new": "excluded.v",
    "joined": "objects.v || ' ' || excluded.v",
    "ignore": "INSERT",
}
_WINS = "ON CONFLICT DO NOTHING"

PRODUCTS: Mapping[str, Store] = {
    "postgres": Store(
        "postgres",
        _postgres,
        _postgres_errors,
        lambda connection, _: bool(connection.closed),
        {level: ((), f"BEGIN ISOLATION LEVEL {name}") for level, name in ISOLATION_LEVELS.items()},
        "%s",
        "TEXT",
        **_STANDARD,
        wins=_WINS,
    ),
    "mariadb": Store(
        "mariadb",
        _mysql,
        _mysql_errors,
        _mysql_lost,
        {
            level: (
                (f"SET SESSION TRANSACTION ISOLATION LEVEL {name}", f"SET innodb_snapshot_isolation = {strict}"),
                "BEGIN",
            )
            for level in ISOLATION_LEVELS
            for name, strict in (LEVELS[level],)
        },
        "%s",
        "LONGTEXT",
        "ON DUPLICATE KEY UPDATE v =",
        "VALUES(v)",
        "CONCAT(objects.v, ' ', VALUES(v))",
        "INSERT IGNORE",
    ),
    "sqlite": Store(
        "sqlite",
        _sqlite,
        lambda: (sqlite3.Error,),
        lambda connection, error: isinstance(error, sqlite3.ProgrammingError),
        {"serializable": ((), "BEGIN")},
        "?",
        "TEXT",
        **_STANDARD,
        wins=_WINS,
    ),
    "duckdb": Store(
        "duckdb",
        _duckdb,
        _duckdb_errors,
        lambda connection, error: type(error).__name__ == "ConnectionException",
        {"snapshot": ((), "BEGIN")},
        "?",
        "VARCHAR",
        **_STANDARD,
        wins=_WINS,
        cursor=lambda connection: connection,
    ),
}


def close(store: Store, connection: Connection) -> None:
    """Whatever state it is in."""
    with suppress(*store.errors()):
        connection.close()
