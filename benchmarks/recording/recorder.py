"""What recording costs: the same transactions on the same psycopg code, with and without the recorder, in turns on
one server. Does not know what is in the logs; they are written and thrown away.

    python -m benchmarks.recording.recorder [--kind "with a certificate"]
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic_ns
from typing import Any

import click
import psycopg

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
from troubadour.record.core.journal import close_all
from troubadour.record.postgres.connection import RecordedConnection
from troubadour.workloads.bank import Bank, Variant
from troubadour.workloads.tpcc import Tpcc
from troubadour.workloads.twitter import Twitter

KINDS: dict[str, dict[str, Any] | None] = {
    "not recorded": None,
    "recorded": {"commit_order": "client"},
    "with commit times": {"commit_order": "timestamps"},
    "with snapshots": {"commit_order": "client", "snapshots": True},
    "with WAL": {"commit_order": "wal"},
    "with both": {"commit_order": "wal", "snapshots": True},
    "with a certificate": {"certificate": "run.cert.jsonl"},
}
"""What is recorded, as the options of `recorder.connect` have it."""
PLAIN, USUAL = "not recorded", list(KINDS)[:3]
WORKLOADS: dict[str, Callable[[], Workload]] = {
    "bank": lambda: Bank(blind_writes=50),
    "bank-procedures": lambda: Bank(variant=Variant.PROCEDURES),
    "twitter": lambda: Twitter(mode="statements"),
    "tpcc": lambda: Tpcc(mode="statements", warehouses=4),
    "tpcc-procedures": lambda: Tpcc(mode="procedures", warehouses=4),
}
CONTEXT = multiprocessing.get_context("fork")
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: transactions per second, and microseconds for each: of the client's processor, of the server's, and
    of the client's to make the log (and the certificate) afterwards, and `waited` until it was made."""

    rate: float
    client: float
    server: float
    closing: float
    waited: float


@dataclass(frozen=True, slots=True)
class Part:
    """What the sessions of one process did: transactions, when they began and ended, and seconds of its processor."""

    count: int
    began: int
    ended: int
    spent: float
    closing: float
    waited: int


def once(
    dsn: str,
    workload: Workload,
    isolation: str,
    sessions: int,
    transactions: int,
    log: Path,
    kind: str,
    seed: int,
    processes: bool = False,
) -> Cost:
    """One run on fresh tables, without connecting and what the log begins with; all sessions are threads of this
    process, or each has a process of its own."""
    with scratch_schema(dsn) as schema:
        with plain_connection(dsn, schema) as connection:
            load(workload, connection.cursor())
            ((pid,),) = connection.execute(b"SELECT pg_backend_pid()").fetchall()
            postmaster = _parent(int(str(pid)))
        there = inside(dsn, schema)
        raw: dict[str, Any] = {"cursor_factory": psycopg.RawCursor}
        options = KINDS[kind]
        if options is None:
            opener: Callable[[], psycopg.Connection[Any]] = partial(psycopg.connect, there, **raw)
        else:
            if "certificate" in options:
                options = {"certificate": log.with_name("log.cert.jsonl")}
            opener = partial(RecordedConnection.connect, there, log=log, **options, **raw)
        served = CONTEXT.Value("d")  # set by one of the processes

        def ready() -> None:
            served.value = server_processor(postmaster)

        if processes:
            parts = _apart(opener, workload, isolation, sessions, transactions, seed, ready)
        else:
            parts = [_part(opener, workload, isolation, sessions, transactions, seed, ready)]
        serving = server_processor(postmaster) - served.value
    for segment in log.parent.glob(f"{log.stem}*"):
        segment.unlink()
    count = sum(part.count for part in parts)
    seconds = (max(part.ended for part in parts) - min(part.began for part in parts)) / 1e9
    each = 1e6 / count
    spent, closing = sum(part.spent for part in parts), sum(part.closing for part in parts)
    waited = max(part.waited for part in parts) / 1e9
    return Cost(count / seconds, spent * each, serving * each, closing * each, waited * each)


