"""Statements that change no row and answer nothing."""

from __future__ import annotations

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import NoEffect
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect

SCHEMA = ["CREATE TABLE kv (k integer PRIMARY KEY, v integer)"]


def bound(sql: str, dialect: str = "postgres") -> object:
    made = Dialect(dialect, collation="C")
    return bind(sql, (), Catalog(read_schema(SCHEMA, made)), made).statement


@pytest.mark.parametrize(
    "sql",
    [
        "SET statement_timeout = 1000",
        "set session lock_timeout to '5s'",
        "/* why */ SET LOCAL work_mem = '4MB';",
        "SET LOCAL cpu_tuple_cost = 0.03",
        "SET enable_bitmapscan = off",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "RESET lock_timeout",
        "LOCK kv",
        "LOCK TABLE ONLY kv, kv IN ACCESS EXCLUSIVE MODE NOWAIT",
        "LISTEN ch",
        "UNLISTEN *",
        "NOTIFY ch, 'x'",
        "ANALYZE",
        "ANALYZE kv",
        "DEALLOCATE ALL",
    ],
)
def test_no_effect(sql: str) -> None:
    statement = bound(sql)
    assert isinstance(statement, NoEffect)
    dialect = Dialect("postgres", collation="C")
    run = compile_statement(statement, Catalog(read_schema(SCHEMA, dialect)), dialect)
    outcome = run(MemoryView({"kv": [(1, 1)]}), ())
    assert (outcome.results, outcome.affected) == ([], None)


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SET search_path = other", "SET search_path"),
        ("SET LOCAL timezone = 'Asia/Tokyo'", "SET timezone"),
        ("SET TRANSACTION READ ONLY", "SET TRANSACTION other than a level or READ WRITE"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET SESSION CHARACTERISTICS"),
        ("LOCK TABLE nosuch", "LOCK of something else than known tables"),
        ('LOCK TABLE "KV"', "LOCK of something else than known tables"),
        ("LOCK TABLE kv IN NO MODE", "LOCK of something else than known tables"),
    ],
)
def test_what_may_have_one_is_refused(sql: str, construct: str) -> None:
    with pytest.raises(Unsupported) as refused:
        bound(sql)
    assert refused.value.construct == construct


def test_mysql_sets_its_own() -> None:
    assert isinstance(bound("SET SESSION innodb_lock_wait_timeout = 3", "mysql"), NoEffect)
    for sql in ("SET sql_mode = ''", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"):
        with pytest.raises(Unsupported):
            bound(sql, "mysql")
