"""Connections of a test's own to the real engines of the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.differential.mariadb import COLLATION, PrivateMariaDB


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


@pytest.fixture
def mariadb(mariadb_server: PrivateMariaDB) -> Iterator[Any]:
    """An autocommitting PyMySQL connection of the test's own, and the collation it compares by."""
    with mariadb_server.connect() as connection:
        yield connection, COLLATION
