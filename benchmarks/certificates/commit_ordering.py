"""Servers that serialize in the order of commits, as expected serialization orders (Emme §6), tried: SQLite by the
change counter of its file, MariaDB at SERIALIZABLE by the positions in its binlog.

Sessions run small transactions at once, each asking for its place while it still has its locks: a reader stands behind
the commits that are counted, a writer at its own. Prints how many logs the certificate explains, and the search. Does
not know why one server orders its commits so.

    python -m benchmarks.certificates.commit_ordering sqlite|mariadb [--runs 5]
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import click

from troubadour.audit.certified.examine import examine
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

SCHEMA = "CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)"
KEYS, SESSIONS = 12, 4
Entry = dict[str, Any]


def statements(random: Random) -> list[str]:
    """Those of one transaction; half of the transactions only read."""
    key, other = random.sample(range(1, KEYS + 1), 2)
    reads = [f"SELECT v FROM kv WHERE k = {key}", f"SELECT sum(v) FROM kv WHERE k BETWEEN {key} AND {key + 3}"]
    if random.random() < 0.5:
        return reads
    new = random.randrange(100, 1_000_000)
    writes = [f"UPDATE kv SET v = v + 1 WHERE k = {other}", f"INSERT INTO kv VALUES ({new}, {key})"]
    return [random.choice(reads), *random.sample(writes, random.randint(1, 2))]


def sqlite_session(file: Path, number: int, seed: int, count: int, put: Callable[[Entry, int], None]) -> None:
    """A reader has a shared lock from its first read on, a writer the only reserved one: the counter stands still."""
    random = Random(f"{seed}/{number}")
    header = os.open(file, os.O_RDONLY)  # never closed while others have locks: that would take them away
    connection = sqlite3.connect(file, isolation_level=None, timeout=20)
    connection.execute("PRAGMA synchronous = OFF")
    for turn in range(count):
        wanted = statements(random)
        writes = not all(one.startswith("SELECT") for one in wanted)
        done: list[Entry] = []
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        try:
            for one in wanted:
                done.append(_done(one, connection.execute(one).fetchall()))
            counted = int.from_bytes(os.pread(header, 4, 24), "big")
            connection.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            continue
        put({"id": f"s{number}-{turn}", "status": "committed", "statements": done}, 2 * counted + writes)
    connection.close()


def mariadb_session(
    server: PrivateMariaDB, number: int, seed: int, count: int, put: Callable[[Entry, int], None]
) -> None:
    """All reads lock; what a transaction waited for is in the binlog, and what waits for it is not."""
    import pymysql

    random = Random(f"{seed}/{number}")
    connection = server.connect()
    cursor = connection.cursor()
    cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    for turn in range(count):
        wanted = statements(random)
        done: list[Entry] = []
        try:
            cursor.execute("BEGIN")
            for one in wanted:
                cursor.execute(one)
                done.append(_done(one, [[None if v is None else int(v) for v in row] for row in cursor.fetchall()]))
            cursor.execute("SELECT @@gtid_binlog_pos")
            place = 2 * _sequence(cursor.fetchall()) + 1
            cursor.execute("COMMIT")
            if not all(one.startswith("SELECT") for one in wanted):
                cursor.execute("SELECT @@last_gtid")
                place = 2 * _sequence(cursor.fetchall())
        except pymysql.MySQLError:
            cursor.execute("ROLLBACK")
            continue
        put({"id": f"s{number}-{turn}", "status": "committed", "statements": done}, place)
    connection.close()


def _sequence(rows: Any) -> int:
    return int(str(rows[0][0]).rpartition("-")[2])


def _done(sql: str, rows: Any) -> Entry:
    if not sql.startswith("SELECT"):
        return {"sql": sql}
    return {"sql": sql, "result": {"columns": ["v"], "rows": [list(row) for row in rows]}}


def recorded(product: str, folder: Path, seed: int, count: int) -> Path:
    """A log with its certificate, of `count` transactions of each session."""
    found: list[tuple[Entry, int]] = []
    lock = threading.Lock()

    def put(entry: Entry, place: int) -> None:
        with lock:
            found.append((entry, place))

    rows = [[key, 0] for key in range(1, KEYS + 1)]
    if product == "sqlite":
        file = folder / f"{seed}.db"
        with sqlite3.connect(file) as setup:
            setup.execute(SCHEMA)
            setup.executemany("INSERT INTO kv VALUES (?, ?)", rows)
        setup.close()
        _together(lambda number: sqlite_session(file, number, seed, count, put))
    else:
        with PrivateMariaDB(["--log-bin", "--server-id=1"]) as server:
            cursor = server.connect().cursor()
            cursor.execute(SCHEMA)
            cursor.executemany("INSERT INTO kv VALUES (%s, %s)", rows)
            _together(lambda number: mariadb_session(server, number, seed, count, put))
    path = folder / f"{product}-{seed}.jsonl"
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "sqlite" if product == "sqlite" else "mysql",
        "isolation": "serializable",
        "schema": [SCHEMA],
        "initial": {"kv": {"columns": ["k", "v"], "rows": rows}},
    }
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *(entry for entry, _ in found))))
    about = {"format": "troubadour-certificate", "version": 1, "log_id": None, "scheme": "serialization-order"}
    reads = [{"kind": "read", "transaction": entry["id"], "timestamp": place} for entry, place in found]
    end = {"kind": "end", "commits": 0, "reads": len(reads)}
    path.with_suffix(".cert").write_text("".join(json.dumps(line) + "\n" for line in (about, *reads, end)))
    return path


def _together(work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@click.command()
@click.argument("product", type=click.Choice(["sqlite", "mariadb"]))
@click.option("--runs", default=5, show_default=True)
@click.option("--transactions", default=60, show_default=True, help="Of each session.")
@click.option("--seconds", default=30.0, show_default=True, help="For each search.")
def main(product: str, runs: int, transactions: int, seconds: float) -> None:
    """See the module."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(runs):
            path = recorded(product, Path(folder), seed, transactions)
            log = read_log([path])
            found, _ = examine(
                log, library_of(log), read_certificate(path.with_suffix(".cert")), isolation="serializable"
            )
            verdict = audit(log, library_of(log), Options("serializable", timeout=seconds)).status
            because = "" if found.because is None else f" ({found.because})"
            click.echo(f"{log.committed} committed: {found.status.value}{because}; the search: {verdict.value}")


if __name__ == "__main__":
    main()
