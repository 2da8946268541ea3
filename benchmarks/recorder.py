"""What recording costs: the same transactions on the same psycopg code, with and without the recorder, in turns on
one server. Does not know what is in the logs; they are written and thrown away.

    python -m benchmarks.recorder
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import click
import psycopg

from benchmarks.bank import Bank, Variant
from benchmarks.tpcc import Tpcc
from benchmarks.twitter import Twitter
from troubadour.record import (
    ISOLATION_LEVELS,
    EmbeddedPostgres,
    PostgresSession,
    Workload,
    inside,
    load,
    run,
    scratch_schema,
)
from troubadour.record import connect as plain_connection
from troubadour.record.journal import close_all
from troubadour.record.postgres.connection import RecordedConnection

KINDS = ("not recorded", "recorded", "with commit times")
WORKLOADS: dict[str, Callable[[], Workload]] = {
    "bank": lambda: Bank(blind_writes=50),
    "bank-procedures": lambda: Bank(variant=Variant.PROCEDURES),
    "twitter": lambda: Twitter(mode="statements"),
    "tpcc": lambda: Tpcc(mode="statements", warehouses=4),
    "tpcc-procedures": lambda: Tpcc(mode="procedures", warehouses=4),
}
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: transactions per second, and microseconds for each: of the client's processor, of the server's, and
    of the client's to make the log afterwards."""

    rate: float
    client: float
    server: float
    closing: float


def once(
    dsn: str, workload: Workload, isolation: str, sessions: int, transactions: int, log: Path, kind: str, seed: int
) -> Cost:
    """One run on fresh tables, without connecting and what the log begins with."""
    with scratch_schema(dsn) as schema:
        with plain_connection(dsn, schema) as connection:
            load(workload, connection.cursor())
            ((pid,),) = connection.execute(b"SELECT pg_backend_pid()").fetchall()
            postmaster = _parent(int(str(pid)))
        there = inside(dsn, schema)
        raw: dict[str, Any] = {"cursor_factory": psycopg.RawCursor}
        if kind == KINDS[0]:
            opener: Callable[[], psycopg.Connection[Any]] = partial(psycopg.connect, there, **raw)
        else:
            order = "timestamps" if kind == KINDS[2] else "client"
            opener = partial(RecordedConnection.connect, there, log=log, commit_order=order, **raw)
        names = [f"s{number}" for number in range(1, sessions + 1)]
        opened = {name: PostgresSession(opener(), name, isolation) for name in names}
        before, served = processor(), server_processor(postmaster)
        tally = run(
            lambda name: opened.pop(name, None) or PostgresSession(opener(), name, isolation),
            workload,
            sessions=sessions,
            transactions=transactions,
            seed=seed,
        )
        spent, serving = processor() - before, server_processor(postmaster) - served
        count = tally.committed + sum(tally.aborted.values())
        before = processor()
        close_all()
        closing = processor() - before
    log.unlink(missing_ok=True)
    each = 1e6 / count
    return Cost(count / tally.seconds, spent * each, serving * each, closing * each)


def processor() -> float:
    """Seconds of processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def server_processor(postmaster: int) -> float:
    """Seconds of processor time of a PostgreSQL so far, all its processes together."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found = _stat(int(folder.name))
        except OSError:  # it has ended
            continue
        if int(folder.name) == postmaster:
            ticks += sum(map(int, found[11:15]))  # with that of the processes that have ended
        elif int(found[1]) == postmaster:
            ticks += sum(map(int, found[11:13]))
    return ticks / TICK


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on."""
    return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()


@click.command()
@click.option("--workload", "name", type=click.Choice(list(WORKLOADS)), default="bank", show_default=True)
@click.option("--transactions", default=2000, show_default=True, help="Committed transactions of each run.")
@click.option("--rounds", default=9, show_default=True, help="Runs of each kind, in turns.")
@click.option("--sessions", default=4, show_default=True)
@click.option("--isolation", type=click.Choice(list(ISOLATION_LEVELS)), default="snapshot", show_default=True)
def main(name: str, transactions: int, rounds: int, sessions: int, isolation: str) -> None:
    """Print the rate of a workload without recording and with it (aborted transactions count), the median ratio within
    a round, and where the time goes. `all` is the ratio of the processor time of client and server together, which
    bounds the rate where both are busy."""
    workload = WORKLOADS[name]()
    costs: dict[str, list[Cost]] = {kind: [] for kind in KINDS}
    random = Random(0)
    with tempfile.TemporaryDirectory() as directory, EmbeddedPostgres() as server:
        path = Path(directory) / "log.jsonl"
        once(server.dsn, workload, isolation, sessions, transactions, path, KINDS[0], 0)  # warm-up
        for seed in range(rounds):
            for kind in random.sample(KINDS, len(KINDS)):
                costs[kind].append(once(server.dsn, workload, isolation, sessions, transactions, path, kind, seed))
    for kind, found in costs.items():
        pairs = list(zip(found, costs[KINDS[0]], strict=True))
        ratio = median(one.rate / plain.rate for one, plain in pairs)
        work = median((plain.client + plain.server) / (one.client + one.server) for one, plain in pairs)
        rates = [one.rate for one in found]
        click.echo(
            f"{name} {kind:18} {median(rates):6.0f} per second ({min(rates):.0f} to {max(rates):.0f}), "
            f"ratio {ratio:.3f}, all {work:.3f}; us of processor: client {median(one.client for one in found):.0f}, "
            f"server {median(one.server for one in found):.0f}, closing {median(one.closing for one in found):.0f}"
        )


if __name__ == "__main__":
    main()
