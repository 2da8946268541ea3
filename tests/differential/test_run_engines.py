"""Generated statements give the same rows, counts, SQLSTATEs and tables in the interpreter and on real engines."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest

from tests.differential.engines import DbApi, Engine, Postgres, Tally, run_cases


def _check(engine: Engine, seed: int, statements: int, least: float) -> None:
    tally = run_cases(engine, seed, statements)
    report = "\n".join(tally.differences[:10])
    assert not tally.differences, f"seed {seed}: {len(tally.differences)} differences\n{report}"
    assert tally.compared >= least * tally.statements, _most_unsupported(seed, tally)


def _most_unsupported(seed: int, tally: Tally) -> str:
    return f"seed {seed}: {tally.compared} of {tally.statements} compared; {tally.unsupported.most_common(8)}"


def _sqlite() -> Engine:
    return DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)


def _duckdb() -> Engine:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return DbApi("duckdb", duckdb.connect(":memory:"), duckdb.Error)


def test_postgres_agrees(postgres: Any) -> None:
    _check(Postgres(postgres), 1, 800, 0.6)


def test_postgres_agrees_on_the_order_of_text(postgres: Any) -> None:
    """The embedded server's own collation, by code points, given to the interpreter."""
    (collation,) = postgres.execute("SELECT datcollate FROM pg_database WHERE datname = current_database()").fetchone()
    if collation not in ("C", "POSIX", "C.UTF-8"):
        pytest.skip(f"the server sorts text by {collation}")
    engine = Postgres(postgres)
    engine.collation = collation
    _check(engine, 4, 400, 0.6)


def test_sqlite_agrees() -> None:
    _check(_sqlite(), 2, 600, 0.6)


def test_duckdb_agrees() -> None:
    _check(_duckdb(), 3, 300, 0.5)


@pytest.mark.slow
def test_postgres_agrees_at_length(postgres: Any) -> None:
    _check(Postgres(postgres), random.randrange(1, 10**6), 20_000, 0.6)


@pytest.mark.slow
def test_sqlite_agrees_at_length() -> None:
    _check(_sqlite(), random.randrange(1, 10**6), 10_000, 0.6)


@pytest.mark.slow
def test_duckdb_agrees_at_length() -> None:
    _check(_duckdb(), random.randrange(1, 10**6), 3_000, 0.5)
