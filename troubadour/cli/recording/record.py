"""``troubadour record``: run a workload on a real DBMS and keep a log of what its clients saw.

Does not know how a log is judged; loads the recorder and the DBMS driver only when a recording starts.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from sql_semantics.records import dataclass
from troubadour.cli.common import CannotRecord, unwinding_on_signals
from troubadour.cli.recording.objects import objects
from troubadour.cli.recording.simulated import simulated
from troubadour.model.visible import visible

if TYPE_CHECKING:
    from troubadour.record import EmbeddedPostgres, Tally, Workload
    from troubadour.workloads.texts import Mode

PERCENT = click.FloatRange(0, 100)


@click.group()
def record() -> None:
    """Record logs of real runs, to be audited with `troubadour audit`.

    A recording is a fresh database, a seeded workload on several connections at once, and a log of every statement,
    its answer and its times. It needs no changes to the DBMS but PostgreSQL's track_commit_timestamp = on.
    """


record.add_command(simulated)
record.add_command(objects)


@record.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--log", required=True, metavar="LOG", help="The log to write; {database} stands for the name of the database."
)
@click.option(
    "--unwritable",
    type=click.Choice(["stop", "go-on"]),
    default="stop",
    show_default=True,
    help="If the log cannot be written: roll commits back (stop), or let them through and note a gap (go-on).",
)
@click.option("--durable", is_flag=True, help="Flush the log to disk before each COMMIT is sent.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def app(log: str, unwritable: str, durable: bool, command: tuple[str, ...]) -> None:
    """Run a Python application and record it, with the processes that it starts, without changing its code.

    What it does through psycopg 3, sqlite3, PyMySQL and DuckDB is recorded, each database in a log of its own; other
    drivers refuse to connect. The application's environment needs this package. The exit status is the
    application's.

    \b
    Example:
      troubadour record app --log "run-{database}.jsonl" -- python manage.py runserver --noreload
    """
    import troubadour
    from troubadour.record import launch

    paths = [*launch.__path__, str(Path(troubadour.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TROUBADOUR_LOG": os.path.abspath(log),
        "TROUBADOUR_OPTIONS": json.dumps({"unwritable": unwritable, "durable": durable}),
    }
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise CannotRecord(f"{command[0]}: {error.strerror}") from error


@record.command()
@click.option("--listen", required=True, metavar="HOST:PORT", help="Where clients connect; port 0 takes a free one.")
@click.option("--server", required=True, metavar="DSN", help="The server: host=..., postgresql://..., mysql://...")
@click.option("--log", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where the log goes.")
@click.option(
    "--commit-order",
    type=click.Choice(["timestamps", "wal", "client"]),
    default="timestamps",
    show_default=True,
    help="timestamps: ask PostgreSQL for each transaction's id, together with its COMMIT, for its commit time; "
    "wal: for its place in the write-ahead log; client: ask nothing.",
)
@click.option(
    "--unwritable",
    type=click.Choice(["stop", "go-on"]),
    default="stop",
    show_default=True,
    help="If the log cannot be written: close connections (stop), or pass them on and note a gap (go-on).",
)
@click.option("--durable", is_flag=True, help="Flush what passes to disk before it is passed on.")
@click.option(
    "--tls-certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The server's certificate, for clients that use TLS.",
)
@click.option(
    "--tls-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The certificate's key, where it is in another file.",
)
def proxy(
    listen: str,
    server: str,
    log: Path,
    commit_order: str,
    unwritable: str,
    durable: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
) -> None:
    """Record clients of any language: a proxy between them and the server.

    The schema and the rows are captured first, while writers wait; then clients connect to HOST:PORT as they would to
    the server, and no other client may write. SIGTERM or SIGINT ends the proxy and finishes the log. If it was killed,
    `troubadour log repair` makes the log from what it had written.

    \b
    Example:
      troubadour record proxy --listen localhost:6432 --server "host=localhost dbname=shop" --log run.jsonl
      psql "host=localhost port=6432 dbname=shop"
    """
    from troubadour.record.errors import RecordError
    from troubadour.record.proxy.serve import Options, serve

    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit():
        raise click.UsageError(f"--listen: {listen} is no HOST:PORT")
    options = Options((host.strip("[]"), int(port)), log, commit_order, unwritable, durable, tls_certificate, tls_key)

    def ready(host: str, port: int) -> None:
        click.echo(f"listening on {host}:{port}")

    try:
        serve(server, options, ready)
    except (RecordError, OSError) as error:
        raise CannotRecord(str(error)) from error


@dataclass(frozen=True, slots=True)
class Run:
    """What is asked of every recording."""

    isolation: str
    sessions: int
    transactions: int
    seed: int
    out: Path
    dsn: str | None
    dialect: Literal["postgres", "mysql"]
    certificate: Path | None


def recorded(name: str) -> Callable[[Callable[..., Workload]], click.Command]:
    """A subcommand from a function of a `Run` and the workload's own options, which makes the workload."""

    def decorate(make: Callable[..., Workload]) -> click.Command:
        @functools.wraps(make)
        def command(
            isolation: str,
            sessions: int,
            transactions: int,
            seed: int,
            out: Path,
            dsn: str | None,
            embedded: bool,
            dbms: str | None,
            certificate: Path | None,
            **own: Any,
        ) -> None:
            if embedded and dsn is not None:
                raise click.UsageError("--dsn and --embedded exclude each other")
            mariadb = dsn.startswith("mysql://") if dsn is not None else dbms == "mariadb"
            if dsn is not None and dbms is not None and mariadb != (dbms == "mariadb"):
                raise click.UsageError(f"--dsn is not of a {dbms}")
            if certificate is not None and mariadb:
                raise click.UsageError("--certificate: MariaDB does not tell what a transaction read")
            dialect: Literal["mysql", "postgres"] = "mysql" if mariadb else "postgres"
            run = Run(isolation, sessions, transactions, seed, out, dsn, dialect, certificate)
            try:
                workload = make(run, **own)
            except ValueError as error:
                raise click.UsageError(str(error)) from error
            _record(run, workload)

        for option in reversed(_OPTIONS):
            command = option(command)
        return record.command(name)(command)

    return decorate


