"""``troubadour audit`` (CONTRACT §2). Does not know how a verdict is reached."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sql_semantics.errors import Unsupported
from troubadour.cli.common import emit, library_of, load, progress_bar, refuse
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Log, LogError
from troubadour.model.verdict import Status, Verdict
from troubadour.replay import WitnessError, write_witness
from troubadour.report.json_report import render_json
from troubadour.report.text import render_text

if TYPE_CHECKING:
    from troubadour.audit.driver import Options

EXIT = {Status.CORRECT: 0, Status.VIOLATION: 1, Status.UNDECIDED: 3}


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
@click.option(
    "--isolation",
    metavar="LEVEL",
    help=f"Audit every transaction at this level: {', '.join(LEVELS)}. Default: the level in the log.",
)
@click.option(
    "--order",
    type=click.Choice(["search", "recorded"]),
    default="search",
    show_default=True,
    help="Whether commit times only hint at the order of transactions, or bind it.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Give up (exit 3) after this long.",
)
@click.option(
    "--max-staleness",
    type=click.IntRange(min=0),
    metavar="N",
    help="Take it that nothing reads a state that more than N transactions have followed when its turn comes (at a "
    "product's profile aborted ones count, too), and forget older states. What only these could explain is a "
    "violation within that scope.",
)
@click.option(
    "--witness",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the witness of a correct log here; `troubadour verify` checks it.",
)
@click.option("--indexing/--no-indexing", default=True, help="H1: find rows by an index on equality predicates.")
@click.option(
    "--window",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="STATES",
    help="H2: symbolic reads look at this many newest states first; 0 for all at once.",
)
@click.option("--concretization/--no-concretization", default=True, help="H3: what has one value left becomes it.")
@click.option("--stronger-first/--no-stronger-first", default=True, help="H4: try the newest states first.")
def audit(
    logs: tuple[str, ...],
    isolation: str | None,
    order: str,
    form: str,
    timeout: float | None,
    max_staleness: int | None,
    witness: Path | None,
    indexing: bool,
    window: int,
    concretization: bool,
    stronger_first: bool,
) -> None:
    """Audit a log of transactions: is what the clients saw possible?

    LOG is JSON Lines, plain or gzip; - is standard input; several are segments of one log. Heuristics change how long
    an audit takes, never its verdict.

    Exit status: 0 correct, 1 violation, 2 the input or the options cannot be used, 3 undecided.
    """
    if isolation is not None and isolation not in LEVELS:
        refuse(f"--isolation: unknown level {isolation!r}; known are {', '.join(LEVELS)}")
    if witness is not None and any(
        witness.exists() and Path(path).exists() and witness.samefile(path) for path in logs
    ):
        refuse(f"--witness: {witness} is the log")
    log = load(logs)
    # imported here: the other subcommands need no solver
    from troubadour.audit.driver import Options
    from troubadour.search.problem.problem import Heuristics

    heuristics = Heuristics(indexing, window or None, concretization, stronger_first)
    options = Options(isolation, order == "recorded", timeout, heuristics, max_staleness, notes_product=True)
    verdict = _decide(log, options)
    if witness is not None and verdict.witness is not None:
        try:
            write_witness(witness, verdict.witness)
        except WitnessError as error:
            refuse(str(error))
    if form == "json":
        emit(render_json(verdict))
    else:
        emit(render_text(verdict, log, color=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    sys.exit(EXIT[verdict.status])


def _decide(log: Log, options: Options) -> Verdict:
    from troubadour.audit.driver import audit as decide

    try:
        with progress_bar() as report:
            return decide(log, library_of(log), options, report)
    except LogError as error:
        refuse(str(error))
    except Unsupported as error:
        _check_levels(log, options.isolation)
        return Verdict(
            status=Status.UNDECIDED,
            isolation=options.isolation or log.header.isolation or "",
            total=len(log.transactions),
            committed=log.committed,
            aborted=log.aborted,
            unknown=log.unknown,
            verified_prefix=0,
            max_staleness=options.max_staleness,
            reason=f"not modelled: {error.construct}",
        )


def _check_levels(log: Log, isolation: str | None) -> None:
    """Exit status 2 wins over undecided (CONTRACT §2), also where nothing was modelled."""
    from troubadour.search.problem.problem import level_of

    try:
        for transaction in log.transactions:
            level_of(transaction, log, isolation)
    except LogError as error:
        refuse(str(error))
