"""Subqueries, derived and common tables, set operations and views in the concrete runtime: what is evaluated how often,
which errors are raised, and what each dialect makes of the same text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from sql_semantics.errors import SchemaError, SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.unit.running import Database

SCHEMA = (
    "CREATE TABLE t (id int PRIMARY KEY, k int)",
    "CREATE TABLE u (id int PRIMARY KEY, k int, v int)",
    "CREATE VIEW tens (id, tens) AS SELECT id, k + 1 FROM t WHERE k IS NOT NULL",
)
T = [(1, 10), (2, 20), (3, None), (4, 10)]
U = [(1, 10, 100), (2, 10, 200), (3, 30, 300)]


class CountingView(MemoryView):
    """Counts scans and lookups per table."""

    def __init__(self, tables: Any) -> None:
        super().__init__(tables)
        self.reads: Counter[tuple[str, str]] = Counter()

    def scan(self, table: str) -> Iterable[tuple[Any, tuple[Any, ...]]]:
        self.reads["scan", table] += 1
        return super().scan(table)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Any]) -> Iterable[tuple[Any, tuple[Any, ...]]]:
        self.reads["lookup", table] += 1
        return super().lookup(table, columns, key)


def database(product: str = "postgres") -> Database:
    made = Database(Dialect(product, collation="C"), SCHEMA)
    made.view = CountingView({"t": T, "u": U})
    return made


def counted(sql: str) -> tuple[list[tuple[Any, ...]], dict[tuple[str, str], int]]:
    made = database()
    rows = made.rows(sql)
    assert isinstance(made.view, CountingView)
    return rows, dict(made.view.reads)


@pytest.mark.parametrize(
    ("condition", "ids", "lookups"),
    [
        ("k IN (10, 20, 10, NULL)", [1, 2, 4], 2),
        ("id IN (3, 4) AND k IS NULL", [3], 2),
        ("id IN (2, 2) OR k = 10", [1, 2, 4], 0),
        ("id NOT IN (1, 2)", [3, 4], 0),
        ("id IN (1, k)", [1], 0),
        (f"id IN ({', '.join(map(str, range(20)))})", [1, 2, 3, 4], 0),
    ],
)
def test_a_short_list_is_looked_up(condition: str, ids: list[int], lookups: int) -> None:
    rows, reads = counted(f"SELECT id FROM t WHERE {condition}")
    assert sorted(rows) == [(id,) for id in ids]
    assert reads == ({("lookup", "t"): lookups} if lookups else {("scan", "t"): 1})


def test_an_uncorrelated_subquery_is_evaluated_once() -> None:
    rows, reads = counted(
        "SELECT id FROM t WHERE k > (SELECT min(v) / 10 FROM u) OR id IN (SELECT id FROM u WHERE v > 100)"
    )
    assert rows == [(2,), (3,)]
    assert reads == {("scan", "t"): 1, ("scan", "u"): 2}


def test_one_that_is_not_needed_is_not_evaluated() -> None:
    rows, reads = counted("SELECT id FROM t WHERE id = 1 OR id < 0 AND k = (SELECT 1 / (v - 100) FROM u)")
    assert rows == [(1,)]
    assert ("scan", "u") not in reads


def test_a_correlated_subquery_looks_rows_up_once_per_outer_value() -> None:
    rows, reads = counted("SELECT id, (SELECT sum(v) FROM u WHERE u.k = t.k) FROM t")
    assert rows == [(1, 300), (2, None), (3, None), (4, 300)]
    assert reads == {("scan", "t"): 1, ("lookup", "u"): 2}  # 10 and 20; NULL needs none


def test_a_common_table_is_evaluated_once_for_all_references() -> None:
    rows, reads = counted(
        "WITH d AS (SELECT k FROM u) SELECT count(*) FROM d a, d b WHERE EXISTS (SELECT 1 FROM d WHERE k > 20)"
    )
    assert rows == [(9,)]
    assert reads == {("scan", "u"): 1}
    assert counted("WITH d AS (SELECT k FROM u) SELECT 1")[1] == {}


def test_a_second_run_reads_anew() -> None:
    made = database()
    sql = "WITH d AS (SELECT max(id) AS m FROM t) SELECT m, (SELECT count(*) FROM t) FROM d"
    assert made.rows(sql) == [(4, 4)]
    made.run("INSERT INTO t SELECT m + 1, NULL FROM (SELECT max(id) AS m FROM t) d")
    assert made.rows(sql) == [(5, 5)]


def test_writes_see_what_was_there_before() -> None:
    made = database()
    made.run("UPDATE t SET k = (SELECT count(*) FROM t i WHERE i.k = t.k) + (SELECT max(id) FROM t)")
    assert [row for _, row in made.view.scan("t")] == [(1, 6), (2, 5), (3, 4), (4, 6)]
    made.run("DELETE FROM t WHERE k = (SELECT max(k) FROM t)")
    assert [row for _, row in made.view.scan("t")] == [(2, 5), (3, 4)]
    made.run("INSERT INTO t VALUES ((SELECT max(id) FROM t) + 1, (SELECT 7))")
    assert made.rows("SELECT k FROM t WHERE id = 4") == [(7,)]


@pytest.mark.parametrize(("product", "state"), [("postgres", "21000"), ("mysql", "21000"), ("duckdb", "21000")])
def test_a_scalar_subquery_of_several_rows_is_an_error(product: str, state: str) -> None:
    made = database(product)
    with pytest.raises(SqlError) as caught:
        made.rows("SELECT (SELECT k FROM u WHERE id < 3)")
    assert (caught.value.sqlstate, caught.value.may) == (state, product == "duckdb")


def test_sqlite_takes_the_first_row_where_it_is_known() -> None:
    made = database("sqlite")
    assert made.rows("SELECT (SELECT k FROM u ORDER BY v)") == [(10,)]
    assert made.rows("SELECT (SELECT k FROM u WHERE id < 3)") == [(10,)]
    assert not made.view.choices
    made.rows("SELECT (SELECT v FROM u)")
    assert made.view.choices


def test_errors_inside_a_query_in_from_need_not_happen() -> None:
    made = database()
    with pytest.raises(SqlError) as caught:
        made.rows("SELECT x FROM (SELECT 1 / (k - 10) AS x FROM u) d")
    assert caught.value.may
    with pytest.raises(SqlError) as caught:
        made.rows("SELECT (SELECT 1 / (k - 10) FROM u WHERE id = 1)")
    assert not caught.value.may


@pytest.mark.parametrize(
    ("sql", "states"),
    [
        ("SELECT id FROM t WHERE k IN (SELECT 1 / k FROM u)", {"22012", "22003"}),
        ("SELECT id FROM t WHERE k = 1 AND id = (SELECT k FROM u)", {"21000"}),
        ("SELECT (SELECT k FROM u)", set()),
        ("SELECT x FROM (SELECT 1 / k AS x FROM u) d", {"22012", "22003"}),
        ("WITH d AS (SELECT 1 / k AS x FROM u) SELECT x FROM d", {"22012", "22003"}),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE 1 / k = 1)", {"22012", "22003"}),
        ("UPDATE t SET k = 1 RETURNING (SELECT x FROM (SELECT 1 / 0 AS x) d WHERE t.k > 9)", {"22012", "22003"}),
        ("SELECT t.k FROM t JOIN (SELECT 0 AS a) d ON TRUE ORDER BY 1 / d.a", {"22012", "22003"}),
        ("SELECT count(*) FROM t JOIN (SELECT 0 AS a) d ON TRUE GROUP BY 1 / d.a", {"22012", "22003"}),
        ("DELETE FROM t USING (SELECT 1 / k AS x FROM u) d WHERE t.k = 1", {"22012", "22003"}),
    ],
)
def test_free_errors_reach_into_queries(sql: str, states: set[str]) -> None:
    made = database()
    assert free_errors(bind(sql, None, made.catalog, made.dialect).statement, made.catalog, "postgres") == states


def test_what_only_an_unused_with_item_reads_is_planned_in_postgres() -> None:
    made = database()
    with pytest.raises(Unsupported, match="only an unused one reads"):
        made.rows("WITH a AS (SELECT 1 / 0 AS x), b AS (SELECT x FROM a UNION SELECT x FROM a) SELECT 1")
    assert made.rows("WITH a AS (SELECT 1 AS x), b AS (SELECT x FROM a UNION SELECT x FROM a) SELECT 1") == [(1,)]
    assert made.rows("WITH a AS (SELECT 1 / 1 AS x), b AS (SELECT x FROM a UNION SELECT x FROM a) TABLE b") == [(1,)]


def test_limit_0_runs_nothing_in_postgres() -> None:
    made = database()
    for sql in (
        "SELECT sum(1 / (k - 10)) FROM u LIMIT $1",
        "SELECT 1 / (k - 10) FROM u ORDER BY 1 / (k - 10) LIMIT $1",
    ):
        assert made.rows(sql, [0], (Kind.BIGINT,)) == []
        with pytest.raises(SqlError, match="22012"):
            made.rows(sql, [1], (Kind.BIGINT,))


def test_the_least_truth_value_may_be_the_first_row_that_is_looked_at() -> None:
    with pytest.raises(SqlError) as caught:
        database().rows("SELECT bool_and(1 = 1) FROM u WHERE 1 / (k - 10) = 1")
    assert caught.value.may


def test_planning_reaches_into_scalar_subqueries_only() -> None:
    made = Database(Dialect("postgres"), SCHEMA)  # no rows
    with pytest.raises(SqlError, match="22012"):
        made.rows("SELECT (SELECT 1 / 0 FROM u) FROM t")
    assert made.rows("SELECT 1 FROM (SELECT 1 / 0 FROM u) d") == []
    assert made.rows("SELECT 1 FROM t WHERE EXISTS (SELECT 1 / 0 FROM u)") == []


def test_a_view_is_a_query() -> None:
    made = database()
    assert made.rows("SELECT * FROM tens") == [(1, 11), (2, 21), (4, 11)]
    assert made.rows("SELECT a.id, b.id FROM tens a JOIN tens b USING (tens) WHERE a.id < b.id") == [(1, 4)]
    for write in ("DELETE FROM tens", "UPDATE tens SET id = 1", "INSERT INTO tens VALUES (1, 2)"):
        with pytest.raises(Unsupported, match="write to a view"):
            made.run(write)


SHOWN = "CREATE VIEW shown (amount, id) AS SELECT v, id FROM u WHERE k = 10"


def test_a_write_to_a_simple_view_is_one_to_its_table() -> None:
    made = Database(Dialect("postgres", collation="C"), (*SCHEMA, SHOWN))
    made.view = MemoryView({"t": T, "u": U})
    made.run("UPDATE shown SET amount = amount + 1 WHERE id > 1")
    made.run("INSERT INTO shown VALUES (7, 4)")
    assert sorted(made.rows("SELECT * FROM u")) == [(1, 10, 100), (2, 10, 201), (3, 30, 300), (4, None, 7)]
    assert made.rows("DELETE FROM shown RETURNING *") == [(100, 1), (201, 2)]
    for hidden in ("UPDATE shown SET k = 1", "DELETE FROM shown WHERE k = 1", "INSERT INTO shown (v) VALUES (1)"):
        with pytest.raises(SqlError, match="42703"):
            made.run(hidden)


@pytest.mark.parametrize(
    "apart",
    [
        "CREATE RULE r AS ON DELETE TO shown DO INSTEAD NOTHING",
        "ALTER VIEW shown ALTER COLUMN id SET DEFAULT 3",
        "ALTER VIEW shown SET (check_option = local)",
    ],
)
def test_a_view_with_writes_of_its_own_is_only_read(apart: str) -> None:
    tables = read_schema((*SCHEMA, SHOWN, apart), Dialect("postgres"), lenient=True)
    bind("SELECT * FROM shown", None, Catalog(tables), Dialect("postgres"))
    with pytest.raises(Unsupported, match="write to a view"):
        bind("DELETE FROM shown", None, Catalog(tables), Dialect("postgres"))


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW tens AS SELECT id FROM t",
        "CREATE VIEW v (a, b) AS SELECT id FROM t",
        "CREATE VIEW v AS SELECT id, id FROM t",
        "CREATE VIEW v AS SELECT nosuch FROM t",
    ],
)
def test_bad_views_are_bad_input(text: str) -> None:
    with pytest.raises(SchemaError):
        read_schema([*SCHEMA, text], Dialect("postgres"))


@pytest.mark.parametrize(
    ("product", "expected"), [("postgres", [(1,), (2,)]), ("duckdb", [(1,), (2,)]), ("sqlite", [(2,)])]
)
def test_how_tightly_intersect_binds(product: str, expected: list[tuple[int]]) -> None:
    rows = database(product).rows("SELECT 1 AS x UNION ALL SELECT 2 INTERSECT SELECT 2")
    assert sorted(rows) == expected


def test_endless_recursion_is_undecided() -> None:
    with pytest.raises(Unsupported, match="recursive query n"):
        database("mysql").rows("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n")