def _part(
    opener: Callable[[], psycopg.Connection[Any]],
    workload: Workload,
    isolation: str,
    sessions: int,
    transactions: int,
    seed: int,
    ready: Callable[[], object],
) -> Part:
    """The sessions of this process; `ready` is called once they are connected."""
    names = [f"s{number}" for number in range(1, sessions + 1)]
    opened = {name: PostgresSession(opener(), name, isolation) for name in names}
    ready()
    before, began = processor(), monotonic_ns()
    tally = run(
        lambda name: opened.pop(name, None) or PostgresSession(opener(), name, isolation),
        workload,
        sessions=sessions,
        transactions=transactions,
        seed=seed,
    )
    ended, spent = monotonic_ns(), processor() - before
    before, closed = processor(), monotonic_ns()
    close_all()
    count = tally.committed + sum(tally.aborted.values())
    return Part(count, began, ended, spent, processor() - before, monotonic_ns() - closed)


def _apart(
    opener: Callable[[], psycopg.Connection[Any]],
    workload: Workload,
    isolation: str,
    sessions: int,
    transactions: int,
    seed: int,
    ready: Callable[[], object],
) -> list[Part]:
    """Each session in a process of its own."""
    start = CONTEXT.Barrier(sessions, ready)
    parts = CONTEXT.SimpleQueue()

    def work(number: int) -> None:
        share = transactions // sessions
        parts.put(_part(opener, workload, isolation, 1, share, seed * sessions + number, start.wait))

    children = [CONTEXT.Process(target=work, args=(number,)) for number in range(sessions)]
    for child in children:
        child.start()
    found = [parts.get() for _ in children]
    for child in children:
        child.join()
    return found


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
@click.option("--processes", is_flag=True, help="Each session in a process of its own, with a segment of its own.")
@click.option(
    "--kind", "kinds", type=click.Choice(list(KINDS)[1:]), multiple=True, default=USUAL[1:], show_default=True
)
def main(
    name: str,
    transactions: int,
    rounds: int,
    sessions: int,
    isolation: str,
    processes: bool,
    kinds: tuple[str, ...],
) -> None:
    """Print the rate of a workload without recording and with it (aborted transactions count), the median ratio within
    a round, and where the time goes. `all` is the ratio of the processor time of client and server together, which
    bounds the rate where both are busy. `waited` is until the log was there after the last transaction."""
    workload = WORKLOADS[name]()
    costs: dict[str, list[Cost]] = {kind: [] for kind in (PLAIN, *kinds)}
    logical = any({"certificate", "wal"} & {*(KINDS[kind] or {}), *(KINDS[kind] or {}).values()} for kind in kinds)
    random = Random(0)
    common = (workload, isolation, sessions, transactions)
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedPostgres({"wal_level": "logical"} if logical else {}) as server,
    ):
        path = Path(directory) / "log.jsonl"
        once(server.dsn, *common, path, PLAIN, 0, processes)  # warm-up
        for seed in range(rounds):
            for kind in random.sample(list(costs), len(costs)):
                costs[kind].append(once(server.dsn, *common, path, kind, seed, processes))
    for kind, found in costs.items():
        pairs = list(zip(found, costs[PLAIN], strict=True))
        ratio = median(one.rate / plain.rate for one, plain in pairs)
        work = median((plain.client + plain.server) / (one.client + one.server) for one, plain in pairs)
        rates = [one.rate for one in found]
        click.echo(
            f"{name} {kind:18} {median(rates):6.0f} per second ({min(rates):.0f} to {max(rates):.0f}), "
            f"ratio {ratio:.3f}, all {work:.3f}; us of processor: client {median(one.client for one in found):.0f}, "
            f"server {median(one.server for one in found):.0f}, closing {median(one.closing for one in found):.0f}, "
            f"waited {median(one.waited for one in found):.0f}"
        )


if __name__ == "__main__":
    main()
