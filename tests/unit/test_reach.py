"""What a statement that is not modelled may have written, by its words (`sql_semantics.frontend.reach`)."""

from __future__ import annotations

import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect

SCHEMA = (
    "CREATE TABLE kv (k INT PRIMARY KEY, v INT)",
    "CREATE TABLE child (c INT PRIMARY KEY, k INT REFERENCES kv (k) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE seen (s INT PRIMARY KEY)",
    "CREATE TABLE odd (o INT, j JSONB)",
    "CREATE TRIGGER x AFTER INSERT ON odd EXECUTE FUNCTION f()",
)
LIBRARY = SqlLibrary(Dialect("postgres"), SCHEMA, ["CREATE FUNCTION mine() RETURNS INT LANGUAGE plpython3u AS $$ $$"])
MYSQL = SqlLibrary(Dialect("mysql"), SCHEMA[:1])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT jsonb_build_object('a', 1), hashtext($1) FROM kv WHERE k IN (1, 2)",
        "SELECT count(*) FILTER (WHERE v > 1) OVER (PARTITION BY k) FROM kv FOR NO KEY UPDATE SKIP LOCKED",
        "SELECT 'INSERT INTO kv', \"k\" FROM kv -- DELETE FROM kv",
        "WITH x (a) AS (SELECT 1) SELECT * FROM x JOIN kv AS y (a, b) USING (a)",
        "EXPLAIN UPDATE kv SET v = 1",
        "SHOW server_version",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT set_config('app.user', 'x', true)",
        "SET app.user = 'x'",
        "VACUUM kv",
        "",
    ],
)
def test_what_writes_nothing(sql: str) -> None:
    reach = LIBRARY.reach(sql)
    assert (reach.writes, reach.session, reach.ends, reach.defines) == (False, False, False, False)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT mine()",
        "SELECT unheard_of(1)",
        'SELECT "quoted"(1)',
        "SELECT setval('s', 1)",
        "SELECT ts_stat('SELECT mine()')",
        "CALL nowhere(1)",
        "DO $$ BEGIN NULL; END $$",
        "INSERT INTO odd VALUES (1)",
        "INSERT INTO nowhere VALUES (1)",
        "INSERT INTO audit.kv VALUES (1)",
        "CREATE FUNCTION lower(a INT) RETURNS INT LANGUAGE sql AS 'SELECT 1'",
        "DROP FUNCTION mine() CASCADE",
        "TRUNCATE kv RESTART IDENTITY",
        "SOMETHING ELSE",
        "WITH x AS (INSERT INTO odd VALUES (1)) SELECT 1",
    ],
)
def test_what_may_write_anything(sql: str) -> None:
    assert LIBRARY.reach(sql).everything


@pytest.mark.parametrize(
    "sql", ["CREATE FUNCTION g() RETURNS INT LANGUAGE sql AS 'DELETE FROM kv'", "DROP FUNCTION mine()"]
)
def test_a_routine_that_is_defined_is_not_run(sql: str) -> None:
    reach = LIBRARY.reach(sql)
    assert (reach.writes, reach.defines) == (False, True)


@pytest.mark.parametrize(
    ("sql", "rows", "columns"),
    [
        ("INSERT INTO seen SELECT v FROM kv WHERE hashtext('a') = 1", {"seen"}, set()),
        ("INSERT INTO public.kv VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 1", {"kv", "child"}, set()),
        ("UPDATE kv SET v = hashtext('a') WHERE k = 1", set(), {("kv", "v")}),
        ("UPDATE kv SET k = 3, v = (SELECT max(v) FROM kv)", {"child"}, {("kv", "k"), ("kv", "v")}),
        ("UPDATE kv AS x SET v = y.s FROM seen y WHERE y.s = x.k", set(), {("kv", "v")}),
        ("UPDATE kv SET (k, v) = (1, 2)", {"kv", "child"}, set()),
        ("DELETE FROM ONLY kv WHERE k = ANY ($1)", {"kv", "child"}, set()),
        ("DELETE FROM seen USING kv WHERE s = k", {"seen", "kv", "child"}, set()),
        ("WITH x AS (DELETE FROM seen RETURNING s) INSERT INTO kv SELECT s, s FROM x", {"seen", "kv"}, set()),
        ("MERGE INTO seen USING kv ON s = k WHEN MATCHED THEN DELETE", {"seen"}, set()),
        ("COPY seen FROM STDIN", {"seen"}, set()),
        ("COPY seen TO STDOUT", set(), set()),
        ("EXPLAIN ANALYZE UPDATE seen SET s = 1", set(), {("seen", "s")}),
        ("ALTER TABLE seen ADD COLUMN z INT", {"seen"}, set()),
        ("CREATE UNIQUE INDEX i ON seen (s)", {"seen"}, set()),
    ],
)
def test_what_it_names(sql: str, rows: set[str], columns: set[tuple[str, str]]) -> None:
    reach = LIBRARY.reach(sql)
    assert (reach.rows, reach.columns, reach.everything) == (rows, columns, False)


@pytest.mark.parametrize(
    ("sql", "field"),
    [
        ("SET search_path = other", "session"),
        ("SELECT set_config('TimeZone', 'UTC', false)", "session"),
        ("SELECT set_config($1, $2, false)", "session"),
        ("RESET ALL", "session"),
        ("SET TRANSACTION SNAPSHOT '00000003-1'", "session"),
        ("ALTER TABLE seen ADD COLUMN z INT", "defines"),
        ("SELECT * INTO copied FROM kv", "defines"),
    ],
)
def test_what_it_changes_for_others(sql: str, field: str) -> None:
    assert getattr(LIBRARY.reach(sql), field)


def test_mysql_commits_what_defines() -> None:
    assert MYSQL.reach("ALTER TABLE kv ADD COLUMN z INT").ends
    assert MYSQL.reach("GRANT SELECT ON kv TO x").ends
    assert MYSQL.reach("INSERT INTO kv SELECT uuid_short(), 1").rows == {"kv"}
    assert not MYSQL.reach("SHOW TABLES").ends
    assert MYSQL.reach("INSERT INTO kv SELECT 1, mine()").everything
