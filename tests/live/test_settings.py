"""Settings that connections had before recording began: what hangs on them is judged by them, or is not judged, under
their names; never is it called a violation.

Each case is a product, what is set, a word by which a verdict may name it, and statements whose answers hang on it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest

from sql_semantics.errors import Unsupported
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.record import EmbeddedPostgres, recorder
from troubadour.record.drivers.mysql import connect, scratch_database
from troubadour.record.errors import RecordError
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB


@dataclass(frozen=True, slots=True)
class Case:
    """`settings` are statements, or options of a PostgreSQL connection; `named` by the verdict unless it is correct."""

    product: str
    settings: tuple[str, ...]
    statements: tuple[str, ...]
    named: str

    @property
    def id(self) -> str:
        return f"{self.product}-{'-'.join(self.settings)[:50]}"


def case(product: str, settings: str | tuple[str, ...], *statements: str, named: str = "") -> Case:
    given = (settings,) if isinstance(settings, str) else settings
    first = named or given[0].split("=")[0].split()[-1].split(".")[-1]
    return Case(product, given, statements, first)


POSTGRES_SCHEMA = """
CREATE TABLE t (id int PRIMARY KEY, a int CHECK (a > 0));
INSERT INTO t VALUES (1, 2), (2, NULL), (3, 1);
CREATE TABLE ch (id int PRIMARY KEY, p int REFERENCES t (id));
CREATE TABLE f (id int PRIMARY KEY, x double precision, b bytea, w timestamptz, d interval);
INSERT INTO f VALUES (1, 0.1::double precision + 0.2, '\\x01ff', '2020-01-01 12:00+00', '1 day 02:00:00');
CREATE FUNCTION twice(id int) RETURNS int LANGUAGE plpgsql AS
  $$ DECLARE n int; BEGIN SELECT id * 2 INTO n FROM t WHERE t.a = 1; RETURN n; END $$;
