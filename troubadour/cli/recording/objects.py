"""``troubadour record objects``: append, register, set and counter workloads on a real database, as an object log.

Does not know how a session runs, nor how a log is judged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from troubadour.cli.common import CannotRecord
from troubadour.cli.recording.simulated import objects_options
from troubadour.cli.supervision import ended_by_signals
from troubadour.model.visible import one_line

if TYPE_CHECKING:
    from troubadour.workloads.objects import Distribution, Type

DBMS = ("postgres", "mariadb", "sqlite", "duckdb")


@click.command()
@click.option(
    "--dsn",
    metavar="DSN",
    help="A running database: a libpq connection string, mysql://..., sqlite:FILE or duckdb:FILE. A table `objects` is "
    "created there, and dropped.",
)
@click.option(
    "--dbms",
    type=click.Choice(DBMS),
    default="postgres",
    show_default=True,
    help="The database to start for this run, without --dsn.",
)
@objects_options
@click.option(
    "--isolation",
    type=click.Choice(["read-committed", "snapshot", "serializable"]),
    help="The level to run at, named in the log. [default: the product's strongest]",
)
@click.option("--sessions", type=click.IntRange(1), default=4, show_default=True)
@click.option(
    "--transactions",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Stop once this many have committed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of each session's choices.")
@click.option("--disturb", is_flag=True, help="Kill connections and clients during the run; not with --dsn.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The log to write.")
def objects(
    dsn: str | None,
    dbms: str,
    kind: str,
    keys: int,
    operations: tuple[int, int],
    reads: float,
    distribution: str,
    writes_per_key: int | None,
    isolation: str | None,
    sessions: int,
    transactions: int,
    seed: int,
    disturb: bool,
    out: Path,
) -> None:
    """Record transactions on lists, registers, sets or counters, on a real database.

    \b
    Examples:
      troubadour record objects --type list --keys 20 --operations 1-5 --writes-per-key 50 --out lists.jsonl
      troubadour record objects --dbms mariadb --type counter --disturb --out counters.jsonl
      troubadour record objects --dsn "host=localhost dbname=test" --type set --out sets.jsonl
    """
    from troubadour.record.errors import RecordError
    from troubadour.record.objects import PRODUCTS, Plan, record_objects
    from troubadour.workloads.objects import Objects, Shape

    store = PRODUCTS[_product(dsn) if dsn is not None else dbms]
    level = isolation or list(store.begin)[-1]
    try:
        shape = Shape(
            cast("Type", kind), keys, operations, reads / 100, cast("Distribution", distribution), writes_per_key
        )
        plan = Plan(level, sessions, transactions, seed, disturb)
        with ended_by_signals(), _server(store.name, dsn) as found:
            told = record_objects(store, found, Objects(shape), plan, out)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except (RecordError, OSError) as error:
        raise CannotRecord(str(error)) from error
    counts = ", ".join(f"{count} {status}" for status, count in sorted(told.counts.items()))
    click.echo(f"{one_line(str(out))}: {counts}" + (f"; {told.lost} connections lost" if told.lost else ""), err=True)


def _product(dsn: str) -> str:
    for scheme, name in (("mysql://", "mariadb"), ("sqlite:", "sqlite"), ("duckdb:", "duckdb")):
        if dsn.startswith(scheme):
            return name
    return "postgres"


@contextmanager
def _server(name: str, dsn: str | None) -> Iterator[str]:
    """Where the run goes: a server or a file of its own where none is named."""
    if dsn is not None:
        yield dsn
    elif name == "postgres":
        from troubadour.record import EmbeddedPostgres

        with EmbeddedPostgres() as server:
            yield server.dsn
    elif name == "mariadb":
        from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

        if (reason := missing()) is not None:
            raise CannotRecord(reason)
        with PrivateMariaDB() as server:
            yield server.dsn
    else:
        with tempfile.TemporaryDirectory(prefix="troubadour-objects-") as folder:
            yield f"{name}:{Path(folder) / 'objects.db'}"
