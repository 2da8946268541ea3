"""What recording costs: the same bank transactions on the same psycopg code, with and without the recorder, in turns on
one server. Does not know what is in the logs; they are written and thrown away.

    python -m benchmarks.recorder
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import click
import psycopg

from benchmarks.bank.workload import Bank
from troubadour.record import ISOLATION_LEVELS, EmbeddedPostgres, PostgresSession, inside, load, run, scratch_schema
from troubadour.record import connect as plain_connection
from troubadour.record.journal import close_all
from troubadour.record.postgres.connection import RecordedConnection

KINDS = ("not recorded", "recorded", "with commit times")


def once(
    dsn: str, workload: Bank, isolation: str, sessions: int, transactions: int, log: Path, kind: str
) -> tuple[float, float]:
    """Committed transactions per second of one run on a fresh table, and the client's microseconds of processor for
    each; without connecting and what the log begins with."""
    with scratch_schema(dsn) as schema:
        with plain_connection(dsn, schema) as connection:
            load(workload, connection.cursor())
        there = inside(dsn, schema)
        raw: dict[str, Any] = {"cursor_factory": psycopg.RawCursor}
        if kind == KINDS[0]:
            opener: Callable[[], psycopg.Connection[Any]] = partial(psycopg.connect, there, **raw)
        else:
            order = "timestamps" if kind == KINDS[2] else "client"
            opener = partial(RecordedConnection.connect, there, log=log, commit_order=order, **raw)
        names = [f"s{number}" for number in range(1, sessions + 1)]
        opened = {name: PostgresSession(opener(), name, isolation) for name in names}
        before = processor()
        tally = run(
            lambda name: opened.pop(name, None) or PostgresSession(opener(), name, isolation),
            workload,
            sessions=sessions,
            transactions=transactions,
            seed=workload.seed,
        )
        spent = processor() - before
        close_all()
    log.unlink(missing_ok=True)
    return tally.rate, spent / transactions * 1e6


def processor() -> float:
    """Seconds of processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@click.command()
@click.option("--transactions", default=2000, show_default=True, help="Committed transactions of each run.")
@click.option("--rounds", default=9, show_default=True, help="Runs of each kind, in turns.")
@click.option("--sessions", default=4, show_default=True)
@click.option("--accounts", default=1000, show_default=True)
@click.option("--isolation", type=click.Choice(list(ISOLATION_LEVELS)), default="snapshot", show_default=True)
def main(transactions: int, rounds: int, sessions: int, accounts: int, isolation: str) -> None:
    """Print the rate of the bank workload without recording and with it, and the ratios within a round."""
    workload = Bank(accounts=accounts, blind_writes=50)
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    random = Random(0)
    with tempfile.TemporaryDirectory() as directory, EmbeddedPostgres() as server:
        path = Path(directory) / "log.jsonl"
        once(server.dsn, workload, isolation, sessions, transactions, path, KINDS[0])  # warm-up
        for _ in range(rounds):
            for kind in random.sample(KINDS, len(KINDS)):
                rate, used = once(server.dsn, workload, isolation, sessions, transactions, path, kind)
                rates[kind].append(rate)
                spent[kind].append(used)
    for kind in KINDS:
        ratio = median(rate / plain for rate, plain in zip(rates[kind], rates[KINDS[0]], strict=True))
        click.echo(
            f"{kind:18} {median(rates[kind]):6.0f} per second ({min(rates[kind]):.0f} to {max(rates[kind]):.0f}), "
            f"ratio {ratio:.3f}, client {median(spent[kind]):.0f} us of processor per transaction"
        )


if __name__ == "__main__":
    main()
