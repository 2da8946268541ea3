"""DuckDB's functions of dates, its median, and what its SQL has that others' has not, on the engine.

Each statement must be modelled. Does not know other dialects.
"""

from __future__ import annotations

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import DbApi

SETUP = (
    "CREATE TABLE t (k integer PRIMARY KEY, n integer, x varchar, d date, m timestamp, f double)",
    "INSERT INTO t VALUES (1, 5, 'ab', '2020-02-29', '2020-12-31 23:59:59.123456', 1.5),"
    " (2, 7, 'b', '2021-01-01', '2021-01-03 00:00:00', 2.25), (3, NULL, NULL, NULL, NULL, NULL),"
    " (4, 5, 'ab', '1969-12-31', '0999-07-04 12:01:02.5', -3.5), (5, -8, '', '2000-03-01', '1900-01-01 11:59:59', 8)",
)
SPECIFIERS = (
    *("a", "A", "b", "B", "d", "-d", "f", "H", "-H", "I", "j", "m", "-m", "M", "-M", "p", "S", "-S", "u", "w", "y"),
    *("Y", "G", "V", "%"),
)
UNITS = ("year", "quarter", "month", "day", "hour", "minute", "second")
PARTS = (
    *("last_day", "monthname", "dayname", "isodow", "dayofweek", "weekday", "dayofmonth", "dayofyear", "week"),
    *("weekofyear", "quarter", "hour", "minute", "second", "year", "month", "day"),
)
STATEMENTS = (
    *(f"SELECT strftime(d, '|%{one}|'), strftime(m, '%{one}') FROM t" for one in SPECIFIERS),
    *(f"SELECT date_diff('{unit}', d, m), datediff('{unit.upper()}', m, d) FROM t" for unit in UNITS),
    *(f"SELECT {part}(d), {part}(m) FROM t" for part in PARTS),
    "SELECT strftime('%Y', m), strftime(d, 'none') FROM t",
    "SELECT median(n), median(f), median(k) FROM t",
    "SELECT x, median(n), median(DISTINCT n) FROM t GROUP BY x",
    "SELECT median(n) FROM t WHERE k > 9",
    "SELECT x, n, count(*), sum(k) FROM t GROUP BY ALL",
    "SELECT x AS y, n + 1, count(*) FROM t GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL",
    "SELECT DISTINCT x, n FROM t GROUP BY ALL ORDER BY ALL DESC LIMIT 2",
    "SELECT x, k FROM t ORDER BY ALL",
    "SELECT n, x, k FROM t ORDER BY ALL DESC NULLS LAST",
    "SELECT * EXCLUDE (d, m) FROM t",
    "SELECT * EXCLUDE f REPLACE (k + 1 AS k, upper(x) AS x) FROM t",
    "SELECT t.* EXCLUDE (K, m), t.k FROM t",
    "SELECT a.* EXCLUDE (x), b.x FROM t a JOIN t b ON a.k = b.n - 4",
    "SELECT q.* FROM (SELECT * EXCLUDE (d, m, f) FROM t) q WHERE q.k > 1",
    "SELECT len(x), contains(x, 'b'), contains(x, ''), starts_with(x, 'a') FROM t",
    "SELECT count(*) FROM t GROUP BY n",
)

LEFT_OPEN = (
    "SELECT n, sum(k) + n FROM t GROUP BY ALL",
    "SELECT sum(k) + n FROM t GROUP BY ALL",
    "SELECT * EXCLUDE (k, n, x, d, m, f) FROM t",
)
"""Errors of DuckDB's that are not modelled."""


def test_friendly() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    assert [engine.run(sql).error for sql in SETUP] == [None, None]
    dialect = Dialect("duckdb", version=tuple(map(int, duckdb.__version__.split(".")[:2])))
    beside = Beside(engine, dialect, Catalog(read_schema(SETUP[:1], dialect), {}))
    found = {sql: beside.step(sql) for sql in STATEMENTS}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}
    assert [beside.step(sql).outside is not None for sql in LEFT_OPEN] == [True] * len(LEFT_OPEN)
    assert [engine.run(sql).error for sql in LEFT_OPEN] == ["any"] * len(LEFT_OPEN)
