"""A schedule run on a server: does its finding come again? One connection and one thread for each session; a statement
that waits for another session's lock is left waiting, and the next step is sent.

Does not know what makes a schedule a finding: the answers that were observed have to come again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg

from sql_semantics.records import dataclass
from troubadour.model.schedule import Schedule, Sent
from troubadour.record.drivers.detection import mysql_state
from troubadour.record.drivers.mysql import connect, scratch_database
from troubadour.record.errors import RecordError
from troubadour.record.servers.server import inside, scratch_schema
from troubadour.record.values import adapt, row_to_json, to_json

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


def came_again(schedule: Schedule, given: list[Given]) -> bool:
    """Whether every answer that is part of the finding is as observed."""
    watched = schedule.watched or schedule.sessions
    return all(one.agrees for one in given if one.step.session in watched)


def run_schedule(schedule: Schedule, dsn: str) -> list[Given]:
    """Send a schedule's steps to a server of its dialect, in a schema or database of its own that is dropped again.
    `dsn` as `record` takes it. Raises RecordError."""
    if schedule.dialect not in ("postgres", "mysql"):
        raise RecordError(f"schedules of {schedule.dialect} are for people to run: script.txt says how")
    if dsn.startswith("mysql://") != (schedule.dialect == "mysql"):
        raise RecordError(f"the schedule is of {schedule.dialect}, and the server is not")
    return _on_postgres(schedule, dsn) if schedule.dialect == "postgres" else _on_mysql(schedule, dsn)


def _on_postgres(schedule: Schedule, dsn: str) -> list[Given]:
    try:
        with scratch_schema(dsn) as schema, ExitStack() as stack:
            place = inside(dsn, schema)
            with psycopg.connect(place, autocommit=True) as setup:
                for sql in schedule.setup:
                    setup.execute(sql.encode())
            sessions = {
                name: stack.enter_context(_session(place, schedule.level_of(name))) for name in schedule.sessions
            }
            return _in_turns(schedule, stack, lambda step: send_postgres(sessions[step.session], step))
    except psycopg.Error as error:
        raise RecordError(f"the server: {error}") from error


def _on_mysql(schedule: Schedule, dsn: str) -> list[Given]:
    import pymysql

    try:
        with scratch_database(dsn) as database, ExitStack() as stack:
            with connect(dsn, database) as setup, setup.cursor() as cursor:
                for sql in schedule.setup:
                    cursor.execute(sql)
            sessions = {}
            for name in schedule.sessions:
                sessions[name] = stack.enter_context(connect(dsn, database))
                with sessions[name].cursor() as cursor:
                    cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {schedule.level_of(name)}")
                    cursor.execute("START TRANSACTION")
            return _in_turns(schedule, stack, lambda step: send_mysql(sessions[step.session], step))
    except pymysql.MySQLError as error:
        raise RecordError(f"the server: {error}") from error


def _in_turns(schedule: Schedule, stack: ExitStack, send: Callable[[Sent], Given]) -> list[Given]:
    """Each step in the thread of its session, the next one when it is answered or seems to wait."""
    pools = {name: stack.enter_context(ThreadPoolExecutor(1)) for name in schedule.sessions}
    futures: list[Future[Given]] = []
    for step in schedule.steps:
        futures.append(pools[step.session].submit(send, step))
        try:
            futures[-1].result(PATIENCE)
        except StillWaiting:
            continue
    try:
        return [future.result(LONGEST) for future in futures]
    except StillWaiting as error:
        raise RecordError("a statement waits for a lock that no later step sets free") from error


@contextmanager
def _session(dsn: str, isolation: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        adapt(connection)
        connection.execute(f"BEGIN ISOLATION LEVEL {isolation}".encode())
        yield connection


def send_postgres(connection: Any, step: Sent) -> Given:
    """Send a step on a connection of psycopg that is `adapt`-ed."""
    try:
        cursor = connection.execute(step.sql.encode())
        if cursor.description is None:
            return Given(step, None, cursor.rowcount if cursor.rowcount >= 0 else None, None)
        rows = tuple(tuple(to_json(value) for value in row) for row in cursor.fetchall())
        return Given(step, rows, None, None)
    except psycopg.Error as error:
        return Given(step, None, None, error.sqlstate or "08000")


def send_mysql(connection: Any, step: Sent) -> Given:
    """Send a step on a connection of PyMySQL."""
    import pymysql

    try:
        with connection.cursor() as cursor:
            count = cursor.execute(step.sql)
            if cursor.description is None:
                return Given(step, None, count, None)
            return Given(step, tuple(tuple(row_to_json(row)) for row in cursor.fetchall()), None, None)
    except pymysql.MySQLError as error:
        return Given(step, None, None, mysql_state(connection, error) or "08000")


def _texts(rows: Any) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(value) for value in row) for row in rows)
