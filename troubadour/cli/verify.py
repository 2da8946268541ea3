"""``troubadour verify``: check a witness without a solver. Does not know how it was found."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from sql_semantics.errors import Unsupported
from troubadour.cli.common import as_sql, emit, load_either, opened, pass_on, refuse, refuse_log, timeout_option
from troubadour.cli.logs.importing import as_logs, from_option
from troubadour.cli.supervision import Bounds, supervise
from troubadour.coverage.allowing import listed, not_allowed
from troubadour.coverage.reduced import is_exact, whole_log
from troubadour.coverage.reduction import reduce_log
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.log import Log, LogError
from troubadour.model.objects import COMMITTED, UNREAD, ObjectLog
from troubadour.model.verdict import Coverage
from troubadour.model.witness import Witness
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal
from troubadour.replay.witness.file import WitnessError, longest_for, read_witness

MEMORY = 2048
"""MiB that a check may use: it goes along the log once, and keeps little of it."""


@click.command()
@click.argument("logs", metavar="LOG... WITNESS", nargs=-1, required=True)
@click.option("--isolation", metavar="LEVEL", help="Check it at this level. Default: the level that the witness names.")
@click.option(
    "--allow-unjudged",
    "allowed",
    multiple=True,
    metavar="CONSTRUCT",
    help="As in `troubadour audit`: statements with this construct, or with 'all' any, need not be judged.",
)
@from_option
@timeout_option("Stop after this many seconds (exit 2). Default: no limit.")
@click.option(
    "--memory",
    type=click.IntRange(min=100),
    default=MEMORY,
    show_default=True,
    metavar="MIB",
    help="Stop rather than use more memory than this (exit 2).",
)
def verify(
    logs: tuple[str, ...],
    source: str | None,
    isolation: str | None,
    allowed: tuple[str, ...],
    timeout: float | None,
    memory: int,
) -> None:
    """Check a witness that `troubadour audit --witness FILE` wrote: run the log by it, concretely, and test every
    promise of the level.

    Exit status: 0 the witness explains the log, 1 it does not, 2 the input cannot be used, 3 not modelled.
    """
    if len(logs) < 2:
        raise click.UsageError("name the log (all its segments) and then the witness")
    # both files may be of strangers
    ended = supervise(lambda _work: _verify(logs, source, isolation, allowed), Bounds(timeout, memory))
    if ended.reason is not None:
        refuse(ended.reason)
    pass_on(ended)
    sys.exit(ended.status)


def _verify(logs: tuple[str, ...], source: str | None, isolation: str | None, allowed: tuple[str, ...]) -> int:
    """Check it, print what comes of it, and answer the exit status."""
    with as_logs(source, logs[:-1]) as paths:
        found = load_either(paths)
        longest = longest_for(paths)
    path = Path(logs[-1])
    try:
        witness = read_witness(path, longest=longest)
        if isolation is not None and isolation not in LEVELS:
            dialect = found.header.dialect or "postgres"
            refuse(f"--isolation: {unknown_level(isolation, dialect)}")
        level = isolation or witness.isolation
        # what it says of order and views is asked at this level, whatever level it was found for
        witness = msgspec.structs.replace(witness, isolation=level)
        told = _checked_columns(found, witness, level) if isinstance(found, ObjectLog) else None
        refusal, coverage = told or _checked(as_sql(found), witness, level)
    except LogError as error:
        refuse_log(error, logs[:-1])
    except WitnessError as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{path}: {error.strerror}")
    except Unsupported as error:
        emit(f"undecided: not modelled: {error.construct}")
        return 3
    gaps = not_allowed(coverage, allowed)
    if refusal is None and gaps:
        emit(f"undecided: the witness explains everything that is judged; {listed(gaps)}")
        return 3
    if refusal is None:
        where = level or "the level of each in the log"
        committed = found.count(COMMITTED) if isinstance(found, ObjectLog) else found.committed
        emit(f"verified at {where}: the witness explains all {committed:,} committed transactions")
        if coverage.unjudged:
            emit(f"some of it may go unjudged; {listed(coverage.unjudged)}")
        return 0
    where = "" if refusal.transaction is None else f" at transaction {refusal.transaction!r}"
    emit(f"refused{where}: {refusal.condition}: {refusal.text}")
    return 1


def _checked_columns(log: ObjectLog, witness: Witness, level: str | None) -> tuple[Refusal | None, Coverage] | None:
    """The same of a log of operations on objects, on its columns; None where its SQL has to be replayed."""
    from troubadour.replay.objects import check as check_columns

    try:
        refusal = check_columns(log, witness, level)
    except Unsupported:
        return None
    return refusal, Coverage(len(log.kinds), len(log.kinds), len(log.kinds) - log.values.count(UNREAD))


def _checked(log: Log, witness: Witness, level: str | None) -> tuple[Refusal | None, Coverage]:
    """What is wrong with a witness, and what of the log that tells of."""
    log, library = opened(log, level)
    if is_exact(library) and witness.given_up is msgspec.UNSET:
        try:
            refusal = check(log, witness, library, isolation=level)
            if not library.leaves_out:
                return refusal, whole_log(log, library).coverage(spelled=True)
        except Unsupported:
            pass  # what is not modelled is left out
    given_up = () if isinstance(witness.given_up, msgspec.UnsetType) else witness.given_up
    reduced = reduce_log(log, library, level, given_up)
    refusal = check(reduced.log, witness, reduced.library, isolation=level)
    spelled = refusal is None and (
        not reduced.opaque or check(reduced.log, witness, reduced.spelled(), isolation=level) is None
    )
    return refusal, reduced.coverage(spelled=spelled)
