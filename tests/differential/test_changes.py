"""ALTER TABLE of tables with rows, and tables that come and go, beside PostgreSQL, SQLite and MariaDB: random
migrations, each statement on the definitions that the ones before it left. The same rows, columns and errors.

Does not know logs; tests/cases/changes has what other transactions see.
"""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend import Change
from sql_semantics.ir.definitions import ChangeTables
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.run.writes.keyed import KeyedView, unique_state
from sql_semantics.values.dialect import Dialect

SCHEMA = [
    "CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, age INTEGER)",
    "CREATE TABLE posts (id INTEGER PRIMARY KEY, author INTEGER REFERENCES users (id), title VARCHAR(20) DEFAULT 't')",
]
ANYWHERE = [
    "ALTER TABLE users ADD COLUMN mail VARCHAR(20)",
    "ALTER TABLE users ADD COLUMN mail VARCHAR(20) DEFAULT 'none' NOT NULL",
    "ALTER TABLE users ADD COLUMN votes INTEGER DEFAULT 3",
    "ALTER TABLE users DROP COLUMN age",
    "ALTER TABLE users DROP COLUMN votes",
    "ALTER TABLE posts DROP COLUMN title",
    "ALTER TABLE posts ADD COLUMN title VARCHAR(30)",
    "ALTER TABLE users RENAME COLUMN name TO full_name",
    "ALTER TABLE users RENAME COLUMN full_name TO name",
    "ALTER TABLE users RENAME TO people",
    "ALTER TABLE people RENAME TO users",
    "ALTER TABLE posts RENAME TO articles",
    "ALTER TABLE articles RENAME TO posts",
    "CREATE UNIQUE INDEX ages ON users (age)",
    "CREATE UNIQUE INDEX votes ON users (votes)",
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, body VARCHAR(20))",
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, body VARCHAR(20), extra INTEGER DEFAULT 5)",
    "DROP TABLE notes",
    "DROP TABLE posts",
    "CREATE TABLE posts (id INTEGER PRIMARY KEY, title VARCHAR(20))",
]
POSTGRES = [
    "DROP INDEX ages",
    "DROP INDEX votes",
    "ALTER TABLE users ALTER COLUMN age TYPE text USING age::text || 'y'",
    "ALTER TABLE users ALTER COLUMN age TYPE bigint",
    "ALTER TABLE users ALTER COLUMN name TYPE varchar(2)",
    "ALTER TABLE users ALTER COLUMN age SET NOT NULL",
    "ALTER TABLE users ALTER COLUMN age SET DEFAULT 9, ALTER COLUMN name SET DEFAULT 'd'",
    "ALTER TABLE users ALTER COLUMN age DROP DEFAULT",
    "ALTER TABLE users ALTER COLUMN age DROP NOT NULL",
    "ALTER TABLE users ADD CONSTRAINT grown CHECK (age > 17)",
    "ALTER TABLE users DROP CONSTRAINT grown",
    "ALTER TABLE users ADD CONSTRAINT name_age UNIQUE (name, age)",
    "ALTER TABLE users DROP CONSTRAINT IF EXISTS name_age",
    "ALTER TABLE posts DROP CONSTRAINT posts_author_fkey",
    "ALTER TABLE posts ADD CONSTRAINT posts_author_fkey FOREIGN KEY (author) REFERENCES users (id) ON DELETE CASCADE",
    "ALTER TABLE users ADD COLUMN IF NOT EXISTS votes INTEGER DEFAULT 4, ADD COLUMN level INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE users DROP COLUMN IF EXISTS level, DROP COLUMN IF EXISTS mail",
    "DROP TABLE IF EXISTS notes, articles",
    "ALTER TABLE users RENAME name TO full_name",
    "CREATE TABLE notes AS SELECT id, name AS body FROM users",
]
POSTGRES += [
    "ALTER TABLE users ADD COLUMN level INTEGER DEFAULT 2, DROP COLUMN votes",
    "ALTER TABLE users DROP CONSTRAINT IF EXISTS grown, ADD CONSTRAINT grown CHECK (age > 10)",
    "ALTER TABLE users RENAME CONSTRAINT grown TO adult",
    "ALTER TABLE users DROP CONSTRAINT adult",
    "ALTER TABLE users ADD CHECK (age <> 5)",
    "ALTER TABLE users ADD CONSTRAINT named CHECK (name <> 'n3')",
    "ALTER TABLE users ALTER COLUMN name TYPE varchar(40)",
]
MARIADB = [
    "ALTER TABLE users MODIFY COLUMN age BIGINT",
    "ALTER TABLE users MODIFY COLUMN name VARCHAR(40)",
    "ALTER TABLE users MODIFY name VARCHAR(40) NOT NULL DEFAULT 'm'",
    "ALTER TABLE users CHANGE COLUMN age years INT",
    "ALTER TABLE users CHANGE years age INT DEFAULT 4",
    "ALTER TABLE users ADD COLUMN votes INTEGER DEFAULT 3 FIRST",
    "ALTER TABLE users ADD COLUMN level INTEGER DEFAULT 2 AFTER id",
    "ALTER TABLE users DROP COLUMN level, ADD COLUMN votes INTEGER",
    "ALTER TABLE posts ADD COLUMN extra INTEGER DEFAULT 1 AFTER author",
    "RENAME TABLE users TO people",
    "RENAME TABLE people TO users",
    "ALTER TABLE users ALTER COLUMN age SET DEFAULT 8",
    "ALTER TABLE posts ADD CONSTRAINT again FOREIGN KEY (author) REFERENCES users (id)",
    "ALTER TABLE posts DROP FOREIGN KEY again",
    "ALTER TABLE users ADD CONSTRAINT ages_too UNIQUE (age)",
    "ALTER TABLE users RENAME INDEX ages_too TO ages_now",
    "ALTER TABLE users DROP INDEX ages_now",
    "DROP INDEX ages ON users",
]
WRITES = [
    "INSERT INTO users (id, name) VALUES ({n}, 'n{m}')",
    "INSERT INTO users (id, full_name, age) VALUES ({n}, 'f', {m})",
    "INSERT INTO users (id, name, age) VALUES ({n}, 'a{m}', 1{m})",
    "INSERT INTO people (id, name) VALUES ({n}, 'p')",
    "INSERT INTO posts (id, author) VALUES ({n}, {m})",
    "INSERT INTO posts (id) VALUES ({n})",
    "INSERT INTO notes (id) VALUES ({n})",
    "INSERT INTO articles (id, author) VALUES ({n}, {m})",
    "UPDATE users SET age = id WHERE id = {m}",
    "UPDATE users SET votes = {n} WHERE id = {m}",
    "DELETE FROM users WHERE id = {m}",
    "DELETE FROM posts WHERE author = {m}",
]
READS = [f"SELECT * FROM {name} ORDER BY id" for name in ("users", "people", "posts", "articles", "notes")]
Answer = tuple[str | None, list[tuple[Any, ...]]]
REFUSALS = {"42P01", "42703", "42P07", "42701", "42710", "42704", "2BP01", "42804", "42P16", "42601"}


