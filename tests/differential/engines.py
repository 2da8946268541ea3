"""The real engines behind one small interface. Knows neither the generator nor the interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sql_semantics.values.dates.temporal import parse_interval
from sql_semantics.values.types import Interval


@dataclass(slots=True)
class Answer:
    """What a real engine said: rows (None for no result set), count, or the SQLSTATE of an error (``any`` where the
    engine gives none)."""

    rows: list[tuple[Any, ...]] | None = None
    affected: int | None = None
    error: str | None = None
    message: str = ""


class Engine(Protocol):
    """A database under comparison; every statement is a transaction of its own."""

    name: str
    collation: str | None

    def run(self, sql: str) -> Answer:
        """Run one statement."""

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of Python values; one that a constraint forbids is left out."""

    def clear(self) -> None:
        """Drop every table and view."""


def _insert(table: str, columns: Sequence[str], mark: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(mark for _ in columns)})"


def _reads(sql: str) -> bool:
    return re.split(r"[\s(]+", sql.lstrip("( \n"), maxsplit=1)[0].upper() in ("SELECT", "VALUES", "WITH", "TABLE")


def _interval_loader() -> Any:
    """Reads PostgreSQL's intervals with their months and days, which Python's time spans do not have."""
    from psycopg.adapt import Loader

    class Whole(Loader):
        def load(self, data: Any) -> Interval:
            return parse_interval(bytes(data).decode())

    return Whole


class Postgres:
    """PostgreSQL through psycopg; errors by SQLSTATE."""

    name = "postgres"

    def __init__(self, connection: Any, collation: str | None = None) -> None:
        from psycopg.types.string import TextLoader

        self.connection = connection
        self.collation = collation
        connection.execute("SET synchronous_commit = off")
        connection.adapters.register_loader("interval", _interval_loader())
        for json in ("json", "jsonb"):
            connection.adapters.register_loader(json, TextLoader)

    def run(self, sql: str) -> Answer:
        """Run one statement."""
        import psycopg

        try:
            cursor = self.connection.execute(sql)
            rows = None if cursor.description is None else cursor.fetchall()
        except psycopg.Error as error:
            return Answer(error=error.sqlstate or "?????", message=str(error))
        if rows is None:
            return Answer(affected=None if cursor.rowcount < 0 else cursor.rowcount)
        return Answer(rows, None if _reads(sql) else cursor.rowcount)

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of Python values; one that a constraint forbids is left out."""
        import psycopg

        for row in rows:
            with suppress(psycopg.IntegrityError):
                self.connection.execute(_insert(table, columns, "%s"), row)

    def clear(self) -> None:
        """Drop every table and view."""
        self.connection.execute("DROP SCHEMA public CASCADE")
        self.connection.execute("CREATE SCHEMA public")


class DbApi:
    """SQLite or DuckDB through the DB-API; errors carry no SQLSTATE, so any error stands for any."""

    collation: str | None = None

    def __init__(self, name: str, connection: Any, error: type[Exception]) -> None:
        self.name = name
        self.connection = connection
        self.error = error

    def run(self, sql: str) -> Answer:
        """Run one statement."""
        try:
            cursor = self.connection.execute(sql)
            rows = [tuple(row) for row in cursor.fetchall()]
        except self.error as error:
            return Answer(error="any", message=str(error))
        described = [column[0] for column in cursor.description or ()]
        if _reads(sql):
            return Answer(rows)
        if self.name == "duckdb":
            if described == ["Count"]:
                return Answer(affected=rows[0][0] if rows else 0)
            return Answer(rows, len(rows))
        return Answer(rows if described else None, len(rows) if described else cursor.rowcount)

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of Python values; one that a constraint forbids is left out."""
        for row in rows:
            with suppress(self.error):
                self.connection.execute(_insert(table, columns, "?"), [_plain(value, self.name) for value in row])

    def clear(self) -> None:
        """Drop every table and view."""
        if self.name == "duckdb":
            self.connection.execute("DROP SCHEMA IF EXISTS work CASCADE")
            self.connection.execute("CREATE SCHEMA work")
            self.connection.execute("USE work")
            return
        self.connection.execute("PRAGMA foreign_keys = OFF")
        found = self.connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')")
        for kind, name in found.fetchall():
            if not name.startswith("sqlite_"):
                self.connection.execute(f"DROP {kind} IF EXISTS {name}")
        self.connection.execute("PRAGMA foreign_keys = ON")


def _plain(value: Any, engine: str) -> Any:
    """SQLite's driver takes numbers, text and bytes only."""
    from datetime import date, datetime
    from decimal import Decimal

    if engine != "sqlite":
        return value
    if isinstance(value, Decimal):
        return str(value)
    return value.isoformat(" ") if isinstance(value, datetime) else str(value) if isinstance(value, date) else value


class MariaDB:
    """MariaDB through PyMySQL (1.2 or newer, which tells the SQLSTATE of an error)."""

    name = "mysql"

    def __init__(self, connection: Any, collation: str) -> None:
        self.connection = connection
        self.collation = collation

    def run(self, sql: str) -> Answer:
        """Run one statement."""
        import pymysql

        with self.connection.cursor() as cursor:
            try:
                count = cursor.execute(sql)
                rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else None
            except pymysql.MySQLError as error:
                return Answer(error=error.sqlstate or "?????", message=str(error))
        return Answer(rows, None if _reads(sql) else count if rows is None else len(rows))

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of Python values; one that a constraint forbids is left out."""
        import pymysql

        with self.connection.cursor() as cursor:
            for row in rows:
                with suppress(pymysql.MySQLError):
                    cursor.execute(_insert(table, columns, "%s"), row)

    def clear(self) -> None:
        """Drop every table and view."""
        with self.connection.cursor() as cursor:
            cursor.execute("SET foreign_key_checks = 0")
            cursor.execute(
                "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE()"
            )
            for name, kind in cursor.fetchall():
                cursor.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} IF EXISTS {name}")
            cursor.execute("SET foreign_key_checks = 1")
