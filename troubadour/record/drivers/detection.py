"""What the DB-API wrapper must know of a driver, one row of data each: sqlite3, DuckDB, PyMySQL.

PEP 249 leaves open when a transaction begins, what an error means and what parameters become; the drivers tell, each in
its own way. Does not know the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from time import struct_time
from typing import Any
from uuid import UUID

import msgspec

from sql_semantics.records import dataclass
from troubadour.record.capture import capture_duckdb, capture_mysql, capture_sqlite, plain_cursor
from troubadour.record.core.segments import Captured
from troubadour.record.errors import NotRecorded
from troubadour.record.settings import Ask, Told, duckdb_settings, mysql_settings, sqlite_settings
from troubadour.record.statements.texts import Text, Verb

DDL = ("CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME", "LOCK", "UNLOCK", "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE")


@dataclass(frozen=True, slots=True)
class Driver:
    """`modules`: where its connection classes live. `style`: ``?`` or ``%s``.

    - `is_open(connection, begun)`: whether a transaction is open; `begun`: BEGIN was sent and nothing ended it.
    - `is_alone(connection, text, word)`: whether a statement outside a transaction is one by itself; `word` is its
      first.
    - `sqlstate(connection, error)`: of an error that the DBMS answered with; None where the connection is gone.
      Raises the error where the driver itself refused, and nothing was sent.
    - `rolled_back(error)`: whether an error in answer to COMMIT says that it did not happen.
    - `level(connection)`: what its transactions run at; `level_named(connection, name)`: what those do that ask for
      a level by SQL's name.
    - `placed(value)`: a parameter as (text to put around its placeholder, with {} for it; its JSON value), or
      as (literal, None) to put in its place.
    - `database(connection)`: what tells its database from others, None where nothing does; and a name for it.
    - `value(value)`: a fetched value as JSON.
    - `roll_back(connection)`: end the open transaction, however it was begun.
    - `lasts`: whether a transaction goes on after an error; `ends(error)`: whether this one rolled it back, though
      `is_open` may not say so yet.
    - `retries_commit`: a COMMIT that fails may leave the transaction open, to be tried again.
    - `counts(connection, sql)`: whether the one column ``Count`` that a statement answered is the number of its rows,
      and not a result.
    - `settings(connection)`: what it is set to that is no default, as `record.settings` tells it.
    - `plain_cursor(connection)`: one whose rows are tuples.
    - `cursors_are_connections`: a cursor has transactions of its own, and connections execute.
    """

    name: str
    dialect: str
    modules: Sequence[str]
    style: str
    is_open: Callable[[Any, bool], bool]
    is_alone: Callable[[Any, Text, str], bool]
    sqlstate: Callable[[Any, BaseException], str | None]
    rolled_back: Callable[[BaseException], bool]
    level: Callable[[Any], str]
    placed: Callable[[Any], tuple[str, Any]]
    capture: Callable[[Any], Captured]
    database: Callable[[Any], tuple[Any, str]]
    value: Callable[[Any], Any]
    level_named: Callable[[Any, str], str | None] = lambda connection, name: None
    roll_back: Callable[[Any], object] = lambda connection: connection.rollback()
    lasts: bool = True
    cursors_are_connections: bool = False
    retries_commit: bool = False
    ends: Callable[[BaseException], bool] = lambda error: False
    counts: Callable[[Any, str], bool] = lambda connection, sql: False
    settings: Callable[[Any], Told] | None = None
    plain_cursor: Callable[[Any], Any] = lambda connection: connection.cursor()


def plain(value: Any) -> Any:
    """A number, a text or bytes of a subclass (an enum's, NumPy's, an ORM's) as the value that it has as such; a large
    integer as JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        number = int.__int__(value)
        return number if -(2**63) <= number < 2**64 else msgspec.Raw(str(number).encode())
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    return bytes(memoryview(value)) if isinstance(value, (bytes, bytearray, memoryview)) else value


REDACTED = {"redacted": True}
"""A value that is not known."""

# -- sqlite3

_SQLITE_STATES = {
    "SQLITE_CONSTRAINT_PRIMARYKEY": "23505",
    "SQLITE_CONSTRAINT_UNIQUE": "23505",
    "SQLITE_CONSTRAINT_ROWID": "23505",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "23503",
    "SQLITE_CONSTRAINT_NOTNULL": "23502",
    "SQLITE_CONSTRAINT_CHECK": "23514",
    "SQLITE_CONSTRAINT": "23000",
    "SQLITE_BUSY": "40001",
    "SQLITE_LOCKED": "40001",
    "SQLITE_FULL": "53100",
    "SQLITE_NOMEM": "53200",
    "SQLITE_IOERR": "58030",
    "SQLITE_CORRUPT": "58030",
    "SQLITE_INTERRUPT": "57014",
    "SQLITE_MISMATCH": "22018",
    "SQLITE_TOOBIG": "54000",
    "SQLITE_READONLY": "25006",
    "SQLITE_ERROR": "42000",
    "SQLITE_SCHEMA": "42000",
    "SQLITE_AUTH": "42501",
}


def sqlite_state(name: str) -> str | None:
    """The SQLSTATE of an error by its name, or by that which an extended code belongs to: SQLITE_BUSY_SNAPSHOT."""
    return _SQLITE_STATES.get(name) or _SQLITE_STATES.get("_".join(name.split("_")[:2]))


def _sqlite_state(connection: Any, error: BaseException) -> str | None:
    name = getattr(error, "sqlite_errorname", None)
    if not isinstance(error, sqlite3.Error) or name is None:
        raise error
    state = sqlite_state(name)
    if state is None:  # one that Python does not know: SQLITE_CONSTRAINT_DATATYPE of STRICT tables
        state = "23000" if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CONSTRAINT else "58000"
    return state


def _sqlite_alone(connection: Any, text: Text, word: str) -> bool:
    if text.verb is Verb.SAVEPOINT:
        return False  # it begins a transaction, which the RELEASE of it commits (sqlite.org/lang_savepoint.html)
    mode = getattr(connection, "autocommit", None)
    if mode is False:
        return False
    if mode is True or connection.isolation_level is None:
        return True
    return word not in ("INSERT", "UPDATE", "DELETE", "REPLACE")


def _sqlite_placed(value: Any) -> tuple[str, Any]:
    if type(value) not in (int, float, str, bytearray):
        value = sqlite3.adapt(value, sqlite3.PrepareProtocol, value)  # as sqlite3 does, by the application's adapters
    value = plain(value)
    if isinstance(value, bytes):
        return f"x'{value.hex()}'", None
    if value is not None and not isinstance(value, (bool, int, float, str)):
        return "{}", REDACTED  # sqlite3 will refuse it
    if isinstance(value, float) and value - value:  # NaN is stored as NULL
        return ("NULL", None) if value != value else (("9e999" if value > 0 else "-9e999"), None)
    return "{}", int(value) if isinstance(value, bool) else value


def _sqlite_database(connection: Any) -> tuple[Any, str]:
    ((_, _, file),) = (row for row in sqlite3.Cursor(connection).execute("PRAGMA database_list") if row[1] == "main")
    return file or None, Path(file).stem if file else "memory"


def sqlite_value(value: Any) -> Any:
    """What a converter of the application's made of a stored value is taken back."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return python_value(value)


# -- DuckDB


def _duckdb_database(connection: Any) -> tuple[Any, str]:
    cursor = connection.cursor()
    cursor.execute("SELECT database_name, path FROM duckdb_databases() WHERE database_name = current_database()")
    name, path = cursor.fetchone()
    return path, name


_DUCKDB_STATES: Sequence[tuple[str, str]] = (
    ("ConstraintException", "23000"),
    ("TransactionException", "40001"),
    ("ConversionException", "22000"),
    ("OutOfRangeException", "22003"),
    ("BinderException", "42000"),
    ("ParserException", "42601"),
    ("SyntaxException", "42601"),
    ("CatalogException", "42704"),
    ("NotImplementedException", "0A000"),
    ("InvalidInputException", "22000"),
    ("InterruptException", "57014"),
    ("OutOfMemoryException", "53200"),
    ("DependencyException", "2BP01"),
)
"""SQLSTATEs by the names of DuckDB's exceptions."""


def duckdb_state(kinds: Sequence[str], message: str) -> str:
    """The SQLSTATE of an error by the names of its classes and its message."""
    if "Current transaction is aborted" in message:
        return "25P02"
    return next((state for kind, state in _DUCKDB_STATES if kind in kinds), "58000")


def _duckdb_state(connection: Any, error: BaseException) -> str | None:
    import duckdb

    if not isinstance(error, duckdb.Error):
        raise error
    return duckdb_state([kind.__name__ for kind in type(error).__mro__], str(error))


_DUCKDB_CASTS: Sequence[tuple[type, str]] = (
    (datetime, "TIMESTAMP"),
    (date, "DATE"),
    (time, "TIME"),
    (float, "DOUBLE"),
    (UUID, "UUID"),
)


def _duckdb_value(value: Any) -> Any:
    """As `python_value`; of an INTERVAL the driver does not tell months and days from hours."""
    return {"redacted": True} if isinstance(value, timedelta) else python_value(value)


_COUNTED = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO", "CREATE", "COPY"})


def _duckdb_counts(connection: Any, sql: str) -> bool:
    """By the type that the engine gives the last statement of the text, and whether that has RETURNING."""
    import duckdb

    last = connection.extract_statements(sql)[-1]
    if last.type.name not in _COUNTED:
        return False
    text = last.query.encode()
    keywords = (place for place, kind in duckdb.tokenize(last.query) if kind == duckdb.token_type.keyword)
    return not any(text[place : place + 9].upper() == b"RETURNING" for place in keywords)


def _duckdb_placed(value: Any) -> tuple[str, Any]:
    if value is None or isinstance(value, (bool, int, str)):
        return "{}", plain(value)
    if isinstance(value, Decimal) and value.is_finite():
        scale = max(0, -int(value.as_tuple().exponent))
        return f"CAST({{}} AS DECIMAL({max(18, value.adjusted() + 1 + scale)}, {scale}))", format(value, "f")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "'" + "".join(f"\\x{byte:02x}" for byte in bytes(value)) + "'::BLOB", None
    for kind, name in _DUCKDB_CASTS:
        if isinstance(value, kind):
            if isinstance(value, datetime) and value.tzinfo is not None:
                name = "TIMESTAMPTZ"
            return f"CAST({{}} AS {name})", plain(value) if kind is float else _iso(value)
    raise NotRecorded(f"a parameter of type {type(value).__name__} has no form in the log: convert it yourself")


# -- PyMySQL

MYSQL_ROLLED_BACK = frozenset({1020, 1205, 1213})
"""Errors in answer to COMMIT that say that it did not happen."""
MYSQL_LEVELS = {
    "READ-UNCOMMITTED": "read-uncommitted",
    "READ-COMMITTED": "mysql:read-committed",
    "REPEATABLE-READ": "mysql:repeatable-read",
    "SERIALIZABLE": "mysql:serializable",
}
_MYSQL_LOST = frozenset({1053, 1927, 2003, 2006, 2013, 2055})
"""Server shutdown, connection killed, unreachable, gone away, lost."""


def mysql_state(connection: Any, error: BaseException) -> str | None:
    """The SQLSTATE of an error of PyMySQL; None where the connection is gone."""
    import pymysql

    code = error.args[0] if error.args else None
    if not isinstance(error, pymysql.MySQLError):
        raise error
    if code in _MYSQL_LOST or not connection.open:
        return None
    if not isinstance(code, int):
        raise error
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and len(state) == 5 else "HY000"


def _mysql_alone(connection: Any, text: Text, word: str) -> bool:
    return bool(connection.get_autocommit()) or word in DDL


def mysql_placed(value: Any) -> tuple[str, Any]:
    """A parameter, as `Driver.placed` of PyMySQL has it."""
    kind = type(value)
    if isinstance(value, str):
        return "{}", plain(value)
    if isinstance(value, (bytes, bytearray)):
        return f"x'{plain(value).hex()}'", None
    if kind is float:
        return f"{value!r}" if "e" in repr(value) else f"{value!r}e0", None  # as PyMySQL does
    if kind is bool:
        return ("true" if value else "false"), None
    if kind is Decimal:
        return format(value, "f"), None
    if value is None or kind is int:
        return "{}", plain(value)
    if kind in (datetime, date, time):
        return "{}", _iso(value)
    if kind in (list, tuple, set, frozenset, dict, timedelta, struct_time):
        raise NotRecorded(f"a parameter of type {kind.__name__} has no form in the log: convert it yourself")
    return "{}", str(value)  # to PyMySQL a subclass of a number is the text that it has


def _mysql_database(connection: Any) -> tuple[Any, str]:
    name = connection.db.decode() if isinstance(connection.db, bytes) else str(connection.db)
    return (connection.unix_socket or (connection.host, connection.port), name), name


def mysql_level(connection: Any, named: str | None = None) -> str:
    """What transactions of a connection run at, or those that ask for a level by name."""
    with connection.cursor() as cursor:
        if named is None:
            mariadb = "MariaDB" in connection.get_server_info()
            cursor.execute("SELECT @@tx_isolation" if mariadb else "SELECT @@transaction_isolation")
            row = cursor.fetchone()
            named = next(iter(row.values())) if isinstance(row, dict) else row[0]
        level = MYSQL_LEVELS[named.replace(" ", "-")]
        cursor.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
        found = cursor.fetchone()
    refuses = found is not None and (list(found.values()) if isinstance(found, dict) else found)[1] == "ON"
    return "snapshot" if refuses and level == "mysql:repeatable-read" else level


def _iso(value: Any) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def python_value(value: Any) -> Any:
    """A fetched value as JSON; what has no form there was not observed."""
    if value is None or isinstance(value, (bool, int, str)):
        return plain(value)
    if isinstance(value, float):
        return (
            plain(value)
            if value - value == 0
            else "NaN"
            if value != value
            else "Infinity"
            if value > 0
            else "-Infinity"
        )
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "\\x" + bytes(value).hex()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, timedelta):
        return _clock(value)
    if isinstance(value, (list, tuple, dict, set)):
        return _nested(value)
    return {"redacted": True}


