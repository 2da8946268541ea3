"""What public regression suites showed: each statement on the real engine and in the interpreter, same or refused.

Does not hold the suites, only the shape of what differed once.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import DbApi, MariaDB, Postgres

POSTGRES = (
    "CREATE TABLE f (k INT PRIMARY KEY, a REAL, b DOUBLE PRECISION, t TIME, v VARCHAR(3), w INTERVAL)",
    "CREATE TABLE p (a INT PRIMARY KEY)",
    "CREATE TABLE c (a INT DEFAULT 0 REFERENCES p ON DELETE SET DEFAULT)",
)
MYSQL = (
    "CREATE TABLE f (k INT PRIMARY KEY, a FLOAT, d DATE, t TIME, m TIMESTAMP NULL, v VARCHAR(3))",
    "CREATE TABLE g (k INT, a INT)",
)


def agree(engine: Any, schema: tuple[str, ...], dialect: Dialect, statements: tuple[str, ...]) -> list[str]:
    """Runs them all; returns the constructs that were refused."""
    engine.clear()
    for text in schema:
        assert engine.run(text).error is None
    beside = Beside(engine, dialect, Catalog(read_schema(list(schema), dialect), {}))
    refused = []
    for sql in statements:
        step = beside.step(sql)
        assert step.problem is None, f"{sql}: {step.problem}"
        if step.outside is not None:
            refused.append(step.outside)
            engine.run(sql)
            beside.load()
    return refused


def test_postgres_agrees(postgres: Any) -> None:
    engine = Postgres(postgres, "C")
    statements = (
        "INSERT INTO f VALUES (1, 1004.3, 1, '10:00', 'abc', '1 month 2 days'), (2, 0, 'nan', NULL, NULL, '3 days')",
        "SELECT k FROM f WHERE a = '1004.3' OR a >= '1004.3'",
        "SELECT '10e400'::float8",
        "SELECT k, b / 0::float8 FROM f WHERE k = 2",
        "SELECT t + TIME '00:01' FROM f",
        "SELECT x::varchar(2) FROM (VALUES ('a'::varchar(2)), ('abcdef')) AS s(x)",
        "SELECT x::varchar(3) FROM (SELECT v FROM f UNION SELECT 'abcdef') AS s(x)",
        "WITH RECURSIVE r(i) AS (SELECT 1::numeric(3,0) UNION ALL SELECT (i + 1)::numeric(10,0) FROM r WHERE i < 3)"
        " SELECT * FROM r",
        "SELECT k, lag(k, k) OVER (ORDER BY k), lead(k, k - 1, -1) OVER (ORDER BY k),"
        " nth_value(k, k) OVER (ORDER BY k) FROM f",
        "INSERT INTO p VALUES (0), (1)",
        "INSERT INTO c VALUES (0), (1)",
        "DELETE FROM p WHERE a = 1",
        "DELETE FROM p WHERE a = 0",
        "SELECT k FROM f WHERE w < '1 month'",
    )
    assert agree(engine, POSTGRES, Dialect("postgres", collation="C"), statements) == []


def test_postgres_agrees_or_is_refused(postgres: Any) -> None:
    engine = Postgres(postgres, "C")
    statements = (
        "INSERT INTO f VALUES (1, 1, 1, '10:00', 'abc', '1 month')",
        *("SELECT 0o273", "SELECT 1_000", "SELECT 123abc", "SELECT 0b_10", "SELECT 'a' 'b'"),
        "SELECT k AS x, k AS y FROM f GROUP BY x, ROLLUP (y)",
        "SELECT 1 AS x, k, count(*) FROM f GROUP BY GROUPING SETS (1, 2)",
        "SELECT k, v FROM f GROUP BY DISTINCT ROLLUP (k, v), ROLLUP (k)",
        "SELECT (SELECT grouping(k)) FROM f GROUP BY k",
        "SELECT k FROM f GROUP BY k HAVING EXISTS (SELECT 1 FROM p WHERE sum(DISTINCT f.k) = p.a)",
        "SELECT k FROM f EXCEPT ALL SELECT k FROM f FOR UPDATE",
        "SELECT string_agg(decode(v, 'hex'), '') FROM f WHERE k = 0",
        "SELECT rank() OVER (PARTITION BY k, ORDER BY k) FROM f",
        "SELECT ntile(k) OVER (ORDER BY k) FROM f",
    )
    assert len(agree(engine, POSTGRES, Dialect("postgres", collation="C"), statements)) == len(statements) - 1


def test_mariadb_agrees_or_is_refused(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    dialect = Dialect("mysql", collation=collation, product="mariadb")
    statements = (
        "INSERT INTO f VALUES (1, 0.6158, '2003-03-01', '10:00:00', '2006-01-01 12:01:01', 'abc')",
        "INSERT INTO f VALUES (2, 0, '2003-03-32', NULL, NULL, NULL)",
        "SELECT k FROM f WHERE t BETWEEN CAST('09:00:00' AS TIME) AND CAST('11:00:00' AS TIME)",
        "SELECT CAST('2011-02-03 10:11:12.123456' AS DATETIME(5))",
        "UPDATE f SET v = CAST(123 AS CHAR(1))",
        *("SELECT last_day('2003-03-32')", "SELECT DATE_ADD('2001-01-01 00:00:00.1', INTERVAL 1 SECOND)"),
        *("SELECT rpad('abcd', 7)", "SELECT UTC_TIME / 0", "SELECT -(1e0-1e0)", "SELECT GET_FORMAT(TIME, 'JIS')"),
        "SELECT round(999999999999999999, -18)",
        "INSERT INTO g VALUES (1, 1), (1, 2)",
        "SELECT k, a AS b, COUNT(*) FROM g GROUP BY k, a, b WITH ROLLUP",
        "SELECT 'x', k, COUNT(*) FROM g GROUP BY 1, 2 WITH ROLLUP",
    )
    refused = agree(engine, MYSQL, dialect, statements)
    assert len(refused) == 9, refused


@pytest.mark.parametrize(
    ("option", "collation"),
    [
        ("DEFAULT CHARSET=latin1", "latin1_default_ci"),
        ("DEFAULT CHARSET=utf8mb4", "utf8mb4_default_ci"),
        ("COLLATE=utf8mb4_general_ci", "utf8mb4_general_ci"),
        ("DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", ""),
    ],
)
def test_a_character_set_brings_its_own_collation(option: str, collation: str) -> None:
    text = f"CREATE TABLE t (a VARCHAR(5)) {option}"
    (column,) = read_schema([text], Dialect("mysql", collation="utf8mb4_bin"))["t"].columns
    assert column.type.collation == collation


def test_a_collation_that_is_the_log_s_own_changes_nothing() -> None:
    text = "CREATE TABLE t (a VARCHAR(5)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
    assert "t" in read_schema([text], Dialect("mysql", collation="utf8mb4_bin"))


def test_json_has_no_equality_and_bytes_see_padding(postgres: Any) -> None:
    engine = Postgres(postgres, "C")
    schema = ("CREATE TABLE j (k INT, d JSON, u UUID, b BYTEA, c CHAR(4))",)
    statements = (
        "INSERT INTO j VALUES (1, '{\"a\":  1}', '00000000-0000-0000-0000-000000000001', '\\x00ff', 'z9')",
        *("SELECT d FROM j ORDER BY d", "SELECT DISTINCT d FROM j", "SELECT d FROM j GROUP BY d"),
        *("SELECT d FROM j UNION SELECT d FROM j", "SELECT d FROM j UNION ALL SELECT d FROM j"),
        *("SELECT count(DISTINCT d) FROM j", "SELECT rank() OVER (PARTITION BY d ORDER BY k) FROM j"),
        *("SELECT u, b FROM j ORDER BY u, b", "SELECT d FROM j WHERE d = d", "SELECT DISTINCT ON (d) d FROM j"),
    )
    assert agree(engine, schema, Dialect("postgres", collation="C"), statements) == []
    assert agree(engine, schema, Dialect("postgres", collation="C"), (statements[0], "SELECT c::bytea FROM j")) != []


DUCKDB_SCHEMA = (
    "CREATE TABLE p (k INTEGER PRIMARY KEY, v INTEGER, w INTEGER UNIQUE)",
    "CREATE TABLE c (i INTEGER PRIMARY KEY, r INTEGER REFERENCES p (k), b BLOB, u UUID)",
)


def test_duckdb_s_foreign_keys_bytes_and_uuids() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    statements = (
        "INSERT INTO p VALUES (1, 1, NULL), (2, 2, NULL), (3, 3, 3)",
        "INSERT INTO c VALUES (1, 1, '\\x00a', '00000000-0000-0000-0000-000000000001'), (2, NULL, NULL, NULL)",
        *("INSERT INTO c (i, r) VALUES (5, 9)", "INSERT INTO c (i, r) VALUES (6, 2), (7, 9)"),
        *("UPDATE c SET r = 9 WHERE i = 1", "UPDATE c SET r = r", "UPDATE p SET v = 9 WHERE k = 1"),
        *("UPDATE p SET k = k WHERE k = 1", "UPDATE p SET k = k WHERE k = 3", "UPDATE p SET k = 12 WHERE k = 1"),
        *("DELETE FROM p WHERE k = 1", "DELETE FROM p WHERE k = 3", "DELETE FROM p"),
        *(
            "UPDATE p SET w = 7 WHERE k = 1",
            "UPDATE p SET w = 8 WHERE k = 2",
            "INSERT OR IGNORE INTO c (i, r) VALUES (1, 9)",
        ),
        "INSERT INTO c (i, r) VALUES (1, 2) ON CONFLICT (i) DO UPDATE SET r = excluded.r",
        *("SELECT max(b), min(u) FROM c", "SELECT octet_length(b) FROM c WHERE b > '\\x00'::BLOB"),
        *("DELETE FROM c", "DELETE FROM p"),
    )
    assert agree(engine, DUCKDB_SCHEMA, Dialect("duckdb"), statements) == []


def test_an_empty_byte_string_is_a_literal() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    statements = ("INSERT INTO t VALUES (X''), (X'61')", "SELECT X'', a FROM t WHERE a > X''")
    assert agree(engine, ("CREATE TABLE t (a BLOB)",), Dialect("sqlite"), statements) == []


def test_mariadb_s_names_digits_and_rows_are_refused(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    statements = (
        "INSERT INTO g VALUES (1, 2)",
        *("SELECT a AS c, (SELECT k FROM f WHERE k = c) FROM g", "SELECT 1 FROM g HAVING (SELECT a) = 1"),
        *("SELECT (SELECT k, a FROM g) = (SELECT 1, 2)", "SELECT CAST(1 AS DECIMAL(5,6))"),
        *("SELECT .7777777777777777777777777777777777777 - 0.1", "SELECT 1.20396873 * 0.8955 * 0.00000000000000000001"),
        "SELECT t2.* FROM ((SELECT * FROM g) AS t1 JOIN g AS t2 ON t1.k = t2.k)",
    )
    dialect = Dialect("mysql", collation=collation, product="mariadb")
    assert len(agree(engine, MYSQL, dialect, statements)) == 7


def test_mariadb_s_times_and_windows_are_refused(mariadb: Any) -> None:
    connection, collation = mariadb
    schema = ("CREATE TABLE m (k INT, t TIME, s TIMESTAMP NOT NULL DEFAULT NOW(), n DECIMAL(10,2))",)
    statements = (
        "INSERT INTO m VALUES (1, '10:20:31', '2020-01-01 00:00:00', 1)",
        *("INSERT INTO m (t) VALUES ('45:44:44')", "INSERT INTO m (s) VALUES ('1970-01-01 00:00:00')"),
        *("INSERT INTO m (s) VALUES (NULL)", "SELECT k FROM m WHERE t = TIME'10:20:31.123'"),
        *("SELECT k AS z, rank() OVER (ORDER BY z) FROM m", "INSERT IGNORE INTO m (n) VALUES ('1e+214748364')"),
        "SELECT rank() OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM m",
    )
    dialect = Dialect("mysql", collation=collation, product="mariadb")
    assert len(agree(MariaDB(connection, collation), schema, dialect, statements)) >= 6


def test_mariadb_s_text_functions(mariadb: Any) -> None:
    connection, collation = mariadb
    pieces = [
        f"substring_index('www.a.b', '{of}', {n})" for of in (".", "ww", "", "x") for n in (-9, -2, -1, 0, 1, 2, 9)
    ]
    others = [
        *("substring_index('aaa', 'aa', -1)", "substring_index('aaa', 'aa', 1)", "substring_index(NULL, '.', 1)"),
        *("elt(1, 'a', 'b')", "elt(2, 'a', NULL)", "elt(0, 'a')", "elt(NULL, 'a')", "elt(3, 'a', 'b')"),
        *("hex('aZ')", "hex(255)", "hex(-1)", "hex(X'00ff')", "hex(NULL)", "hex(k)", "hex(v)"),
        *("date_format(d, '%Y-%m-%d %H:%i:%s')", "date_format(m, '%y %c %e %k %T %j %% %f')", "date_format(d, '%W')"),
        *("date_format('2003-03-01', '%Y/%m')", "date_format(NULL, '%Y')", "date_format(m, '')"),
    ]
    statements = (
        "INSERT INTO f VALUES (1, 0, '2003-03-01', '10:00:00', '2006-01-05 02:01:09', 'abc')",
        *(f"SELECT {text} FROM f" for text in (*pieces, *others)),
    )
    dialect = Dialect("mysql", collation=collation, product="mariadb")
    refused = agree(MariaDB(connection, collation), MYSQL, dialect, statements)
    assert len(refused) <= 5, refused


def test_duckdb_s_returning_writes_whole_rows() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    statements = (
        *("INSERT INTO p (k, v) VALUES (1, 1), (2, 2)", "INSERT INTO c (i, r) VALUES (1, 1)"),
        *("UPDATE p SET v = 3 WHERE k = 2 RETURNING v", "UPDATE p SET v = 3 WHERE k = 1 RETURNING v"),
        "INSERT INTO p (k, v) VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET v = 2 RETURNING v",
    )
    refused = agree(engine, DUCKDB_SCHEMA, Dialect("duckdb"), statements)
    assert refused == ["a row that fails with 23503 in an INSERT that skips rows"]


def test_joins_within_joins_and_stars_of_outer_tables(postgres: Any) -> None:
    engine = Postgres(postgres, "C")
    statements = (
        "INSERT INTO p VALUES (1), (2)",
        "INSERT INTO c VALUES (1)",
        "SELECT t1.a, s.d FROM p t1 INNER JOIN c i1 LEFT JOIN (SELECT a, a AS d FROM p) s ON i1.a = s.a ON t1.a = s.d"
        " LEFT JOIN p t2 ON s.a = t2.a",
        "SELECT t1.a FROM p t1 LEFT JOIN p t2 JOIN c t3 ON t2.a = t3.a ON t1.a = t2.a",
        *("SELECT (SELECT p.* FROM c LIMIT 1) FROM p", "SELECT * FROM p, LATERAL (SELECT p.*, c.* FROM c) AS s"),
        "UPDATE c SET a = s.b FROM LATERAL (SELECT a AS b FROM p WHERE p.a = c.a) s",
    )
    assert agree(engine, POSTGRES, Dialect("postgres", collation="C"), statements) == []


def test_duckdb_computes_with_constants_before_it_looks_for_rows() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    update = "UPDATE p SET v = CASE WHEN 1.5 = CAST(2147483647 AS DECIMAL(8,2)) THEN v ELSE v END"
    assert agree(engine, DUCKDB_SCHEMA, Dialect("duckdb"), (update,)) == []


@pytest.mark.parametrize("span", ["-1 days +02:03", "3 days ago"])
def test_an_interval_is_read_whole_or_not_at_all(postgres: Any, span: str) -> None:
    statements = (f"SELECT INTERVAL '{span}'", f"SELECT '{span}'::interval")
    agree(Postgres(postgres, "C"), POSTGRES, Dialect("postgres", collation="C"), statements)


UPSERTS = (
    "INSERT INTO u VALUES (1, 10), (2, 20), (3, NULL)",
    "INSERT INTO t VALUES (1, 1), (2, 2)",
    "INSERT INTO t VALUES (1, 5), (2, 6), (3, 7) {} v = (SELECT b FROM u WHERE a = t.k)",
    "INSERT INTO t VALUES (1, 5), (9, 6) {} v = t.v + (SELECT max(b) FROM u WHERE a < 3)",
    "INSERT INTO t VALUES (1, 5) {} v = (SELECT a FROM u)",
    "INSERT INTO t SELECT a, b FROM u WHERE a < 3 {} v = (SELECT count(*) FROM u WHERE u.b = t.v)",
    "INSERT INTO t VALUES (1, 5) {} v = (SELECT max(v) FROM t)",
)
UPSERT_SCHEMA = ("CREATE TABLE t (k INT PRIMARY KEY, v INT)", "CREATE TABLE u (a INT PRIMARY KEY, b INT)")


def test_subqueries_in_conflict_clauses(postgres: Any, mariadb: Any) -> None:
    connection, collation = mariadb
    standard = tuple(text.format("ON CONFLICT (k) DO UPDATE SET") for text in UPSERTS)
    lite = (*standard[:4], standard[5].replace("u WHERE a < 3", "u WHERE a < 3 AND TRUE"), standard[6])
    target = "a subquery on the table that is written to, or a function, in a conflict clause"
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    assert agree(engine, UPSERT_SCHEMA, Dialect("sqlite"), lite) == [target]
    assert agree(Postgres(postgres, "C"), UPSERT_SCHEMA, Dialect("postgres", collation="C"), standard) == [target]
    rules = Dialect("mysql", collation=collation, product="mariadb")
    mysql = tuple(text.format("ON DUPLICATE KEY UPDATE") for text in UPSERTS)
    refused = agree(MariaDB(connection, collation), UPSERT_SCHEMA, rules, mysql)
    assert refused[-1] == target and len(refused) <= 2


def test_duckdb_s_octet_length_wants_a_type() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    untyped = ("SELECT octet_length(NULL)", "SELECT octet_length('ab')", "SELECT length(repeat(NULL, 4))")
    statements = (*untyped, "SELECT octet_length(NULL::BLOB)", "SELECT repeat(NULL::VARCHAR, 2)")
    assert len(agree(engine, DUCKDB_SCHEMA, Dialect("duckdb"), statements)) == 3
