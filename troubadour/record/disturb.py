"""Disturbances of a real PostgreSQL while a workload runs: connections killed in the middle of a transaction and of a
COMMIT. (`EmbeddedPostgres.crash` takes the whole server down.) Does not know the workload, nor who records.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Self

import psycopg

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


class Killer:
    """A context manager: from time to time it ends a connection of the server that is inside a transaction, or one that
    is committing. Needs a superuser, and a server on which nobody else works.

    A COMMIT is caught in the act by asking for a synchronous standby that does not exist: the transaction is committed,
    its client is not told, and the connection ends while it waits. `period`: mean seconds between two kills.
    """

    def __init__(self, dsn: str, *, seed: int, period: float = 0.05) -> None:
        self.kills = Kills()
        self._dsn = dsn
        self._period = period
        self._random = Random(f"{seed}/kills")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="killer")
        self._failure: psycopg.Error | RecordError | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises RecordError where the killer itself failed."""
        self._over.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise RecordError(f"the killer failed: {self._failure}") from self._failure

    def _work(self) -> None:
        try:
            with connect(self._dsn) as connection:
                try:
                    while not self._over.wait(self._random.uniform(0, 2 * self._period)):
                        if self._random.random() < 0.5:
                            self.kills.transactions += _end_one(connection, _IN_TRANSACTION, self._random)
                        else:
                            self.kills.commits += self._end_commit(connection)
                finally:
                    _hold_commits(connection, False)
        except (psycopg.Error, RecordError) as error:
            self._failure = error

    def _end_commit(self, connection: Connection) -> int:
        _hold_commits(connection, True)
        try:
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and not self._over.is_set():
                if ended := _end_one(connection, _IN_COMMIT, self._random):
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
