"""Conversions that products make by themselves where others ask for a cast: truth values, texts, FLOAT, shifts."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.differential.engines import DbApi, MariaDB
from tests.differential.fixed import Fixed

DUCKDB = [
    *(f"SELECT count(*) FROM t WHERE {test}" for test in ("i", "d", "n", "s", "i AND b", "NOT i", "i OR d", "'true'")),
    "SELECT i AND b, i OR d, NOT i FROM t",
    "SELECT i = o, o = 1, o = 2, o < 2, (i AND b) < 0 FROM t",
    "SELECT CASE WHEN i THEN 1 ELSE 2 END FROM t",
    "SELECT coalesce(i, o), greatest(i, o) FROM t",
    "SELECT i IN (o), o IN (0, 1), o = 'true' FROM t",
    "SELECT i::bool, d::bool, n::bool, s::bool, o::int FROM t",
    "SELECT i IS TRUE, i IS NOT FALSE FROM t",
    "SELECT count(*) FROM t JOIN t u ON t.d",
    "SELECT b << 1, b >> 1, 3::tinyint << 5, 1::smallint << 2::bigint FROM t",
    "SELECT 5 >> -1, 5 >> 64, -5 >> 31, -5 >> 32, (-5)::bigint >> 63, 0 << 64, 1 << 30",
    *(f"SELECT {shift}" for shift in ("1 << 31", "1::bigint << 63", "1 << -1", "-1 << 1", "1::tinyint << 7")),
    "SELECT NOT 'a'",
    "SELECT 'on'::bool",
]


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    ddl = "CREATE TABLE t (i int, b bigint, d double, n decimal(5, 2), s varchar, o boolean)"
    rows = [(-1, 5, 0.5, 0, "1", True), (0, 0, 0.0, 1.5, "0", False), (None,) * 6]
    tables = Fixed(DbApi("duckdb", duckdb.connect(":memory:"), duckdb.Error), [ddl], {"t": rows})
    assert tables.report(DUCKDB) == ([], {})
    several = ["SELECT 0 BETWEEN 0 AND o FROM t", "SELECT o BETWEEN 0 AND 1 FROM t"]
    assert set(tables.report(several)[1].values()) == {"BETWEEN of values of several types in duckdb"}
    wrong = ["SELECT d < o FROM t", "SELECT i + o FROM t", "SELECT o > 0.5 FROM t", "SELECT -o FROM t"]
    assert set(tables.report(wrong)[1]) == set(wrong)


TRUTHS = [
    *(f"SELECT k FROM t WHERE {test}" for test in ("s", "NOT s", "s AND i", "s OR f", "f", "s IS NOT NULL AND NOT s")),
    "SELECT k, NOT s, s AND 1, s OR NULL FROM t",
    "SELECT CASE WHEN s THEN 'a' ELSE 'b' END FROM t",
]
TEXTS = ["0.1x", "abc", None, "1", " 2", "0"]


def test_texts_as_conditions_in_sqlite() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    rows = [(k, None if k == 2 else k / 4, k % 2, text) for k, text in enumerate(TEXTS)]
    tables = Fixed(engine, ["CREATE TABLE t (k int PRIMARY KEY, f double, i int, s text)"], {"t": rows})
    assert tables.report(TRUTHS) == ([], {})


FLOATS = [
    "SELECT k, f FROM t WHERE k <> 3",
    *(f"SELECT k FROM t WHERE {test}" for test in ("f = 0.1", "f = '0.1'", "f = r", "f = g", "f = n", "-f = 0.5")),
    "SELECT k FROM t WHERE f IN (0.1, 3.75) OR f BETWEEN 0 AND 0.1 OR coalesce(f, 1) = 0.1",
    "SELECT k, f + 0, f * 2, f / 4, -f, f + f FROM t",
    "SELECT sum(f), avg(f), min(f), max(f) FROM t WHERE k IN (1, 4)",
    "SELECT k, coalesce(f, 1), coalesce(f, g), CASE WHEN k = 1 THEN f ELSE n END FROM t WHERE k <> 3",
    "SELECT k, abs(f), floor(f), ceil(f), sign(f), nullif(f, 0.1) FROM t WHERE k <> 3",
    "SELECT f, count(*) FROM t WHERE k <> 3 GROUP BY f",
    "SELECT k FROM t WHERE k <> 3 ORDER BY f, k",
    "SELECT k, cast(f AS SIGNED), cast(f AS DECIMAL(8, 2)) FROM t WHERE k <> 3",
    "SELECT f FROM t WHERE k = 0 UNION SELECT 0.1",
    "SELECT k, greatest(f, 1), least(f, g), f <=> g FROM t WHERE k <> 3",
    "SELECT (SELECT f FROM t WHERE k = 0) = 0.1",
]


def test_floats_and_texts_in_mariadb(mariadb: Any) -> None:
    ddl = "CREATE TABLE t (k INT PRIMARY KEY, f FLOAT, r REAL, g FLOAT(30), n DECIMAL(6, 2), s VARCHAR(20), i INT)"
    numbers = [(0.1,) * 4, (-0.5, 2.5, 1.25, -0.5), (None,) * 4, (1234567, 1, 1, 1), (3.75, 3, 3, 3), (0,) * 4]
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    tables = Fixed(engine, [ddl], {"t": []})
    for k, (four, text) in enumerate(zip(numbers, TEXTS, strict=True)):
        values = ", ".join("NULL" if value is None else str(value) for value in four)
        quoted = "NULL" if text is None else f"'{text}'"
        assert tables.difference(f"INSERT INTO t VALUES ({k}, {values}, {quoted}, {k % 2})") is None
    assert tables.report([*FLOATS, *TRUTHS]) == ([], {})
    assert list(tables.report(["SELECT f FROM t WHERE k = 3"])[1].values()) == [
        "a FLOAT of more than six digits, which a MySQL server shows rounded or not"
    ]
