"""Whether the snapshots of a PostgreSQL form a chain by inclusion: in one database and in two, without and with
prepared transactions. Does not know any log.

    python -m benchmarks.certificates.snapshot_chains [--seconds 4]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import click
import psycopg
from psycopg.conninfo import make_conninfo

from troubadour.model.certificate import Snapshot
from troubadour.record import EmbeddedPostgres

SESSIONS = 6
ASK = b"SELECT pg_current_xact_id_if_assigned()::text, pg_current_snapshot()::text"


@dataclass
class Seen:
    """What committed transactions told of themselves."""

    committed: set[int] = field(default_factory=set)
    snapshots: set[str] = field(default_factory=set)
    prepared: int = 0
    waiting: list[tuple[str, str, int, str]] = field(default_factory=list)
    """Database, name, id and snapshot of prepared transactions that have not ended."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, xid: int | None, snapshot: str) -> None:
        """One has committed."""
        with self.lock:
            self.snapshots.add(snapshot)
            if xid is not None:
                self.committed.add(xid)

    def is_chain(self) -> bool:
        """Whether of any two snapshots one includes the other."""
        sets = sorted(({xid for xid in self.committed if _parsed(one).sees(xid)} for one in self.snapshots), key=len)
        return all(one <= other for one, other in pairwise(sets))


def _parsed(text: str) -> Snapshot:
    lowest, highest, running = text.split(":")
    return Snapshot(int(lowest), int(highest), frozenset(map(int, filter(None, running.split(",")))))


def session(dsn: str, name: str, until: float, seen: Seen, *, prepares: bool) -> None:
    """Transactions that read and often write, every second writer prepared; now and then one that waits is finished."""
    random = Random(name)
    with psycopg.connect(dsn, autocommit=True) as connection:
        turn = 0
        while time.monotonic() < until:
            turn += 1
            try:
                _transaction(connection, dsn, f"{name}-{turn}", random, seen, prepares=prepares)
            except psycopg.errors.OperationalError:
                connection.execute(b"ROLLBACK")
            if prepares and random.random() < 0.4:
                with seen.lock:
                    mine = [one for one in seen.waiting if one[0] == dsn]
                    found = random.choice(mine) if mine else None
                    if found is not None:
                        seen.waiting.remove(found)
                if found is not None:
                    connection.execute(f"COMMIT PREPARED '{found[1]}'".encode())
                    seen.take(*found[2:])
                    seen.prepared += 1


def _transaction(
    connection: psycopg.Connection, dsn: str, name: str, random: Random, seen: Seen, *, prepares: bool
) -> None:
    connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ")
    connection.execute(b"SELECT 1 FROM kv WHERE k = 1")
    if random.random() < 0.6:
        connection.execute("UPDATE kv SET v = v + 1 WHERE k = %s", (random.randint(1, 200),))
    if random.random() < 0.3:
        time.sleep(random.random() * 0.003)
    told = connection.execute(ASK).fetchone()
    assert told is not None
    xid = None if told[0] is None else int(told[0])
    if prepares and xid is not None and random.random() < 0.5:
        connection.execute(f"PREPARE TRANSACTION '{name}'".encode())
        with seen.lock:
            seen.waiting.append((dsn, name, xid, told[1]))
    else:
        connection.execute(b"COMMIT")
        seen.take(xid, told[1])


def tried(databases: Sequence[str], seconds: float, *, prepares: bool) -> Seen:
    """Sessions on these databases in turn."""
    seen, until = Seen(), time.monotonic() + seconds
    threads = [
        threading.Thread(
            target=session,
            args=(databases[number % len(databases)], f"s{number}", until, seen),
            kwargs={"prepares": prepares},
        )
        for number in range(SESSIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for dsn, name, _, _ in seen.waiting:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"ROLLBACK PREPARED '{name}'".encode())
    return seen


@click.command()
@click.option("--seconds", default=4.0, show_default=True, help="For each setting.")
def main(seconds: float) -> None:
    """See the module."""
    settings = {"max_prepared_transactions": "200", "lock_timeout": "200ms", "deadlock_timeout": "50ms"}
    print("| databases | prepared transactions | commits | distinct snapshots | chain |\n|---:|---:|---:|---:|---|")
    with EmbeddedPostgres(settings) as server:
        other = make_conninfo(server.dsn, dbname="other")
        with psycopg.connect(server.dsn, autocommit=True) as setup:
            setup.execute(b"CREATE DATABASE other")
        for dsn in (server.dsn, other):
            with psycopg.connect(dsn, autocommit=True) as setup:
                setup.execute(b"CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)")
                setup.execute(b"INSERT INTO kv SELECT i, 0 FROM generate_series(1, 200) i")
        for prepares in (False, True):
            for databases in ([server.dsn], [server.dsn, other]):
                seen = tried(databases, seconds, prepares=prepares)
                cells = (len(databases), seen.prepared, len(seen.committed), len(seen.snapshots))
                print(
                    f"| {' | '.join(f'{cell:,}' for cell in cells)} | {'yes' if seen.is_chain() else 'NO'} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