"""
POSTGRES = [
    case("postgres", "transform_null_equals=on", "SELECT count(*) FROM t WHERE a = NULL"),
    case("postgres", "extra_float_digits=0", "SELECT x FROM f", "SELECT CAST(x AS text) FROM f"),
    case("postgres", "extra_float_digits=-5", "SELECT x, x + 1 FROM f", "SELECT sqrt(2.0::float8)"),
    case("postgres", "extra_float_digits=3", "SELECT x FROM f"),
    case("postgres", "datestyle=ISO\\,DMY", "SELECT DATE '2020-03-02' < DATE '2020-02-03'"),
    case(
        "postgres", "timezone=America/New_York", "SELECT CAST(w AS text) FROM f", "SELECT w FROM f", named="time zone"
    ),
    case("postgres", "timezone=Asia/Kolkata", "SELECT CAST(w AS date) FROM f", named="time"),
    case("postgres", "standard_conforming_strings=off", "SELECT 'a\\nb'", "SELECT length('a\\\\b')"),
    case("postgres", "backslash_quote=on", "SELECT 'a'"),
    case("postgres", "array_nulls=off", "SELECT CAST('{NULL,a}' AS text[])", "SELECT 1"),
    case("postgres", "default_transaction_read_only=on", "INSERT INTO t VALUES (9, 9)", "SELECT count(*) FROM t"),
    case("postgres", "session_replication_role=replica", "INSERT INTO ch VALUES (1, 99)", "SELECT p FROM ch"),
    case("postgres", "lc_numeric=C", "SELECT id FROM t WHERE a = 1"),
    case("postgres", "default_text_search_config=english", "SELECT id FROM t ORDER BY id"),
    case("postgres", "plpgsql.variable_conflict=use_column", "SELECT twice(5)"),
    case("postgres", "row_security=off", "SELECT id FROM t WHERE a = 1"),
    case("postgres", "xmlbinary=hex", "SELECT id FROM t WHERE a = 1"),
    case("postgres", "enable_seqscan=off", "SELECT id FROM t WHERE a = 1"),
    case("postgres", "search_path=public\\,pg_catalog", "SELECT id FROM t WHERE a = 1"),
]
MARIADB_SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, CHECK (a > 0)) ENGINE=InnoDB",
    "INSERT INTO t VALUES (1, 2), (2, NULL), (3, 1)",
    "CREATE TABLE ch (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id)) ENGINE=InnoDB",
    "CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v INT, c CHAR(5), w TIMESTAMP NULL) ENGINE=InnoDB",
    "INSERT INTO s VALUES (1, 1, 'abcda', '2020-01-01 12:00:00'), (2, 2, 'abcdb', NULL), (3, 3, 'ab', NULL)",
)
MARIADB = [
    case("mysql", "SET foreign_key_checks = 0", "INSERT INTO ch VALUES (1, 9)", "SELECT p FROM ch", named="foreign"),
    case("mysql", "SET check_constraint_checks = 0", "INSERT INTO t VALUES (9, -1)", named="check_constraint"),
    case("mysql", "SET unique_checks = 0", "INSERT INTO t VALUES (9, 1)", "SELECT count(*) FROM t", named="unique_"),
    case("mysql", "SET sql_select_limit = 1", "SELECT id FROM t ORDER BY id", "SELECT count(*) FROM t", named="limit"),
    case("mysql", "SET max_sort_length = 8", "SELECT id FROM s ORDER BY c DESC, id", named="max_sort"),
    case("mysql", "SET div_precision_increment = 8", "SELECT a / 3 FROM t ORDER BY id"),
    case("mysql", "SET div_precision_increment = 0", "SELECT avg(a) FROM t"),
    case("mysql", "SET group_concat_max_len = 4", "SELECT group_concat(c ORDER BY id) FROM s", named="group_concat"),
    case("mysql", "SET sql_safe_updates = 1", "UPDATE t SET a = 5", "SELECT a FROM t ORDER BY id", named="safe"),
    case("mysql", "SET sql_auto_is_null = 1", "INSERT INTO s (v) VALUES (9)", "SELECT v FROM s WHERE id IS NULL",
         named="auto_is_null"),
    case("mysql", "SET sql_mode = ''", "INSERT INTO s (v) VALUES (99999999999)", "SELECT v FROM s ORDER BY id",
         named="sql_mode"),
    case("mysql", "SET sql_mode = 'STRICT_TRANS_TABLES,ANSI_QUOTES'", 'SELECT "id" FROM t', named="sql_mode"),
    case("mysql", "SET sql_mode = 'STRICT_TRANS_TABLES,PIPES_AS_CONCAT'", "SELECT 'a' || 'b'", named="sql_mode"),
    case("mysql", "SET sql_mode = 'STRICT_TRANS_TABLES,PAD_CHAR_TO_FULL_LENGTH'", "SELECT c FROM s", named="sql_mode"),
    case("mysql", "SET sql_mode = 'STRICT_TRANS_TABLES,HIGH_NOT_PRECEDENCE'", "SELECT NOT 1 BETWEEN -5 AND 5",
         named="sql_mode"),
    case("mysql", "SET sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'", "SELECT 'a\\\\nb'", named="sql_mode"),
    case("mysql", "SET auto_increment_increment = 5", "INSERT INTO s (v) VALUES (7), (8)", "SELECT id FROM s",
         named="auto_increment"),
    case("mysql", "SET lc_time_names = 'de_DE'", "SELECT date_format('2020-01-01', '%W')", named="lc_time"),
    case("mysql", "SET default_week_format = 3", "SELECT week('2020-01-01')", named="week"),
    case("mysql", "SET time_zone = '+05:00'", "SELECT w FROM s ORDER BY id", "SELECT hour(w) FROM s", named="time"),
    case("mysql", "SET timestamp = 86400", "SELECT now() < '1980-01-01'", named="the DBMS"),
    case("mysql", "SET max_recursive_iterations = 2",
         "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT max(i) FROM n",
         named="recursive"),
]  # fmt: skip
SQLITE_SCHEMA = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER CHECK (a > 0))",
    "INSERT INTO t VALUES (1, 2), (2, NULL), (3, 1)",
    "CREATE TABLE ch (id INTEGER PRIMARY KEY, p INTEGER REFERENCES t (id) ON DELETE CASCADE)",
    "INSERT INTO ch VALUES (1, 1)",
    "CREATE TABLE log (n INTEGER)",
    "CREATE TRIGGER x AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.id); UPDATE t SET a = 5 WHERE id = 3; END",
)
SQLITE = [
    case("sqlite", "PRAGMA case_sensitive_like = ON", "SELECT 'a' LIKE 'A'"),
    case("sqlite", "PRAGMA foreign_keys = ON", "DELETE FROM t WHERE id = 1", "SELECT id FROM ch"),
    case("sqlite", "PRAGMA foreign_keys = OFF", "INSERT INTO ch VALUES (5, 99)", "SELECT id FROM ch"),
    case("sqlite", "PRAGMA ignore_check_constraints = ON", "INSERT INTO t VALUES (9, -1)", named="ignore_check"),
    case("sqlite", "PRAGMA reverse_unordered_selects = ON", "SELECT id FROM t LIMIT 1", "SELECT a FROM t",
         named="reverse_unordered"),
    case("sqlite", "PRAGMA recursive_triggers = ON", "UPDATE t SET a = 7 WHERE id = 1", "SELECT count(*) FROM log",
         named="trigger"),
    case("sqlite", "PRAGMA query_only = ON", "INSERT INTO t VALUES (9, 9)", "SELECT sum(a) FROM t", named="query_only"),
    case("sqlite", "PRAGMA legacy_alter_table = ON", "SELECT id FROM t ORDER BY id", named="legacy_alter"),
    case("sqlite", "PRAGMA read_uncommitted = ON", "SELECT id FROM t ORDER BY id", named="read_uncommitted"),
    case("sqlite", "function lower", "SELECT lower('ABC')", "SELECT count(*) FROM t", named="lower"),
    case("sqlite", "function like", "SELECT 'a' LIKE 'b'", "SELECT count(*) FROM t", named="like"),
]  # fmt: skip
DUCKDB_SCHEMA = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s VARCHAR)",
    "INSERT INTO t VALUES (1, 2, 'a'), (2, NULL, 'A'), (3, 1, 'b')",
)
DUCKDB = [
    case("duckdb", "SET default_null_order = 'nulls_first'", "SELECT a FROM t ORDER BY a", named="null_order"),
    case("duckdb", "SET default_order = 'desc'", "SELECT id FROM t ORDER BY id", named="default_order"),
    case("duckdb", "SET integer_division = true", "SELECT a / 2 FROM t ORDER BY id", named="integer_division"),
    case("duckdb", "SET TimeZone = 'America/New_York'", "SELECT CAST(TIMESTAMPTZ '2020-01-01 12:00+00' AS VARCHAR)",
         named="time"),
    case("duckdb", "SET ieee_floating_point_ops = false", "SELECT 1.0 / 0.0", named="ieee"),
    case("duckdb", "SET old_implicit_casting = true", "SELECT id FROM t ORDER BY id", named="old_implicit"),
    case("duckdb", "SET scalar_subquery_error_on_multiple_rows = false", "SELECT (SELECT id FROM t) > 0",
         named="scalar_subquery"),
    case("duckdb", "SET default_collation = 'nocase'", "SELECT s = 'A' FROM t ORDER BY id", named="collation"),
    case("duckdb", "SET order_by_non_integer_literal = true", "SELECT id FROM t ORDER BY 'x', id", named="order_by"),
    case("duckdb", "SET preserve_insertion_order = false", "SELECT id FROM t"),
    case("duckdb", "SET threads = 1", "SELECT sum(a) FROM t"),
]  # fmt: skip


def test_there_are_enough() -> None:
    assert len(POSTGRES) + len(MARIADB) + len(SQLITE) + len(DUCKDB) >= 45


def judged(log: Path) -> Verdict:
    recorder.close()
    assert read_log([log]).header.settings["others"] == "default"
    return verdict_on(log)


WROTE = ("timezone", "collation", "sql_mode", "found_rows", "foreign_keys", "search_path")
"""The settings that recorders have always written."""


def is_not_accused(log: Path) -> None:
    """Nor is the log of a recorder that told no more than it judged by."""
    head, *lines = log.read_text(encoding="utf-8").splitlines()
    header = json.loads(head)
    header["settings"] = {name: value for name, value in header["settings"].items() if name in WROTE}
    old = log.with_name("old.jsonl")
    old.write_text("\n".join([json.dumps(header), *lines, ""]), encoding="utf-8")
    verdict = verdict_on(old)
    assert verdict.status is not Status.VIOLATION, verdict.explanation


def verdict_on(log: Path) -> Verdict:
    try:
        return audit(*library_for(read_log([log])), Options(unobserved=False))
    except Unsupported as error:  # of the whole log
        return Verdict(Status.UNDECIDED, "", 0, 0, 0, 0, 0, reason=f"not modelled: {error.construct}")


def is_honest(verdict: Verdict, named: str) -> None:
    told = [verdict.reason or "", *(item.construct for item in (verdict.coverage.unjudged if verdict.coverage else ()))]
    assert verdict.status is not Status.VIOLATION, verdict.explanation
    if verdict.status is Status.UNDECIDED:
        assert any(named.lower() in text.lower() for text in told), told


def run(connection: Any, statements: Sequence[str], failures: type[Exception]) -> None:
    """Run what may fail, and let nothing depend on that."""
    for sql in statements:
        cursor = connection.cursor()
        try:
            cursor.execute(sql)
            if cursor.description is not None:
                cursor.fetchall()
            connection.commit()
        except failures:
            connection.rollback()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with EmbeddedPostgres() as postgres:
        with psycopg.connect(postgres.dsn) as connection:
            connection.execute(POSTGRES_SCHEMA)
        yield postgres.dsn


@pytest.mark.parametrize("one", POSTGRES, ids=lambda one: one.id)
def test_postgres(one: Case, server: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    (setting,) = one.settings
    with recorder.connect(server, log=log, options=f"-c {setting}") as connection:
        run(connection, one.statements, psycopg.Error)
    is_honest(judged(log), one.named)
    is_not_accused(log)
    with psycopg.connect(server) as connection:  # what the next one finds
        connection.execute("DELETE FROM ch")
        connection.execute("DELETE FROM t WHERE id > 3")


@pytest.fixture(scope="module")
def mariadb() -> Iterator[str]:
    with PrivateMariaDB() as found:
        yield found.dsn


@pytest.mark.parametrize("one", MARIADB, ids=lambda one: one.id)
def test_mariadb(one: Case, mariadb: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with scratch_database(mariadb) as database, closing(connect(mariadb, database)) as connection:
        cursor = connection.cursor()
        for sql in (*MARIADB_SCHEMA, *one.settings):
            cursor.execute(sql)
        connection.commit()
        recorded = recorder.wrap(connection, log=log)
        run(recorded, one.statements, pymysql.Error)
    is_honest(judged(log), one.named)
    is_not_accused(log)


@pytest.mark.parametrize("one", SQLITE, ids=lambda one: one.id)
def test_sqlite(one: Case, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        for sql in SQLITE_SCHEMA:
            connection.execute(sql)
        for sql in one.settings:
            own = {"function lower": ("lower", 1), "function like": ("like", 2)}.get(sql)
            if own is None:
                connection.execute(sql)
            else:
                connection.create_function(*own, lambda *given: "mine")
        recorded = recorder.wrap(connection, log=tmp_path / "run.jsonl")
        run(recorded, one.statements, sqlite3.Error)
    is_honest(judged(tmp_path / "run.jsonl"), one.named)
    is_not_accused(tmp_path / "run.jsonl")


@pytest.mark.parametrize("one", DUCKDB, ids=lambda one: one.id)
def test_duckdb(one: Case, tmp_path: Path) -> None:
    with closing(duckdb.connect()) as connection:
        for sql in (*DUCKDB_SCHEMA, *one.settings):
            connection.execute(sql)
        recorded = recorder.wrap(connection, log=tmp_path / "run.jsonl")
        for sql in one.statements:
            try:
                recorded.execute(sql).fetchall()
            except duckdb.Error:
                continue
    is_honest(judged(tmp_path / "run.jsonl"), one.named)
    is_not_accused(tmp_path / "run.jsonl")


def test_a_further_connection_tells_its_own_settings(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as first:
        first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
        first.execute("INSERT INTO t VALUES (1, 'x')")
        recorded = recorder.wrap(first, log=log)
        with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as second:
            second.execute("PRAGMA case_sensitive_like = ON")
            second.execute("PRAGMA ignore_check_constraints = ON")
            other = recorder.wrap(second, log=log)
            run(other, ["SELECT 'a' LIKE 'A'"], sqlite3.Error)
        run(recorded, ["SELECT 'a' LIKE 'A'", "SELECT a FROM t"], sqlite3.Error)
    verdict = judged(log)
    is_honest(verdict, "ignore_check_constraints")
    assert [s.sql for t in read_log([log]).transactions for s in t.statements][:2] == [
        "PRAGMA ignore_check_constraints = 1",
        "PRAGMA case_sensitive_like = True",
    ]


def test_what_cannot_be_read_is_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="bytea_output"):
        recorder.connect(server, log=tmp_path / "run.jsonl", options="-c bytea_output=escape")


def test_what_is_set_within_a_log_costs_what_comes_after_it(mariadb: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with scratch_database(mariadb) as database, closing(connect(mariadb, database)) as connection:
        for sql in MARIADB_SCHEMA:
            connection.cursor().execute(sql)
        connection.commit()
        recorded = recorder.wrap(connection, log=log)
        run(recorded, ["SELECT id FROM t ORDER BY id"], pymysql.Error)
        run(recorded, ["SET sql_select_limit = 1"], pymysql.Error)
        run(recorded, ["SELECT id FROM t ORDER BY id"], pymysql.Error)
    verdict = judged(log)
    assert verdict.coverage is not None
    assert (verdict.status, verdict.coverage.statements, verdict.coverage.judged) == (Status.UNDECIDED, 3, 1)
    assert {item.construct for item in verdict.coverage.unjudged} == {"SET sql_select_limit"}


def test_the_catalogs_are_read_whatever_the_limits(mariadb: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with scratch_database(mariadb) as database, closing(connect(mariadb, database)) as connection:
        cursor = connection.cursor()
        for sql in (*MARIADB_SCHEMA, "SET sql_select_limit = 1", "SET group_concat_max_len = 4"):
            cursor.execute(sql)
        connection.commit()
        recorder.wrap(connection, log=log)
        cursor.execute("SELECT @@sql_select_limit, @@group_concat_max_len")
        assert cursor.fetchall() == ((1, 4),)
    recorder.close()
    found = read_log([log])
    assert {table.table: len(table.rows) for table in found.header.initial} == {"t": 3, "s": 3}
    assert len(found.header.schema) == 3
    assert str(found.header.settings["sql_select_limit"]) == "1"


def test_what_duckdb_is_set_to_holds_for_all_its_connections(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with closing(duckdb.connect()) as connection:
        for sql in DUCKDB_SCHEMA:
            connection.execute(sql)
        recorded = recorder.wrap(connection, log=log)
        other = recorded.cursor()
        other.execute("SELECT a FROM t ORDER BY a").fetchall()
        recorded.execute("SET default_null_order = 'nulls_first'")
        other.execute("SELECT a FROM t ORDER BY a").fetchall()
    verdict = judged(log)
    is_honest(verdict, "default_null_order")
    assert verdict.coverage is not None
    assert verdict.coverage.judged == 1


def test_names_with_the_database_are_read(mariadb: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with scratch_database(mariadb) as database, closing(connect(mariadb, database)) as connection:
        for sql in MARIADB_SCHEMA:
            connection.cursor().execute(sql)
        connection.commit()
        texts = (
            f"UPDATE {database}.t SET a = a + 1 WHERE {database}.t.id = 1",
            f"SELECT `{database}`.`t`.`a`, s.v FROM `{database}`.`t` JOIN {database}.s s ON s.id = {database}.t.id",
            f"DELETE FROM {database}.t WHERE id = 3",
        )
        run(recorder.wrap(connection, log=log), texts, pymysql.Error)
    verdict = judged(log)
    assert verdict.coverage is not None
    assert (verdict.status, verdict.coverage.judged) == (Status.CORRECT, 3)
