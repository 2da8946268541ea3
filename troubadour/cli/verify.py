"""``troubadour verify`` (CONTRACT §2): check a witness without a solver. Does not know how it was found."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from sql_semantics.errors import Unsupported
from troubadour.cli.common import emit, library_of, load, refuse
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.log import LogError
from troubadour.replay import WitnessError, check, read_witness


@click.command()
@click.argument("logs", metavar="LOG... WITNESS", nargs=-1, required=True)
@click.option("--isolation", metavar="LEVEL", help="Check it at this level. Default: the level that the witness names.")
def verify(logs: tuple[str, ...], isolation: str | None) -> None:
    """Check a witness that `troubadour audit --witness FILE` wrote: run the log by it, concretely, and test every
    promise of the level.

    Exit status: 0 the witness explains the log, 1 it does not, 2 the input cannot be used, 3 not modelled.
    """
    if len(logs) < 2:
        raise click.UsageError("name the log (all its segments) and then the witness")
    log = load(logs[:-1])
    path = Path(logs[-1])
    try:
        witness = read_witness(path)
        if isolation is not None and isolation not in LEVELS:
            refuse(f"--isolation: {unknown_level(isolation, log.header.dialect)}")
        level = isolation or witness.isolation
        # what it says of order and views is asked at this level, whatever level it was found for
        refusal = check(log, msgspec.structs.replace(witness, isolation=level), library_of(log), isolation=level)
    except (LogError, WitnessError) as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{path}: {error.strerror}")
    except Unsupported as error:
        emit(f"undecided: not modelled: {error.construct}")
        sys.exit(3)
    if refusal is None:
        where = level or "the level of each in the log"
        emit(f"verified at {where}: the witness explains all {log.committed:,} committed transactions")
        return
    where = "" if refusal.transaction is None else f" at transaction {refusal.transaction!r}"
    emit(f"refused{where}: {refusal.condition}: {refusal.text}")
    sys.exit(1)
