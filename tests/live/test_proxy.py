"""The proxy between real clients and a real PostgreSQL: clients see what they see without it, byte for byte, and the
log of what they did is right."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.live.audited import done
from tests.patience import PATIENCE, until
from tests.proxied import SYNC, bind, describe, execute, parse, query
from troubadour.record import RecordError, recorder
from troubadour.record.postgres import wire
from troubadour.record.proxy.postgres.protocol.framing import Framing
from troubadour.record.proxy.postgres.protocol.messages import message
from troubadour.record.proxy.postgres.protocol.values import text_of


@contextmanager
def proxied(dsn: str, log: Path, *options: str, ends: int | None = signal.SIGTERM) -> Iterator[str]:
    """A proxy in front of a PostgreSQL server, as a connection string."""
    with proxied_port(dsn, log, *options, ends=ends) as port:
        given = {name: value for name, value in conninfo_to_dict(dsn).items() if name not in ("host", "port")}
        yield make_conninfo("", **given, host="127.0.0.1", port=port)


@contextmanager
def proxied_port(dsn: str, log: Path, *options: str, ends: int | None = signal.SIGTERM) -> Iterator[int]:
    """A proxy in front of a server; ended by a signal, None: killed, and the status looked at."""
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "record", "proxy"]
    command += ["--listen", "127.0.0.1:0", "--server", dsn, "--log", str(log), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        try:
            port = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", said)
            assert port is not None, said
            yield int(port[1])
        finally:
            running.send_signal(signal.SIGKILL if ends is None else ends)
            status = running.wait()
        assert ends is None or status == 0


def test_psycopg_through_the_proxy(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(dsn, log) as through:
        with psycopg.connect(through) as connection:
            for binary in (False, True):
                with connection.cursor(binary=binary) as cursor:
                    cursor.execute("SELECT id, owner, balance FROM accounts WHERE id <= %s ORDER BY id", (2,))
                    assert len(cursor.fetchall()) == 2
            connection.execute("UPDATE accounts SET balance = balance - 1 WHERE id = %s", (1,))
            with (
                connection.transaction(),
                pytest.raises(psycopg.errors.CheckViolation),
                connection.transaction(),
            ):
                connection.execute("UPDATE accounts SET balance = -1 WHERE id = 2")
            with connection.cursor("named") as named:
                named.itersize = 3
                assert len(named.execute("SELECT id FROM accounts ORDER BY id").fetchall()) == 10
            with connection.cursor().copy("COPY accounts (id, owner, balance) FROM STDIN") as copy:
                copy.write_row((99, "a\tb'", 5))
            connection.commit()
            connection.autocommit = True
            with connection.pipeline():
                for id in (1, 2, 99):
                    connection.execute("UPDATE accounts SET balance = balance + 2 WHERE id = %s", (id,))
            connection.execute("DELETE FROM accounts WHERE id = 99; SELECT count(*) FROM accounts")
        threads = [threading.Thread(target=_transfers, args=(through, seed)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = done(log)
    first, piped, several, *transfers = found.transactions
    assert len(first.statements) == 11
    assert first.statements[0].results == first.statements[1].results
    assert first.commit is not None
    assert [len(transaction.statements) for transaction in (piped, several)] == [3, 2]
    assert len(transfers) == 30
    assert not found.header.gaps
    assert {transaction.isolation or found.header.isolation for transaction in transfers} == {
        "postgres:read-committed", "postgres:repeatable-read", "postgres:serializable",
    }  # fmt: skip


def _transfers(dsn: str, seed: int) -> None:
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel(seed + 2)
        for n in range(10):
            try:
                with connection.transaction():
                    (balance,) = connection.execute(
                        "SELECT balance FROM accounts WHERE id = %s", (n % 3 + 1,)
                    ).fetchone() or (None,)
                    connection.execute("UPDATE accounts SET balance = %s WHERE id = %s", (balance, (n + seed) % 3 + 1))
            except psycopg.errors.SerializationFailure:
                pass


# --- byte for byte --------------------------------------------------------------------------------------------------


class Wire:
    """A connection without a driver. Knows how to begin one where the server trusts it."""

    def __init__(self, dsn: str) -> None:
        given: dict[str, Any] = conninfo_to_dict(dsn)
        if str(given["host"]).startswith("/"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(f"{given['host']}/.s.PGSQL.{given.get('port') or 5432}")
        else:
            self._socket = socket.create_connection((given["host"], given["port"]))
        self._socket.settimeout(PATIENCE)
        names = {"user": given.get("user"), "database": given.get("dbname"), "options": given.get("options", "")}
        body = struct.pack(">I", 196608)
        body += b"".join(f"{name}\0{value}\0".encode() for name, value in names.items() if value) + b"\0"
        self._socket.sendall(struct.pack(">I", len(body) + 4) + body)
        self._framing = Framing()
        self._waiting: list[tuple[int, bytes | None]] = []
        self.until(1)

    def until(self, ready: int) -> bytes:
        """What the server says up to so many ReadyForQuery."""
        got = b""
        while ready:
            while not self._waiting:
                data = self._socket.recv(1000)
                assert data, "the connection is closed"
                self._waiting += list(self._framing.feed(data))
            kind, body = self._waiting.pop(0)
            got += message(bytes([kind]), body or b"")
            ready -= kind == ord("Z")
        return got

    def say(self, data: bytes, ready: int = 1) -> bytes:
        """Send, and give the answer."""
        self._socket.sendall(data)
        return self.until(ready)

    def close(self) -> None:
        self._socket.sendall(message(b"X", b""))
        self._socket.close()


UPDATE = "UPDATE accounts SET balance = balance + 1 WHERE id = 1"
CONVERSATION: list[tuple[bytes, int]] = [
    (query("BEGIN") + query(UPDATE) + query("COMMIT"), 3),  # all at once: nothing of the proxy's goes between
    (query("BEGIN"), 1), (query(UPDATE), 1), (query("COMMIT"), 1),
    # the unnamed statement and a named one outlive the proxy's question, and DEALLOCATE ALL does not disturb it
    (parse(UPDATE) + parse("SELECT balance FROM accounts WHERE id = 1", "s") + SYNC, 1),
    (query("BEGIN"), 1), (bind(name="s") + describe() + execute() + SYNC, 1),
    (query("DEALLOCATE ALL"), 1), (query(UPDATE), 1), (query("COMMIT"), 1),
    (bind(name="s") + execute() + SYNC, 1),
    (parse("COMMIT", "c") + parse("BEGIN", "b") + parse(UPDATE, "u") + SYNC, 1),
    *[(bind(name=name) + execute() + SYNC, 1) for name in "buc"],
    (b"".join(bind(name=name) + execute() for name in "buc") + SYNC, 1),
    # a portal that is open while something else is asked, and none beyond COMMIT
    (query("BEGIN"), 1),
    (parse("SELECT id FROM accounts ORDER BY id", "p") + bind(name="p", portal="o") + execute("o", 3) + SYNC, 1),
    (query(UPDATE), 1), (execute("o", 3) + SYNC, 1), (query("COMMIT"), 1), (execute("o", 3) + SYNC, 1),
    # errors, aborted transactions, deferred ones, notices
    (query("BEGIN; SELECT 1/0"), 1), (query("SELECT 1"), 1), (query("COMMIT"), 1),
    (query("COMMIT"), 1), (query("SELEC"), 1), (query(""), 1), (query("SELECT 1; SELEC"), 1),
    (query("CREATE TABLE d (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)"), 1),
    (query("INSERT INTO d VALUES (1), (1)"), 1),
    (query("BEGIN"), 1), (query("INSERT INTO d VALUES (1), (1)"), 1), (query("COMMIT"), 1),
    (query("BEGIN"), 1), (query("INSERT INTO d VALUES (1)"), 1), (query("COMMIT AND CHAIN"), 1), (query("ROLLBACK"), 1),
    (query("COPY d FROM STDIN"), 0), (message(b"d", b"7\n") + message(b"c", b""), 1), (query("COPY d TO STDOUT"), 1),
    (parse("COPY d FROM STDIN") + bind() + execute() + SYNC, 0), (message(b"d", b"8\n") + message(b"c", b"") + SYNC, 1),
    (query("BEGIN"), 1), (query(UPDATE), 1), (query("COMMIT; SELECT count(*) FROM d"), 1),
    (query("DISCARD ALL"), 1), (query("SELECT sum(a) FROM d"), 1), (query("DROP TABLE d"), 1),
]  # fmt: skip


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_preparing_takes_the_snapshot_of_a_transaction(dsn: str, tmp_path: Path, level: str) -> None:
    log = tmp_path / "log.jsonl"
    with proxied(dsn, log) as through:
        reader, writer = Wire(through), Wire(through)
        reader.say(query(f"BEGIN ISOLATION LEVEL {level}"))
        reader.say(parse("SELECT balance FROM accounts WHERE id = 1", "s") + SYNC)
        writer.say(query(UPDATE))
        old = reader.say(bind(name="s") + execute() + SYNC)
        reader.say(query("COMMIT"))
        new = reader.say(bind(name="s") + execute() + SYNC)
        reader.close()
        writer.close()
    assert old[:-1] != new[:-1]  # but for the last byte, which says whether a transaction is open
    update, prepared, after = sorted(done(log).transactions, key=lambda one: (one.session != "c2", one.commit is None))
    (first,), (second,) = prepared.statements, after.statements
    assert update.returned is not None and first.invoked is not None and second.invoked is not None
    assert first.invoked < update.returned < second.invoked


def _conversation(dsn: str) -> list[bytes]:
    wire = Wire(dsn)
    answers = [wire.say(*turn) for turn in CONVERSATION]
    wire.close()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE accounts SET balance = 100 WHERE id = 1")
    return answers


def test_the_client_sees_byte_for_byte_what_the_server_said(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    _conversation(dsn)  # catalogs and plans are warm
    bare = _conversation(dsn)
    with proxied(dsn, log) as through:
        mine = _conversation(through)
    # the numbers of tables, which are made anew, stand in descriptions of columns
    assert list(map(_without_oids, mine)) == list(map(_without_oids, bare))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert not [line for line in lines if line.get("kind") == "gap"]
    places = [line for line in lines if "commit" in line]
    # by itself; after DEALLOCATE ALL; prepared; in front of the open portal's end; CHAIN and texts of several have none
    assert len(places) == 4


def _without_oids(answer: bytes) -> bytes:
    found = b""
    for kind, body in Framing().feed(answer):
        if kind == ord("T") and body is not None:
            body = re.sub(
                rb"\0[\x00-\xff]{4}([\x00-\xff]{2}[\x00-\xff]{4}[\x00-\xff]{2}\xff\xff\xff\xff)", rb"\0\1", body
            )
        found += message(bytes([kind]), body or b"")
    return found


# --- killed ---------------------------------------------------------------------------------------------------------


def test_a_killed_proxy_loses_no_commit_that_was_answered(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    acknowledged: list[int] = []

    def work(through: str, first: int) -> None:
        try:
            with psycopg.connect(through) as connection:
                for n in range(first, 100_000, 2):
                    connection.execute("INSERT INTO accounts VALUES (%s, 'x', 0)", (1000 + n,))
                    connection.commit()
                    acknowledged.append(1000 + n)
        except psycopg.OperationalError:
            pass

    with proxied(dsn, log, ends=None) as through:
        threads = [threading.Thread(target=work, args=(through, first)) for first in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) >= 40 or not any(thread.is_alive() for thread in threads))
        assert len(acknowledged) >= 40
    for thread in threads:
        thread.join()
    _made_by_itself(log)
    found = done(log)
    told = {
        statement.params[0]: transaction.status
        for transaction in found.transactions
        for statement in transaction.statements
        if isinstance(statement.params, tuple)
    }
    assert {told.get(n) for n in acknowledged} == {"committed"}
    with psycopg.connect(dsn) as connection:
        kept = {n for (n,) in connection.execute("SELECT id FROM accounts WHERE id >= 1000")}
    assert all(told.get(n) in ("committed", "unknown") for n in kept)


def _made_by_itself(log: Path) -> None:
    """The process behind a killed proxy makes the log; wait for it."""

    def made() -> bool:
        text = log.read_bytes()
        return text.rstrip().endswith(b"}") and b'"kind":"end"' in text[-60:]

    until(made)


# --- values ---------------------------------------------------------------------------------------------------------

VALUES = {
    "int2": ["-32768", "7"], "int4": ["-2147483648"], "int8": ["9223372036854775807"], "bool": ["t", "f"],
    "numeric": ["0", "0.00", "-1.50", "12345678901234567890.0001", "1e30", "0.000012", "NaN", "Infinity", "10000"],
    "float8": ["0.1", "1e300", "-0", "NaN", "-Infinity"], "float4": ["0.1", "16777216", "3.4e38", "1.5"],
    "text": ["", "a'b\\"], "varchar": ["x"], "bpchar": ["x "], "name": ["n"], "bytea": ["\\x00ff"],
    "oid": ["4294967295"],
    "date": ["2020-01-31", "infinity", "0001-01-01"], "time": ["10:11:12.5", "24:00:00"],
    "timetz": ["10:11:12+02", "10:11:12-03:30"],
    "timestamp": ["2020-01-31 10:11:12.000001", "1999-12-31 23:59:59", "infinity"],
    "timestamptz": ["2020-01-31 10:11:12+00"],
    "interval": ["1 year 2 mons -3 days 04:05:06.7", "-1 mons +2 days", "00:00:00", "-00:00:01", "1 day -01:00:00",
    "13 mons"],
    "uuid": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], "json": ['{"a": 1}'], "jsonb": ['{"a": [1, null]}'],
    "int4[]": ["{}", "{1,NULL,-3}"], "text[]": ['{a,"b c","NULL",NULL,"q\\"\\\\"}'], "numeric[]": ["{1.50}"],
}  # fmt: skip


def test_values_in_binary_are_the_texts_that_the_server_has(dsn: str) -> None:
    different = []
    with psycopg.connect(dsn) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for type, values in VALUES.items():
            for value in values:
                text: Any = connection.pgconn.exec_params(f"SELECT $1::{type}".encode(), [value.encode()])
                binary: Any = connection.pgconn.exec_params(
                    f"SELECT $1::{type}".encode(), [value.encode()], result_format=1
                )
                made = text_of(binary.ftype(0), binary.get_value(0, 0))
                write = wire.MAKES.get(text.ftype(0), str.encode)
                if made is None or write(made) != write(text.get_value(0, 0).decode()):
                    different.append((type, value, made, text.get_value(0, 0)))
    assert not different
    assert text_of(1560, b"\0") is None


@pytest.mark.parametrize(
    ("listen", "server", "said"),
    [
        ("nowhere", "", "no HOST:PORT"),
        ("127.0.0.1:0", "host=/nowhere", "cannot connect"),
        ("256.0.0.1:1", None, "cannot listen on 256.0.0.1:1"),
    ],
)
def test_what_cannot_start_ends_with_status_2(
    dsn: str, tmp_path: Path, listen: str, server: str | None, said: str
) -> None:
    command = [
        sys.executable,
        "-c",
        "from troubadour.cli.main import main; main()",
        "record",
        "proxy",
        "--listen",
        listen,
    ]
    command += ["--server", dsn if server is None else server, "--log", str(tmp_path / "log.jsonl")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_proxy_that_an_application_starts_by_one_line(dsn: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a INT PRIMARY KEY)")
    application = """
