"""Statements that read and write no modelled table: which they are, and which change what is modelled."""

from __future__ import annotations

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.ir.statements import NoEffect
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind

PROBES = """
postgres empty |
postgres empty | -- nothing ;
postgres setting | SET TIME ZONE 'UTC'
postgres setting | SET search_path TO "$user", public
postgres setting | RESET ALL
postgres setting | SET myapp.user = 'x'
postgres show | SHOW transaction_isolation
postgres explain | EXPLAIN (ANALYZE) SELECT * FROM t
postgres notification | UNLISTEN *
postgres maintenance | VACUUM (FULL, ANALYZE) t
postgres maintenance | DISCARD ALL
postgres session | SELECT set_config('timezone', '+00:00', false)
postgres session | SELECT set_config('app.user', 'x', true)
postgres session | SELECT pg_try_advisory_lock(1), pg_catalog.version()
postgres catalog | SELECT * FROM pg_catalog.pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
postgres catalog | WITH x AS (SELECT 1) SELECT * FROM pg_class, x
mysql setting | SET NAMES utf8mb4
mysql setting | SET @@session.autocommit = OFF
mysql setting | SET SQL_AUTO_IS_NULL = 0, time_zone = '+00:00'
mysql show | SHOW VARIABLES LIKE 'x'
mysql show | DESCRIBE t
mysql session | SELECT @@session.transaction_isolation, VERSION()
mysql session | SELECT GET_LOCK('a', 1)
mysql catalog | SELECT * FROM information_schema.columns WHERE table_name = 't'
sqlite setting | PRAGMA foreign_keys = ON
sqlite setting | PRAGMA main.table_xinfo('t')
sqlite maintenance | VACUUM
sqlite catalog | SELECT name FROM sqlite_master WHERE type = 'table'
mysql session | SELECT JSON_VALID('{"a": "b"}')
duckdb setting | SET TimeZone = 'UTC'
duckdb catalog | SELECT * FROM duckdb_tables()
duckdb session | SELECT version()
"""
REFUSED = """
postgres SET timezone | SET timezone TO 'Europe/Rome'
postgres SET search_path | SET search_path = other, public
postgres SET standard_conforming_strings | SET standard_conforming_strings = off
postgres SET SESSION CHARACTERISTICS | SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE
postgres set_config() of timezone | SELECT set_config('timezone', 'Asia/Tokyo', false)
postgres EXPLAIN ANALYZE of a statement that writes | EXPLAIN ANALYZE DELETE FROM t
postgres function current_setting() | SELECT v FROM t WHERE current_setting('x') = '1'
postgres system table pg_class | SELECT setval('s', 3) FROM pg_class
postgres system table pg_class | SELECT c.relname, t.v FROM pg_class c, t
mysql SET names | SET NAMES latin1
mysql SET foreign_key_checks | SET foreign_key_checks = 0
mysql SET sql_mode | SET SESSION sql_mode = 'ANSI'
mysql SET SESSION TRANSACTION | SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
sqlite PRAGMA foreign_keys | PRAGMA foreign_keys = OFF
sqlite PRAGMA case_sensitive_like | PRAGMA case_sensitive_like = ON
duckdb SET default_null_order | SET default_null_order = 'nulls_first'
"""


def rows(text: str) -> list[list[str]]:
    lines = [line.partition("|") for line in text.strip("\n").splitlines()]
    return [[*head.strip().split(" ", 1), sql.strip()] for head, _, sql in lines]


def library(dialect: str) -> SqlLibrary:
    schema = ["CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)"]
    return SqlLibrary(Dialect(dialect, collation="C", foreign_keys=True), schema)


@pytest.mark.parametrize(("dialect", "kind", "sql"), rows(PROBES))
def test_a_probe_has_its_kind_and_no_effect(dialect: str, kind: str, sql: str) -> None:
    statement = library(dialect).program(sql).statement
    assert isinstance(statement, NoEffect)
    assert statement.opaque
    assert statement.probe == kind


@pytest.mark.parametrize(("dialect", "construct", "sql"), rows(REFUSED))
def test_what_changes_the_meaning_of_statements_is_refused_by_name(dialect: str, construct: str, sql: str) -> None:
    with pytest.raises(Unsupported) as refusal:
        library(dialect).program(sql)
    assert refusal.value.construct == construct


def test_a_parameter_decides_when_it_is_known() -> None:
    program = library("postgres").program(
        "SELECT set_config('TimeZone', $1, false), current_setting('x')", (Kind.TEXT,)
    )
    program.run(None, ("UTC",))  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="TimeZone"):
        program.run(None, ("Asia/Tokyo",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "shown"), [("UTC", "UTC"), ("utc", "UTC"), ("etc/utc", "Etc/UTC"), ("gmt", "GMT"), ("ZULU", "Zulu")]
)
@pytest.mark.parametrize("name", ["TimeZone", "timezone"])
def test_the_time_zone_that_is_set_is_answered_as_it_is_shown(name: str, given: str, shown: str) -> None:
    for value, arguments in (("$1", (given,)), (f"'{given}'", ())):
        program = library("postgres").program(
            f"SELECT set_config('{name}', {value}, false)", (Kind.TEXT,) * len(arguments)
        )
        assert program.run(MemoryView({}), arguments).results[0].rows == [(shown,)]


@pytest.mark.parametrize("value", ["Asia/Tokyo", "+00:00", None])
def test_a_time_zone_that_is_shown_otherwise_or_another_one_is_not_answered(value: str | None) -> None:
    program = library("postgres").program("SELECT set_config('TimeZone', $1, false)", (Kind.TEXT,))
    with pytest.raises(Unsupported, match=r"set_config\(\) of TimeZone"):
        program.run(MemoryView({}), (value,))


def test_what_commits_its_transaction_says_so() -> None:
    for sql, alone in (("SET autocommit = 1", True), ("SET autocommit = 0", False), ("FLUSH TABLES", True)):
        statement = library("mysql").program(sql).statement
        assert isinstance(statement, NoEffect)
        assert statement.alone is alone
