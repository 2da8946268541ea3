"""Runs a seeded workload on several sessions at once (paper §8, RQ3 setup: concurrent users, random transactions).

Does not know SQL, nor whether its sessions record: what a session draws depends on the seed and its name only.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import psycopg

from sql_semantics.records import dataclass, field
from troubadour.record.errors import ConnectionLost, RecordError, ServerError, UserRollback
from troubadour.record.runs.workload import Draws, Executor, Logic, Mix
from troubadour.record.servers.server import one_line

RETRIED = frozenset({"40001", "40P01"})
"""Serialization failures and deadlocks: the transaction is over, and the session draws a new one."""

RETRIED_CODES = frozenset({1020, 1205, 1213})
"""MariaDB's: a row changed since it was read, a lock waited for too long, a deadlock."""

RETRY = 0.05
"""Seconds between two attempts to connect to a server that is down."""
IN_FAILED_TRANSACTION = "25P02"
ROLLED_BACK = "rollback"
"""In a tally's `aborted`: by the transaction's own logic."""


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
    (or 25P02, if an error that the logic caught made a ROLLBACK of its COMMIT; `ROLLED_BACK` where it wanted that).

    Raises what else went wrong, after a rollback where that is possible.
    """
    session.begin()
    try:
        logic(session)
    except ConnectionLost:
        raise
    except UserRollback:
        session.rollback()
        return ROLLED_BACK
    except (psycopg.Error, ServerError) as error:
        session.rollback()
        if _retried(error):
            return error.sqlstate
        raise
    except BaseException:
        session.rollback()
        raise
    try:
        if not session.commit():
            return IN_FAILED_TRANSACTION  # the logic went on after an error
    except (psycopg.Error, ServerError) as error:
        if _retried(error):
            return error.sqlstate
        raise
    return None


def _retried(error: psycopg.Error | ServerError) -> bool:
    return error.sqlstate in RETRIED or (isinstance(error, ServerError) and error.code in RETRIED_CODES)


def run(
    open_session: Callable[[str], Session],
    mix: Mix,
    *,
    sessions: int,
    transactions: int,
    seed: int,
    progress: Callable[[Tally], None] = lambda tally: None,
    period: float = 0.2,
    patience: float = 0.0,
) -> Tally:
    """Run transactions on `sessions` threads until at least `transactions` have committed.

    Sessions are named ``s1``, ``s2``, ...; one whose connection breaks goes on as ``s1.1`` on a new one. `progress` is
    called every `period` seconds. Where a new connection is refused, it is tried again for `patience` seconds. On
    Ctrl-C and when a session fails the others finish their transaction first. Raises RecordError if a transaction
    fails for a reason that is not in `RETRIED`."""
    return _Run(open_session, mix, transactions, seed, patience).go(sessions, progress, period)


class _Run:
    def __init__(
        self, open_session: Callable[[str], Session], mix: Mix, transactions: int, seed: int, patience: float
    ) -> None:
        self._open = open_session
        self._mix = mix
        self._transactions = transactions
        self._seed = seed
        self._patience = patience
        self._tally = Tally()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def go(self, sessions: int, progress: Callable[[Tally], None], period: float) -> Tally:
        names = [f"s{i}" for i in range(1, sessions + 1)]
        opened: dict[str, Session] = {}
        try:
            for name in names:
                opened[name] = self._open_again(name)
        except BaseException:
            for session in opened.values():
                session.close()
            raise
        started = time.monotonic()
        with ThreadPoolExecutor(sessions) as pool:
            working = [pool.submit(self._work, number, *item) for number, item in enumerate(opened.items())]
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
            except (psycopg.Error, ServerError) as error:
                raise RecordError(f"a transaction failed: {error.sqlstate}: {one_line(error)}") from error
        return self._tally

    def _work(self, number: int, name: str, session: Session) -> None:
        random = Draws(self._seed, name, number)
        connections = 0
        try:
            while not self._stop.is_set():
                try:
                    sqlstate = attempt(session, self._mix.draw(random))
                except ConnectionLost:
                    session.close()
                    connections += 1
                    session = self._open_again(f"{name}.{connections}")
                    with self._lock:
                        self._tally.lost += 1
                    continue
                self._count(sqlstate)
        finally:
            self._stop.set()  # one that fails ends the run
            session.close()

    def _open_again(self, name: str) -> Session:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return self._open(name)
            except RecordError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(RETRY)

    def _count(self, sqlstate: str | None) -> None:
        with self._lock:
            if sqlstate is not None:
                self._tally.aborted[sqlstate] += 1
                return
            self._tally.committed += 1
            if self._tally.committed >= self._transactions:
                self._stop.set()
