"""Where snapshots of a real PostgreSQL form a chain, and where they do not: several databases, prepared transactions, a
standby. `docs/certificates.md`, the first question."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.live.standby import standby_of
from tests.patience import until
from troubadour.audit.certified.examine import examine
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.certificate import Examined, Standing
from troubadour.model.log import Log
from troubadour.record import EmbeddedPostgres, RecordError, recorder
from troubadour.record.postgres.connection import SEEN

TABLE = b"CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)"
FILL = b"INSERT INTO kv SELECT i, 0 FROM generate_series(1, 50) i"
LEVELS = {
    "snapshot": psycopg.IsolationLevel.REPEATABLE_READ,
    "serializable": psycopg.IsolationLevel.SERIALIZABLE,
}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    settings = {"wal_level": "logical", "max_prepared_transactions": "20", "lock_timeout": "500ms"}
    with EmbeddedPostgres(settings) as running:
        with psycopg.connect(running.dsn, autocommit=True) as setup:
            setup.execute(b"CREATE DATABASE other")
        for database in (running.dsn, other_of(running)):
            with psycopg.connect(database) as setup:
                setup.execute(TABLE)
                setup.execute(FILL)
        yield running


def other_of(server: EmbeddedPostgres) -> str:
    return make_conninfo(server.dsn, dbname="other")


def recorded(dsn: str, path: Path, isolation: str = "snapshot") -> psycopg.Connection[tuple[Any, ...]]:
    connection = recorder.connect(dsn, log=path, certificate=path.with_suffix(".cert"))
    connection.isolation_level = LEVELS[isolation]
    return connection


def examined(path: Path, isolation: str) -> tuple[Examined, Log]:
    log = read_log([path])
    found, _ = examine(log, library_of(log), read_certificate(path.with_suffix(".cert")), isolation=isolation)
    return found, log


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_prepared_transactions_beside_another_database_are_accepted(
    server: EmbeddedPostgres, tmp_path: Path, isolation: str
) -> None:
    """Half of the transactions that write are prepared first, while two sessions commit in another database."""
    path = tmp_path / "run.jsonl"
    over = threading.Event()

    def elsewhere(number: int) -> None:
        random = Random(number)
        with psycopg.connect(other_of(server), autocommit=True) as connection:
            while not over.is_set():
                connection.execute("UPDATE kv SET v = v + 1 WHERE k = %s", (number * 25 + random.randint(1, 25),))
                time.sleep(0.001)

    def session(number: int) -> None:
        random = Random(f"{isolation}/{number}")
        connection = recorded(server.dsn, path, isolation)
        for turn in range(25):
            prepared = turn % 2 == 1
            try:
                if prepared:
                    connection.tpc_begin(connection.xid(1, f"{isolation}-{number}-{turn}", "b"))
                connection.execute("SELECT sum(v) FROM kv WHERE k <= %s", (random.randint(1, 50),)).fetchall()
                connection.execute("UPDATE kv SET v = v + 1 WHERE k = %s", (random.randint(1, 50),))
                if prepared:
                    connection.tpc_prepare()
                    time.sleep(random.random() / 200)
                    connection.tpc_commit()
                else:
                    connection.commit()
            except psycopg.errors.OperationalError:
                connection.close()  # psycopg would finish what could not be prepared
                connection = recorded(server.dsn, path, isolation)
        connection.close()

    others = [threading.Thread(target=elsewhere, args=(number,)) for number in range(2)]
    sessions = [threading.Thread(target=session, args=(number,)) for number in range(3)]
    for thread in (*others, *sessions):
        thread.start()
    for thread in sessions:
        thread.join()
    over.set()
    for thread in others:
        thread.join()
    recorder.close()
    found, log = examined(path, isolation)
    assert found.status is Standing.ACCEPTED, found
    assert log.committed > 20


def test_a_prepared_transaction_that_another_connection_commits_is_told(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    with closing(recorded(server.dsn, path)) as connection:
        connection.tpc_begin(connection.xid(1, "left", "b"))
        connection.execute("UPDATE kv SET v = 1000 WHERE k = 7")
        connection.tpc_prepare()
    with psycopg.connect(server.dsn, autocommit=True) as other:
        row = other.execute("SELECT gid FROM pg_prepared_xacts").fetchone()
        assert row is not None
        other.execute(f"COMMIT PREPARED '{row[0]}'".encode())
    with recorded(server.dsn, path) as connection:
        assert connection.execute("SELECT v FROM kv WHERE k = 7").fetchone() == (1000,)
    recorder.close()
    found, log = examined(path, "snapshot")
    assert (found.status, log.unknown) == (Standing.ACCEPTED, 1)
    assert [note.partition(", ")[2] for note in found.notes] == [
        "of unknown outcome, committed, as the certificate says"
    ]


def test_a_standby_tells_no_snapshot(server: EmbeddedPostgres, tmp_path: Path) -> None:
    """What `pg_current_snapshot()` says there names no transaction that was running, although none of them is seen: a
    recorder that is led there by a proxy has no snapshot. A log of a standby cannot be begun."""
    with standby_of(server) as standby, psycopg.connect(server.dsn) as running:
        xid = running.execute("SELECT pg_current_xact_id()::text").fetchone()
        assert xid is not None
        running.execute("INSERT INTO kv VALUES (900, 0)")
        with psycopg.connect(server.dsn) as writer:
            writer.execute("INSERT INTO kv VALUES (901, 0)")
        with psycopg.connect(standby, autocommit=True) as reader:
            until(lambda: reader.execute("SELECT 1 FROM kv WHERE k = 901").fetchone())
            told = reader.execute(
                "SELECT pg_visible_in_snapshot(%s::text::xid8, pg_current_snapshot()) FROM kv WHERE k = 901", xid
            ).fetchone()
            assert told == (True,)  # it says that it sees what is not committed
            assert reader.execute(SEEN).fetchone() == (None, None)
        with psycopg.connect(server.dsn, autocommit=True) as other:
            asked = other.execute(SEEN).fetchone()
            assert asked is not None
            assert asked[1] is not None
        for options in ({"snapshots": True}, {"certificate": tmp_path / "run.cert"}):
            with pytest.raises(RecordError, match=r"(in|during) recovery"):
                recorder.connect(standby, log=tmp_path / "run.jsonl", **options)
