"""Recorded DB-API connections: sqlite3, DuckDB, PyMySQL on MariaDB. Their logs are right at the level they ran at."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.live.audited import done
from troubadour.formats import read_log
from troubadour.model.log import Transaction
from troubadour.record import recorder
from troubadour.record.errors import NotRecorded

TABLE = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner VARCHAR(40), balance INTEGER NOT NULL)"
ROWS = [(number, f"owner {number}", 100) for number in range(1, 11)]


def sqls(transaction: Transaction) -> list[str]:
    return [statement.sql.split()[0] for statement in transaction.statements]


# -- sqlite3


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.db"
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE)
        connection.execute("CREATE UNIQUE INDEX owners ON accounts (owner)")
        connection.executemany("INSERT INTO accounts VALUES (?, ?, ?)", ROWS)
    connection.close()
    return path


def test_sqlite(bank: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    connection = recorder.wrap(sqlite3.connect(bank), log=log)
    connection.row_factory = sqlite3.Row
    assert connection.execute("SELECT owner FROM accounts WHERE id = ?", (1,)).fetchone()["owner"] == "owner 1"
    assert [row["id"] for row in connection.execute("SELECT id FROM accounts WHERE id < :n", {"n": 3})] == [1, 2]
    with connection:
        cursor = connection.cursor()
        assert cursor.execute("UPDATE accounts SET balance = balance + ? WHERE id > 8", (5,)).rowcount == 2
        cursor.executemany("INSERT INTO accounts VALUES (?, ?, ?)", [(20, "a", True), (21, None, 2)])
        assert cursor.lastrowid == 21
        for row in connection.execute("SELECT id FROM accounts"):
            connection.execute("UPDATE accounts SET balance = 1 WHERE id = ?", (row["id"] + 1,))
    connection.execute("DELETE FROM accounts WHERE id = 5")
    with pytest.raises(sqlite3.IntegrityError), connection:
        connection.execute("INSERT INTO accounts VALUES (1, 'x', 0)")
    connection.execute("INSERT INTO accounts VALUES (30, 'y', 0) RETURNING id").fetchall()
    connection.execute("SAVEPOINT s")
    connection.execute("DELETE FROM accounts")
    connection.execute("ROLLBACK TO s")
    connection.commit()
    connection.isolation_level = None
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM accounts WHERE id = 7")
    connection.execute("COMMIT")
    connection.execute("DELETE FROM accounts WHERE id = 8")
    connection.execute("DELETE FROM accounts WHERE owner = x'00ff'")
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("DELETE FROM accounts WHERE id = ?", (1, 2))
    connection.close()
    found = done(log)
    begins = [one.begin for one in found.transactions if one.begin is not None]
    assert [begin.snapshot for begin in begins] == [True]  # sqlite3 sends the others itself
    assert (found.committed, found.aborted) == (7, 2)
    assert found.header.isolation == "sqlite"
    assert sqls(found.transactions[4]) == ["INSERT", "SAVEPOINT", "DELETE", "ROLLBACK"]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda c: c.executescript("SELECT 1; SELECT 2"), "executescript"),
        (lambda c: c.execute("SELECT ?2, ?1", (1, 2)), "numbered"),
    ],
)
def test_sqlite_refusals(bank: Path, tmp_path: Path, use: Callable[[Any], Any], message: str) -> None:
    connection = recorder.wrap(sqlite3.connect(bank), log=tmp_path / "log.jsonl")
    with pytest.raises(NotRecorded, match=message):
        use(connection)
    connection.close()


def test_sqlite_threads_that_meet_locks(bank: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def work(first: int) -> None:
        connection = recorder.wrap(sqlite3.connect(bank, timeout=0.01), log=log)
        for number in range(first, first + 40):
            try:
                with connection:
                    connection.execute("SELECT sum(balance) FROM accounts")
                    connection.execute(
                        "UPDATE accounts SET balance = balance - ? WHERE id = ?", (number % 7, number % 10 + 1)
                    )
                    connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = ?", (number % 3 + 1,))
                    connection.execute("SELECT balance FROM accounts WHERE id = ?", (number % 10 + 1,))
                    if number % 9 == 0:
                        raise ZeroDivisionError
            except (sqlite3.OperationalError, ZeroDivisionError):
                connection.rollback()
        connection.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = done(log)
    assert found.unknown == 0
    assert found.committed > 60
    assert found.aborted > 10


def test_sqlite_commit_that_has_to_wait(bank: Path, tmp_path: Path) -> None:
    """COMMIT fails and leaves the transaction open: it is logged once, as it ended."""
    reader = sqlite3.connect(bank, timeout=0)
    connection = recorder.wrap(sqlite3.connect(bank, timeout=0), log=tmp_path / "log.jsonl")
    reading = reader.execute("SELECT id FROM accounts")
    reading.fetchone()
    connection.execute("UPDATE accounts SET balance = 0")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        connection.commit()
    with pytest.raises(NotRecorded, match="only COMMIT again"):
        connection.execute("SELECT 1")
    reading.close()
    connection.commit()
    connection.close()
    reader.close()
    assert [transaction.status for transaction in done(tmp_path / "log.jsonl").transactions] == ["committed"]


# -- DuckDB


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    log = tmp_path / "log.jsonl"
    plain = duckdb.connect()
    plain.execute(TABLE.replace("balance INTEGER", "balance DECIMAL(12,2)"))
    plain.executemany("INSERT INTO accounts VALUES (?, ?, ?)", ROWS)
    connection = recorder.wrap(plain, log=log)
    assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (10,)
    connection.begin()
    assert connection.execute(
        "UPDATE accounts SET balance = balance + ? WHERE id > 8", [Decimal("0.5")]
    ).fetchall() == [(2,)]
    assert connection.execute("INSERT INTO accounts VALUES (20, NULL, 1) RETURNING id").fetchall() == [(20,)]
    connection.commit()
    connection.execute("BEGIN")
    connection.execute("DELETE FROM accounts")
    with pytest.raises(duckdb.ConstraintException):
        connection.execute("INSERT INTO accounts VALUES (1, 'x', 0), (1, 'y', 0)")
    with pytest.raises(duckdb.TransactionException):
        connection.execute("SELECT 1")
    connection.execute("COMMIT")  # which rolls back, and does not say so
    one, other = connection.cursor(), connection.cursor()
    one.begin()
    other.begin()
    one.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
    with pytest.raises(duckdb.TransactionException):
        other.execute("UPDATE accounts SET balance = 2 WHERE id = 1")
    other.rollback()
    one.execute("INSERT INTO accounts VALUES (40, 'z', ?)", [Decimal("1.25")])
    one.commit()
    with pytest.raises(NotRecorded, match="sql"):
        connection.sql("SELECT 1")
    assert connection.execute("SELECT sum(balance) FROM accounts").fetchall() == [(Decimal("904.25"),)]
    for each in (one, other, connection):
        each.close()
    found = done(log)
    assert (found.committed, found.aborted, found.header.isolation) == (4, 2, "duckdb")


def test_duckdb_threads(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    plain = duckdb.connect()
    plain.execute(TABLE)
    plain.executemany("INSERT INTO accounts VALUES (?, ?, ?)", ROWS)
    connection = recorder.wrap(plain, log=tmp_path / "log.jsonl")

    def work(session: Any, first: int) -> None:
        for number in range(first, first + 40):
            session.begin()
            try:
                session.execute("UPDATE accounts SET balance = balance - 3 WHERE id = ?", [number % 4 + 1])
                session.execute("SELECT sum(balance) FROM accounts").fetchone()
                session.execute("UPDATE accounts SET balance = balance + 3 WHERE id = ?", [number % 3 + 5])
                session.commit()
            except duckdb.TransactionException:
                if session.recording.tape.current is not None:
                    session.rollback()

    threads = [threading.Thread(target=work, args=(connection.cursor(), first)) for first in (0, 101, 202)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = done(tmp_path / "log.jsonl")
    assert found.committed > 20
    assert found.unknown == 0


# -- PyMySQL


@pytest.fixture
def database(mariadb_dsn: str) -> Iterator[Callable[..., Any]]:
    import pymysql

    from troubadour.record.drivers import mysql

    with mysql.scratch_database(mariadb_dsn) as name:

        def connect(**options: Any) -> Any:
            with mysql.connect(mariadb_dsn, name) as probe:
                socket = probe.unix_socket
            return pymysql.connect(
                unix_socket=socket,
                user="root",
                database=name,
                charset="utf8mb4",
                collation="utf8mb4_bin",
                init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                **options,
            )

        with connect(autocommit=True) as setup, setup.cursor() as cursor:
            cursor.execute(TABLE.replace("balance INTEGER", "balance DECIMAL(12,2)") + " ENGINE=InnoDB")
            cursor.executemany("INSERT INTO accounts VALUES (%s, %s, %s)", ROWS)
            cursor.execute(
                "CREATE PROCEDURE pay(IN who INT, IN amount DECIMAL(12,2)) BEGIN"
                " UPDATE accounts SET balance = balance - amount WHERE id = who;"
                " SELECT balance FROM accounts WHERE id = who; END"
            )
        yield connect


def test_mariadb(database: Callable[..., Any], tmp_path: Path) -> None:
    import pymysql
    from pymysql.constants import CLIENT
    from pymysql.cursors import DictCursor

    log = tmp_path / "log.jsonl"
    connection = recorder.wrap(database(client_flag=CLIENT.FOUND_ROWS), log=log)
    with connection.cursor(DictCursor) as cursor:
        assert cursor.execute("SELECT balance FROM accounts WHERE id = %s", (1,)) == 1
        assert cursor.fetchone() == {"balance": Decimal("100.00")}
        assert cursor.execute("UPDATE accounts SET balance = 100 WHERE id < %s", (4,)) == 3  # found, not changed
        assert cursor.execute("UPDATE accounts SET balance = balance + %s WHERE id = 2", (0.5,)) == 1
    with connection.cursor() as cursor:
        cursor.execute("CALL pay(%s, %s)", (1, Decimal("2.50")))
        assert cursor.fetchall() == ((Decimal("97.50"),),) or cursor.fetchall() == []
        with pytest.raises(pymysql.IntegrityError):
            cursor.execute("INSERT INTO accounts VALUES (1, 'x', 0)")
        with pytest.raises(NotRecorded, match="ends the open transaction"):
            cursor.execute("CREATE TABLE t (id INT)")
    connection.commit()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts")
        connection.rollback()
        connection.autocommit(True)
        cursor.execute("DELETE FROM accounts WHERE id = 9")
        cursor.executemany("INSERT INTO accounts VALUES (%s, %s, %s)", [(20, "a", 1), (21, "b", 2)])
        connection.begin()
        cursor.execute("SELECT count(*) FROM accounts")
        connection.commit()
        with pytest.raises(NotRecorded, match="callproc"):
            cursor.callproc("pay", (1, 1))
    connection.close()
    found = done(log)
    assert found.header.settings["found_rows"] is True
    assert (found.committed, found.aborted) == (5, 1)
    assert found.transactions[0].statements[1].affected == 3


@pytest.mark.parametrize("compatible", [None, 1])
def test_the_begins_of_mariadb(database: Callable[..., Any], tmp_path: Path, compatible: int | None) -> None:
    log = tmp_path / "log.jsonl"
    connection = recorder.wrap(database(autocommit=True), log=log, compatible=compatible)
    cursor = connection.cursor()
    for text in ("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"):
        for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            cursor.execute(text)
            cursor.execute("SELECT count(*) FROM accounts")
            connection.commit()
    connection.begin()
    cursor.execute("SELECT count(*) FROM accounts")
    connection.commit()
    connection.close()
    found = list(done(log).transactions)
    assert [one.snapshot_at for one in found] == ["statement"] * 4 + ["begin"] + ["statement"] * 2
    begins = [one.begin for one in found]
    if compatible is not None:
        assert begins == [None] * 7
        return
    assert [begin is not None and begin.snapshot for begin in begins] == [None] * 4 + [True] + [None] * 2
    for one in found:
        assert one.begin is not None
        times = (one.invoked, one.begin.invoked, one.begin.returned, one.statements[0].invoked)
        assert None not in times
        assert one.invoked == one.begin.invoked
        assert list(times) == sorted(time for time in times if time is not None)


def test_mariadb_threads_and_a_killed_connection(database: Callable[..., Any], tmp_path: Path) -> None:
    import pymysql

    log = tmp_path / "log.jsonl"

    def work(first: int) -> None:
        connection = recorder.wrap(database(), log=log)
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            for number in range(first, first + 25):
                try:
                    cursor.execute("SELECT balance FROM accounts WHERE id = %s", (number % 5 + 1,))
                    cursor.execute("UPDATE accounts SET balance = balance - 1 WHERE id = %s", (number % 5 + 1,))
                    cursor.execute("UPDATE accounts SET balance = balance + 1 WHERE id = %s", (number * 3 % 5 + 1,))
                    connection.commit()
                except pymysql.OperationalError:
                    connection.rollback()
        connection.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 101, 203)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    victim, killer = recorder.wrap(database(), log=log), database()
    with victim.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        cursor.execute("DELETE FROM accounts")
        with killer.cursor() as own:
            own.execute(f"KILL {victim.thread_id()}")
        with pytest.raises(pymysql.OperationalError):
            cursor.execute("SELECT 1")
    with pytest.raises(pymysql.Error):
        victim.commit()
    killer.close()
    recorder.close()
    found = done(log)
    assert {transaction.isolation for transaction in found.transactions} == {"mysql:serializable"}
    assert found.committed > 20
    assert found.unknown == 0
    assert len(read_log([log]).transactions[-1].statements) >= 1
