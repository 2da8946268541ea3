"""Records one mixed run: some clients, each of whose transactions is of a random shape's program, at a random level.

`plan` says what a run is, `recorded` makes its log on a server that is up. Does not know what a level promises, nor
what becomes of the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pymysql

from benchmarks.mixed.hot import hot_shapes
from benchmarks.mixed.shapes import SHAPES, Program, Row, Shape
from troubadour.record import recorder

LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
PRODUCTS = ("postgres", "mariadb")
GIVEN_UP = frozenset({"40001", "40P01", "23505", "25006"})
"""SQLSTATEs after which a client goes on with another transaction."""
GIVEN_UP_BY_MARIADB = frozenset({1020, 1062, 1205, 1213, 1792})
PAUSE = 0.002
"""Seconds that a client thinks for, now and then, at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: of `clients`, `transactions` begun in all, each at one of `levels` (drawn with these weights), some
    `read_only`; `pauses`: how often a client thinks between statements."""

    product: str
    seed: int
    number: int
    shape: str
    clients: int
    transactions: int
    levels: Mapping[str, int]
    read_only: float
    pauses: float

    @property
    def text(self) -> str:
        """One line."""
        levels = ", ".join(f"{level.title()} {weight}" for level, weight in self.levels.items())
        return (
            f"{self.product} {self.seed}/{self.number}: {self.shape}, {self.transactions} of {self.clients} clients, "
            f"{levels}, read only {self.read_only:.1f}, pauses {self.pauses:.1f}"
        )


def plan(product: str, seed: int, number: int) -> Plan:
    """The `number`-th run on a product."""
    random = Random(f"{product}/{seed}/{number}")
    chosen = random.choice((LEVELS, LEVELS, LEVELS, LEVELS[::2], LEVELS[1:], LEVELS[2:]))
    return Plan(
        product,
        seed,
        number,
        shape=list(SHAPES)[number % len(SHAPES)],
        clients=random.randint(4, 8),
        transactions=random.randint(40, 150),
        levels={level: random.randint(1, 3) for level in chosen},
        read_only=random.choice((0.0, 0.1, 0.3)),
        pauses=random.choice((0.1, 0.5, 0.9)),
    )


def shape_of(plan: Plan) -> Shape:
    """What the transactions of a run do."""
    return SHAPES.get(plan.shape) or hot_shapes(plan.product)[plan.shape]


def drawn(plan: Plan, client: int) -> Iterator[tuple[str, bool, Program]]:
    """The transactions of a client: level, whether it is declared READ ONLY, program."""
    random = Random(f"{plan.product}/{plan.seed}/{plan.number}/{client}")
    levels = [level for level, weight in plan.levels.items() for _ in range(weight)]
    draw = shape_of(plan).draw
    for _ in range(client, plan.transactions, plan.clients):
        program = draw(random)
        yield random.choice(levels), random.random() < plan.read_only, program


def recorded(plan: Plan, dsn: str, log: Path) -> None:
    """Run a plan on a server, and keep its log. `dsn`: of PostgreSQL, or ``mysql://`` for MariaDB; the tables of the
    shape are made anew there, and dropped in the end. The clients' timing, and so the log, is another each time."""
    server = _mariadb(dsn) if plan.product == "mariadb" else _postgres(dsn)
    shape = shape_of(plan)
    with _tables(server, shape):
        try:
            # the first recorded connection captures the tables
            connections = [server.recorded(log) for _ in range(plan.clients)]
            with ThreadPoolExecutor(plan.clients) as pool:
                working = [pool.submit(_work, server, one, plan, n) for n, one in enumerate(connections)]
                for work in working:
                    work.result()
            for connection in connections:
                connection.close()
        finally:
            recorder.close()


@dataclass(frozen=True, slots=True)
class Server:
    """How clients talk to a product. `begins`: the statements that begin a transaction at a level."""

    plain: Callable[[], Any]
    recorded: Callable[[Path], Any]
    begins: Callable[[str, bool], Sequence[str]]
    gave_up: Callable[[BaseException], bool]
    errors: tuple[type[BaseException], ...]


def _postgres(dsn: str) -> Server:
    return Server(
        plain=lambda: psycopg.connect(dsn, autocommit=True),
        recorded=lambda log: recorder.connect(dsn, log=log, autocommit=True),
        begins=lambda level, reads: [f"BEGIN ISOLATION LEVEL {level}{' READ ONLY' if reads else ''}"],
        gave_up=lambda error: getattr(error, "sqlstate", None) in GIVEN_UP,
        errors=(psycopg.Error,),
    )


def _mariadb(dsn: str) -> Server:
    from troubadour.record.drivers.mysql import connect

    return Server(
        plain=lambda: connect(dsn, None),
        recorded=lambda log: recorder.wrap(connect(dsn, None), log=log),
        begins=lambda level, reads: [
            f"SET TRANSACTION ISOLATION LEVEL {level}",
            f"START TRANSACTION{' READ ONLY' if reads else ''}",
        ],
        gave_up=lambda error: bool(error.args) and error.args[0] in GIVEN_UP_BY_MARIADB,
        errors=(pymysql.MySQLError,),
    )


@contextmanager
def _tables(server: Server, shape: Shape) -> Iterator[None]:
    connection = server.plain()
    cursor = connection.cursor()
    names = list(shape.rows)
    try:
        for name in names:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
        for text in shape.schema:
            cursor.execute(text)
        for name, rows in shape.rows.items():
            for row in rows:
                cursor.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
        yield
        for name in names:
            cursor.execute(f"DROP TABLE {name}")
    finally:
        connection.close()


def _work(server: Server, connection: Any, plan: Plan, client: int) -> None:
    random = Random(f"pauses/{plan.product}/{plan.seed}/{plan.number}/{client}")
    cursor = connection.cursor()

    def ask(sql: str, *params: object) -> Sequence[Row]:
        cursor.execute(sql, params)
        rows = list(cursor.fetchall()) if cursor.description else []
        if random.random() < plan.pauses:
            time.sleep(random.random() * PAUSE)
        return rows

    for level, reads, program in drawn(plan, client):
        try:
            for text in server.begins(level, reads):
                cursor.execute(text)
            program(ask)
            cursor.execute("COMMIT")
        except server.errors as error:
            if not server.gave_up(error):
                raise
            cursor.execute("ROLLBACK")
