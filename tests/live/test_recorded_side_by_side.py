"""Recorded psycopg connections side by side: threads, coroutines and processes, some of which are killed or forked."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from tests.live.audited import done
from tests.patience import until
from troubadour.cli.logs.log import log
from troubadour.formats import read_log
from troubadour.record import recorder


def test_a_killed_connection(dsn: str, tmp_path: Path) -> None:
    """In a transaction: aborted. In COMMIT: unknown, whatever happened."""
    path = tmp_path / "log.jsonl"
    with psycopg.connect(dsn, autocommit=True) as killer:
        killer.execute(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN PERFORM pg_sleep(3600); RETURN NULL; END$$;"
            "CREATE CONSTRAINT TRIGGER slowly AFTER UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION slow()"
        )
        first, second = recorder.connect(dsn, log=path), recorder.connect(dsn, log=path)
        first.execute("DELETE FROM accounts WHERE id = 1")
        killer.execute("SELECT pg_terminate_backend(%s, 5000)", (first.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            first.execute("SELECT 1")
        second.execute("UPDATE accounts SET balance = 7 WHERE id = 2")
        kill = threading.Thread(target=kill_in_commit, args=(killer, second.info.backend_pid))
        kill.start()
        with pytest.raises(psycopg.OperationalError):
            second.commit()
        kill.join()
        recorder.close()
    found = read_log([path])
    assert sorted(transaction.status for transaction in found.transactions) == ["aborted", "unknown"]


def kill_in_commit(killer: psycopg.Connection[Any], process: int) -> None:
    """Kill a connection once its COMMIT is under way."""
    waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
    until(lambda: killer.execute(waits, (process,)).fetchone())
    killer.execute("SELECT pg_terminate_backend(%s)", (process,))


def transfer(connection: psycopg.Connection[Any], number: int) -> None:
    try:
        with connection.transaction():
            first, second = 1 + number % 10, 1 + (number * 7 + 3) % 10
            connection.execute("UPDATE accounts SET balance = balance - %s WHERE id = %s", (number % 40, first))
            connection.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (number % 40, second))
            if number % 11 == 0:
                raise psycopg.Rollback
            connection.execute("SELECT balance FROM accounts WHERE id = %s", (first,)).fetchone()
    except (psycopg.errors.CheckViolation, psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
        pass


@pytest.mark.parametrize("level", ["READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE"])
def test_threads(dsn: str, tmp_path: Path, level: str) -> None:
    path = tmp_path / "log.jsonl.gz"

    def work(first: int) -> None:
        with recorder.connect(dsn, log=path) as connection:
            connection.isolation_level = psycopg.IsolationLevel[level]
            for number in range(first, first + 60):
                transfer(connection, number)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = done(path)
    assert len(found.transactions) == 240
    assert found.committed > 50
    assert found.aborted > 10


def test_asynchronous(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    async def work(first: int) -> None:
        connection = await recorder.connect_async(dsn, log=path)
        async with connection:
            for number in range(first, first + 20):
                try:
                    async with connection.transaction(), connection.cursor() as cursor:
                        await cursor.execute(
                            "UPDATE accounts SET balance = balance - 30 WHERE id = %s", (number % 10 + 1,)
                        )
                        await cursor.execute("SELECT sum(balance) FROM accounts")
                        assert await cursor.fetchone() is not None
                except psycopg.errors.CheckViolation:
                    pass
            await connection.cursor().executemany("SELECT %s::int", [(1,), (2,)])
            async with connection.cursor("named") as cursor:
                await cursor.execute("SELECT id FROM accounts ORDER BY id")
                assert len(await cursor.fetchall()) == 10

    async def every() -> None:
        await asyncio.gather(*[work(first) for first in (0, 5, 9)])

    asyncio.run(every())
    found = done(path)
    assert {transaction.session for transaction in found.transactions} == {"c1", "c2", "c3"}
    assert found.aborted > 0


CHILD = """
import sys, psycopg
from troubadour.record import recorder
connection = recorder.connect(sys.argv[1], log=sys.argv[2])
for number in range(10_000):
    connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
    connection.commit()
    print(number, flush=True)
"""


def test_a_killed_process_loses_no_writer(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    child = subprocess.Popen([sys.executable, "-c", CHILD, dsn, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    last = next(int(line) for line in child.stdout if int(line) == 57)
    os.kill(child.pid, signal.SIGKILL)
    last = max([last, *(int(line) for line in child.stdout)])
    child.wait()
    child.stdout.close()
    mended = CliRunner().invoke(log, ["repair", str(path)])
    assert (mended.exit_code, "mended" in mended.stdout) == (0, True), mended.output
    found = done(path)
    assert found.aborted == 0
    assert len(found.transactions) >= last + 1
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT balance FROM accounts WHERE id = 1").fetchone()
    assert row is not None
    assert len(found.transactions) >= row[0] - 100


def test_a_forked_child_has_a_segment_of_its_own(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    script = f"""
import multiprocessing, sys
from troubadour.record import recorder
from troubadour.record.errors import RecordError
path = {str(path)!r}
connection = recorder.connect({dsn!r}, log=path)
connection.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
connection.commit()
def child():
    try:
        connection.execute("SELECT 1")
    except RecordError as error:
        assert "forked" in str(error)
    else:
        sys.exit(3)
    with recorder.connect({dsn!r}, log=path) as own:
        own.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
multiprocessing.set_start_method("fork")
processes = [multiprocessing.Process(target=child) for _ in range(2)]
[process.start() for process in processes]
[process.join() for process in processes]
assert [process.exitcode for process in processes] == [0, 0]
connection.execute("SELECT balance FROM accounts WHERE id = 1")
connection.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 3
    found = done(*paths)
    assert (found.committed, found.aborted) == (3, 1)