_CERTIFICATE = click.option(
    "--certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the server's own account of the run to this file, for `troubadour audit --certificate` "
    "(docs/certificates.md). A server given by --dsn needs wal_level = logical.",
)
_OPTIONS = (
    click.option(
        "--isolation",
        type=click.Choice(["read-committed", "snapshot", "serializable", "mysql:repeatable-read"]),
        default="snapshot",
        show_default=True,
        help="The level to run at, named in the log; snapshot is PostgreSQL's REPEATABLE READ, and MariaDB's with "
        "innodb_snapshot_isolation on; mysql:repeatable-read is MariaDB's own.",
    ),
    click.option("--sessions", type=click.IntRange(1), default=4, show_default=True, help="Concurrent connections."),
    click.option(
        "--transactions",
        type=click.IntRange(1),
        default=2000,
        show_default=True,
        help="Stop once this many transactions have COMMITTED. Aborted ones are logged too but not counted, and what "
        "is in flight at the end adds at most one transaction per session.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="Seed of the initial rows and of each session's choices."
    ),
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        required=True,
        help="The log to write; gzip if the name ends in .gz.",
    ),
    click.option(
        "--dsn",
        metavar="DSN",
        help="A running server instead of --embedded: a libpq connection string for PostgreSQL, or "
        "mysql://user:password@host:port/database for MariaDB.",
    ),
    click.option(
        "--embedded", is_flag=True, help="Start a server for this run and remove it afterwards. This is the default."
    ),
    click.option(
        "--dbms",
        type=click.Choice(["postgres", "mariadb"]),
        help="Which server --embedded starts; MariaDB must be installed. [default: postgres]",
    ),
    _CERTIFICATE,
)
_MODE = click.option(
    "--mode",
    type=click.Choice(["procedures", "statements"]),
    default="procedures",
    show_default=True,
    help="Stored procedures, each transaction one CALL or SELECT of a function, or the client's own statements.",
)


def _size(name: str, default: int, what: str, least: int = 1) -> Callable[[Any], Any]:
    return click.option(name, type=click.IntRange(least), default=default, show_default=True, help=what)


@recorded("bank")
@_size("--accounts", 20, "Rows of the accounts table.", 2)
@click.option(
    "--variant",
    type=click.Choice(["single-statement", "read-then-write", "procedures"]),
    default="single-statement",
    show_default=True,
    help="Where new balances are computed: by the server (UPDATE ... SET balance = balance - $1), by the "
    "client from what it read (which loses updates at read-committed), or by stored procedures.",
)
@click.option("--read-only", type=PERCENT, default=20, show_default=True, help="Percentage of balance checks.")
@click.option(
    "--blind-writes",
    type=PERCENT,
    default=0,
    show_default=True,
    help="Percentage of the writing transactions that see row counts but no balance.",
)
@click.option(
    "--rows-accessed", type=PERCENT, default=100, show_default=True, help="Percentage of the accounts that are used."
)
def bank(
    run: Run, accounts: int, variant: str, read_only: float, blind_writes: float, rows_accessed: float
) -> Workload:
    """Record the bank-server benchmark: balance checks, deposits, withdrawals, transfers and overdrafts.

    With --dsn the tables live in a new schema, which is dropped at the end. The same seed draws the same transactions
    in each session; how sessions interleave depends on the server, so no two logs are equal.

    \b
    Examples:
      troubadour record bank --out bank.jsonl.gz
      troubadour record bank --isolation read-committed --variant read-then-write --out lost-updates.jsonl.gz
      troubadour record bank --dsn "host=localhost dbname=test" --accounts 1000 --out bank.jsonl.gz
    """
    from troubadour.workloads.bank import Bank, Variant

    return Bank(accounts, Variant(variant), rows_accessed, blind_writes, read_only, run.seed, run.dialect)


