"""Queries in the manner of sqllogictest's random files: the same answers as the real engines, and few refused."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import DbApi, MariaDB, Postgres
from tests.differential.signed_queries import Queries, schema

SEEDS = pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])


def run(engine: Any, dialect: Dialect, seed: int, count: int, least: float) -> None:
    """`least`: the share of the queries that must be inside the fragment."""
    source = random.Random(seed)
    engine.clear()
    texts = schema(source)
    for text in texts:
        assert engine.run(text).error is None
    beside = Beside(engine, dialect, Catalog(read_schema(texts[:3], dialect), {}))
    queries = Queries(source, dialect.name == "mysql")
    inside = 0
    for _ in range(count):
        sql = queries.query()
        step = beside.step(sql)
        assert step.problem is None, f"seed {seed}: {sql}: {step.problem}\n{texts}"
        inside += step.outside is None
    assert inside >= least * count, f"{inside} of {count}"


@SEEDS
def test_sqlite(seed: int) -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    run(engine, Dialect("sqlite"), seed, 60, 0.9)


@SEEDS
def test_duckdb(seed: int) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    run(engine, Dialect("duckdb"), seed, 60, 0.5)


@SEEDS
def test_postgres(postgres: Any, seed: int) -> None:
    run(Postgres(postgres, "C"), Dialect("postgres", collation="C"), seed, 60, 0.9)


@SEEDS
def test_mariadb(mariadb: Any, seed: int) -> None:
    connection, collation = mariadb
    dialect = Dialect("mysql", collation=collation, product="mariadb")
    run(MariaDB(connection, collation), dialect, seed, 60, 0.6)
