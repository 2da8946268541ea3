"""CREATE and DROP inside a transaction beside PostgreSQL and SQLite: same rows, same errors, undone alike.

Does not know logs; tests/cases/ddl has what other transactions see.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg

from sql_semantics.errors import SqlError
from sql_semantics.frontend import defines_table
from sql_semantics.ir.definitions import EXISTING
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect

HOME = "CREATE TABLE home (a INT, b TEXT)"
FIRST = "CREATE TABLE first (a INT, b TEXT DEFAULT 'x')"
SECOND = "CREATE TABLE second (c INT CHECK (c > 0))"
STATEMENTS = [
    FIRST,
    SECOND,
    FIRST.replace("TABLE", "TABLE IF NOT EXISTS"),
    HOME,
    HOME.replace("TABLE", "TABLE IF NOT EXISTS"),
    "DROP TABLE first",
    "DROP TABLE IF EXISTS second",
    "DROP TABLE home",
    "DROP TABLE IF EXISTS absent",
    "INSERT INTO first (a) VALUES (1)",
    "INSERT INTO first VALUES (2, 'y')",
    "INSERT INTO second VALUES (1)",
    "INSERT INTO second VALUES (0)",
    "INSERT INTO home SELECT a, b FROM first",
    "INSERT INTO home VALUES (7, 'h')",
    "UPDATE first SET b = 'z' WHERE a = 1",
    "DELETE FROM home",
    "SELECT a, b FROM first ORDER BY a, b",
    "SELECT c, (SELECT count(*) FROM home) FROM second",
    "SELECT home.a FROM home JOIN first ON home.a = first.a ORDER BY 1",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM first)",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "CREATE INDEX IF NOT EXISTS i ON home (b)",
]
Answer = tuple[str | None, list[tuple[Any, ...]]]


def agree(dialect: str, begin: Callable[[], Callable[[str], Answer]], seeds: range) -> None:
    library = SqlLibrary(Dialect(dialect), [HOME], definitions=list(filter(defines_table, STATEMENTS)))
    initially = [(item.number,) for item in library.catalog.transient.values() if item.initially]
    seen: Counter[str | None] = Counter()
    for seed in seeds:
        chance = random.Random(seed)
        run = begin()
        view = MemoryView({EXISTING: initially})
        for sql in ["SAVEPOINT s", *chance.choices(STATEMENTS, k=40)]:
            try:
                results = library.program(sql).run(view, ()).results
                expected: Answer = None, [row for result in results for row in result.rows]
            except SqlError as error:
                expected = error.sqlstate, []
            assert run(sql) == expected, (seed, sql)
            seen[expected[0]] += 1
    assert seen[None] > 100
    assert len(seen) >= (4 if dialect == "postgres" else 2)


def test_sqlite() -> None:
    def begin() -> Callable[[str], Answer]:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute(HOME)
        connection.execute("BEGIN")

        def run(sql: str) -> Answer:
            try:
                return None, connection.execute(sql).fetchall()
            except sqlite3.IntegrityError:
                return "23514", []
            except sqlite3.OperationalError:
                return "HY000", []

        return run

    agree("sqlite", begin, range(60))


def test_postgres(postgres: Any) -> None:
    def run(sql: str) -> Answer:
        postgres.execute("SAVEPOINT outside_the_test")
        try:
            answered = postgres.execute(sql)
            return None, answered.fetchall() if answered.description else []
        except psycopg.Error as error:
            postgres.execute("ROLLBACK TO outside_the_test")
            return error.sqlstate, []

    def begin() -> Callable[[str], Answer]:
        postgres.execute("ROLLBACK")
        postgres.execute("DROP TABLE IF EXISTS home, first, second")
        postgres.execute(HOME)
        postgres.execute("BEGIN")
        return run

    agree("postgres", begin, range(40))
    postgres.execute("ROLLBACK")
    postgres.execute("DROP TABLE home")