import sys, psycopg
from troubadour.record import recorder
through = recorder.proxy(sys.argv[1], log=sys.argv[2])
with psycopg.connect(through, autocommit=True) as connection:
    connection.execute("DELETE FROM t; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    with connection.pipeline():
        connection.execute("UPDATE t SET a = a + 10")
        connection.execute("SELECT count(*) FROM t")
"""
    subprocess.run([sys.executable, "-c", application + "recorder.close()", dsn, str(log)], check=True)
    texts = [statement.sql for transaction in done(log).transactions for statement in transaction.statements]
    assert texts == [
        "DELETE FROM t",
        "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "UPDATE t SET a = a + 10", "SELECT count(*) FROM t",
    ]  # fmt: skip
    log.unlink()
    subprocess.run([sys.executable, "-c", application, dsn, str(log)], check=True)  # its end is that of the log, too
    assert [len(transaction.statements) for transaction in done(log).transactions] == [3, 2]
    with pytest.raises(RecordError, match="cannot connect"):
        recorder.proxy("host=127.0.0.1 port=1 dbname=shop", log=log)


# --- MariaDB --------------------------------------------------------------------------------------------------------


def test_pymysql_through_the_proxy(mariadb_server: Any, mariadb_dsn: str, tmp_path: Path) -> None:
    import pymysql

    log = tmp_path / "log.jsonl"
    database = mariadb_dsn.partition("?")[0].rpartition("/")[2]
    with mariadb_server.connect(database) as connection:
        connection.cursor().execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance DECIMAL(12,2), at DATETIME(6))")
        connection.cursor().execute("INSERT INTO accounts VALUES (1, 100, NULL), (2, 100, '2020-01-31 10:11:12.5')")

    def connect(port: int, **options: Any) -> Any:
        return pymysql.connect(host="127.0.0.1", port=port, user="root", database=database, **options)

    with proxied_port(mariadb_dsn, log) as port:
        connection = connect(port)
        cursor = connection.cursor()
        cursor.execute("SELECT * FROM accounts ORDER BY id")
        rows = cursor.fetchall()
        cursor.execute("UPDATE accounts SET balance = balance - 1 WHERE id = %s", (1,))
        connection.commit()
        with pytest.raises(pymysql.IntegrityError):
            cursor.execute("INSERT INTO accounts VALUES (1, 0, NULL)")
        cursor.execute("SELECT count(*) FROM accounts")
        connection.rollback()
        connection.close()
        several = connect(port, autocommit=True, client_flag=1 << 16)
        cursor = several.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        cursor.execute("UPDATE accounts SET balance = 7 WHERE id = 2; SELECT balance FROM accounts WHERE id = 2")
        assert cursor.nextset()
        assert str(cursor.fetchall()[0][0]) == "7.00"
        several.close()
    with mariadb_server.connect(database) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT * FROM accounts ORDER BY id")
        assert [row[1] - seen[1] for row, seen in zip(cursor.fetchall(), rows, strict=True)] == [-1, -93]
    found = done(log)
    one, failed, update, select = found.transactions
    assert one.statements[0].results is not None
    assert one.statements[0].results[0].rows == ((1, "100.00", None), (2, "100.00", "2020-01-31T10:11:12.500000"))
    assert (one.status, failed.status, update.status, select.status) == (
        "committed", "aborted", "committed", "committed",
    )  # fmt: skip
    assert failed.statements[0].error is not None
    assert len(failed.statements) == 2
    assert (update.isolation, one.isolation or found.header.isolation) == (
        "mysql:read-committed", "mysql:repeatable-read",
    )  # fmt: skip
