"""Which errors are certain: only what the DBMS cannot help but meet; and what rows of one INSERT see."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SqlError
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect

DIALECT = Dialect("postgres")
CATALOG = Catalog(read_schema(["CREATE TABLE t (k INT PRIMARY KEY, v INT)"], DIALECT), {})


def failure(sql: str) -> SqlError:
    statement = bind(sql, None, CATALOG, DIALECT).statement
    with pytest.raises(SqlError) as found:
        compile_statement(statement, CATALOG, DIALECT)(MemoryView({"t": [(1, 0), (2, 1)]}), ())
    return found.value


@pytest.mark.parametrize("sql", ["SELECT 1 / v FROM t", "UPDATE t SET v = 1 / v", "SELECT k FROM t WHERE 1 / v = 1"])
def test_what_must_be_computed_fails_for_certain(sql: str) -> None:
    error = failure(sql)
    assert error.sqlstate == "22012" and not error.may


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.k FROM t AS a CROSS JOIN (SELECT 1 AS o FROM t GROUP BY 1 / v) AS d WHERE a.k = 1",
        "SELECT 1 / v FROM t INTERSECT SELECT 1 FROM t WHERE false",
    ],
)
def test_what_the_plan_may_leave_out_may_fail(sql: str) -> None:
    """PostgreSQL 18 may answer either with no row."""
    error = failure(sql)
    assert error.sqlstate == "22012" and error.may


def test_rows_of_an_upsert_do_not_see_one_another() -> None:
    """PostgreSQL and SQLite answer NULL for the second row's v."""
    sql = "INSERT INTO t (k, v) VALUES (17, 5), (18, (SELECT v FROM t)) ON CONFLICT (k) DO NOTHING"
    view = MemoryView({"t": []})
    compile_statement(bind(sql, None, CATALOG, DIALECT).statement, CATALOG, DIALECT)(view, ())
    assert view.rows("t") == [(17, 5), (18, None)]