def follow(
    dialect: Dialect, run: Callable[[str], Answer], schema: Sequence[str], changing: Sequence[str], seed: int
) -> Counter[str]:
    """One migration of 40 statements; how many of each kind of answer there were."""
    chance = random.Random(seed)
    seen: Counter[str] = Counter()
    changes: list[Change] = []
    library = SqlLibrary(dialect, schema)
    view = MemoryView({})
    for number in range(40):
        sql = chance.choice([*changing, *WRITES, *WRITES, *READS, *READS])
        sql = sql.format(n=number + 10 * (seed % 2), m=chance.randrange(40))
        error, rows = run(sql)
        scope = len(changes)
        if sql.startswith(("CREATE", "ALTER", "DROP", "RENAME")):
            tried = SqlLibrary(dialect, schema, changes=[*changes, Change(scope, sql)])
            try:
                program = tried.program(sql, None, scope)
            except Unsupported:
                if error is None:
                    return seen  # what it leaves is not known
                seen["refused"] += 1
                continue
            assert isinstance(program.statement, ChangeTables), sql
            if error in REFUSALS and sql.startswith("DROP INDEX"):
                continue  # plain indexes are not kept, so that none is known to be missing
            if error in REFUSALS:
                raise AssertionError(f"{seed}: {sql} is not refused, but is by the product: {error}")
            mark = view.savepoint()
            try:
                program.run(KeyedView(view, tried.keys, unique_state(dialect)), ())
                expected: str | None = None
            except SqlError as failure:
                view.rollback(mark)
                expected = failure.sqlstate
            assert expected == error, (seed, sql)
            if error is None:
                changes.append(Change(scope, sql))
                library = tried
                seen["changed"] += 1
            else:
                seen[error] += 1
            continue
        mark = view.savepoint()
        try:
            keyed = KeyedView(view, library.keys, unique_state(dialect))
            results = library.program(sql, None, scope).run(keyed, ()).results
            answer: Answer = None, [row for result in results for row in result.rows]
        except (UnknownTable, SchemaError):
            answer = "42P01", []
        except SqlError as failure:
            view.rollback(mark)
            answer = failure.sqlstate, []
        except Unsupported:
            assert error is not None, (seed, sql)
            seen["refused"] += 1
            continue
        assert answer == (error, rows), (seed, sql, [change.text for change in changes])
        seen[error or ("read" if rows else "done")] += 1
    return seen


