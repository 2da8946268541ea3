"""Random savepoint statements leave the same rows, and fail alike, in the interpreter and on real engines."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import Any

import psycopg

from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect

SCHEMA = "CREATE TABLE spt (id INT PRIMARY KEY, v INT)"
NAMES = ("a", "B", "b", '"b"', '"B"')
Run = Callable[[str], tuple[str | None, list[tuple[Any, ...]]]]


def statements(seed: int) -> list[str]:
    chance = random.Random(seed)
    found = []
    for number in range(30):
        name = chance.choice(NAMES)
        write = chance.choice(
            [f"INSERT INTO spt VALUES ({number}, 0)", "UPDATE spt SET v = v + 1", "DELETE FROM spt WHERE id < 3"]
        )
        found.append(
            chance.choice(
                [
                    f"SAVEPOINT {name}",
                    f"SAVEPOINT {name}",
                    f"ROLLBACK TO SAVEPOINT {name}",
                    f"ROLLBACK TRANSACTION TO {name}",
                    f"RELEASE {name}",
                    f"RELEASE SAVEPOINT {name}",
                    write,
                    write,
                    write,
                ]
            )
        )
    return found


def agree(dialect: str, begin: Callable[[], Run], seeds: range) -> None:
    library = SqlLibrary(Dialect(dialect), [SCHEMA])
    failures = 0
    for seed in seeds:
        run = begin()
        view = MemoryView({"spt": []})
        for sql in statements(seed):
            expected = None
            try:
                library.program(sql).run(view, ())
            except SqlError as error:
                expected = error.sqlstate
                failures += 1
            told, rows = run(sql)
            assert told == expected, (seed, sql)
            assert sorted(view.rows("spt")) == rows, (seed, sql)
    assert failures


def test_sqlite() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)

    def begin() -> Run:
        connection.execute("DROP TABLE IF EXISTS spt")
        connection.execute(SCHEMA)
        if connection.in_transaction:
            connection.execute("COMMIT")
        connection.execute("BEGIN")
        return run

    def run(sql: str) -> tuple[str | None, list[tuple[Any, ...]]]:
        failed = None
        try:
            connection.execute(sql)
        except sqlite3.OperationalError:
            failed = "HY000"
        return failed, sorted(connection.execute("SELECT * FROM spt"))

    agree("sqlite", begin, range(40))


def test_postgres(postgres: Any) -> None:
    def begin() -> Run:
        postgres.execute("ROLLBACK")
        postgres.execute("DROP TABLE IF EXISTS spt")
        postgres.execute(SCHEMA)
        postgres.execute("BEGIN")
        return run

    def run(sql: str) -> tuple[str | None, list[tuple[Any, ...]]]:
        failed = None
        postgres.execute("SAVEPOINT outside_the_test")
        try:
            postgres.execute(sql)
        except psycopg.Error as error:
            failed = error.sqlstate
            postgres.execute("ROLLBACK TO outside_the_test")
        return failed, sorted(postgres.execute("SELECT * FROM spt").fetchall())

    agree("postgres", begin, range(40))
