"""What two or three connections see, one statement at a time, is explained at the product's profile, in every order.

Logs this small are decided in every order, so that nothing is left open for want of search. Does not know how.
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
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of as library
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record.drivers.mysql import connect as connect_mysql
from troubadour.record.servers.embedded_mariadb import COLLATION

SCHEMA = (
    "CREATE TABLE n (id INT PRIMARY KEY, g INT NOT NULL, v INT NOT NULL)",
    "CREATE TABLE m (id INT PRIMARY KEY, v INT NOT NULL)",
)
INITIAL: dict[str, dict[str, Any]] = {
    "n": {"columns": ["id", "g", "v"], "rows": [[1, 0, 1], [2, 1, 2], [3, 0, 3]]},
    "m": {"columns": ["id", "v"], "rows": [[1, 10], [2, 20]]},
}
READS = (
    "SELECT id, v FROM n WHERE id = {a}",
    "SELECT id, g, v FROM n ORDER BY id",
    "SELECT SUM(v) FROM n WHERE g = {g}",
    "SELECT n.id, m.v FROM n JOIN m ON m.id = n.id ORDER BY n.id",
)
WRITES = (
    "UPDATE n SET v = v + 1 WHERE id = {a}",
    "UPDATE n SET v = v + 10 WHERE g = {g}",
    "UPDATE n SET g = 1 - g WHERE v > {a}",
    "UPDATE n SET v = {a} WHERE id = {b}",
    "UPDATE m SET v = v + 1 WHERE id = {b}",
    "DELETE FROM n WHERE id = {a}",
    "DELETE FROM n WHERE v = {a}",
    "INSERT INTO n VALUES ({c}, {g}, {a})",
    "SELECT id, v FROM n WHERE id = {a} FOR UPDATE",
    "SELECT id, v FROM n WHERE g = {g} ORDER BY id FOR UPDATE",
    "UPDATE m SET v = (SELECT MAX(v) FROM n) WHERE id = {b}",
    "INSERT INTO m SELECT id + {d}, v FROM n WHERE g = {g}",
)
MARIA = (
    "SELECT id FROM n WHERE v < {b} LOCK IN SHARE MODE",
    "INSERT INTO n VALUES ({c}, {g}, {a}) ON DUPLICATE KEY UPDATE v = n.v + 100",
    "INSERT IGNORE INTO n VALUES ({c}, {g}, 7)",
    "REPLACE INTO m VALUES ({b}, {a})",
    "UPDATE n JOIN m ON m.id = n.id SET n.v = m.v WHERE n.g = {g}",
    "DELETE FROM m WHERE v IN (SELECT v FROM n)",
    "UPDATE n SET v = v + 1 ORDER BY id LIMIT 1",
)
POSTGRES = (
    "SELECT id FROM n WHERE g = {g} FOR SHARE",
    "SELECT id, v FROM n WHERE id = {a} FOR NO KEY UPDATE",
    "INSERT INTO n VALUES ({c}, {g}, {a}) ON CONFLICT (id) DO UPDATE SET v = n.v + 100",
    "INSERT INTO n VALUES ({c}, {g}, 7) ON CONFLICT DO NOTHING",
    "UPDATE n SET v = m.v FROM m WHERE m.id = n.id AND n.g = {g}",
    "WITH gone AS (DELETE FROM n WHERE id = {a} RETURNING *) INSERT INTO m SELECT {d} + id, v FROM gone RETURNING v",
    "WITH gone AS (DELETE FROM n WHERE v < {b} RETURNING id, v) SELECT id, v, (SELECT SUM(v) FROM n) FROM gone",
    "WITH u AS (UPDATE n SET v = v + 5 WHERE g = {g} RETURNING id, v) UPDATE m SET v = u.v FROM u WHERE m.id = u.id",
    "WITH new AS (INSERT INTO n VALUES ({c}, {g}, 7) ON CONFLICT DO NOTHING RETURNING id) SELECT COUNT(*) FROM new",
    "MERGE INTO m USING n ON m.id = n.id WHEN MATCHED AND n.g = {g} THEN UPDATE SET v = n.v"
    " WHEN NOT MATCHED THEN INSERT VALUES (n.id, {a}) RETURNING merge_action(), m.id, m.v",
    "MERGE INTO n USING (VALUES ({c}, {a})) AS x (id, v) ON n.id = x.id WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT VALUES (x.id, {g}, x.v)",
)
LEVELS = {
    "mysql:read-committed": "READ COMMITTED",
    "mysql:repeatable-read": "REPEATABLE READ",
    "postgres:read-committed": "READ COMMITTED",
    "postgres:repeatable-read": "REPEATABLE READ",
    "postgres:serializable": "SERIALIZABLE",
}
FAST, SLOW = range(6), range(25)


def script(random: Random, more: tuple[str, ...]) -> list[list[str]]:
    """One or two transactions of one session."""
    return [[_statement(random, more) for _ in range(random.randint(1, 3))] for _ in range(random.randint(1, 2))]


def _statement(random: Random, more: tuple[str, ...]) -> str:
    text = random.choice(random.choice((READS, WRITES, more)))
    number = random.randrange(1, 900)
    return text.format(a=random.randint(1, 3), b=random.randint(1, 3), c=random.randint(2, 5), d=number, g=number % 2)


def mariadb(dsn: str, isolation: str, opened: ExitStack) -> Product:
    """Connections to MariaDB, on fresh tables; `opened` closes them."""
    first = connect_mysql(dsn)
    with first.cursor() as cursor:
        for name in ("n", "m"):
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
        _fill(cursor, "%s")
    first.close()

    def connect() -> Execute:
        connection = opened.enter_context(closing(connect_mysql(dsn)))
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 5")

        def execute(sql: str) -> tuple[list[str] | None, Any, int]:
            with connection.cursor() as cursor:
                count = cursor.execute(sql)
                names = [column[0] for column in cursor.description] if cursor.description else None
                return names, cursor.fetchall(), count

        return execute

    def state(error: Exception) -> str | None:
        if not isinstance(error, pymysql.MySQLError):
            return None
        return {1062: "23000", 1205: "HY000", 1213: "40001"}.get(error.args[0])

    return Product("mysql", connect, state, undoes=True)


def postgres(dsn: str, isolation: str, opened: ExitStack) -> Product:
    """Connections to PostgreSQL, on fresh tables in the schema that the DSN's search path names."""
    with psycopg.connect(dsn, autocommit=True) as first:
        first.execute("DROP TABLE IF EXISTS n, m")
        _fill(first.cursor(), "%s")
    return connected(dsn, isolation, opened)