def _clock(value: timedelta) -> str:
    """MySQL's TIME, which may be negative or of several days."""
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    seconds = value.days * 86400 + value.seconds
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text if not value.microseconds else f"{text}.{value.microseconds:06}"


def _nested(value: Any) -> str:
    """A list, struct or map as DuckDB writes it in a text."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{key}': {_nested(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple, set)):
        return "[" + ", ".join(map(_nested, value)) + "]"
    if isinstance(value, int):
        return str(value)
    found = python_value(value)
    return "NULL" if found is None else str(found)


def _sqlite_cursor(connection: Any) -> Any:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


def _sqlite_plain(connection: Any) -> Ask:
    def ask(sql: str) -> Sequence[Sequence[Any]]:
        found: list[Any] = _sqlite_cursor(connection).execute(sql).fetchall()
        return found

    return ask


def _mysql_plain(connection: Any) -> Ask:
    def ask(sql: str) -> Sequence[Sequence[Any]]:
        with plain_cursor(connection) as cursor:
            cursor.execute(sql)
            found: Sequence[Sequence[Any]] = cursor.fetchall()
            return found

    return ask


DRIVERS = (
    Driver(
        "sqlite3", "sqlite", ("sqlite3",), "?",
        is_open=lambda connection, begun: bool(connection.in_transaction),
        is_alone=_sqlite_alone,
        sqlstate=_sqlite_state,
        rolled_back=lambda error: False,
        level=lambda connection: "sqlite",
        placed=_sqlite_placed,
        database=_sqlite_database,
        value=sqlite_value,
        capture=capture_sqlite,
        settings=lambda connection: sqlite_settings(_sqlite_plain(connection)),
        # with autocommit=True its own method does nothing
        roll_back=lambda connection: (
            connection.execute("ROLLBACK") if getattr(connection, "autocommit", None) is True else connection.rollback()
        ),
        retries_commit=True,
        plain_cursor=_sqlite_cursor,
    ),
    Driver(
        "duckdb", "duckdb", ("duckdb", "_duckdb"), "?",
        is_open=lambda connection, begun: begun,
        is_alone=lambda connection, text, word: True,
        sqlstate=_duckdb_state,
        rolled_back=lambda error: "Failed to commit" in str(error),
        level=lambda connection: "duckdb",
        placed=_duckdb_placed,
        database=_duckdb_database,
        value=_duckdb_value,
        capture=capture_duckdb,
        counts=_duckdb_counts,
        settings=lambda connection: duckdb_settings(lambda sql: connection.execute(sql).fetchall()),
        lasts=False,
        cursors_are_connections=True,
    ),
    Driver(
        "PyMySQL", "mysql", ("pymysql",), "%s",
        # its status flag is that of the last answer without rows
        is_open=lambda connection, begun: begun or not connection.get_autocommit(),
        is_alone=_mysql_alone,
        sqlstate=mysql_state,
        rolled_back=lambda error: bool(error.args) and error.args[0] in MYSQL_ROLLED_BACK,
        level=mysql_level,
        level_named=mysql_level,
        placed=mysql_placed,
        database=_mysql_database,
        value=python_value,
        capture=capture_mysql,
        settings=lambda connection: mysql_settings(_mysql_plain(connection)),
        ends=lambda error: bool(error.args) and error.args[0] == 1213,
        plain_cursor=plain_cursor,
    ),
)  # fmt: skip


def driver_of(connection: Any) -> Driver:
    """The driver that a connection is of. Raises NotRecorded if it is not known."""
    for kind in type(connection).__mro__:
        root = kind.__module__.partition(".")[0]
        for driver in DRIVERS:
            if root in driver.modules:
                return driver
    known = ", ".join(driver.name for driver in DRIVERS)
    raise NotRecorded(
        f"connections of {type(connection).__module__} are not known to the recorder: {known} are, psycopg by "
        "connect(), and SQLAlchemy over these by listen(); for another one give driver=Driver(...)"
    )
