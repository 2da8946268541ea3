"""Types, casts and functions by product (expected values from PostgreSQL 18, MariaDB 10.11, SQLite 3.40, DuckDB)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.products.postgres import POSTGRES
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.floating import float_text
from sql_semantics.values.types import Kind
from tests.unit.running import Database

COLLATIONS = {"postgres": "C", "mysql": "utf8mb4_bin", "sqlite": None, "duckdb": None}
TABLE = {
    "postgres": "CREATE TABLE t (k int, s smallint, r real, c char(4), b bytea, u uuid, j json, n numeric(6,2))",
    "mysql": "CREATE TABLE t (k int, s tinyint, u int unsigned, v varchar(9), d date, n decimal(6,2))",
    "sqlite": "CREATE TABLE t (k int, n numeric(10,2), d date, x text, y real)",
    "duckdb": "CREATE TABLE t (k int, s tinyint, h hugeint, n decimal(6,2), r float)",
}


def database(product: str) -> Database:
    return Database(Dialect(product, collation=COLLATIONS[product]), [TABLE[product]])


def value(product: str, expression: str) -> Any:
    return database(product).value(expression)


@pytest.mark.parametrize(
    ("product", "expression", "expected"),
    [
        ("postgres", "32767::smallint + 1", 32768),
        ("postgres", "0.1::real = 0.1::float8", False),
        ("postgres", "CAST(0.1::real AS text)", "0.1"),
        ("postgres", "CAST(1234567.89::real AS text)", "1.2345679e+06"),
        ("postgres", "round(2.5::float8)", 2.0),
        ("postgres", "round(2.5)", Decimal(3)),
        ("postgres", "5 # 3", 6),
        ("postgres", "1 << 33", 2),
        ("postgres", "substring('hello', -1, 3)", "h"),
        ("postgres", "lpad('hi', 5, 'xy')", "xyxhi"),
        ("postgres", "split_part('a,b,c', ',', -1)", "c"),
        ("postgres", "concat('a', NULL, 1, TRUE, 1.50)", "a1t1.50"),
        ("postgres", "greatest(1, NULL, 2.5)", Decimal("2.5")),
        ("postgres", "'\\x6162'::bytea", b"ab"),
        ("postgres", "3 BETWEEN SYMMETRIC 5 AND 1", True),
        (
            "postgres",
            "CAST('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid AS text)",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        ("postgres", "CAST('{\"a\":  1}'::json AS text)", '{"a":  1}'),
        ("mysql", "'1abc' + 1", 2.0),
        ("mysql", "1 = '1abc'", 1),
        ("mysql", "7.5 DIV 2", 3),
        ("mysql", "CAST(-1 AS UNSIGNED)", 2**64 - 1),
        ("mysql", "~5", 2**64 - 6),
        ("mysql", "1 << 64", 0),
        ("mysql", "round(125, -1)", 130),
        ("mysql", "truncate(-1.239, 1)", Decimal("-1.2")),
        ("mysql", "substring('hello', 0, 2)", ""),
        ("mysql", "trim(BOTH 'xy' FROM 'xyaxyx')", "axyx"),
        ("mysql", "locate('l', 'hello', 4)", 4),
        ("mysql", "if(1 > 2, 'a', 1)", "1"),
        ("mysql", "1 XOR 0", 1),
        ("sqlite", "CAST('1.5abc' AS INTEGER)", 1),
        ("sqlite", "substr('hello', 3, -2)", "he"),
        ("sqlite", "1 < 'a'", 1),
        ("sqlite", "1 = '1'", 0),
        ("sqlite", "CAST(1 AS TEXT) = 1", 1),
        ("sqlite", "CAST(1e20 AS TEXT)", "1.0e+20"),
        ("sqlite", "hex(NULL)", ""),
        ("duckdb", "1.5::DECIMAL(10,2) * 1::DECIMAL(3,1)", Decimal("1.500")),
        ("duckdb", "1 / 2", 0.5),
        ("duckdb", "-7 // 2", -3),
        ("duckdb", "substring('hello', -2, 2)", "lo"),
        ("duckdb", "CAST(1e16 AS VARCHAR)", "1e+16"),
    ],
)
def test_values(product: str, expression: str, expected: object) -> None:
    found = value(product, expression)
    assert (found, str(found)) == (expected, str(expected))


@pytest.mark.parametrize(
    ("product", "expression", "sqlstate"),
    [
        ("postgres", "32767::smallint + 1::smallint", "22003"),
        ("postgres", "abs((-32768)::smallint)", "22003"),
        ("postgres", "0::smallint::boolean", "42846"),
        ("postgres", "sqrt(-1)", "2201F"),
        ("postgres", "chr(0)", "54000"),
        ("postgres", "substring('a', 1, -1)", "22011"),
        ("postgres", "'[1,]'::json", "22P02"),
        ("postgres", "'a0eebc99'::uuid", "22P02"),
        ("postgres", "lower(1)", "42883"),
        ("mysql", "CAST(1 AS UNSIGNED) - 2", "22003"),
        ("duckdb", "100::TINYINT + 100", "22003"),
    ],
)
def test_errors(product: str, expression: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        value(product, expression)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("product", "expression", "construct"),
    [
        ("postgres", "5 & 3 | 1", "bit operator"),
        ("postgres", "~-1", "operator ~-"),
        ("mysql", "1 & NULL", "bare NULL"),
        ("mysql", "round(1.5, 4)", "more places"),
        ("mysql", "9007199254740993 = concat('9007199254740992')", "as a number"),
        ("duckdb", "7 % 0", "division by zero"),
        ("sqlite", "'1' + 1", "text"),
    ],
)
def test_refused(product: str, expression: str, construct: str) -> None:
    with pytest.raises(Unsupported, match=construct):
        value(product, expression)


def test_what_mysql_warns_of_in_a_query_is_an_error_where_it_is_stored() -> None:
    mysql = database("mysql").fill("t", [(1, 0, 0, "1abc", None, None)])
    assert mysql.rows("SELECT v + 1, k / 0 FROM t") == [(2.0, None)]
    for sql, state in (("UPDATE t SET k = v + 1", "22007"), ("UPDATE t SET k = k / 0", "22012")):
        with pytest.raises(SqlError) as caught:
            mysql.run(sql)
        assert caught.value.sqlstate == state
    with pytest.raises(Unsupported):
        mysql.run("DELETE FROM t WHERE v + 1 = 2")


def test_mysql_stores() -> None:
    mysql = database("mysql")
    mysql.run("INSERT INTO t VALUES ('2.5', 2.5, 7, 1.50, '2020-01-01 10:00:00', '1.005')")
    assert [str(item) for item in mysql.rows("SELECT * FROM t")[0]] == ["3", "3", "7", "1.50", "2020-01-01", "1.01"]
    for sql in ("INSERT INTO t (u) VALUES (-1)", "INSERT INTO t (s) VALUES (128)"):
        with pytest.raises(SqlError, match="22003"):
            mysql.run(sql)


def test_sqlite_columns_of_numeric_affinity() -> None:
    sqlite = database("sqlite")
    sqlite.run("INSERT INTO t VALUES (1, 10.0, '2020-01-01', 7, 3)")
    sqlite.run("INSERT INTO t VALUES (2, 0.5, 'x', 'y', 1.5)")
    assert [repr(row) for row in sqlite.rows("SELECT n, d, x, y, n / 4 FROM t")] == [
        "(10, '2020-01-01', '7', 3.0, 2)",
        "(0.5, 'x', 'y', 1.5, 0.125)",
    ]
    for sql in (
        "INSERT INTO t (d) VALUES ('2020')",
        "INSERT INTO t (k) VALUES (1.5)",
        "INSERT INTO t (k) VALUES ('x')",
    ):
        with pytest.raises(Unsupported):
            sqlite.run(sql)


def test_the_shortest_text_of_a_float_lies_between_the_midpoints() -> None:
    # -3e10 as a 32-bit float is 30000001024; 3e10 is just the midpoint to its neighbour.
    assert float_text(-30000001024.0, Kind.REAL, POSTGRES.values.float_text) == "-3.0000001e+10"
    assert float_text(0.1, Kind.DOUBLE, POSTGRES.values.float_text) == "0.1"


def test_what_is_stored_in_place_of_an_error_is_not_told() -> None:
    strict, lax = (
        Database(Dialect("mysql", sql_mode=mode), ["CREATE TABLE u (k INT PRIMARY KEY, s VARCHAR(2) NOT NULL)"])
        for mode in ("STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO", "NO_ENGINE_SUBSTITUTION")
    )
    for database in (strict, lax):
        database.run("INSERT INTO u (k, s) VALUES (1, 'ab'), (2, 'c')")
        database.run("UPDATE u SET s = 'd' WHERE k / 1 = 2")
    for sql in (
        "INSERT INTO u (k, s) VALUES (3, 'abc')",
        "INSERT INTO u (k) VALUES (4)",
        "INSERT INTO u (k, s) VALUES (5, NULL), (6, 'x')",
        "UPDATE u SET k = 1 / 0",
        "UPDATE u SET s = concat(s, 'bc')",
    ):
        with pytest.raises(SqlError):
            strict.run(sql)
        with pytest.raises(Unsupported, match="not strict"):
            lax.run(sql)
    with pytest.raises(SqlError, match="nowhere"):
        lax.run("SELECT nowhere FROM u")


def test_other_sql_modes_are_refused() -> None:
    with pytest.raises(Unsupported, match="ANSI_QUOTES"):
        Database(Dialect("mysql", sql_mode="ANSI_QUOTES,STRICT_TRANS_TABLES"), [TABLE["mysql"]])
