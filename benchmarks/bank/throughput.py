"""What recording costs: the same bank transactions with and without it, in turns on one server.

Does not know what is in the logs; they are written and thrown away.

    python -m benchmarks.bank.throughput
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import click
import psycopg

from benchmarks.bank.workload import Bank
from troubadour.record import (
    ISOLATION_LEVELS,
    Answer,
    Connection,
    ConnectionLost,
    EmbeddedPostgres,
    Recorder,
    Session,
    connect,
    load,
    run,
    scratch_schema,
)


class PlainSession:
    """A session that runs the same statements and keeps nothing."""

    def __init__(self, connection: Connection, isolation: str) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._begin = b"BEGIN ISOLATION LEVEL " + ISOLATION_LEVELS[isolation].encode()

    def begin(self) -> None:
        """BEGIN."""
        self._cursor.execute(self._begin)

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """One statement."""
        cursor = self._cursor
        cursor.execute(sql.encode(), params or None)
        if cursor.description is None:
            return Answer([], cursor.rowcount)
        return Answer(cursor.fetchall(), cursor.rowcount)

    def commit(self) -> bool:
        """COMMIT."""
        self._cursor.execute(b"COMMIT")
        return self._cursor.statusmessage == "COMMIT"

    def rollback(self) -> None:
        """ROLLBACK."""
        try:
            self._cursor.execute(b"ROLLBACK")
        except psycopg.Error as error:
            raise ConnectionLost(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def once(dsn: str, workload: Bank, isolation: str, sessions: int, transactions: int, log: Path | None) -> float:
    """Committed transactions per second of one run on a fresh table; recorded if there is a `log`."""

    def go(open_session: Callable[[str], Session]) -> float:
        return run(open_session, workload, sessions=sessions, transactions=transactions, seed=workload.seed).rate

    with scratch_schema(dsn) as schema:
        with connect(dsn, schema) as connection:
            load(workload, connection.cursor())
        if log is None:
            return go(lambda name: PlainSession(connect(dsn, schema), isolation))
        with Recorder(
            dsn, log, isolation=isolation, schema=workload.schema, tables=workload.tables, search_path=schema
        ) as recorder:
            return go(recorder.session)


@click.command()
@click.option("--transactions", default=4000, show_default=True, help="Committed transactions of each run.")
@click.option("--rounds", default=5, show_default=True, help="Runs of either kind, in turns.")
@click.option("--sessions", default=4, show_default=True)
@click.option("--accounts", default=1000, show_default=True)
@click.option("--isolation", type=click.Choice(list(ISOLATION_LEVELS)), default="snapshot", show_default=True)
def main(transactions: int, rounds: int, sessions: int, accounts: int, isolation: str) -> None:
    """Print the median rate of the bank workload without recording, with it, and with it into a gzip file."""
    workload = Bank(accounts=accounts, blind_writes=50)
    rates: dict[str, list[float]] = {"not recorded": [], "recorded": [], "recorded, gzip": []}
    with tempfile.TemporaryDirectory() as directory, EmbeddedPostgres() as server:
        paths = (None, Path(directory) / "log.jsonl", Path(directory) / "log.jsonl.gz")
        once(server.dsn, workload, isolation, sessions, transactions, None)  # warm-up
        for _ in range(rounds):
            for kind, path in zip(rates, paths, strict=True):
                rates[kind].append(once(server.dsn, workload, isolation, sessions, transactions, path))
    for kind, found in rates.items():
        click.echo(f"{kind:15} {median(found):6.0f} per second  ({min(found):.0f} to {max(found):.0f})")


if __name__ == "__main__":
    main()
