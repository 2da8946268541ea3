"""``troubadour reproduce DIR``. Does not know how a schedule came about."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from troubadour.cli.common import emit, refuse
from troubadour.model.schedule import SPEC_FORMAT, Schedule


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--dsn",
    metavar="DSN",
    help="A server: a libpq connection string or mysql://...; its tables are not touched. Default: an embedded one.",
)
def reproduce(folder: Path, dsn: str | None) -> None:
    """Run a finding, written by `troubadour audit --reproduce DIR`, on a real server.

    Exit status: 0 the finding came again, 1 it did not, 2 it cannot be run.
    """
    from troubadour.record.errors import RecordError
    from troubadour.record.runs.reproducing import came_again, run_schedule

    try:
        schedule = msgspec.json.decode((folder / "schedule.json").read_bytes(), type=Schedule)
    except (OSError, msgspec.MsgspecError) as error:
        refuse(f"{folder / 'schedule.json'}: {error}")
    if schedule.format != SPEC_FORMAT or schedule.version != 1:
        refuse(f"{folder / 'schedule.json'}: not a schedule of this version")
    try:
        with ExitStack() as stack:
            given = run_schedule(schedule, dsn or stack.enter_context(_embedded(schedule.dialect)).dsn)
    except RecordError as error:
        refuse(str(error))
    for answer in given:
        mark = "  " if answer.agrees else "! "
        emit(f"{mark}[{answer.step.session}] {' '.join(answer.step.sql.split())}\n     -> {answer.text}")
    again = came_again(schedule, given)
    emit("\nthe finding came again" if again else "\nit did not come again: lines with ! answered otherwise")
    sys.exit(0 if again else 1)


def _embedded(dialect: str) -> Any:
    """A throw-away server."""
    from troubadour.record.servers.embedded import EmbeddedPostgres
    from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

    if dialect != "mysql":
        return EmbeddedPostgres()
    if (reason := missing()) is not None:
        refuse(f"{reason}: give a server by --dsn mysql://...")
    return PrivateMariaDB()
