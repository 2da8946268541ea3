"""The course of a witness driven on a server: a connection for each transaction, its snapshot taken and its statements
sent where the witness has them, one after the other, and the answers held against those of the log.

A statement that waits for another transaction's lock waits for ever, as all are sent by one client: the course is not
driven then. Does not know how a witness was found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pymysql

from benchmarks.replayed.course import NotDriven, Part
from sql_semantics.library import SqlLibrary
from troubadour.model.log import Log
from troubadour.model.schedule import Sent
from troubadour.record.drivers import mysql
from troubadour.record.runs.reproducing import Given, send_mysql, send_postgres
from troubadour.record.servers.server import inside, scratch_schema
from troubadour.record.values import adapt
from troubadour.report.reproduction import level_in_sql

PATIENCE = 1
"""Seconds after which a statement counts as waiting."""

WAITED = frozenset({"55P03", "HY000", "40P01", "40001"})
"""SQLSTATEs of a statement that waited for a lock too long, or was given up for others' sake."""


class Disagreed(Exception):
    """The server answered the step with the number `number` of a part otherwise than the log says (None: its end)."""

    def __init__(self, part: Part, number: int | None, text: str) -> None:
        super().__init__(f"{part.transaction.id}: {text}")
        self.part = part
        self.number = number


class Refused(NotDriven):
    """The server gave a part up for the sake of others that overlapped it."""

    def __init__(self, part: Part) -> None:
        super().__init__("a serialization failure")
        self.part = part


@dataclass(frozen=True, slots=True)
class Server:
    """`opened` gives a connection to the tables, `begun` the statements that begin a transaction there."""

    opened: Callable[[], Any]
    begun: Callable[[Part], Sequence[str]]
    send: Callable[[Any, Sent], Given]


@contextmanager
def postgres(dsn: str, log: Log, library: SqlLibrary) -> Iterator[Server]:
    """PostgreSQL with the log's tables as they were at first."""
    del library
    with scratch_schema(dsn) as schema:
        place = inside(dsn, schema)

        def opened() -> Any:
            connection = psycopg.connect(place, autocommit=True)
            adapt(connection)
            connection.execute(f"SET lock_timeout = {PATIENCE * 1000}".encode())
            return connection

        def begun(part: Part) -> Sequence[str]:
            mode = " READ ONLY" if part.transaction.read_only else ""
            begin = f"BEGIN ISOLATION LEVEL {level_in_sql(part.level)}{mode}"
            return (begin,) if part.snapshot is None else (begin, "SELECT 1")

        with psycopg.connect(place, autocommit=True) as connection:
            _fill(connection.cursor(), log)
        yield Server(opened, begun, send_postgres)


@contextmanager
def mariadb(dsn: str, log: Log, library: SqlLibrary) -> Iterator[Server]:
    """MariaDB with the log's tables as they were at first."""
    with mysql.scratch_database(dsn) as database:
        collation = library.dialect.collation or mysql.COLLATION

        def opened() -> Any:
            connection = mysql.connect(dsn, database)
            connection.cursor().execute(
                f"SET innodb_lock_wait_timeout = {PATIENCE}, collation_connection = {collation}"
            )
            return connection

        def begun(part: Part) -> Sequence[str]:
            snapshot = [] if part.snapshot is None else ["WITH CONSISTENT SNAPSHOT"]
            modes = snapshot + (["READ ONLY"] if part.transaction.read_only else [])
            return (
                f"SET TRANSACTION ISOLATION LEVEL {level_in_sql(part.level)}",
                f"START TRANSACTION {', '.join(modes)}",
            )

        with mysql.connect(dsn, database) as connection:
            _fill(connection.cursor(), log)
        yield Server(opened, begun, send_mysql)


def _fill(cursor: Any, log: Log) -> None:
    for text in (*log.header.schema, *log.header.procedures):
        cursor.execute(text)
    for table in log.header.initial:
        columns = "" if table.columns is None else f" ({', '.join(table.columns)})"
        for row in table.rows:
            cursor.execute(f"INSERT INTO {table.table}{columns} VALUES ({', '.join(['%s'] * len(row))})", tuple(row))


Contents = Mapping[str, Counter[tuple[str, ...]]]
"""The rows of each table, as texts."""


def drive(server: Server, course: Sequence[Part], states: Sequence[Contents]) -> int:
    """Send all of a course; how many answers were held against the log. `states`: what the tables hold after each end.
    Raises Disagreed, and NotDriven where a statement or an end waits, or is given up for others' sake."""
    begins: dict[int, list[Part]] = defaultdict(list)
    sends: dict[int, list[tuple[Part, int]]] = defaultdict(list)
    for part in course:
        first = min([part.place - 1, *part.after])
        begins[first if part.snapshot is None else part.snapshot].append(part)
        for number, after in enumerate(part.after):
            sends[after].append((part, number))
    compared = 0
    opened: dict[int, Any] = {}
    looking = server.opened()
    try:
        for part in course:
            now = part.place - 1
            for one in begins[now]:
                opened[one.place] = server.opened()
                for text in server.begun(one):
                    _sent(server, opened[one.place], Sent("", text))
            for one, number in sends[now]:
                step = one.steps[number]
                given = _sent(server, opened[one.place], step, one)
                if not given.agrees:
                    raise Disagreed(one, number, f"{step.sql}: {given.text}, in the log {_text(step)}")
                compared += step.rows is not None or step.affected is not None or step.error is not None
                if one.transaction.status == "aborted" and number == len(one.steps) - 1:
                    _sent(server, opened[one.place], Sent("", "ROLLBACK"), one)
                    opened.pop(one.place).close()
            if part.place not in opened:
                continue
            end = "ROLLBACK" if part.transaction.status == "aborted" else "COMMIT"
            given = _sent(server, opened[part.place], Sent("", end), part)
            if given.error is not None:
                raise Disagreed(part, None, f"{end}: {given.text}")
            opened.pop(part.place).close()
            _compare(server, looking, part, states[now], states[now - 1] if now else {})
    finally:
        looking.close()
        for connection in opened.values():
            connection.close()
    return compared


def _compare(server: Server, looking: Any, part: Part, wanted: Contents, before: Contents) -> None:
    """Whether a part left the tables that it changed as it should. Raises Disagreed."""
    for table, rows in wanted.items():
        if rows != before.get(table):
            found = _sent(server, looking, Sent("", f"SELECT * FROM {table}")).rows
            if as_texts(found or ()) != rows:
                raise Disagreed(part, None, f"{table} holds other rows after its end")


def as_texts(rows: Iterable[Iterable[object]]) -> Counter[tuple[str, ...]]:
    """Rows as they are compared: truth values as numbers."""
    return Counter(tuple(str(int(value) if isinstance(value, bool) else value) for value in row) for row in rows)


def _sent(server: Server, connection: Any, step: Sent, part: Part | None = None) -> Given:
    given = server.send(connection, step)
    if given.error in WAITED and given.error != step.error:
        raise NotDriven("a lock that is waited for") if given.error != "40001" or part is None else Refused(part)
    return given


def _text(step: Sent) -> str:
    return Given(step, step.rows, step.affected, step.error).text


PRODUCTS = {"postgres": postgres, "mariadb": mariadb}
"""How a log's tables come to a server, by product."""

ERRORS = (psycopg.Error, pymysql.MySQLError)
