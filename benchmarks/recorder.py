"""What recording costs: the same bank transactions on the same psycopg code, with and without the recorder, in turns on
one server. Does not know what is in the logs; they are written and thrown away.

    python -m benchmarks.recorder
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import click
import psycopg

from benchmarks.bank.workload import Bank
from troubadour.record import ISOLATION_LEVELS, Answer, ConnectionLost, EmbeddedPostgres, load, run, scratch_schema
from troubadour.record import connect as plain_connection
from troubadour.record.journal import close_all
from troubadour.record.postgres.connection import RecordedConnection

KINDS = ("not recorded", "recorded", "with commit times")


class DriverSession:
    """A session of plain psycopg calls, on whatever connection it is given."""

    def __init__(self, connection: psycopg.Connection[Any], isolation: str) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        connection.isolation_level = psycopg.IsolationLevel[ISOLATION_LEVELS[isolation].replace(" ", "_")]

    def begin(self) -> None:
        """Nothing: psycopg begins by itself."""

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """One statement."""
        cursor = self._cursor
        cursor.execute(sql.encode(), params or None)
        if cursor.description is None:
            return Answer([], cursor.rowcount)
        return Answer(cursor.fetchall(), cursor.rowcount)

    def commit(self) -> bool:
        """COMMIT."""
        self._connection.commit()
        return True

    def rollback(self) -> None:
        """ROLLBACK."""
        try:
            self._connection.rollback()
        except psycopg.Error as error:
            raise ConnectionLost(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def once(
    dsn: str, workload: Bank, isolation: str, sessions: int, transactions: int, log: Path, kind: str
) -> tuple[float, float]:
    """Committed transactions per second of one run on a fresh table, and the client's microseconds of processor for
    each; without connecting and what the log begins with."""
    with scratch_schema(dsn) as schema:
        with plain_connection(dsn, schema) as connection:
            load(workload, connection.cursor())
        inside = f"{dsn}{'&' if '?' in dsn else '?'}options=-csearch_path%3D{schema}"
        raw: dict[str, Any] = {"cursor_factory": psycopg.RawCursor}
        if kind == KINDS[0]:
            opener: Callable[[], psycopg.Connection[Any]] = partial(psycopg.connect, inside, **raw)
        else:
            order = "timestamps" if kind == KINDS[2] else "client"
            opener = partial(RecordedConnection.connect, inside, log=log, commit_order=order, **raw)
        opened = {f"s{number}": DriverSession(opener(), isolation) for number in range(1, sessions + 1)}
        before = processor()
        tally = run(
            lambda name: opened.pop(name, None) or DriverSession(opener(), isolation),
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