def test_sqlite() -> None:
    seen: Counter[str] = Counter()
    for seed in range(12):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        schema = [text.replace(" REFERENCES users (id)", "") for text in SCHEMA]
        for text in schema:
            connection.execute(text)

        def run(sql: str, connection: sqlite3.Connection = connection) -> Answer:
            try:
                return None, connection.execute(sql).fetchall()
            except sqlite3.IntegrityError:
                return "23000", []
            except sqlite3.OperationalError as error:
                text = str(error)
                return ("42P01" if "no such table" in text else "42703" if "column" in text else "42P07"), []

        dropping = [text for text in ANYWHERE if "ADD COLUMN title" not in text]
        seen += follow(Dialect("sqlite", foreign_keys=False), run, schema, dropping, seed)
    assert seen["changed"] > 50 and seen["read"] > 5 and seen["done"] > 10, seen


def test_postgres(postgres: Any) -> None:
    seen: Counter[str] = Counter()
    connection: psycopg.Connection[Any] = postgres
    for seed in range(12):
        for name in ("posts", "articles", "users", "people", "notes"):
            connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE".encode())
        for text in SCHEMA:
            connection.execute(text.encode())

        def run(sql: str) -> Answer:
            try:
                cursor = connection.execute(sql.encode())
                return None, cursor.fetchall() if cursor.description is not None else []
            except psycopg.Error as error:
                return str(error.sqlstate), []

        seen += follow(Dialect("postgres", collation="C"), run, SCHEMA, [*ANYWHERE, *POSTGRES], seed)
    for name in ("posts", "articles", "users", "people", "notes"):
        connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE".encode())
    assert seen["changed"] > 50 and seen["read"] > 5 and seen["23503"] > 0, seen


def test_mariadb(mariadb: Any) -> None:
    import pymysql

    connection, collation = mariadb
    numbers = {1146: "42P01", 1054: "42S22", 1062: "23000", 1048: "23000", 1364: "HY000", 1451: "23000", 1452: "23000"}

    def run(sql: str) -> Answer:
        with connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                return None, list(cursor.fetchall())
            except pymysql.MySQLError as error:
                return numbers.get(error.args[0], "42P07"), []

    plain = [text.replace(" REFERENCES users (id)", "") for text in SCHEMA]
    tied = [plain[0], plain[1][:-1] + ", CONSTRAINT of_users FOREIGN KEY (author) REFERENCES users (id))"]
    seen: Counter[str] = Counter()
    for seed in range(12):
        schema = tied if seed % 2 else plain
        for text in ("DROP TABLE IF EXISTS posts, articles, users, people, notes", *schema):
            assert run(text)[0] is None
        changing = [*ANYWHERE, *MARIADB]
        seen += follow(Dialect("mysql", collation=collation, product="mariadb"), run, schema, changing, seed)
    assert seen["changed"] > 20 and seen["read"] > 3 and seen["23000"] > 0, seen
