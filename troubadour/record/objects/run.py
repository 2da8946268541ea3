"""Sessions that run transactions on objects against a real database, and the object log of what they saw.

A session's connection may break, by what disturbs the run or by itself: what it had asked to commit is of unknown
outcome then, and another session takes its place (Elle's section 7 did so). Does not know any product's SQL.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.formats import LogWriter
from troubadour.record.errors import RecordError
from troubadour.record.objects.disturb import disturbance
from troubadour.record.objects.stores import Connection, Store, answer, close, parameters
from troubadour.workloads.objects import TABLES, Objects, Operation

Json = dict[str, Any]
DISCONNECTS = 0.02
"""Share of the transactions of a disturbed run in which the client goes away."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of a run: it ends once so many `transactions` have committed."""

    isolation: str
    sessions: int = 4
    transactions: int = 2000
    seed: int = 0
    disturb: bool = False


@dataclass(slots=True)
class Told:
    """What a run came to."""

    counts: Counter[str] = field(default_factory=Counter)
    lost: int = 0


def record_objects(store: Store, dsn: str, workload: Objects, plan: Plan, out: Path) -> Told:
    """Record a run on a fresh table `objects`, which is dropped at the end.

    Raises RecordError where the server cannot be used or has no such level, OSError as files do.
    """
    if plan.isolation not in store.begin:
        raise RecordError(f"{store.name} has no level {plan.isolation}: {', '.join(store.begin)}")
    type = workload.shape.type
    _tell(store, dsn, "DROP TABLE IF EXISTS objects", store.create(type))
    header = {"objects": {TABLES[type]: type}, "dbms": store.name, "isolation": plan.isolation, "clock": "client"}
    try:
        disturbed = disturbance(store, dsn, plan.seed) if plan.disturb else nullcontext()
        with LogWriter(out, header) as writer, disturbed:
            run = _Run(store, dsn, workload, plan, writer)
            run.go()
        return run.told
    finally:
        _tell(store, dsn, "DROP TABLE objects")


def _tell(store: Store, dsn: str, *texts: str) -> None:
    connection = store.connect(dsn)
    try:
        cursor = connection.cursor()
        for text in texts:
            cursor.execute(text)
    finally:
        close(store, connection)


class _Run:
    def __init__(self, store: Store, dsn: str, workload: Objects, plan: Plan, writer: LogWriter) -> None:
        self.told = Told()
        self._store = store
        self._dsn = dsn
        self._workload = workload
        self._plan = plan
        self._writer = writer
        self._lock = threading.Lock()
        self._ended = False

    def go(self) -> None:
        with ThreadPoolExecutor(self._plan.sessions) as pool:
            try:
                for work in [pool.submit(self._work, number) for number in range(self._plan.sessions)]:
                    work.result()
            finally:
                self._ended = True  # an interrupt, too, ends all sessions

    def _work(self, number: int) -> None:
        random = Random(f"{self._plan.seed}/{number}")
        lives = 0
        try:
            while not self._over():
                self._live(f"s{number}.{lives}", random)
                lives += 1
        except BaseException:
            self._ended = True
            raise

    def _over(self) -> bool:
        return self._ended or self.told.counts["committed"] >= self._plan.transactions

    def _live(self, name: str, random: Random) -> None:
        """One connection's transactions, until it breaks or all is done."""
        told_once, begin = self._store.begin[self._plan.isolation]
        connection = self._connected()
        session = _Session(self._store, connection, self._workload.shape.type, begin)
        sno = 0
        try:
            for sql in told_once:
                connection.cursor().execute(sql)
            while not self._over():
                with self._lock:
                    operations = self._workload.draw(random)
                leaves = random.randrange(len(operations) + 1) if self._goes_away(random) else None
                line = session.transaction(operations, leaves)
                entry = {"id": f"{name}.{sno}", "session": name, "sno": sno, **line}
                sno += 1
                with self._lock:
                    self._writer.transaction(entry)
                    self.told.counts[entry["status"]] += 1
                    self.told.lost += session.broken
                if session.broken:
                    return
        except self._store.errors() as error:
            if not self._store.lost(connection, error):
                raise
            self.told.lost += 1
        finally:
            close(self._store, connection)

    def _goes_away(self, random: Random) -> bool:
        return self._plan.disturb and random.random() < DISCONNECTS

    def _connected(self) -> Connection:
        """A server that is asked while it ends connections may refuse one."""
        refused: tuple[type[Exception], ...] = (RecordError, *self._store.errors())
        for _ in range(20):
            try:
                return self._store.connect(self._dsn)
            except refused:
                time.sleep(0.1)
        return self._store.connect(self._dsn)


class _Session:
    """One connection. `broken`: nothing can be asked of it any more."""

    def __init__(self, store: Store, connection: Connection, type: Any, begin: str) -> None:
        self.broken = False
        self._store = store
        self._connection = connection
        self._type = type
        self._begin = begin
        self._errors = store.errors()

    def transaction(self, operations: list[Operation], leaves: int | None) -> Json:
        """Run one; the client goes away before the operation number `leaves`. The line but for who and where."""
        done: list[list[Any]] = []
        line: Json = {"status": "aborted", "invoked": _now(), "ops": done}
        try:
            self._execute(self._begin)
            for place, operation in enumerate(operations):
                if place == leaves:
                    close(self._store, self._connection)
                    self.broken = True
                    return line
                done.append(self._operate(operation))
        except self._errors as error:
            self._give_up(error)
            return {**line, "returned": _now()}
        sent = _now()
        try:
            self._execute("COMMIT")
        except self._errors as error:
            if self._store.lost(self._connection, error):
                self.broken = True
                return {**line, "status": "unknown", "end": {"invoked": sent}}
            self._give_up(error)
            return {**line, "returned": _now()}
        returned = _now()
        return {**line, "status": "committed", "returned": returned, "end": {"invoked": sent, "returned": returned}}

    def _operate(self, operation: Operation) -> list[Any]:
        table = TABLES[self._type]
        if operation.kind == "r":
            rows = self._execute(self._store.read(self._type), (operation.key,), fetch=True)
            return ["r", table, operation.key, answer(self._type, rows)]
        self._execute(self._store.write(self._type), parameters(self._type, operation))
        return [operation.kind, table, operation.key, operation.value]

    def _execute(self, sql: str, params: tuple[object, ...] = (), *, fetch: bool = False) -> list[tuple[Any, ...]]:
        cursor = self._store.cursor(self._connection)
        cursor.execute(sql, params) if params else cursor.execute(sql)
        return list(cursor.fetchall()) if fetch else []

    def _give_up(self, error: Exception) -> None:
        """After a failed statement nothing of the transaction stays."""
        if self._store.lost(self._connection, error):
            self.broken = True
            return
        try:
            self._execute("ROLLBACK")
        except self._errors as second:
            # what has rolled back by itself has nothing to roll back
            self.broken = self._store.lost(self._connection, second)


def _now() -> int:
    return time.monotonic_ns() // 1000
