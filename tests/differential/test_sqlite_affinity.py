"""SQLite's affinity in comparisons, and the class of its sums, beside sqlite3: what is compared with what, wherever it
comes from; the same answers or refused.

Each pair is compared in both directions, by every operator and as an item of IN. Does not know how affinity is told.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect, read_version

SCHEMA = (
    "CREATE TABLE t (k INTEGER PRIMARY KEY, s TEXT, n INTEGER, d DECIMAL(10, 2), r REAL)",
    "CREATE VIEW w AS SELECT k + 0 AS sum_k, s || '' AS long_s, k AS own_k, s AS own_s FROM t",
)
ROWS: tuple[tuple[Any, ...], ...] = (
    (1, "1", 1, 1, 1.0),
    (2, "2.0", None, 2.5, 2.0),
    (3, "x", 2, 3, 0.5),
    (4, None, 3, None, None),
    (5, "05", 5, 5, 5.0),
)
SIDES = (
    *("t.k", "t.s", "t.n", "t.d", "t.r", "t.k + 0", "t.s || ''", "-t.k", "(t.k = 1)", "(t.s = '1')", "abs(t.n)"),
    *("CAST(t.s AS INTEGER)", "CAST(t.k AS TEXT)", "coalesce(t.n, 1)", "CASE WHEN t.k < 3 THEN t.s END"),
    *("(SELECT t.k)", "(SELECT t.k + 0)", "(SELECT t.s)", "(SELECT max(x.k) FROM t AS x)", "(SELECT 1)"),
    "(SELECT '1')",
    *("q.own_k", "q.sum_k", "q.own_s", "q.long_s", "q.cast_k", "q.most", "w.sum_k", "w.long_s", "w.own_k", "w.own_s"),
    *("1", "'1'", "1.0", "'1.0'", "'x'", "''", "NULL", "' 1 '", "'\xa01'", "'1_0'", "'1e400'", "'910e-400'", "'0x1'"),
)  # fmt: skip
FROM = (
    " FROM t JOIN (SELECT k AS own_k, k + 0 AS sum_k, s AS own_s, s || '' AS long_s, CAST(k AS TEXT) AS cast_k,"
    " (SELECT max(n) FROM t) AS most FROM t) AS q ON q.own_k = t.k JOIN w ON w.own_k = t.k"
)
FORMS = ("{a} = {b}", "{a} < {b}", "{a} IN ({b})", "{a} IN ({b}, 7)", "{a} NOT IN ({b}, 'y')", "{a} BETWEEN {b} AND 9",
         "CASE {a} WHEN {b} THEN 1 ELSE 0 END", "{a} IS {b}", "nullif({a}, {b}) IS NULL")  # fmt: skip
QUERIES = (
    *(f"SELECT n FROM t GROUP BY n HAVING {call} = {other}"
      for call in ("count(*)", "min(k)", "max(s)", "sum(k)", "n", "n + 0", "sum(d)", "avg(r)")
      for other in ("'1'", "1", "'1.0'", "n", "'3'")),
    *(f"SELECT k FROM t WHERE {one} IN (SELECT {other} FROM t)"
      for one in ("k", "s", "k + 0", "'1'", "1") for other in ("k", "s", "k + 0", "s || ''", "count(*)")),
    "SELECT k, row_number() OVER (ORDER BY k) = '1' FROM t",
    "SELECT x FROM (SELECT 1 AS x UNION ALL SELECT 2) AS u WHERE x = '1'",
    "SELECT x FROM (SELECT k AS x FROM t UNION ALL SELECT k FROM t) AS u WHERE x = '1'",
    "SELECT x FROM (SELECT k AS x FROM t UNION ALL SELECT k + 0 FROM t) AS u WHERE x = '1'",
    "WITH c AS (SELECT k * 1 AS x, s AS y FROM t) SELECT x FROM c WHERE x = '1' OR y = 2",
    "SELECT x FROM (SELECT n AS x, count(*) AS c FROM t GROUP BY n) AS g WHERE x = '1' AND c = '1'",
    "SELECT a.k FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.s = a.k AND a.k = '1')",
    "SELECT 1.0 IN ((SELECT s)) FROM t",
    "SELECT s IS DISTINCT FROM TRUE FROM t",
    "SELECT sum(d) / 2, sum(d) || 'x', sum(DISTINCT d) FROM t WHERE d <> 2.5",
    "SELECT sum(d) / 2, total(d), avg(d) FROM t",
    "SELECT sum(d) / 2, total(d) FROM t GROUP BY k",
    "SELECT sum(d) OVER (ORDER BY k) / 2 FROM t",
    "SELECT x / 2 FROM (SELECT sum(d) AS x FROM t WHERE k IN (1, 3)) AS u",
    "SELECT sum(CAST(s AS NUMERIC)) / 2 FROM t WHERE k <> 2",
    "SELECT sum(CASE WHEN k = 1 THEN d ELSE 5 END) / 4 FROM t",
    "SELECT total(n), total(DISTINCT n), sum(n) FROM t WHERE k > 9",
)  # fmt: skip


def classed(rows: Any) -> Counter[Any]:
    return Counter(tuple((type(value), value) for value in row) for row in rows)


def compared(queries: list[str]) -> Counter[str]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for text in SCHEMA:
        connection.execute(text)
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ROWS)
    version = read_version(sqlite3.sqlite_version)
    library = SqlLibrary(Dialect("sqlite", foreign_keys=False, version=version), list(SCHEMA))
    view, seen = MemoryView({"t": connection.execute("SELECT * FROM t").fetchall()}), Counter[str]()
    for sql in queries:
        try:
            results = library.program(sql).run(view, ()).results
            found = classed(row for result in results for row in result.rows)
        except Unsupported:
            seen["refused"] += 1
            continue
        assert found == classed(connection.execute(sql)), sql
        seen["same"] += 1
    return seen


def test_affinity_is_that_of_where_a_value_comes_from() -> None:
    pairs = list(itertools.product(SIDES, SIDES))[::4]
    forms = itertools.cycle(FORMS)
    seen = compared([f"SELECT t.k, {next(forms).format(a=a, b=b)}{FROM}" for a, b in pairs])
    assert seen["same"] > 250, seen


def test_affinity_of_computed_columns_and_the_class_of_sums() -> None:
    seen = compared(list(QUERIES))
    assert seen["same"] > 60, seen


@pytest.mark.slow
def test_affinity_in_every_form() -> None:
    every = itertools.product(SIDES, SIDES, FORMS)
    assert compared([f"SELECT t.k, {form.format(a=a, b=b)}{FROM}" for a, b, form in every])["same"] > 9000
