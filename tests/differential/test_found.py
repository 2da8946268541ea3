"""The smallest statements of differences that campaigns found, on the engine that answered otherwise.

Each must be modelled: neither refused nor answered differently. Knows no reason; the interpreter's comments have it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import DbApi, Engine, MariaDB, Postgres

FAMILIAR = (
    "CREATE TABLE t (k int PRIMARY KEY, n decimal(6,3), x varchar(6), d date, m timestamp)",
    "INSERT INTO t VALUES (1, 2.5, 'a', '2020-01-01', '2020-01-01 01:02:03'), (2, NULL, 'b', NULL, NULL)",
    "INSERT INTO t VALUES (3, -1.5, 'B', '2021-01-01', '2020-02-02 01:02:03'), (4, NULL, NULL, NULL, NULL)",
)
PLAIN = (
    "CREATE TABLE t (k int PRIMARY KEY, f real, x text)",
    "INSERT INTO t VALUES (1, 2.5, 'a'), (2, NULL, 'b'), (3, -1.5, 'B')",
)
_ROWS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")

POSTGRES = (
    "SELECT (SELECT NULL) IS UNKNOWN",
    "SELECT k IS UNKNOWN FROM t",
    "SELECT NULL IS UNKNOWN, (k = n) IS NOT UNKNOWN FROM t",
    "SELECT - NULL",
    "SELECT CASE 1 WHEN k THEN 'a' WHEN n THEN 'b' ELSE 'c' END FROM t",
    "SELECT CASE 1 WHEN 1 THEN 1 / 0 ELSE 2 END FROM t",
    "SELECT CASE 2 WHEN 1 THEN 1 / 0 ELSE 2 END FROM t",
    "SELECT CASE NULL WHEN k THEN 1 ELSE 2 END FROM t",
    "SELECT CASE 'a' WHEN x THEN 1 ELSE 2 END, CASE NULL WHEN NULL THEN 1 ELSE 2 END FROM t",
    "WITH c AS (SELECT 1 / 0 AS a) SELECT 1",
    "SELECT 1 FROM t ORDER BY EXISTS (SELECT 1 / 0)",
    "SELECT k FROM t WHERE k > 5 INTERSECT SELECT 1 / (k - 1) FROM t",
    "SELECT date_trunc('month', NULL) FROM t",
    "SELECT a + 1 FROM (SELECT NULL AS a) c",
    "INSERT INTO t (k, x) SELECT 1, nullif('abcdefgh', c.a) FROM (SELECT 'a' AS a FROM t AS b WHERE k > 9) AS c",
    "SELECT sum(1 % (k - 1)) FROM t LIMIT 0",
    "SELECT 'NaN'::float8 / 0::float8, 'NaN'::real / 0",
    "SELECT (SELECT 1 / (k - 1) FROM t ORDER BY 1 / (k - 1) LIMIT 0)",
    "SELECT bool_or(1 = 1) FROM t WHERE 1 / (k - 2) IS NOT NULL",
    "SELECT t.k FROM (SELECT k FROM t WHERE k > 9) AS t JOIN (VALUES (0, '')) AS v (a, b) ON TRUE ORDER BY 1 / v.a",
    "UPDATE t SET x = x RETURNING (SELECT d.a FROM (SELECT 1 / 0 AS a) AS d WHERE t.k > 9)",
    "SELECT jsonb_set('[1, 2]', '{1000000000}', '9')::text, jsonb_set('[]', '{a}', '9', false)::text",
    "SELECT jsonb_set('{\"a\": 1}', '{b,NULL}', '9')::text, (('[]'::jsonb) #- '{a}')::text",
    "SELECT (('[1, 2]'::jsonb) #> '{0000000001}')::text, (('[1, 2]'::jsonb) #> '{١}')::text",
    "SELECT ((' [1, 2 ] '::json) #> '{}')::text, ((' \"a\" '::json) #> '{}')::text, (' true '::json) #>> '{}'",
    "SELECT jsonb_set('{\"a\": 1}', '{a,NULL}', '9')::text",
    "SELECT encode(repeat('a', 57)::bytea, 'base64'), encode(repeat('a', 56)::bytea, 'base64')",
    "SELECT to_char(1, ''), to_char(1.5, '')",
    "SELECT * FROM generate_series('2024-01-31'::timestamp, '2024-02-03', '1 day 2 hours') g",
    'SELECT ARRAY(SELECT -k AS "Y" FROM t ORDER BY "Y"), ARRAY(SELECT -k AS k FROM t ORDER BY K)',
    "SELECT ARRAY(SELECT (k::text) FROM t ORDER BY k), ARRAY(SELECT count(*) FROM t GROUP BY k ORDER BY count)",
)
SQLITE = (
    "SELECT /* a /* b */ k FROM t",
    "SELECT k /* a /* b */ FROM t /* open",
    "SELECT max(k, 2), min(k, 2), max(k, NULL), min(f, 1.5), max(x, 'a'), min(x, 'b', '') FROM t",
    "SELECT max(max(k, 2)) FROM t GROUP BY max(k, 3)",
    "SELECT CASE 1 WHEN k THEN 'a' END, CASE 1 WHEN x THEN 'a' ELSE 'b' END FROM t",
)
DUCKDB = (
    *(
        f"SELECT (n, k) {op} (2, k), (x, d) {op} ('a', DATE '2020-01-01'), (n, x) {op} (NULL, 'B') FROM t"
        for op in _ROWS
    ),
    "SELECT (k, x) IN ((1, 'a'), (4, NULL)), (k, x) NOT IN ((1, 'a'), (4, NULL)) FROM t",
    "SELECT (k, n) IN (SELECT k, n FROM t) FROM t",
    "SELECT round(n, 1), round(n, 0), round(n, -1), round(2.345, 2), round(n * k, 2), round(n, 4) FROM t",
    "SELECT round(n, 1) * round(n, 2), round(k, 1), round(k, -1), round(12345, -2) FROM t",
    "SELECT round(2147483647, -1)",
    "SELECT year(d), month(d), day(m), year(d) + 1 FROM t",
    "SELECT n + NULL, NULL * n, coalesce(n + NULL, 1), coalesce(NULL * n, 'a'), NULL - n FROM t",
    "SELECT d + NULL, m + NULL, NULL + d, coalesce(d - NULL, d), coalesce(m - NULL, m) FROM t",
    "SELECT mod(k, NULL), mod(n, 2), mod(k, 2), - NULL FROM t",
    "SELECT nullif('a', x), nullif('a', 'a') FROM t",
    "SELECT CASE 1 WHEN k THEN 1 WHEN n THEN 3 ELSE 2 END, CASE 1.5 WHEN k THEN 3 ELSE 4 END FROM t",
    "SELECT sum(DISTINCT (-31 - 2147483647)) FILTER (WHERE FALSE) FROM t",
    "UPDATE t SET k = (SELECT k FROM t) WHERE k > 10",
    "VALUES (1.5), (NULL), (2.25)",
    "VALUES (NULL), (3), (0.5) ORDER BY 1",
    "INSERT INTO t (k) VALUES (50) ON CONFLICT (k) DO UPDATE SET n = 123456789.5",
    "INSERT INTO t (k) VALUES (51) ON CONFLICT (k) DO UPDATE SET k = excluded.k + 2147483647",
)
MYSQL = (
    "SELECT CASE WHEN (a.k < ALL (SELECT 1 FROM t AS b WHERE (1 <=> (SELECT 2 FROM t AS c)))) THEN 1 END FROM t AS a"
    " WHERE k > 9",
    "SELECT CASE 1 WHEN k THEN 'a' WHEN n THEN 'b' ELSE 'c' END FROM t",
    "SELECT locate('', '', 1), locate('', ''), locate('', 'abc', 4), locate('', 'abc', 3), locate('c', 'abc', 3)",
    "SELECT coalesce(nullif(NULL, NULL), k), nullif(NULL, 1), CAST(k / 4 AS double), sqrt(k / 8) FROM t",
    "SELECT k / 3 > 0.5, k / 3 < n, 2 / 3 > 0.6, k / 3 BETWEEN 0.1 AND 1 FROM t",
    "SELECT coalesce(NULL, n, 1.2345), CASE WHEN k = 1 THEN NULL WHEN k = 2 THEN 1.5 ELSE 2.25 END FROM t",
    "SELECT avg(n) > 0.5 FROM t HAVING avg(n) < 0.6",
    "SELECT coalesce(NULL + INTERVAL 1 DAY, d), date_add(NULL, INTERVAL 2 MONTH) FROM t",
    "UPDATE t SET x = 'a' WHERE (0e0 / (k - 1)) IN (NULL)",
    "UPDATE t SET x = (1 / (k - 1)) = NULL",
    "UPDATE t SET n = NULL = (1 / (k - 1)) WHERE k = 1",
    "UPDATE t SET x = concat(NULL, 1 / (k - 4)) WHERE k = 4",
    "UPDATE t SET x = replace('a', NULL, 1 / (k - 4)) WHERE k = 4",
    "UPDATE t SET x = lpad('abc', NULL, 1 / (k - 4)) WHERE k = 4",
)
MYSQL_CONSTANTS = (
    "INSERT INTO t (k) SELECT k FROM t WHERE 'a' = 1",
    "INSERT INTO t (k) SELECT k FROM t WHERE 'a' + 1 = 1",
    "INSERT INTO t (k) SELECT k FROM t WHERE 'a'",
    "INSERT INTO t (k) SELECT k FROM t HAVING 'a' = 1",
    "INSERT INTO t (k) SELECT k FROM t WHERE CASE WHEN 'a' = 1 THEN TRUE END",
    "INSERT INTO t (k) SELECT t.k FROM t JOIN t AS u ON 'a' = 1",
    "INSERT INTO t (k, x) SELECT k, 'a' = 1 FROM t",
    "UPDATE t SET x = 'b' WHERE 'a' = 1",
    "DELETE FROM t WHERE 'a' = 1",
)
"""On an empty table: MariaDB computes with the constants of a query's conditions before it looks for a row."""


