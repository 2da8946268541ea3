"""What all tests share: reproducible property tests, and servers that are started once. Does not know what is asked of
them."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import postgres_of_no_flush

if TYPE_CHECKING:
    from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

collect_ignore = ["data"]
"""What tests run, some of it files of tests."""

# A failing property prints the blob that repeats it. No deadline: the machines that run this are shared. The fast tests
# draw the same examples in every run, so that a change fails for what it changed; with HYPOTHESIS_PROFILE=long the same
# properties are searched for longer, and for others each time.
_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("long", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: no later collection of garbage walks over them, which also would copy them in
    every process that is forked. Collections are as rare as in the command (`troubadour.cli.main`)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """An embedded PostgreSQL for the whole session of a worker, whose answers are compared."""
    with postgres_of_no_flush() as uri:
        yield uri


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[PrivateMariaDB]:
    """A private MariaDB for the whole session of a worker, where one is installed."""
    from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

    if (reason := missing()) is not None:
        pytest.skip(reason)
    with PrivateMariaDB() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_dsn(mariadb_server: PrivateMariaDB) -> Iterator[str]:
    """A database of the recorders' own on it."""
    from troubadour.record.drivers.mysql import scratch_database

    with scratch_database(mariadb_server.dsn) as name:
        yield mariadb_server.dsn.replace("/test?", f"/{name}?")
