"""``troubadour record``: run a workload on a real DBMS and keep a log of what its clients saw.

Does not know how a log is judged; loads the recorder and the DBMS driver only when a recording starts.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from troubadour.record import Tally

PERCENT = click.FloatRange(0, 100)


class CannotRecord(click.ClickException):
    """The server or the output cannot be used (exit status 2)."""

    exit_code = 2


@click.group()
def record() -> None:
    """Record logs of real runs, to be audited with `troubadour audit`.

    A recording is a fresh database, a seeded workload on several connections at once, and a log of every statement,
    its answer and its times. It needs no changes to the DBMS but PostgreSQL's track_commit_timestamp = on.
    """


@record.command()
@click.option(
    "--isolation",
    type=click.Choice(["read-committed", "snapshot", "serializable"]),
    default="snapshot",
    show_default=True,
    help="Level to run at, and to name in the log; snapshot is PostgreSQL's REPEATABLE READ.",
)
@click.option("--sessions", type=click.IntRange(1), default=4, show_default=True, help="Connections at work at once.")
@click.option(
    "--transactions",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Stop once this many transactions have COMMITTED. Aborted ones are logged too but not counted, and what "
    "is in flight at the end may add up to one transaction per session.",
)
@click.option("--accounts", type=click.IntRange(2), default=20, show_default=True, help="Rows of the accounts table.")
@click.option(
    "--variant",
    type=click.Choice(["single-statement", "read-then-write"]),
    default="single-statement",
    show_default=True,
    help="Who computes new balances: the server (UPDATE ... SET balance = balance - $1), or the client from what it "
    "read (which loses updates at read-committed).",
)
@click.option("--read-only", type=PERCENT, default=20, show_default=True, help="Percentage of balance checks.")
@click.option(
    "--blind-writes",
    type=PERCENT,
    default=0,
    show_default=True,
    help="Percentage of the writing transactions that get to see counts but no balance.",
)
@click.option(
    "--rows-accessed", type=PERCENT, default=100, show_default=True, help="Percentage of the accounts that are used."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of balances and of what each session draws.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Where the log goes; gzip if the name ends in .gz.",
)
@click.option("--dsn", metavar="DSN", help="libpq connection string of a running PostgreSQL, in place of --embedded.")
@click.option(
    "--embedded", is_flag=True, help="Start a PostgreSQL for this run and remove it afterwards. This is the default."
)
def bank(
    isolation: str,
    sessions: int,
    transactions: int,
    accounts: int,
    variant: str,
    read_only: float,
    blind_writes: float,
    rows_accessed: float,
    seed: int,
    out: Path,
    dsn: str | None,
    embedded: bool,
) -> None:
    """Record the bank-server benchmark: balance checks, deposits, withdrawals, transfers and overdrafts.

    On a server of yours the table lives in a schema of a fresh name, which is dropped at the end. The same seed draws
    the same transactions in each session; how the sessions interleave is the server's doing, so no two logs are equal.

    \b
    Examples:
      troubadour record bank --out bank.jsonl.gz
      troubadour record bank --isolation read-committed --variant read-then-write --out lost-updates.jsonl.gz
      troubadour record bank --dsn "host=localhost dbname=test" --accounts 1000 --out bank.jsonl.gz
    """
    from benchmarks.bank import Bank, Variant
    from troubadour.record import Recorder, RecordError, connect, run, scratch_schema

    if embedded and dsn is not None:
        raise click.UsageError("--dsn and --embedded exclude each other")
    workload = Bank(accounts, Variant(variant), rows_accessed, blind_writes, read_only, seed)
    try:
        with _server(dsn) as server, scratch_schema(server) as schema:
            with connect(server, schema) as connection:
                workload.load(connection)
            with (
                Recorder(
                    server,
                    out,
                    isolation=isolation,
                    schema=workload.schema,
                    tables=workload.tables,
                    search_path=schema,
                ) as recorder,
                _progress(transactions) as show,
            ):
                tally = run(
                    recorder.session,
                    workload,
                    sessions=sessions,
                    transactions=transactions,
                    seed=seed,
                    progress=show,
                )
    except (RecordError, OSError) as error:
        raise CannotRecord(str(error)) from error
    click.echo(summary(tally, out), err=True)


def summary(tally: Tally, out: Path) -> str:
    """One line on what was recorded."""
    aborted = ", ".join(f"{count} with {sqlstate}" for sqlstate, count in sorted(tally.aborted.items())) or "none"
    lost = f"; {tally.lost} connections lost" if tally.lost else ""
    return (
        f"{out}: {tally.committed} committed in {tally.seconds:.1f} s ({tally.rate:.0f} per second); "
        f"aborted: {aborted}{lost}"
    )


@contextmanager
def _server(dsn: str | None) -> Iterator[str]:
    from troubadour.record import EmbeddedPostgres

    if dsn is not None:
        yield dsn
        return
    # The default action of SIGTERM would leave the server running.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with EmbeddedPostgres() as server:
            yield server.dsn
    finally:
        signal.signal(signal.SIGTERM, before)


class _Bar:
    """A progress callback for `troubadour.record.run`."""

    def __init__(self, transactions: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.progress = Progress(
            TextColumn("recording"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:.0f}/s, {task.fields[aborted]} aborted"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.progress.add_task("recording", total=transactions, rate=0.0, aborted=0)

    def __call__(self, tally: Tally) -> None:
        self.progress.update(self.task, completed=tally.committed, rate=tally.rate, aborted=sum(tally.aborted.values()))


@contextmanager
def _progress(transactions: int) -> Iterator[_Bar]:
    bar = _Bar(transactions)
    with bar.progress:
        yield bar


__all__ = ["record", "summary"]
