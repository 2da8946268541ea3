"""Runs a seeded workload on several sessions at once (paper §8, RQ3 setup: concurrent users, random transactions).

Does not know SQL, nor whether its sessions record: what a session draws depends on the seed and its name only.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import psycopg

from troubadour.record.errors import ConnectionLost, RecordError
from troubadour.record.server import Connection, one_line
from troubadour.record.session import Answer

RETRIED = frozenset({"40001", "40P01"})
"""Serialization failures and deadlocks: the transaction is over, and the session draws a new one."""


IN_FAILED_TRANSACTION = "25P02"


class Executor(Protocol):
    """What a transaction's logic is given."""

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run one statement with ``$1`` placeholders."""


class Session(Executor, Protocol):
    """What the runner drives."""

    def begin(self) -> None:
        """Start a transaction."""

    def commit(self) -> bool:
        """COMMIT; False if the server rolled back instead."""

    def rollback(self) -> None:
        """ROLLBACK."""

    def close(self) -> None:
        """Close the connection."""


Logic = Callable[[Executor], None]
"""One transaction, from its first statement to its last."""


class Workload(Protocol):
    """Tables, their first rows, and transactions at random."""

    @property
    def schema(self) -> Sequence[str]:
        """The CREATE statements."""

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Each table's columns."""

    def load(self, connection: Connection) -> None:
        """Create the tables in the current search path, and fill them."""

    def draw(self, random: Random) -> Logic:
        """One transaction; all its choices are made by `random`."""


@dataclass(slots=True)
class Tally:
    """What a run came to. `aborted` counts by SQLSTATE, `lost` connections that broke; `seconds` of wall clock."""

    committed: int = 0
    aborted: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Committed transactions per second."""
        return self.committed / self.seconds if self.seconds else 0.0


def attempt(session: Session, logic: Logic) -> str | None:
    """Run one transaction: None if it committed, the SQLSTATE if it was aborted for a reason in `RETRIED`
    (or 25P02, if an error that the logic caught made a ROLLBACK of its COMMIT).

    Raises what else went wrong, after a rollback where that is possible.
    """
    session.begin()
    try:
        logic(session)
    except ConnectionLost:
        raise
    except psycopg.Error as error:
        session.rollback()
        if error.sqlstate in RETRIED:
            return error.sqlstate
        raise
    except BaseException:
        session.rollback()
        raise
    try:
        if not session.commit():
            return IN_FAILED_TRANSACTION  # the logic went on after an error
    except psycopg.Error as error:
        if error.sqlstate in RETRIED:
            return error.sqlstate
        raise
    return None


def run(
    open_session: Callable[[str], Session],
    workload: Workload,
    *,
    sessions: int,
    transactions: int,
    seed: int,
    progress: Callable[[Tally], None] = lambda tally: None,
    period: float = 0.2,
) -> Tally:
    """Run transactions on `sessions` threads until at least `transactions` have committed.

    Sessions are named ``s1``, ``s2``, ...; one whose connection breaks goes on as ``s1.1`` on a new one. `progress` is
    called every `period` seconds. On Ctrl-C and when a session fails the others finish their transaction first.
    Raises RecordError if a transaction fails for a reason that is not in `RETRIED`.
    """
    return _Run(open_session, workload, transactions, seed).go(sessions, progress, period)


class _Run:
    def __init__(
        self, open_session: Callable[[str], Session], workload: Workload, transactions: int, seed: int
    ) -> None:
        self._open = open_session
        self._workload = workload
        self._transactions = transactions
        self._seed = seed
        self._tally = Tally()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def go(self, sessions: int, progress: Callable[[Tally], None], period: float) -> Tally:
        names = [f"s{i}" for i in range(1, sessions + 1)]
        opened: dict[str, Session] = {}
        try:
            for name in names:
                opened[name] = self._open(name)
        except BaseException:
            for session in opened.values():
                session.close()
            raise
        started = time.monotonic()
        with ThreadPoolExecutor(sessions) as pool:
            working = [pool.submit(self._work, *item) for item in opened.items()]
            try:
                while not self._stop.wait(period):
                    self._tally.seconds = time.monotonic() - started
                    progress(self._tally)
            finally:
                self._stop.set()
        self._tally.seconds = time.monotonic() - started
        progress(self._tally)
        for work in working:
            try:
                work.result()
            except psycopg.Error as error:
                raise RecordError(f"a transaction failed: {error.sqlstate}: {one_line(error)}") from error
        return self._tally

    def _work(self, name: str, session: Session) -> None:
        random = Random(f"{self._seed}/{name}")
        connections = 0
        try:
            while not self._stop.is_set():
                try:
                    sqlstate = attempt(session, self._workload.draw(random))
                except ConnectionLost:
                    session.close()
                    connections += 1
                    session = self._open(f"{name}.{connections}")
                    with self._lock:
                        self._tally.lost += 1
                    continue
                self._count(sqlstate)
        finally:
            self._stop.set()  # one that fails ends the run
            session.close()

    def _count(self, sqlstate: str | None) -> None:
        with self._lock:
            if sqlstate is not None:
                self._tally.aborted[sqlstate] += 1
                return
            self._tally.committed += 1
            if self._tally.committed >= self._transactions:
                self._stop.set()
