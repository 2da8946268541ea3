"""Connections for recording, and what a log's header says of the server.

Does not know what is recorded.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from troubadour.record.errors import RecordError
from troubadour.record.settings import ALL_TOLD, POSTGRES, postgres_settings
from troubadour.record.values import JsonScalar, adapt, row_to_json

Connection = psycopg.Connection[tuple[object, ...]]

ISOLATION_LEVELS: Mapping[str, str] = {
    "read-committed": "READ COMMITTED",
    "snapshot": "REPEATABLE READ",
    "serializable": "SERIALIZABLE",
}
"""The level that a workload names, and the one that PostgreSQL is asked for."""
NAMES: Mapping[str, str] = {"read-committed": "postgres:read-committed"}
"""What the log calls a level where the paper's says too little of what PostgreSQL does."""


_connect = psycopg.Connection.connect
"""Psycopg's own, whatever an application puts in the place of `psycopg.connect` to have itself recorded."""


def connect(dsn: str, search_path: str | None = None) -> Connection:
    """An autocommitting connection whose cursors take the SQL text as it is (``$1`` placeholders), and whose values
    fit `to_json`. Raises RecordError if the server cannot be reached."""
    try:
        connection = _connect(dsn, autocommit=True, cursor_factory=psycopg.RawCursor)
    except psycopg.OperationalError as error:
        raise RecordError(f"cannot connect: {one_line(error)}") from error
    adapt(connection)
    connection.execute("SET DateStyle = 'ISO'")
    if search_path is not None:
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(search_path)))
    return connection


def inside(dsn: str, search_path: str | None) -> str:
    """A connection string whose connections look into a database schema first."""
    if search_path is None:
        return dsn
    given = conninfo_to_dict(dsn).get("options")
    return make_conninfo(dsn, options=f"{given or ''} -c search_path={search_path}".strip())


@contextmanager
def scratch_schema(dsn: str) -> Iterator[str]:
    """A database schema of a fresh name for the workload's tables, dropped with them at exit."""
    name = f"troubadour_{secrets.token_hex(4)}"
    identifier = sql.Identifier(name)
    with connect(dsn) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(identifier))
    try:
        yield name
    finally:
        with connect(dsn) as connection:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(identifier))


def require_commit_timestamps(connection: Connection) -> None:
    """Raises RecordError unless the server keeps commit timestamps."""
    if _text(connection, "SHOW track_commit_timestamp") != "on":
        raise RecordError(
            "the server keeps no commit timestamps: ALTER SYSTEM SET track_commit_timestamp = on, and restart it"
        )


def describe(connection: Connection) -> dict[str, object]:
    """The header's `dialect`, `dbms` and `settings`, from the server."""
    # Which columns pg_database has depends on the version.
    found = connection.execute(
        "SELECT d.j ->> 'datlocprovider', d.j ->> 'datcollate', coalesce(d.j ->> 'datlocale', d.j ->> 'daticulocale')"
        " FROM (SELECT to_jsonb(p) AS j FROM pg_database p WHERE datname = current_database()) d"
    ).fetchone()
    if found is None:
        raise RecordError("pg_database does not list the current database")
    provider, libc, other = found
    collation = libc if provider in (None, "c") else other
    return {
        "dialect": "postgres",
        "dbms": "PostgreSQL " + _text(connection, "SHOW server_version").split()[0],
        "settings": {
            "timezone": _text(connection, "SHOW TimeZone"),
            "collation": collation,
            **ALL_TOLD,
            **postgres_settings(connection.execute(POSTGRES.encode()).fetchall()),
        },
    }


def initial_rows(connection: Connection, tables: Mapping[str, Sequence[str]]) -> dict[str, list[list[JsonScalar]]]:
    """The rows of each table, its columns in the order given, all from one snapshot."""
    rows = {}
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table, columns in tables.items():
            query = sql.SQL("SELECT {} FROM {} ORDER BY 1").format(
                sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(table)
            )
            rows[table] = [row_to_json(row) for row in connection.execute(query)]
    return rows


def commit_times(connection: Connection, xids: Sequence[str]) -> list[int | None]:
    """The commit timestamp of each transaction (xid8 in decimal), in microseconds since 1970; None where the server
    keeps none. extract() gives an exact numeric, so no microsecond is lost."""
    found = connection.execute(
        "SELECT (extract(epoch FROM pg_xact_commit_timestamp(t.x::xid8::xid)) * 1000000)::bigint"
        " FROM unnest($1::text[]) WITH ORDINALITY AS t (x, n) ORDER BY t.n",
        [list(xids)],
    ).fetchall()
    times: list[int | None] = []
    for (time,) in found:
        if not (time is None or isinstance(time, int)):
            raise RecordError(f"a commit timestamp came back as {type(time).__name__}")
        times.append(time)
    return times


def one_line(error: Exception) -> str:
    """The first line of an error's text."""
    return str(error).strip().split("\n", 1)[0]


def _text(connection: Connection, query: str) -> str:
    found = connection.execute(query.encode()).fetchone()
    if found is None or not isinstance(found[0], str):
        raise RecordError(f"{query}: the server gave no text")
    return found[0]