def connected(dsn: str, isolation: str, opened: ExitStack) -> Product:
    """Connections to PostgreSQL; `opened` closes them."""

    def connect() -> Execute:
        connection = opened.enter_context(closing(psycopg.connect(dsn, autocommit=True)))
        connection.execute(f"SET default_transaction_isolation = '{isolation.lower()}'".encode())

        def execute(sql: str) -> tuple[list[str] | None, Any, int]:
            cursor = connection.execute(sql.encode())
            names = [column.name for column in cursor.description] if cursor.description else None
            return names, cursor.fetchall() if names else (), cursor.rowcount

        return execute

    def state(error: Exception) -> str | None:
        return error.sqlstate if isinstance(error, psycopg.Error) else None

    return Product("postgres", connect, state, undoes=False)


def _fill(cursor: Any, mark: str) -> None:
    for text in SCHEMA:
        cursor.execute(text)
    for table, content in INITIAL.items():
        for row in content["rows"]:
            cursor.execute(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(row))})", row)


def verdict_of(product: Product, level: str, seed: int, path: Path) -> tuple[Status, str]:
    """What is said of one run, and of which."""
    random = Random(seed)
    more = MARIA if product.dialect == "mysql" else POSTGRES
    scripts = [script(random, more) for _ in range(random.randint(2, 3))]
    settings = {"collation": COLLATION if product.dialect == "mysql" else "C"}
    header = {"schema": SCHEMA, "initial": INITIAL, "isolation": level, "settings": settings}
    interleave(product, header, scripts, random, path)
    log = read_log([path])
    found = audit(log, library(log), Options(None, timeout=600))
    return found.status, f"seed {seed}: {found.failing_transaction}: {found.explanation or found.reason}"


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("level", LEVELS)
def test_no_run_is_accused(request: pytest.FixtureRequest, tmp_path: Path, level: str, seeds: range) -> None:
    named = level.split(":")[0]
    dsn = request.getfixturevalue("mariadb_dsn" if named == "mysql" else "postgres_dsn")
    if named == "postgres":
        schema = request.getfixturevalue("database_schema")
        dsn = psycopg.conninfo.make_conninfo(dsn, options=f"-c search_path={schema}")
    decided = 0
    for seed in seeds:
        with ExitStack() as opened:
            product = (mariadb if named == "mysql" else postgres)(dsn, LEVELS[level], opened)
            status, told = verdict_of(product, level, seed, tmp_path / f"{seed}.jsonl")
        assert status is not Status.VIOLATION, told
        decided += status is Status.CORRECT
    assert decided > len(seeds) // 2
