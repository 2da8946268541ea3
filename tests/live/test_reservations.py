"""Reservations on real servers, statement by statement in a random order: whatever the product lets two workers do is
explained at its profile, and what it refuses is refused. Does not know how.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pymysql
import pytest

from tests.live.interleaved import Execute, Product, interleave
from tests.live.test_interleaved import connected
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of as library
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record.drivers.mysql import connect as connect_mysql
from troubadour.record.servers.embedded_mariadb import COLLATION

SCHEMA = (
    "CREATE TABLE jobs (id INT PRIMARY KEY, place INT NOT NULL, holder INT)",
    "CREATE TABLE crew (id INT PRIMARY KEY, job INT)",
)
INITIAL: dict[str, dict[str, Any]] = {
    "jobs": {"columns": ["id", "place", "holder"], "rows": [[1, 1, None], [2, 1, None], [3, 2, None], [4, 3, None]]},
    "crew": {"columns": ["id", "job"], "rows": [[1, 1], [2, 3]]},
}
NEXT = (
    "SELECT id, place FROM jobs WHERE holder IS NULL ORDER BY {order} LIMIT 1{lock}",
    "SELECT id FROM jobs WHERE holder IS NULL ORDER BY id LIMIT 1 OFFSET 1{lock}",
    "SELECT id, holder FROM jobs WHERE place = 1 ORDER BY id{lock}",
    "SELECT id FROM jobs WHERE holder IS NULL LIMIT 2{lock}",
    "SELECT jobs.id, crew.id FROM jobs JOIN crew ON crew.job = jobs.id WHERE holder IS NULL ORDER BY jobs.id{lock_of}",
    "SELECT jobs.id, crew.id FROM jobs JOIN crew ON crew.job = jobs.id ORDER BY jobs.id LIMIT 1{lock_of}",
)
TAKE = (
    "UPDATE jobs SET holder = {n} WHERE id = {seen}",
    "UPDATE jobs SET holder = {n} WHERE id = {seen}",
    "UPDATE jobs SET holder = {n} WHERE id = {seen} AND holder IS NULL",
    "DELETE FROM jobs WHERE id = {seen}",
    "UPDATE crew SET job = {seen} WHERE id = {a}",
)
BESIDE = (
    "SELECT id, holder FROM jobs ORDER BY id",
    "SELECT COUNT(*) FROM jobs WHERE holder IS NULL",
    "UPDATE jobs SET holder = NULL WHERE id = {a}",
    "UPDATE jobs SET place = place WHERE id = {a}",
    "UPDATE jobs SET place = {a} WHERE place = {b}",
    "INSERT INTO jobs VALUES ({c}, {b}, NULL)",
)
AT_ONCE = (
    "UPDATE jobs SET holder = {n} WHERE id = (SELECT id FROM jobs WHERE holder IS NULL ORDER BY id LIMIT 1"
    " FOR UPDATE SKIP LOCKED) RETURNING id",
    "WITH next AS (SELECT id FROM jobs WHERE holder IS NULL ORDER BY place LIMIT 1 FOR UPDATE SKIP LOCKED)"
    " UPDATE jobs SET holder = {n} FROM next WHERE next.id = jobs.id RETURNING jobs.id",
    "DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE) RETURNING id, holder",
)
POSTGRES = (
    *(" FOR UPDATE", " FOR UPDATE", " FOR UPDATE SKIP LOCKED", " FOR UPDATE SKIP LOCKED", " FOR UPDATE NOWAIT"),
    *(" FOR NO KEY UPDATE", " FOR SHARE", " FOR SHARE SKIP LOCKED", " FOR KEY SHARE"),
)
MARIADB = (" FOR UPDATE", " FOR UPDATE", " FOR UPDATE SKIP LOCKED", " FOR UPDATE NOWAIT", " LOCK IN SHARE MODE")
LEVELS = {
    "postgres:read-committed": ("READ COMMITTED", None),
    "postgres:repeatable-read": ("REPEATABLE READ", None),
    "postgres:serializable": ("SERIALIZABLE", None),
    "mysql:read-committed": ("READ COMMITTED", "OFF"),
    "mysql:repeatable-read": ("REPEATABLE READ", "OFF"),
    "mysql:repeatable-read with snapshots": ("REPEATABLE READ", "ON"),
    "mysql:serializable": ("SERIALIZABLE", "OFF"),
}
FAST, SLOW = range(8), range(60)


def script(random: Random, dialect: str) -> list[list[str]]:
    """One or two transactions of one session."""
    return [_transaction(random, dialect) for _ in range(random.randint(1, 2))]


def _transaction(random: Random, dialect: str) -> list[str]:
    kind = random.random()
    if dialect == "postgres" and kind < 0.15:
        texts = [random.choice(AT_ONCE)]
    elif kind < 0.8:
        texts = [random.choice(NEXT), random.choice(TAKE)]
    else:
        texts = [random.choice(BESIDE), random.choice(BESIDE)]
    if random.random() < 0.4:
        texts.insert(0, random.choice(BESIDE[:2]))
    return [_filled(random, text, dialect) for text in texts]


def _filled(random: Random, text: str, dialect: str) -> str:
    lock = random.choice(POSTGRES if dialect == "postgres" else MARIADB)
    if dialect == "postgres":
        lock_of = random.choice((" FOR UPDATE OF jobs", " FOR SHARE OF crew", " FOR UPDATE"))
    else:
        lock_of = random.choice((" FOR UPDATE", " LOCK IN SHARE MODE"))
    return text.format(
        order=random.choice(("id", "place", "place, id DESC")), lock=lock, lock_of=lock_of, seen="{seen}",
        a=random.randint(1, 3), b=random.randint(1, 2), c=random.randint(5, 6), n=random.randint(1, 99),
    )  # fmt: skip


def mariadb(dsn: str, isolation: str, refuses: str, opened: ExitStack) -> Product:
    """Connections to MariaDB, on fresh tables; `opened` closes them."""
    with closing(connect_mysql(dsn)) as first, first.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS jobs, crew")
        _fill(cursor)

    def connect() -> Execute:
        connection = opened.enter_context(closing(connect_mysql(dsn)))
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 5")
            cursor.execute(f"SET SESSION innodb_snapshot_isolation = {refuses}")

        def execute(sql: str) -> tuple[list[str] | None, Any, int]:
            with connection.cursor() as cursor:
                count = cursor.execute(sql)
                names = [column[0] for column in cursor.description] if cursor.description else None
                return names, cursor.fetchall(), count

        return execute

    def state(error: Exception) -> str | None:
        if not isinstance(error, pymysql.MySQLError):
            return None
        return {1062: "23000", 1205: "HY000", 1213: "40001", 1020: "HY000"}.get(error.args[0])

    return Product("mysql", connect, state, undoes=True)


def _fill(cursor: Any) -> None:
    for text in SCHEMA:
        cursor.execute(text)
    for table, content in INITIAL.items():
        for row in content["rows"]:
            cursor.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)


def verdict_of(product: Product, level: str, settings: dict[str, str], seed: int, path: Path) -> tuple[Status, str]:
    """What is said of one run, and of which."""
    random = Random(f"reservations {seed}")
    scripts = [script(random, product.dialect) for _ in range(random.randint(2, 4))]
    header = {"schema": SCHEMA, "initial": INITIAL, "isolation": level, "settings": settings}
    interleave(product, header, scripts, random, path)
    log = read_log([path])
    found = audit(log, library(log), Options(None, timeout=600))
    return found.status, f"seed {seed}: {found.failing_transaction}: {found.explanation or found.reason}"


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("level", LEVELS)
def test_no_reservation_is_accused(request: pytest.FixtureRequest, tmp_path: Path, level: str, seeds: range) -> None:
    name, _, _ = level.partition(" ")
    dialect, (isolation, refuses) = name.split(":")[0], LEVELS[level]
    dsn = request.getfixturevalue("mariadb_dsn" if dialect == "mysql" else "postgres_dsn")
    settings = {"collation": "C"}
    if dialect == "postgres":
        schema = request.getfixturevalue("database_schema")
        dsn = psycopg.conninfo.make_conninfo(dsn, options=f"-c search_path={schema}")
    else:
        settings = {"collation": COLLATION, "innodb_snapshot_isolation": str(refuses)}
    decided = 0
    for seed in seeds:
        with ExitStack() as opened:
            if dialect == "postgres":
                with psycopg.connect(dsn, autocommit=True) as first:
                    first.execute("DROP TABLE IF EXISTS jobs, crew")
                    _fill(first.cursor())
                product = connected(dsn, isolation, opened)
            else:
                product = mariadb(dsn, isolation, str(refuses), opened)
            status, told = verdict_of(product, name, settings, seed, tmp_path / f"{seed}.jsonl")
        assert status is not Status.VIOLATION, told
        decided += status is Status.CORRECT
    assert decided > len(seeds) // 2
