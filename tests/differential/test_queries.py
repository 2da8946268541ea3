"""Joins, subqueries, WITH, set operations and VALUES on real engines: hand-written statements."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.differential.engines import DbApi, MariaDB, Postgres
from tests.differential.fixed import Fixed

SCHEMA = [
    "CREATE TABLE a (id int PRIMARY KEY, k int, s text)",
    "CREATE TABLE b (id int PRIMARY KEY, k int, v bigint)",
    "CREATE TABLE c (k int, v bigint, w int)",
    "CREATE TABLE e (k int, x int)",
]
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "a": [(1, 10, "p"), (2, 20, "q"), (3, 10, None), (4, None, "p"), (5, 30, "r")],
    "b": [(1, 10, 100), (2, 20, 200), (3, 40, 100), (4, None, None), (6, 10, 300)],
    "c": [(10, 100, 1), (10, 300, 2), (50, 100, 3), (None, 200, 4), (10, 100, 1)],
    "e": [],
}
JOINS = [
    "SELECT * FROM a JOIN b ON a.k = b.k",
    "SELECT * FROM a INNER JOIN b USING (k)",
    "SELECT * FROM a LEFT JOIN b USING (k)",
    "SELECT * FROM a RIGHT JOIN b USING (k)",
    "SELECT * FROM a FULL JOIN b USING (k)",
    "SELECT * FROM a FULL OUTER JOIN b USING (id)",
    "SELECT k, a.k, b.k FROM a FULL JOIN b USING (k)",
    "SELECT k FROM a RIGHT JOIN b USING (k) WHERE k > 10",
    "SELECT a.*, b.v FROM a LEFT JOIN b USING (id, k)",
    "SELECT * FROM a NATURAL JOIN b",
    "SELECT * FROM a NATURAL LEFT JOIN b",
    "SELECT * FROM a NATURAL RIGHT JOIN b",
    "SELECT * FROM a NATURAL FULL JOIN b",
    "SELECT * FROM b NATURAL JOIN c",
    "SELECT * FROM c JOIN b USING (v, k)",
    "SELECT * FROM c RIGHT JOIN b USING (v, k)",
    "SELECT * FROM a LEFT JOIN b USING (k) RIGHT JOIN c USING (k)",
    "SELECT a.k, b.k, k FROM a RIGHT JOIN b USING (k)",
    "SELECT * FROM b NATURAL FULL JOIN c NATURAL FULL JOIN e",
    "SELECT * FROM a JOIN b USING (id) JOIN c ON b.v = c.v",
    "SELECT a.id, c.w FROM a LEFT JOIN b ON a.id = b.id AND b.v > 100 LEFT JOIN c ON c.v = b.v",
    "SELECT * FROM a LEFT JOIN e ON a.k = e.k WHERE e.x IS NULL",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k WHERE b.v > 100 OR b.v IS NULL",
    "SELECT * FROM a RIGHT JOIN b ON a.k = b.k AND a.s = 'p' WHERE b.id > 1",
    "SELECT * FROM a RIGHT JOIN b ON a.k = b.k WHERE a.s = 'p'",
    "SELECT * FROM a RIGHT JOIN b ON a.k < b.k",
    "SELECT * FROM a FULL JOIN b ON a.k = b.k AND a.id < 3 WHERE a.id IS NULL OR b.id IS NULL",
    "SELECT * FROM a FULL JOIN c ON a.k = c.k LEFT JOIN b ON b.v = c.v",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k RIGHT JOIN c ON c.k = a.k WHERE a.id > 0 OR c.w = 3",
    "SELECT * FROM a, b WHERE a.k = b.k",
    "SELECT * FROM a CROSS JOIN e",
    "SELECT * FROM e, a RIGHT JOIN b ON a.id = b.id",
    "SELECT * FROM c, a RIGHT JOIN b ON a.id = b.id WHERE c.w = 3",
    "SELECT * FROM c, a FULL JOIN b USING (id) WHERE c.w = 3",
    "SELECT x.id, y.id FROM a x JOIN a y ON x.k = y.k AND x.id < y.id",
    "SELECT * FROM a LEFT JOIN (b JOIN c ON b.v = c.v) ON a.k = b.k",
    "SELECT * FROM a JOIN (b LEFT JOIN c USING (v)) ON a.id = b.id",
    "SELECT a.id, b.id, w FROM a LEFT JOIN (b CROSS JOIN c) ON a.k = b.k AND c.k = a.k",
    "SELECT * FROM a LEFT JOIN b JOIN c ON b.v = c.v ON a.k = b.k",
    "SELECT j.id, j.v FROM (a JOIN b USING (id)) AS j",
    "SELECT * FROM (a JOIN b USING (id)) JOIN c ON c.w = id",
    "SELECT * FROM ((a JOIN b USING (id)) LEFT JOIN c USING (v))",
    "SELECT id FROM a JOIN b ON true",
    "SELECT a.id FROM a JOIN b USING (nosuch)",
    "SELECT a.id FROM a, b JOIN c ON a.k = c.k",
    "SELECT a.id FROM a LEFT JOIN b ON a.k = b.k AND a.id IN (SELECT w FROM c)",
    "SELECT count(*) FROM a FULL JOIN b ON a.k = b.k",
    "SELECT a.id FROM a JOIN a ON true",
]
SUBQUERIES = [
    "SELECT (SELECT 1), (SELECT k FROM a WHERE id = 2), (SELECT k FROM e)",
    "SELECT id, (SELECT v FROM b WHERE b.id = a.id) FROM a",
    "SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a",
    "SELECT id, (SELECT max(v) FROM b WHERE b.k = a.k AND b.id > a.id) FROM a",
    "SELECT id, (SELECT v FROM b WHERE b.k = a.k) FROM a WHERE id > 3",
    "SELECT id FROM a WHERE k = (SELECT max(k) FROM b WHERE b.v = 100)",
    "SELECT id FROM a WHERE k = (SELECT b.k FROM b WHERE b.id = a.id)",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM e)",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 / 0 FROM b WHERE b.k = a.k)",
    "SELECT id FROM a WHERE EXISTS (SELECT k FROM b GROUP BY k HAVING count(*) > 1 AND k = a.k)",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE EXISTS (SELECT 1 FROM c WHERE c.v = b.v AND c.k = a.k))",
    "SELECT id FROM a WHERE k IN (SELECT k FROM b)",
    "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b)",
    "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)",
    "SELECT id, k IN (SELECT k FROM b), k NOT IN (SELECT k FROM e), NULL IN (SELECT k FROM e) FROM a",
    "SELECT id, k IN (SELECT k FROM c WHERE c.w = a.id) FROM a",
    "SELECT id FROM a WHERE (id, k) IN (SELECT id, k FROM b)",
    "SELECT id FROM a WHERE (id, k) NOT IN (SELECT id, k FROM b)",
    "SELECT id FROM a WHERE (k, s) NOT IN (SELECT k, s FROM a WHERE id < 4)",
    "SELECT id FROM a WHERE k IN (SELECT v / 10 FROM b)",
    "SELECT id FROM a WHERE k IN (SELECT k FROM b UNION SELECT 30)",
    "SELECT id FROM a WHERE k IN (20, (SELECT min(k) FROM b))",
    "SELECT id FROM a WHERE k > ANY (SELECT k FROM b)",
    "SELECT id FROM a WHERE k > ALL (SELECT k FROM b WHERE k < 30)",
    "SELECT id, k > ALL (SELECT k FROM e), k < ANY (SELECT k FROM e), k <= SOME (SELECT k FROM b) FROM a",
    "SELECT id FROM a WHERE k = ANY (SELECT k FROM b) AND k <> ALL (SELECT k FROM c WHERE k IS NOT NULL)",
    "SELECT k, count(*) FROM a GROUP BY k HAVING count(*) >= (SELECT count(*) FROM b WHERE b.k = a.k)",
    "SELECT k, (SELECT max(v) FROM b WHERE b.k = a.k) FROM a GROUP BY k",
    "SELECT id, (SELECT s) FROM a GROUP BY id",
    "SELECT k, (SELECT s) FROM a GROUP BY k",
    "SELECT sum((SELECT v FROM b WHERE b.id = a.id)) FROM a",
    "SELECT k, sum(CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.id = a.id) THEN 1 ELSE 0 END) FROM a GROUP BY k",
    "SELECT id FROM a ORDER BY (SELECT v FROM b WHERE b.id = a.id), id",
    "SELECT id FROM a ORDER BY id LIMIT 2",
    "SELECT CASE WHEN k > (SELECT 15) THEN 'x' ELSE (SELECT s FROM a i WHERE i.id = a.id) END FROM a",
    "SELECT id FROM a WHERE k = (SELECT k FROM b)",
    "SELECT (SELECT k FROM b)",
    "SELECT (SELECT id, k FROM b)",
    "SELECT id FROM a WHERE k IN (SELECT id, k FROM b)",
    "SELECT id FROM a WHERE k = (SELECT nosuch FROM b)",
    "SELECT id FROM a WHERE k = (SELECT s FROM b WHERE b.id = 1)",
    "SELECT (SELECT a.k FROM b WHERE b.id = a.id) FROM a",
    "SELECT id FROM a x WHERE (SELECT (SELECT x.k)) = 10",
    "SELECT id, (SELECT (SELECT count(*) FROM c WHERE c.k = a.k AND c.v = b.v) FROM b WHERE b.id = a.id) FROM a",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM a WHERE id = 1) AND NOT EXISTS (SELECT 1 FROM a WHERE id = 100)",
    "SELECT (SELECT count(*) FROM a) + (SELECT count(*) FROM b)",
    "SELECT id FROM a WHERE k = (SELECT max(k) FROM b LIMIT 1)",
    "SELECT id FROM a WHERE id = (SELECT id FROM b ORDER BY v DESC, id LIMIT 1 OFFSET 1)",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b LIMIT 0)",
    "SELECT id FROM a WHERE s = (SELECT s FROM a i WHERE i.id = 1)",
    "SELECT id FROM a WHERE coalesce((SELECT v FROM b WHERE b.id = a.id), 0) = 0",
    "SELECT id FROM a WHERE (SELECT count(*) FROM b, c WHERE b.v = c.v AND b.k = a.k) > 1",
]
DERIVED = [
    "SELECT * FROM (SELECT id, k + 1 AS n FROM a) d WHERE n > 11",
    "SELECT d.* FROM (SELECT k, count(*) AS n FROM a GROUP BY k) AS d JOIN b ON b.k = d.k",
    "SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM a GROUP BY k) d GROUP BY n",
    "SELECT * FROM (SELECT id FROM a ORDER BY id LIMIT 2) d",
    "SELECT * FROM (SELECT 1 AS x, 2 AS y) d",
    "SELECT x FROM (SELECT 1 AS x, 2 AS x) d",
    "SELECT p, q FROM (SELECT id, k FROM a) AS d (p, q)",
    "SELECT p, k FROM (SELECT id, k FROM a) AS d (p)",
    "SELECT * FROM (SELECT id FROM a) AS d (p, q)",
    "SELECT nosuch FROM (SELECT id FROM a) d",
    "SELECT a.id FROM (SELECT id FROM a) d",
    "SELECT d.x FROM (SELECT max(v) AS x FROM b) d, a WHERE a.id = 1",
    "SELECT * FROM a LEFT JOIN (SELECT k, sum(v) AS t FROM b GROUP BY k) d ON d.k = a.k",
    "SELECT * FROM a JOIN (SELECT k FROM b UNION ALL SELECT k FROM c) d USING (k)",
    "SELECT id, (SELECT t FROM (SELECT sum(v) AS t FROM b WHERE b.k = a.k) d) FROM a",
    "SELECT 1 FROM (SELECT 1 / 0 AS z) d",
    "SELECT count(*) FROM (SELECT DISTINCT k FROM a) d",
    "SELECT * FROM (VALUES (1, 'x'), (2, NULL)) AS v (i, t)",
    "SELECT * FROM (VALUES (1), (NULL), (3)) v ORDER BY 1",
    "SELECT a.id FROM a JOIN (VALUES (1), (4)) AS v (i) ON v.i = a.id",
    "SELECT * FROM (VALUES (1, 2), (3)) v",
    "SELECT x.t FROM (SELECT '5' AS t) x WHERE x.t = '5'",
    "SELECT x.t + 1 FROM (SELECT '5' AS t) x",
    "SELECT x.t FROM (SELECT NULL AS t) x WHERE x.t IS NULL",
    "SELECT p.id, q.n FROM a p, LATERAL (SELECT count(*) AS n FROM b WHERE b.k = p.k) q",
    "SELECT p.id, q.v FROM a p LEFT JOIN LATERAL (SELECT v FROM b WHERE b.k = p.k ORDER BY v DESC LIMIT 1) q ON true",
    "SELECT p.id, q.v, r.n FROM a p CROSS JOIN LATERAL (SELECT v FROM b WHERE b.k = p.k) q,"
    " LATERAL (SELECT q.v + p.id AS n) r",
    "SELECT p.id FROM a p, (SELECT p.k) q",
    "SELECT * FROM generate_series(1, 4) AS g",
    "SELECT g * 2 FROM generate_series(3, 1) g",
    "SELECT g.i, a.s FROM generate_series(1, 6, 2) AS g (i) LEFT JOIN a ON a.id = g.i",
    "SELECT a.id, g FROM a, generate_series(1, a.id) g WHERE a.id < 4",
    "SELECT * FROM a AS t (p, q, r) WHERE p = 1 AND q = 10",
]
COMMON = [
    "WITH d AS (SELECT id, k FROM a WHERE k = 10) SELECT * FROM d",
    "WITH d AS (SELECT k, count(*) AS n FROM a GROUP BY k), f AS (SELECT max(n) AS m FROM d)"
    " SELECT k FROM d, f WHERE n = m",
    "WITH d (p, q) AS (SELECT id, k FROM a) SELECT x.p, y.p FROM d x JOIN d y ON x.q = y.q",
    "WITH a AS (SELECT 7 AS id) SELECT * FROM a",
    "WITH d AS (SELECT k FROM a) SELECT id FROM b WHERE k IN (SELECT k FROM d)",
    "WITH d AS (SELECT 1 AS x) SELECT * FROM (WITH d AS (SELECT 2 AS x) SELECT * FROM d) i, d",
    "WITH d AS (SELECT k FROM a) SELECT id, (SELECT count(*) FROM d WHERE d.k = b.k) FROM b",
    "SELECT id, (WITH d AS (SELECT v FROM b WHERE b.k = a.k)"
    " SELECT sum(v) FROM d WHERE v > (SELECT min(v) FROM d)) FROM a",
    "WITH d AS (SELECT 1 / 0 AS x FROM e) SELECT 1",
    "WITH d AS MATERIALIZED (SELECT id FROM a) SELECT count(*) FROM d",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT i % 3 + 1 FROM n) SELECT sum(i) FROM n",
    "WITH RECURSIVE r (id, k, d) AS (SELECT id, k, 0 FROM a WHERE id = 1 UNION ALL"
    " SELECT b.id, b.k, d + 1 FROM r JOIN b ON b.id = r.id + 1 WHERE d < 3) SELECT * FROM r",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5), m AS (SELECT i * 2 AS j FROM n)"
    " SELECT n.i, m.j FROM n JOIN m ON n.i = m.j",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1.5 FROM n WHERE i < 5) SELECT * FROM n",
    "WITH d AS (SELECT id FROM a) SELECT * FROM d UNION SELECT v FROM b ORDER BY 1",
    "WITH d (p, q) AS (SELECT id FROM a) SELECT * FROM d",
    "WITH d AS (SELECT id FROM a), d AS (SELECT k FROM a) SELECT * FROM d",
]
SETS = [
    "SELECT k FROM a UNION SELECT k FROM b",
    "SELECT k FROM a UNION ALL SELECT k FROM b",
    "SELECT k FROM a INTERSECT SELECT k FROM b",
    "SELECT k FROM a INTERSECT ALL SELECT k FROM c",
    "SELECT k FROM a EXCEPT SELECT k FROM b",
    "SELECT k FROM c EXCEPT ALL SELECT k FROM a",
    "SELECT k, v FROM b UNION SELECT k, v FROM c ORDER BY v DESC, k",
    "SELECT k AS z FROM a UNION SELECT v FROM b ORDER BY z LIMIT 3",
    "SELECT k AS z FROM a UNION SELECT v FROM b ORDER BY 1 LIMIT 3 OFFSET 2",
    "SELECT k FROM a UNION SELECT v FROM b ORDER BY nosuch",
    "SELECT k AS z FROM a UNION SELECT v FROM b ORDER BY z + 1",
    "SELECT id FROM a UNION ALL SELECT id FROM b INTERSECT SELECT w FROM c",
    "SELECT id FROM a EXCEPT SELECT id FROM b UNION ALL SELECT w FROM c",
    "(SELECT id FROM a ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM b ORDER BY id DESC LIMIT 1)",
    "(SELECT id FROM a) ORDER BY id LIMIT 2",
    "SELECT 1 UNION SELECT '1'",
    "SELECT '1' UNION SELECT 2",
    "SELECT NULL UNION SELECT 2",
    "SELECT NULL UNION SELECT 'x'",
    "SELECT NULL UNION SELECT NULL",
    "SELECT 'a' UNION SELECT 'b' UNION SELECT NULL",
    "SELECT s FROM a UNION SELECT k FROM a",
    "SELECT 1 UNION SELECT 1, 2",
    "SELECT CAST(s AS char(3)) FROM a UNION ALL SELECT 'a'",
    "SELECT CAST(s AS char(3)) FROM a UNION ALL SELECT NULL",
    "SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 3 ORDER BY x DESC",
    "SELECT count(*) FROM (SELECT k FROM a UNION SELECT k FROM b) u",
    "SELECT u.k, count(*) FROM (SELECT k FROM a UNION ALL SELECT k FROM b) AS u GROUP BY u.k",
    "VALUES (1, 'x'), (2, 'y')",
    "VALUES (2), (1) ORDER BY 1",
    "TABLE a",
    "SELECT id FROM a UNION VALUES (100)",
    "SELECT 1 / 0 UNION ALL SELECT 1 FROM e",
]
ROW_VALUES = [
    "SELECT id FROM a WHERE (id, k) = (1, 10)",
    "SELECT id, (id, k) = (4, 10), (id, k) <> (4, 10), (id, k) <> (1, 20), (k, id) < (20, 2) FROM a",
    "SELECT id, (k, id) >= (10, 3) FROM a",
    "SELECT id, (k, id) <= (10, 3), (id, k, s) > (2, 20, 'a') FROM a",
    "SELECT id, (id, k) IN ((1, 10), (4, 20)), (id, k) NOT IN ((1, 10), (4, NULL)) FROM a",
    "SELECT id FROM a WHERE (id, k) = (1, 2, 3)",
    "SELECT a.id FROM a JOIN b ON (a.id, a.k) = (b.id, b.k)",
]
WIDTHS = [
    "SELECT sum(n) FROM (SELECT 1 AS n UNION ALL SELECT CAST(7 AS bigint)) x",
    "SELECT sum(n) FROM (SELECT id AS n FROM a UNION ALL SELECT 1 EXCEPT SELECT CAST(1 AS bigint)) x",
    "SELECT sum(column1) FROM (VALUES (1), (CAST(2 AS bigint))) x",
]
"""PostgreSQL's sums of int and bigint are of different types."""

STATEMENTS = [*ROW_VALUES, *JOINS, *SUBQUERIES, *DERIVED, *COMMON, *SETS]


def _check(engine: Any, refused: int, more: list[str] | None = None) -> None:
    differences, unmodelled = Fixed(engine, SCHEMA, ROWS).report([*STATEMENTS, *(more or ())])
    assert not differences, "\n".join(differences)
    assert len(unmodelled) <= refused, unmodelled


def test_postgres(postgres: Any) -> None:
    _check(Postgres(postgres), 8, WIDTHS)


def test_mariadb(mariadb: Any) -> None:
    _check(MariaDB(*mariadb), 50)


def test_sqlite() -> None:
    _check(DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error), 60)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    _check(DbApi("duckdb", duckdb.connect(":memory:"), duckdb.Error), 40)
