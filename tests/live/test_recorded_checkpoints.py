"""Checkpoints that the recorder takes: PostgreSQL, MariaDB, SQLite and DuckDB. Logs are cut there, and are as right as
without."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.live.audited import done
from tests.live.test_recorded_dbapi import ROWS, TABLE
from troubadour.audit.streamed.apart import judged_apart
from troubadour.formats.streaming.parts import parts_of
from troubadour.formats.streaming.stream import Stream
from troubadour.record import recorder
from troubadour.record.core.checkpoints import Due
from troubadour.record.drivers import mysql
from troubadour.record.errors import RecordError

ODD = 'CREATE TABLE "Odd" (id INTEGER PRIMARY KEY, "when" DOUBLE PRECISION, name VARCHAR(20))'


def lines(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def checkpoints(log: Path) -> list[Any]:
    return [line for line in lines(log) if line.get("kind") == "checkpoint"]


def is_cut(log: Path, level: str | None) -> None:
    """The parts between the checkpoints are judged, each in a process, and come to the log as a whole."""
    found = parts_of(log, 1000)
    assert len(found) == len(checkpoints(log)) + 1 > 2
    with log.open("rb") as file:
        header = Stream(file).header
    counts, _, _ = judged_apart(log, header, level, found, 2, lambda: None)
    assert counts.total == sum("status" in line and line.get("kind") != "intent" for line in lines(log))


def work(connection: Any, mark: str, count: int, execute: Callable[..., Any] | None = None) -> None:
    execute = execute or connection.cursor().execute
    for number in range(count):
        execute(f"UPDATE accounts SET balance = balance + {mark} WHERE id = {mark}", (number, number % 10 + 1))
        execute(f"INSERT INTO accounts VALUES ({mark}, NULL, {mark})", (100 + number, number))
        connection.rollback() if number % 5 == 4 else connection.commit()


def test_postgres(dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as setup:
        setup.execute(ODD.encode())
        setup.execute(b"""INSERT INTO "Odd" VALUES (1, 0.1, 'a "b'), (2, NULL, NULL)""")
        setup.execute(b"ALTER TABLE accounts ADD COLUMN twice NUMERIC GENERATED ALWAYS AS (balance * 2) STORED")
    log = tmp_path / "log.jsonl"
    with recorder.connect(dsn, log=log, checkpoints=6) as connection, connection.cursor() as cursor:
        work(connection, "%s", 20, cursor.execute)
        cursor.execute("""UPDATE "Odd" SET "when" = 1e100""")
        connection.commit()
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    done(log)
    found = checkpoints(log)
    assert len(found) == 3
    assert {one["sql"] for one in found[0]["statements"]} == {
        'SELECT "id", "when", "name" FROM "Odd"',
        'SELECT "id", "owner", "balance" FROM "accounts"',
    }
    is_cut(log, "strict-serializable")


def test_asynchronous_connections(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    async def main() -> None:
        async with await recorder.connect_async(dsn, log=log, checkpoints=3) as connection:
            for number in range(10):
                await connection.execute("UPDATE accounts SET balance = %s WHERE id = 1", (number,))
                await connection.commit()

    asyncio.run(main())
    done(log)
    assert len(checkpoints(log)) == 3
    is_cut(log, "strict-serializable")


def test_mariadb(mariadb_dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with mysql.scratch_database(mariadb_dsn) as name:
        with mysql.connect(mariadb_dsn, name) as setup, setup.cursor() as cursor:
            cursor.execute(TABLE.replace("balance INTEGER", "balance DECIMAL(12,2)") + " ENGINE=InnoDB")
            cursor.execute(ODD.replace('"', "`") + " ENGINE=InnoDB")
            cursor.executemany("INSERT INTO accounts VALUES (%s, %s, %s)", ROWS)
            cursor.execute("INSERT INTO Odd VALUES (1, 0.1, 'a')")
            setup.commit()
        inner = mysql.connect(mariadb_dsn, name)
        inner.autocommit(False)
        connection = recorder.wrap(inner, log=log, checkpoints=6)
        work(connection, "%s", 20)
        connection.close()
        done(log)
    assert len(checkpoints(log)) == 3
    is_cut(log, "strict-serializable")


@pytest.mark.parametrize("product", ["sqlite", "duckdb"])
def test_in_process(product: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    if product == "sqlite":
        inner: Any = sqlite3.connect(tmp_path / "bank.db")
        inner.row_factory = lambda cursor, row: {"row": row}
    else:
        inner = pytest.importorskip("duckdb").connect(str(tmp_path / "bank.duckdb"))
    inner.execute(TABLE)
    inner.execute(ODD)
    for row in ROWS:
        inner.execute("INSERT INTO accounts VALUES (?, ?, ?)", row)
    inner.commit() if product == "sqlite" else None
    connection = recorder.wrap(inner, log=log, checkpoints=6)
    for number in range(20):
        connection.execute("BEGIN")
        connection.execute("UPDATE accounts SET balance = balance + ? WHERE id = ?", (number, number % 10 + 1))
        connection.commit() if number % 2 else connection.execute("COMMIT")
    connection.close()
    done(log)
    assert len(checkpoints(log)) == 3
    is_cut(log, "strict-serializable")


def test_none_is_taken_while_another_transaction_is_under_way(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with recorder.connect(dsn, log=log, checkpoints=1) as one, recorder.connect(dsn, log=log, checkpoints=1) as other:
        other.execute("SELECT balance FROM accounts WHERE id = 1")
        for _ in range(3):
            one.execute("UPDATE accounts SET balance = 1 WHERE id = 2")
            one.commit()
        other.rollback()
        one.execute("UPDATE accounts SET balance = 2 WHERE id = 2")
        one.commit()
    done(log)
    assert [len(one["statements"][0]["result"]["rows"]) for one in checkpoints(log)] == [10]


def test_one_that_another_transaction_meets_is_a_transaction(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    with psycopg.connect(dsn, autocommit=True) as setup:
        setup.execute(b"CREATE TABLE more (id INT)")
    with recorder.connect(dsn, log=log) as one, recorder.connect(dsn, log=log, checkpoints=1) as other:
        copies = one.journal.checkpoints
        due = copies.due
        for number in range(3):
            begun = list[Any]()

            def meets(due: Callable[[], Due | None] = due, begun: list[Any] = begun) -> Due | None:
                found = due()
                if found:  # from here on its connection reads
                    begun.append(other.execute("SELECT id FROM more"))
                return found

            monkeypatch.setattr(copies, "due", meets)
            one.execute("UPDATE accounts SET balance = %s WHERE id = 2", (number,))
            one.commit()
            other.rollback()
    done(log)
    assert not checkpoints(log)


def test_threads(dsn: str, tmp_path: Path) -> None:
    """Whatever is a checkpoint, no other transaction of the process commits beside it."""
    log = tmp_path / "log.jsonl"

    def run(first: int) -> None:
        with recorder.connect(dsn, log=log, checkpoints=2) as connection:
            for number in range(15):
                connection.execute("UPDATE accounts SET balance = %s WHERE id = %s", (number, first))
                connection.commit()

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done(log)
    found = [line for line in lines(log) if line.get("kind") in (None, "checkpoint") and "status" in line]
    for copy in checkpoints(log):
        for line in found:
            if line["id"] != copy["id"]:
                assert line["returned"] <= copy["invoked"] or copy["returned"] <= line["end"]["invoked"]


def test_one_that_fails_is_the_last(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with recorder.connect(dsn, log=log, checkpoints=1) as connection:
        connection.execute("UPDATE accounts SET balance = 1 WHERE id = 2")
        connection.commit()
        connection.execute("ALTER TABLE accounts RENAME COLUMN owner TO holder")
        connection.commit()
        connection.execute("UPDATE accounts SET balance = 2 WHERE id = 2")
        connection.commit()
    recorder.close()
    assert [line.get("kind", line["status"]) for line in lines(log) if "status" in line] == [
        "committed",
        "checkpoint",
        "committed",
        "aborted",
        "committed",
    ]


def test_one_that_fails_in_process_is_the_last(tmp_path: Path) -> None:
    log, path = tmp_path / "log.jsonl", tmp_path / "bank.db"
    with sqlite3.connect(path) as setup:
        setup.execute(TABLE)
        setup.executemany("INSERT INTO accounts VALUES (?, ?, ?)", ROWS)
    setup.close()
    connection = recorder.wrap(sqlite3.connect(path), log=log, checkpoints=1)
    for sql in (
        "UPDATE accounts SET balance = 1",
        "ALTER TABLE accounts RENAME TO holders",
        "DELETE FROM holders",
    ):
        connection.execute("BEGIN")
        connection.execute(sql)
        connection.commit()
        assert not connection.in_transaction
    connection.close()
    recorder.close()
    kinds = [line.get("kind", line["status"]) for line in lines(log) if "status" in line]
    # the copy behind the renaming was begun, and saw nothing
    assert kinds == ["committed", "checkpoint", "committed", "committed"]


def test_levels_are_those_of_the_application(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with recorder.connect(dsn, log=log, checkpoints=3) as connection:
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        work(connection, "%s", 8, connection.cursor().execute)
    done(log)
    found = [line for line in lines(log) if "status" in line]
    assert {line["isolation"] for line in found} == {"postgres:serializable"}
    assert all(line.get("read_only", False) == (line.get("kind") == "checkpoint") for line in found)
    is_cut(log, None)


def test_none_are_taken_on_later_connections_once_one_has_failed(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for first in ("ALTER TABLE accounts RENAME COLUMN owner TO holder", "SELECT 1", "SELECT 2"):
        with recorder.connect(dsn, log=log, checkpoints=1) as connection:
            connection.execute(first.encode())
    recorder.close()
    assert [line["status"] for line in lines(log) if "status" in line] == [
        "committed",
        "aborted",
        "committed",
        "committed",
    ]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_row_that_cannot_be_read_is_not_told_to_the_application(error: type[BaseException], tmp_path: Path) -> None:
    """What has committed has, and nothing is left open; an interrupt is passed on."""
    log, path = tmp_path / "log.jsonl", tmp_path / "bank.db"

    def text(value: bytes) -> str:
        if value == b"\xff":
            raise error
        return value.decode()

    inner = sqlite3.connect(path)
    inner.execute(TABLE)
    inner.commit()
    inner.text_factory = text
    connection = recorder.wrap(inner, log=log, checkpoints=1)
    connection.execute("INSERT INTO accounts VALUES (1, CAST(x'ff' AS TEXT), 1)")
    with pytest.raises(KeyboardInterrupt) if error is KeyboardInterrupt else nullcontext():
        connection.commit()
    assert not connection.in_transaction
    connection.execute("DELETE FROM accounts")
    connection.commit()
    connection.close()
    recorder.close()
    assert [line.get("kind", line["status"]) for line in lines(log) if "status" in line] == ["committed"] * 2


def test_locked_tables_stay_locked(mariadb_dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with mysql.scratch_database(mariadb_dsn) as name:
        with mysql.connect(mariadb_dsn, name) as setup, setup.cursor() as cursor:
            cursor.execute(TABLE)
            setup.commit()
        inner = mysql.connect(mariadb_dsn, name)
        inner.autocommit(False)
        connection = recorder.wrap(inner, log=log, checkpoints=1)
        cursor = connection.cursor()
        cursor.execute("LOCK TABLES accounts WRITE")
        cursor.execute("INSERT INTO accounts VALUES (1, NULL, 1)")
        connection.commit()
        cursor.execute("INSERT INTO accounts VALUES (2, NULL, 1)")
        with mysql.connect(mariadb_dsn, name) as other, other.cursor() as waiting:
            waiting.execute("SET lock_wait_timeout = 0")
            with pytest.raises(Exception, match="Lock wait timeout"):
                waiting.execute("SELECT * FROM accounts")
        connection.commit()
        cursor.execute("UNLOCK TABLES")
        connection.commit()
        cursor.execute("INSERT INTO accounts VALUES (3, NULL, 1)")
        connection.commit()
        connection.close()
    recorder.close()
    found = [line for line in lines(log) if "status" in line]
    texts = [line["statements"][0]["sql"].partition(" ")[0] for line in found]
    assert texts == ["LOCK", "INSERT", "INSERT", "UNLOCK", "INSERT", "SELECT"]


def test_refusals(dsn: str, tmp_path: Path) -> None:
    for options, message in (
        ({"checkpoints": 0}, "no number of transactions"),
        ({"checkpoints": 5, "compatible": 1}, "compatible=1 leaves them out"),
    ):
        with pytest.raises(RecordError, match=message):
            recorder.connect(dsn, log=tmp_path / "log.jsonl", **options)
    with psycopg.connect(dsn, autocommit=True) as setup:
        setup.execute(b'CREATE TABLE "two words" (id INT)')
    with pytest.raises(RecordError, match="no plain word"):
        recorder.connect(dsn, log=tmp_path / "other.jsonl", checkpoints=5)
