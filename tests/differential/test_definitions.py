"""CREATE and DROP inside a transaction beside PostgreSQL and SQLite: same rows, same errors, undone alike.

Does not know logs; tests/cases/ddl has what other transactions see.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import psycopg
import pytest

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
AS_QUERY = [
    "CREATE TABLE third AS SELECT a, b FROM first",
    "CREATE TABLE IF NOT EXISTS third AS SELECT a, b FROM first",
    "INSERT INTO third SELECT a, b FROM home",
    "SELECT a, b FROM third ORDER BY a, b",
    "DROP TABLE third",
]
FAMILY = [
    "CREATE TABLE parent (p INT PRIMARY KEY)",
    "CREATE TABLE child (c INT REFERENCES parent (p) ON DELETE CASCADE)",
    "INSERT INTO parent SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM parent)",
    "INSERT INTO child VALUES (1)",
    "DELETE FROM parent",
    "SELECT c FROM child ORDER BY c",
    "DROP TABLE parent",
    "DROP TABLE child",
    "DROP TABLE IF EXISTS child, parent",
    "CREATE TABLE typed AS SELECT a + 1 AS n, a * 1.5 AS m, 'x' AS t, upper(b) AS u, b FROM home",
    "INSERT INTO typed SELECT 1, 2.25, 'longer', 'y', 'z' FROM home",
    "SELECT n, m, t, u, b FROM typed ORDER BY n, m",
    "DROP TABLE typed CASCADE",
    "SELECT a FROM shown ORDER BY a",
    "DROP TABLE base",
]
VIEW = ["CREATE TABLE base (a INT)", "CREATE VIEW shown AS SELECT a FROM base"]
VIEWS = [
    "CREATE VIEW seen AS SELECT a, b FROM first",
    "CREATE VIEW higher (x) AS SELECT a + 1 FROM seen WHERE a > 1",
    "CREATE VIEW higher (x) AS SELECT a + 1 FROM seen WHERE a > 1",
    "SELECT a, b FROM seen ORDER BY a, b",
    "SELECT x FROM higher ORDER BY x",
    "SELECT count(*) FROM home JOIN seen ON home.a = seen.a",
    "DROP VIEW higher",
    "DROP VIEW IF EXISTS seen",
    "DROP VIEW shown",
    "CREATE VIEW shown AS SELECT a FROM base",
    "SELECT a FROM shown",
    "DROP TABLE base",
    "CREATE TABLE base (a INT)",
    "INSERT INTO home SELECT x, 'v' FROM higher",
]
Answer = tuple[str | None, list[tuple[Any, ...]]]


def agree(dialect: str, begin: Callable[[], Callable[[str], Answer]], seeds: range, texts: list[str]) -> None:
    schema = [HOME, *VIEW] if dialect != "sqlite" else [HOME]
    library = SqlLibrary(Dialect(dialect, collation="C"), schema, definitions=list(filter(defines_table, texts)))
    initially = [(item.number,) for item in library.catalog.transient.values() if item.initially]
    seen: Counter[str | None] = Counter()
    for seed in seeds:
        chance = random.Random(seed)
        run = begin()
        view = MemoryView({EXISTING: initially})
        for sql in ["SAVEPOINT s", *chance.choices(texts, k=40)]:
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

    agree("sqlite", begin, range(60), STATEMENTS + AS_QUERY)
    here = [text for text in VIEWS if "shown" not in text and "base" not in text]
    agree("sqlite", begin, range(40), [*STATEMENTS, *here, *here, here[0].replace("VIEW", "VIEW IF NOT EXISTS")])


@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 1000), marks=pytest.mark.slow)], ids=str)
def test_duckdb(seeds: range) -> None:
    def begin() -> Callable[[str], Answer]:
        connection = duckdb.connect()
        for sql in (HOME, *VIEW):
            connection.execute(sql)
        connection.execute("BEGIN")
        failed: list[bool] = []

        def run(sql: str) -> Answer:
            if failed or sql.startswith(("SAVEPOINT", "ROLLBACK", "CREATE INDEX", "UPDATE", "DELETE")):
                return None, []
            try:
                rows = connection.execute(sql).fetchall()
                return None, rows if sql.startswith("SELECT") else []
            except duckdb.CatalogException as error:
                failed.append(True)
                return "42P07" if "already exists" in str(error) else "42P01", []

        return run

    texts = [
        text
        for text in [*STATEMENTS, *AS_QUERY, *VIEWS]
        if not text.startswith(("SAVEPOINT", "ROLLBACK", "CREATE INDEX", "UPDATE", "DELETE")) and "second" not in text
    ]
    library = SqlLibrary(Dialect("duckdb"), [HOME, *VIEW], definitions=list(filter(defines_table, texts)))
    initially = [(item.number,) for item in library.catalog.transient.values() if item.initially]
    seen: Counter[str | None] = Counter()
    for seed in seeds:
        run, view = begin(), MemoryView({EXISTING: initially})
        for sql in random.Random(seed).choices(texts, k=12):
            # an error ends the transaction
            try:
                results = library.program(sql).run(view, ()).results
                expected: Answer = None, [row for result in results for row in result.rows]
            except SqlError as error:
                expected = error.sqlstate, []
            assert run(sql) == expected, (seed, sql)
            seen[expected[0]] += 1
            if expected[0] is not None:
                break
    assert seen[None] > len(seeds) / 3 and len(seen) == 3, seen


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
        postgres.execute("DROP VIEW IF EXISTS seen, higher, shown CASCADE")
        postgres.execute("DROP TABLE IF EXISTS home, first, second, third, base CASCADE")
        for sql in (HOME, *VIEW):
            postgres.execute(sql)
        postgres.execute("BEGIN")
        return run

    agree("postgres", begin, range(25), STATEMENTS + AS_QUERY)
    agree("postgres", begin, range(20), [*STATEMENTS, *VIEWS, *VIEWS])
    agree("postgres", begin, range(25), [*AS_QUERY, FIRST, *FAMILY, *FAMILY, STATEMENTS[14]])
    postgres.execute("ROLLBACK")
    postgres.execute("DROP TABLE home, base CASCADE")


MIGRATION = (
    "CREATE TABLE first (a INT, b TEXT DEFAULT 'x')",
    "CREATE UNIQUE INDEX first_a ON first (a)",
    "ALTER TABLE first ADD COLUMN c INT DEFAULT 7",
    "ALTER TABLE first ADD CONSTRAINT small CHECK (c < 100)",
)
AFTERWARDS = (
    "INSERT INTO first VALUES (1, 'y') ON CONFLICT DO NOTHING",
    "INSERT INTO first (a) VALUES (2), (1) ON CONFLICT (a) DO UPDATE SET c = first.c + 50",
    "INSERT INTO first (a, c) VALUES (3, 200)",
    "SELECT a, b, c FROM first ORDER BY a",
    "UPDATE first SET c = c + 1",
    "DROP TABLE IF EXISTS first",
)


def test_what_follows_a_table_at_once_is_part_of_it(postgres: Any) -> None:
    library = SqlLibrary(Dialect("postgres", collation="C"), [HOME], definitions=[MIGRATION, AFTERWARDS[-1]])
    seen: Counter[str | None] = Counter()
    postgres.execute("DROP TABLE IF EXISTS home, first CASCADE")
    postgres.execute(HOME)
    for seed in range(12):
        chance = random.Random(seed)
        view = MemoryView({})
        postgres.execute("BEGIN")
        for _ in range(25):
            for sql in MIGRATION if chance.random() < 0.2 else (chance.choice(AFTERWARDS),):
                try:
                    results = library.program(sql).run(view, ()).results
                    expected: Answer = None, [row for result in results for row in result.rows]
                except SqlError as error:
                    expected = error.sqlstate, []
                postgres.execute("SAVEPOINT outside_the_test")
                try:
                    answered = postgres.execute(sql)
                    answer: Answer = None, answered.fetchall() if answered.description else []
                except psycopg.Error as error:
                    postgres.execute("ROLLBACK TO outside_the_test")
                    answer = error.sqlstate, []
                assert answer == expected, (seed, sql)
                seen[answer[0]] += 1
                if answer[0] is not None:
                    break  # a migration stops at its first error
        postgres.execute("ROLLBACK")
    postgres.execute("DROP TABLE home")
    assert set(seen) == {None, "23514", "42P01", "42P07"}


def test_mariadb(mariadb: Any) -> None:
    """Each statement is a transaction by itself."""
    import pymysql

    connection, collation = mariadb
    texts = [
        text.replace("TEXT", "VARCHAR(9)")
        for text in STATEMENTS
        if not text.startswith(("SAVEPOINT", "ROLLBACK", "CREATE INDEX"))
    ]
    home = HOME.replace("TEXT", "VARCHAR(9)")
    library = SqlLibrary(
        Dialect("mysql", collation=collation, product="mariadb"),
        [home],
        definitions=list(filter(defines_table, texts)),
    )
    initially = [(item.number,) for item in library.catalog.transient.values() if item.initially]
    seen: Counter[str | None] = Counter()
    for seed in range(15):
        view = MemoryView({EXISTING: initially})
        with connection.cursor() as cursor:
            for sql in ("DROP TABLE IF EXISTS home, first, second", home):
                cursor.execute(sql)
            for sql in random.Random(seed).choices(texts, k=30):
                try:
                    results = library.program(sql).run(view, ()).results
                    expected: Answer = None, [row for result in results for row in result.rows]
                except SqlError as error:
                    expected = error.sqlstate, []
                try:
                    cursor.execute(sql)
                    answer: Answer = None, list(cursor.fetchall())
                except pymysql.MySQLError as error:
                    numbers = {1146: "42S02", 1051: "42S02", 1050: "42S01", 4025: "23000"}
                    answer = numbers[error.args[0]], []
                assert answer == expected, (seed, sql)
                seen[expected[0]] += 1
    assert seen[None] > 100 and len(seen) == 4
