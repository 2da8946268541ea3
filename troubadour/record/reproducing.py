"""A schedule run on a server: does its finding come again? One connection and one thread for each session; a statement
that waits for another session's lock is left waiting, and the next step is sent.

Does not know what makes a schedule a finding: the answers that were observed have to come again.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from troubadour.model.schedule import Schedule, Sent
from troubadour.record.errors import RecordError
from troubadour.record.servers.server import inside, scratch_schema
from troubadour.record.values import adapt, to_json

PATIENCE = 1.0
"""Seconds after which a statement counts as waiting."""
LONGEST = 30.0
"""Seconds that a waiting statement is given at the end."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a step answered now."""

    step: Sent
    rows: tuple[tuple[Any, ...], ...] | None
    affected: int | None
    error: str | None

    @property
    def agrees(self) -> bool:
        """Whether that is what was observed."""
        if (self.step.error is None) != (self.error is None):
            return False
        if self.step.error is not None:
            return self.step.error == self.error
        if self.step.rows is not None:
            return self.rows is not None and _texts(self.step.rows) == _texts(self.rows)
        return self.step.affected is None or self.step.affected == self.affected

    @property
    def text(self) -> str:
        """That in a few words."""
        if self.error is not None:
            return f"error {self.error}"
        if self.rows is not None:
            return " ".join("(" + ", ".join(map(str, row)) + ")" for row in self.rows) or "no row"
        return "done" if self.affected is None else f"{self.affected} rows"


def run_schedule(schedule: Schedule, dsn: str) -> list[Given]:
    """Send a schedule's steps to a PostgreSQL, in a schema of its own that is dropped again. Raises RecordError."""
    if schedule.dialect != "postgres":
        raise RecordError(f"schedules of {schedule.dialect} are for people to run: script.txt says how")
    try:
        with scratch_schema(dsn) as schema, ExitStack() as stack:
            place = inside(dsn, schema)
            with psycopg.connect(place, autocommit=True) as setup:
                for sql in schedule.setup:
                    setup.execute(sql.encode())
            sessions = {name: stack.enter_context(_session(place, schedule.isolation)) for name in schedule.sessions}
            pools = {name: stack.enter_context(ThreadPoolExecutor(1)) for name in schedule.sessions}
            futures: list[Future[Given]] = []
            for step in schedule.steps:
                futures.append(pools[step.session].submit(_send, sessions[step.session], step))
                try:
                    futures[-1].result(PATIENCE)
                except StillWaiting:
                    continue
            return [future.result(LONGEST) for future in futures]
    except StillWaiting as error:
        raise RecordError("a statement waits for a lock that no later step sets free") from error
    except psycopg.Error as error:
        raise RecordError(f"the server: {error}") from error


@contextmanager
def _session(dsn: str, isolation: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        adapt(connection)
        connection.execute(f"BEGIN ISOLATION LEVEL {isolation}".encode())
        yield connection


def _send(connection: Any, step: Sent) -> Given:
    try:
        cursor = connection.execute(step.sql.encode())
        if cursor.description is None:
            return Given(step, None, cursor.rowcount if cursor.rowcount >= 0 else None, None)
        rows = tuple(tuple(to_json(value) for value in row) for row in cursor.fetchall())
        return Given(step, rows, None, None)
    except psycopg.Error as error:
        return Given(step, None, None, error.sqlstate or "08000")


def _texts(rows: Any) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(value) for value in row) for row in rows)
