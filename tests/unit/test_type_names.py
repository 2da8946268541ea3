"""Type names that the parser knows and the product does not, or has for something else; substr() at its edges; NULL
alone in CASE. Each was tried on the products."""

from __future__ import annotations

import sqlite3

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import read_schema
from sql_semantics.values.dialect import Dialect
from tests.unit.running import Database

SQLITE = Dialect("sqlite")


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("postgres", "BLOB STRING DOUBLE VARBINARY NUMBER CLOB LONG SHORT VARCHAR2"),
        ("mysql", "STRING NUMBER CLOB LONG SHORT SIGNED INT8"),
        ("duckdb", "NUMBER CLOB VARCHAR2"),
    ],
)
def test_no_such_type(dialect: str, names: str) -> None:
    for name in names.split():
        with pytest.raises(Unsupported, match="type"):
            read_schema([f"CREATE TABLE t (a INT, b {name})"], Dialect(dialect, collation="C"))
        if dialect == "postgres":
            with pytest.raises(Unsupported, match="type"):
                read_schema([f"CREATE TABLE t (a INT DEFAULT CAST(NULL AS {name}))"], Dialect(dialect, collation="C"))


def test_columns_of_such_names() -> None:
    (table,) = read_schema(["CREATE TABLE t (number INT, long TEXT, string INT)"], Dialect("sqlite")).values()
    assert [column.name for column in table.columns] == ["number", "long", "string"]
    database = Database(SQLITE, ["CREATE TABLE t (number INTEGER, long TEXT)"]).fill("t", [(1, "x")])
    assert database.rows("SELECT number, (SELECT count(*) AS long) AS string FROM t") == [(1, 1)]


def test_what_sqlite_casts_to_a_number() -> None:
    with pytest.raises(Unsupported, match="type BOOLEAN"):
        Database(SQLITE, []).rows("SELECT CAST(1.5 AS BOOLEAN)")
    with pytest.raises(Unsupported, match="::"):
        Database(SQLITE, []).rows("SELECT 1::integer")


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_substr_beyond_32_bits(dialect: str) -> None:
    database = Database(Dialect(dialect), [])
    assert database.rows("SELECT substr('hello', 2147483647), substr('hello', 2, 2147483647)") == [("", "ello")]
    for call in ("substr('hello', 2147483648)", "substr('hello', 0, 9223372036854775807)"):
        with pytest.raises(Unsupported, match="beyond 32 bits"):
            database.rows(f"SELECT {call}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT - CASE WHEN a = 1 THEN NULL END, + CASE a WHEN 1 THEN NULL END, 2 * coalesce(NULL, NULL) FROM t",
        "SELECT coalesce(CASE a WHEN 1 THEN NULL END, b, 4), CASE WHEN a = 1 THEN NULL END || 'x' FROM t",
        "SELECT a IN (b, 2), b IN (a, 3), a IN (1.0, 2.5), a + 0 IN (b) FROM t",
        "SELECT a FROM t WHERE a NOT IN (b, 2.5)",
    ],
)
def test_numbers_and_null_in_sqlite(sql: str) -> None:
    ddl = "CREATE TABLE t (a INTEGER, b DOUBLE)"
    rows = [(1, 1.0), (2, 2.5), (None, 9007199254740992.0), (9007199254740993, 9007199254740992.0), (3, None)]
    connection = sqlite3.connect(":memory:")
    connection.execute(ddl)
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    wanted = connection.execute(sql).fetchall()
    connection.close()
    assert Database(SQLITE, [ddl]).fill("t", rows).rows(sql) == wanted
