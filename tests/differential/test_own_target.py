"""A subquery on the table that an UPDATE or DELETE writes to: in MariaDB it is evaluated before any row is changed; in
SQLite where that is said here, whatever indexes there are, or else the statement is refused."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.walks.own_target import OWN_TARGET
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import DbApi, MariaDB

TABLE = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)"
STATEMENTS = (
    "UPDATE t SET b = b + 1 WHERE b <= (SELECT MIN(b) FROM t)",
    "UPDATE t SET b = (SELECT MAX(b) FROM t) + 1 WHERE a > {n}",
    "UPDATE t SET b = 0 WHERE EXISTS (SELECT 1 FROM t WHERE b = {n})",
    "UPDATE t SET b = b + 1 WHERE b IN (SELECT c FROM t WHERE c > {n})",
    "UPDATE t SET c = b WHERE b NOT IN (SELECT c FROM t WHERE c IS NOT NULL)",
    "UPDATE t SET b = {n}, c = b WHERE a > {n}",
    "UPDATE t SET b = {n}, c = b WHERE a IN (SELECT x.a FROM t AS x WHERE x.b > {n})",
    "UPDATE t SET c = (SELECT MAX(b) FROM t), b = c",
    "UPDATE t SET b = (1 >= ANY (SELECT 1 FROM t AS x CROSS JOIN t AS y)), c = b",
    "UPDATE t SET b = {n}, c = b WHERE a IN (SELECT x.a FROM t AS x) ORDER BY a LIMIT 2",
    "UPDATE t SET c = c + 1, b = (SELECT MAX(x.c) FROM t AS x WHERE x.a <> t.c)",
    "DELETE FROM t WHERE b = (SELECT MAX(b) FROM t)",
    "DELETE FROM t WHERE c IN (SELECT b FROM t WHERE a = {n})",
    "DELETE FROM t WHERE b < (SELECT COUNT(*) FROM t) - {n}",
)


def test_a_subquery_sees_the_rows_as_they_were(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    dialect = Dialect("mysql", collation=collation, product="mariadb", version=(10, 11))
    chance = random.Random(39)
    compared = 0
    for _ in range(25):
        engine.clear()
        engine.run(TABLE)
        for key in range(7):
            values = [chance.choice(["NULL", *map(str, range(6))]) for _ in range(2)]
            engine.run(f"INSERT INTO t VALUES ({key}, {', '.join(values)})")
        beside = Beside(engine, dialect, Catalog(read_schema([TABLE], dialect)))
        for _ in range(6):
            sql = chance.choice(STATEMENTS).format(n=chance.randrange(5))
            done = beside.step(sql)
            assert done.problem is None, (sql, done.problem)
            assert done.outside is None, (sql, done.outside)
            compared += 1
    assert compared == 150


@pytest.mark.parametrize("query", ["SELECT a FROM t", "SELECT DISTINCT a FROM t LIMIT 5"])
def test_whether_a_query_in_from_is_merged_is_not_told(query: str) -> None:
    dialect = Dialect("mysql", product="mariadb", version=(10, 11))
    library = SqlLibrary(dialect, [TABLE])
    with pytest.raises(Unsupported):
        library.program(f"UPDATE t SET b = 9, c = b WHERE a IN (SELECT d.a FROM ({query}) AS d)")
    library.program(f"UPDATE t SET b = 9 WHERE a IN (SELECT d.a FROM ({query}) AS d)")


SQLITE = "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c INTEGER)"
INDEXES = ("CREATE INDEX tb ON t (b)", "CREATE INDEX tc ON t (c)", "CREATE INDEX tbc ON t (b, c)")
CONDITIONS = (
    "b <= (SELECT MIN(b) FROM t)",
    "b IN (SELECT c FROM t WHERE c > {n})",
    "b IN (SELECT c FROM t)",
    "a NOT IN (SELECT b FROM t WHERE b IS NOT NULL)",
    "EXISTS (SELECT 1 FROM t WHERE b = {n})",
    "EXISTS (SELECT 1 FROM t u WHERE u.b = t.c AND u.a <> t.a)",
    "(SELECT COUNT(*) FROM t u WHERE u.b = {n} AND u.a < t.a) = 0",
    "a = {n} OR (SELECT COUNT(*) FROM t WHERE b = {n}) = 1",
    "a > {n} AND b IN (SELECT u.b FROM t u JOIN t v ON u.a = v.c WHERE u.a > 1)",
    "a = {n}",
    "a > {n}",
    "b = {n}",
)
VALUES = (
    "{n}",
    "b + 1",
    "(SELECT MAX(b) FROM t)",
    "1 + (SELECT MIN(c) FROM t WHERE a > {n})",
    "a + (SELECT COUNT(*) FROM t WHERE b = {n})",
    "CASE WHEN a = {n} THEN 7 ELSE (SELECT MAX(c) FROM t) END",
    "(SELECT MAX(u.b) FROM t u WHERE u.a < t.a)",
    "COALESCE(b, (SELECT MAX(b) FROM t))",
    "EXISTS (SELECT 1 FROM t WHERE c = {n}) + 0",
    "(SELECT u.c FROM t u WHERE u.b = t.b ORDER BY u.a LIMIT 1)",
    "c + b * (SELECT MIN(b) FROM t)",
    "7 + ({n} IN (SELECT b FROM t))",
)


def test_sqlite_sees_the_rows_as_they_were_or_is_refused() -> None:
    chance = random.Random(40)
    seen: Counter[str] = Counter()
    told = tuple(map(int, sqlite3.sqlite_version.split(".")))
    for number in range(120):
        engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
        engine.run(SQLITE)
        for index in chance.sample(INDEXES, chance.randrange(3)):
            engine.run(index)
        for key in range(chance.choice([1, 2, 7])):
            values = [chance.choice(["NULL", *map(str, range(6))]) for _ in range(2)]
            engine.run(f"INSERT INTO t VALUES ({key}, {', '.join(values)})")
        # what is said of a version that is not told holds for all
        dialect = Dialect("sqlite", version=told if number % 2 else None)
        beside = Beside(engine, dialect, Catalog(read_schema([SQLITE], dialect)))
        for _ in range(6):
            sets = ", ".join(f"{column} = {chance.choice(VALUES)}" for column in chance.choice(["b", "c", "bc"]))
            verb = "DELETE FROM t" if chance.random() < 0.25 else f"UPDATE t SET {sets}"
            sql = f"{verb} WHERE {chance.choice(CONDITIONS)}"
            sql = sql.replace("{n}", str(chance.randrange(5)))
            done = beside.step(sql)
            assert done.problem is None, (number, sql, done.problem)
            seen["refused" if done.outside else "compared"] += 1
            assert done.outside in (None, OWN_TARGET), (sql, done.outside)
    assert seen["compared"] > 300 and seen["refused"] > 80, seen
