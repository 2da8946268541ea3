"""Disturbances of a real PostgreSQL while a workload runs: connections killed in the middle of a transaction and of a
COMMIT. (`EmbeddedPostgres.crash` takes the whole server down.) Does not know the workload, nor who records.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import psycopg

from sql_semantics.records import dataclass
from troubadour.record.errors import RecordError
from troubadour.record.servers.server import Connection, connect

_OTHERS = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
_IN_TRANSACTION = f"SELECT pid {_OTHERS} AND xact_start IS NOT NULL AND query NOT LIKE 'COMMIT%' ORDER BY pid"
_IN_COMMIT = f"SELECT pid {_OTHERS} AND wait_event = 'SyncRep' ORDER BY pid"
PATIENCE = 0.5
"""Seconds that commits are held up for at most, each time."""


@dataclass(slots=True)
class Kills:
    """How many connections were killed inside a transaction, and while they were committing."""

    transactions: int = 0
    commits: int = 0


@contextmanager
def beside(work: Callable[[threading.Event], None], failures: tuple[type[Exception], ...]) -> Iterator[None]:
    """Runs `work` in a thread for as long as the block lasts; it ends when its event is set. Raises RecordError where
    it ended with one of `failures`, and the block did not fail itself."""
    over = threading.Event()
    failed: list[Exception] = []

    def guarded() -> None:
        try:
            work(over)
        except failures as error:
            failed.append(error)

    thread = threading.Thread(target=guarded, name="killer")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise RecordError(f"the killer failed: {failed[0]}") from failed[0]


@contextmanager
def killing(dsn: str, *, seed: int, period: float = 0.05) -> Iterator[Kills]:
    """From time to time ends a connection of the server that is inside a transaction, or one that is committing. Needs
    a superuser, and a server on which nothing else works.

    A COMMIT is caught in the act by asking for a synchronous standby that does not exist: the transaction is committed,
    its client is not told, and the connection ends while it waits. `period`: mean seconds between two kills. Raises
    RecordError as `beside` does.
    """
    kills = Kills()
    random = Random(f"{seed}/kills")

    def work(over: threading.Event) -> None:
        with connect(dsn) as connection:
            try:
                while not over.wait(random.uniform(0, 2 * period)):
                    if random.random() < 0.5:
                        kills.transactions += _end_one(connection, _IN_TRANSACTION, random)
                    else:
                        kills.commits += _end_commit(connection, random, over)
            finally:
                _hold_commits(connection, False)

    with beside(work, (psycopg.Error, RecordError)):
        yield kills


def _end_commit(connection: Connection, random: Random, over: threading.Event) -> int:
    _hold_commits(connection, True)
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not over.is_set():
            if ended := _end_one(connection, _IN_COMMIT, random):
                return ended
            time.sleep(0.002)
        return 0
    finally:
        _hold_commits(connection, False)


def _end_one(connection: Connection, query: str, random: Random) -> int:
    found = connection.execute(query.encode()).fetchall()
    if not found:
        return 0
    ((ended,),) = connection.execute(b"SELECT pg_terminate_backend($1)", random.choice(found)).fetchall()
    return int(ended is True)


def _hold_commits(connection: Connection, hold: bool) -> None:
    """Those under way wait until told otherwise."""
    standby = b"'nowhere'" if hold else b"''"
    connection.execute(b"ALTER SYSTEM SET synchronous_standby_names = " + standby)
    connection.execute(b"SELECT pg_reload_conf()")