def disagreements(engine: Engine, setup: Sequence[str], statements: Sequence[str]) -> list[str]:
    """Where interpreter and engine differ, or the interpreter has no answer."""
    engine.clear()
    assert engine.run(setup[0]).error is None
    dialect = Dialect(engine.name, collation=engine.collation, foreign_keys=engine.name == "sqlite" or None)
    tables = Beside(engine, dialect, Catalog(read_schema(setup[:1], dialect), {}))
    found = []
    for sql in (*setup[1:], *statements):
        done = tables.step(sql)
        if done.outside is not None or done.problem is not None:
            found.append(f"{sql}\n    {done.outside or done.problem}")
    return found


def test_postgres(postgres: Any) -> None:
    assert not disagreements(Postgres(postgres, collation="C"), FAMILIAR, POSTGRES)


def test_sqlite() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    assert not disagreements(engine, PLAIN, SQLITE)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    assert not disagreements(engine, FAMILIAR, DUCKDB)


def test_mariadb(mariadb: Any) -> None:
    connection, collation = mariadb
    setup = (FAMILIAR[0].replace("timestamp", "datetime"), *FAMILIAR[1:])
    assert not disagreements(MariaDB(connection, collation), setup, MYSQL)


def test_mariadb_computes_constant_conditions_for_no_row(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    setup = FAMILIAR[0].replace("timestamp", "datetime")
    assert not disagreements(engine, (setup,), MYSQL_CONSTANTS)
    assert engine.run(MYSQL_CONSTANTS[0]).error == "22007"


def test_mariadb_reads_texts_that_are_nearly_json(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    tables = Beside(engine, Dialect(engine.name, product="mariadb", collation=collation), Catalog({}, {}))
    same = tables.step(
        """SELECT json_unquote(' "a"'), json_unquote('"a" '), json_unquote(' a'), json_value('no json', '$.a')"""
    )
    assert (same.outside, same.problem) == (None, None)
    for unknown in ("json_valid('1.')", """json_value('{"a": 1', '$.a')""", """json_extract('{"a": 1.}', '$.a')"""):
        refused = tables.step(f"SELECT {unknown}").outside
        assert refused is not None and "JSON" in refused, unknown


def test_quotients_are_sorted_by_the_digits_of_their_type(mariadb: Any) -> None:
    """0.33333 and 1/3 are ties of ORDER BY, one value in DISTINCT aggregates and peers in a window."""
    connection, collation = mariadb
    setup = (
        "CREATE TABLE t (k int PRIMARY KEY, a int, b int)",
        "INSERT INTO t VALUES (1, 1, 3), (2, 33333, 100000), (3, 2, 6), (4, 2, 3), (5, 66667, 100000)",
    )
    statements = (
        "SELECT k FROM t ORDER BY a / b",
        "SELECT k FROM t ORDER BY a / b DESC LIMIT 3",
        "SELECT k, a / b AS q FROM t ORDER BY q * 3",
        "SELECT k, rank() OVER (ORDER BY a / b), count(*) OVER (PARTITION BY a / b) FROM t",
        "SELECT count(DISTINCT a / b), sum(DISTINCT a / b) FROM t",
        "SELECT group_concat(k ORDER BY a / b, k) FROM t",
        "SELECT DISTINCT a / b FROM t WHERE k NOT IN (2, 5)",
        "SELECT a / b, count(*) FROM t WHERE k NOT IN (2, 5) GROUP BY a / b ORDER BY a / b DESC",
        "UPDATE t SET a = a + 1 ORDER BY a / b, k DESC LIMIT 1",
    )
    assert not disagreements(MariaDB(connection, collation), setup, statements)


def test_duckdb_takes_a_reference_that_is_set_out_of_its_index() -> None:
    """And the whole row with it, to which others refer."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    schema = [
        "CREATE TABLE p (k integer PRIMARY KEY)",
        "CREATE TABLE c (k integer PRIMARY KEY, n integer, r integer, FOREIGN KEY (r) REFERENCES p (k))",
        "CREATE TABLE d (k integer PRIMARY KEY, r integer, FOREIGN KEY (r) REFERENCES c (k))",
    ]
    assert [engine.run(ddl).error for ddl in schema] == [None, None, None]
    tables = Beside(engine, Dialect("duckdb"), Catalog(read_schema(schema, Dialect("duckdb")), {}))
    for sql in (
        "INSERT INTO p VALUES (1), (2)",
        "INSERT INTO c VALUES (1, 1, 1), (2, 2, NULL)",
        "INSERT INTO d VALUES (1, 2)",
        "UPDATE c SET n = 3",
        "UPDATE c SET r = 2 WHERE k = 1",
        "UPDATE c SET r = 1 WHERE k = 2",
    ):
        done = tables.step(sql)
        assert (done.outside, done.problem) == (None, None), sql
    assert done.error


def test_cascades_move_each_row_once(mariadb: Any) -> None:
    """Keys that follow one another: 3 becomes 4, then 2 becomes 3, and who referred to 2 does not go on to 4."""
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    schema = [
        "CREATE TABLE p (k int PRIMARY KEY)",
        "CREATE TABLE c (k int PRIMARY KEY, r int, FOREIGN KEY (r) REFERENCES p (k) ON UPDATE CASCADE)",
    ]
    assert [engine.run(ddl).error for ddl in schema] == [None, None]
    dialect = Dialect(engine.name, collation=collation)
    tables = Beside(engine, dialect, Catalog(read_schema(schema, dialect), {}))
    for sql in (
        "INSERT INTO p VALUES (1), (2), (3)",
        "INSERT INTO c VALUES (1, 1), (2, 2), (3, 3)",
        "UPDATE p SET k = k + 1 ORDER BY k DESC",
    ):
        done = tables.step(sql)
        assert (done.outside, done.problem) == (None, None), sql
    assert sorted(tables.view.rows("c")) == [(1, 2), (2, 3), (3, 4)]