@recorded("kv")
@_MODE
@_size("--keys", 10, "Rows.")
@_size("--values", 100, "Values that are written: 1 to this.")
@click.option("--reads", type=PERCENT, default=50, show_default=True, help="Percentage of reads.")
@_size("--operations", 1, "Reads and writes of a transaction.")
def kv(run: Run, mode: Mode, keys: int, values: int, reads: float, operations: int) -> Workload:
    """Record a key-value store: reads of a key and blind writes of values that are not unique."""
    from troubadour.workloads.kv import KeyValue

    return KeyValue(run.dialect, mode, keys, values, reads, operations)


@recorded("smallbank")
@_MODE
@_size("--customers", 1000, "Customers, each with two accounts.", 2)
@_size("--hot", 20, "Customers that half of the transactions are about.", 2)
def smallbank(run: Run, mode: Mode, customers: int, hot: int) -> Workload:
    """Record SmallBank: six transactions on savings and checking accounts."""
    from troubadour.workloads.smallbank import SmallBank

    return SmallBank(run.dialect, mode, customers, hot, seed=run.seed)


@recorded("twitter")
@_MODE
@_size("--users", 1000, "Users.", 2)
@_size("--tweets", 10, "Tweets of each user to begin with.")
def twitter(run: Run, mode: Mode, users: int, tweets: int) -> Workload:
    """Record Twitter: new tweets, who follows whom, timelines."""
    from troubadour.workloads.twitter import Twitter

    return Twitter(run.dialect, mode, users, tweets, run.seed)


@recorded("rubis")
@_MODE
@_size("--users", 1000, "Users to begin with.")
@_size("--items", 4000, "Items to begin with.")
def rubis(run: Run, mode: Mode, users: int, items: int) -> Workload:
    """Record RUBiS: an auction site's registrations, purchases, comments and browsing."""
    from troubadour.workloads.rubis import Rubis

    return Rubis(run.dialect, mode, users, items, run.seed)


@recorded("tpcc")
@_MODE
@_size("--warehouses", 1, "Warehouses.")
@_size("--districts", 10, "Districts of each warehouse, at most 10.")
@_size("--customers", 30, "Customers of each district.")
@_size("--items", 100, "Items.")
def tpcc(run: Run, mode: Mode, warehouses: int, districts: int, customers: int, items: int) -> Workload:
    """Record TPC-C: new orders, payments, deliveries, order status and stock level."""
    from troubadour.workloads.tpcc import Tpcc

    return Tpcc(run.dialect, mode, warehouses, districts, customers, items, run.seed)


def _record(run: Run, workload: Workload) -> None:
    from troubadour.record import RecordError, record_run

    try:
        with _server(run) as dsn, _progress(run.transactions) as show:
            tally = record_run(
                workload,
                dsn,
                run.out,
                isolation=run.isolation,
                sessions=run.sessions,
                transactions=run.transactions,
                seed=run.seed,
                progress=show,
                certificate=run.certificate,
            )
    except (RecordError, OSError) as error:
        raise CannotRecord(str(error)) from error
    click.echo(visible(summary(tally, run.out)), err=True)


def summary(tally: Tally, out: Path) -> str:
    """One line on what was recorded."""
    aborted = ", ".join(f"{count} with {sqlstate}" for sqlstate, count in sorted(tally.aborted.items())) or "none"
    lost = f"; {tally.lost} connections lost" if tally.lost else ""
    return (
        f"{out}: {tally.committed} committed in {tally.seconds:.1f} s ({tally.rate:.0f} per second); "
        f"aborted: {aborted}{lost}"
    )


@contextmanager
def _server(run: Run) -> Iterator[str]:
    from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

    if run.dsn is not None:
        yield run.dsn
        return
    if run.dialect == "mysql" and (reason := missing()) is not None:
        raise CannotRecord(reason)
    with unwinding_on_signals(), PrivateMariaDB() if run.dialect == "mysql" else _postgres(run) as server:
        yield server.dsn


def _postgres(run: Run) -> EmbeddedPostgres:
    from troubadour.record import EmbeddedPostgres

    return EmbeddedPostgres() if run.certificate is None else EmbeddedPostgres({"wal_level": "logical"})


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
        self.progress.start()  # only now: a run that cannot begin leaves standard error to its message
        self.progress.update(self.task, completed=tally.committed, rate=tally.rate, aborted=sum(tally.aborted.values()))


@contextmanager
def _progress(transactions: int) -> Iterator[_Bar]:
    bar = _Bar(transactions)
    try:
        yield bar
    finally:
        if bar.progress.live.is_started:
            bar.progress.stop()


__all__ = ["record", "summary"]
