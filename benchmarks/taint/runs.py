"""Runs random schemas and statements on a product, statement by statement on one connection, and writes what was
answered as a log. Does not know verdicts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg

from benchmarks.taint.schemas import TABLES, World

LEVELS: Mapping[str, tuple[str, ...]] = {
    "postgres": ("postgres:read-committed", "postgres:repeatable-read", "postgres:serializable", "strict-serializable"),
    "sqlite": ("sqlite", "strict-serializable"),
}
Lines = list[dict[str, Any]]
Ask = Callable[[str], "dict[str, Any]"]
Rows = dict[str, list[list[Any]]]
Run = Callable[[World, list[str], Rows], Iterator[Ask]]


def recorded(world: World, run: Run, product: str, random: Random) -> Lines:
    """The log of a schema's statements; `run` makes the schema, tells the definitions that the product took and the
    rows of its tables, and gives what asks it."""
    taken: list[str] = []
    rows: Rows = {}
    with contextmanager(run)(world, taken, rows) as ask:
        initial = {name: {"columns": ["id", "a", "b"], "rows": found} for name, found in rows.items()}
        header = {
            "format": "troubadour-log",
            "version": 1,
            "dialect": product,
            "isolation": random.choice(LEVELS[product]),
            "schema": [text for text in taken if text not in world.routines],
            "procedures": [text for text in taken if text in world.routines],
            "initial": initial,
            "settings": {"foreign_keys": True} if product == "sqlite" else {},
        }
        lines: Lines = [header]
        for place, sql in enumerate(world.statements):
            times = {"invoked": 10 * place, "returned": 10 * place + 5}
            answer = ask(sql)
            status = "aborted" if "error" in answer else "committed"
            statement = {"sql": sql, **answer, **times}
            lines.append({"id": place, "session": "s", "status": status, "statements": [statement], **times})
        return lines


# --- PostgreSQL -----------------------------------------------------------------------------------------------------

ROLE = "tainted"


def prepared(dsn: str) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection on which schemas can be made and used by a role that policies hold for."""
    connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=None)
    connection.execute("SET client_min_messages = error")
    connection.execute(f"DROP ROLE IF EXISTS {ROLE}")
    connection.execute(f"CREATE ROLE {ROLE}")
    return connection


def on_postgres(connection: psycopg.Connection[tuple[Any, ...]]) -> Run:
    """What runs schemas on a server."""

    def run(world: World, taken: list[str], rows: Rows) -> Iterator[Ask]:
        connection.execute("RESET ROLE")
        connection.execute("DROP SCHEMA IF EXISTS tainted CASCADE")
        connection.execute(f"CREATE SCHEMA tainted AUTHORIZATION {ROLE}")
        connection.execute("SET search_path = tainted")
        connection.execute("SET check_function_bodies = off")
        connection.execute(f"SET ROLE {ROLE}")
        late = [text for text in world.routines if "(r t" in text]
        early = [text for text in world.routines if text not in late]
        for text in (*early, *world.tables, *late, *world.filling, *world.hanging):
            try:
                connection.execute(text)
            except psycopg.Error:
                continue
            if text not in world.filling:
                taken.append(text)
        connection.execute("RESET ROLE")  # policies do not hold for the role that reads the rows
        for k in range(TABLES):
            rows[f"t{k}"] = [list(row) for row in connection.execute(f"SELECT id, a, b FROM t{k}")]
        connection.execute(f"SET ROLE {ROLE}")
        yield lambda sql: _asked(connection, sql)

    return run


def _asked(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> dict[str, Any]:
    try:
        cursor = connection.execute(sql)
    except psycopg.Error as error:
        return {"error": {"sqlstate": error.sqlstate or "XX000"}}
    if cursor.description is not None:
        names = [column.name for column in cursor.description]
        return {"result": {"columns": names, "rows": [[_plain(v) for v in row] for row in cursor.fetchall()]}}
    return {"affected": cursor.rowcount} if sql.startswith(("INSERT", "UPDATE", "DELETE")) else {}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else str(value)


# --- SQLite ---------------------------------------------------------------------------------------------------------


def on_sqlite(world: World, taken: list[str], rows: Rows) -> Iterator[Ask]:
    """What runs a schema in this process."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    try:
        for text in (*world.tables, *world.filling, *world.hanging):
            connection.execute(text)
            if text not in world.filling:
                taken.append(text)
        for k in range(TABLES):
            rows[f"t{k}"] = [list(row) for row in connection.execute(f"SELECT id, a, b FROM t{k}")]

        def ask(sql: str) -> dict[str, Any]:
            try:
                cursor = connection.execute(sql)
            except sqlite3.IntegrityError:
                return {"error": {"sqlstate": "23000"}}
            except sqlite3.OperationalError:
                return {"error": {"sqlstate": "HY000"}}
            if cursor.description is not None:
                names = [column[0] for column in cursor.description]
                return {"result": {"columns": names, "rows": [list(row) for row in cursor.fetchall()]}}
            return {"affected": cursor.rowcount}

        yield ask
    finally:
        connection.close()
