"""``troubadour audit`` (CONTRACT §2). Does not know how a verdict is reached."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from sql_semantics.errors import Unsupported
from troubadour.cli.common import emit, library_of, load, progress_bar, refuse
from troubadour.cli.supervision import Bounds, Work, supervise
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import Header, Log, LogError
from troubadour.model.verdict import Status, Verdict

Told = dict[str, int | str]
"""What is known of a log whose audit is stopped: its level and its counts; empty where it was not read to its end."""

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
    help="Give up (exit 3) after this long, reading included.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Give up (exit 3) rather than use more memory than this.",
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
    memory: int | None,
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
    if witness is not None and any(
        witness.exists() and Path(path).exists() and witness.samefile(path) for path in logs
    ):
        refuse(f"--witness: {witness} is the log")
    bounds = Bounds(timeout, memory)
    heuristics = (indexing, window or None, concretization, stronger_first)
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    request = Request(logs, isolation, order, form, max_staleness, witness, heuristics, color, bounds)
    if not bounds.given:
        sys.exit(request.audit(Work()))
    ended = supervise(request.audit, bounds)
    if ended.reason is None:
        emit(ended.out.removesuffix("\n")) if ended.out else None
        sys.exit(ended.status)
    sys.exit(request.stopped(ended.reason, json.loads(ended.told or b"{}")))


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of an audit, options as they were given."""

    logs: tuple[str, ...]
    isolation: str | None
    order: str
    form: str
    max_staleness: int | None
    witness: Path | None
    heuristics: tuple[bool, int | None, bool, bool]
    color: bool
    bounds: Bounds

    def audit(self, work: Work) -> int:
        """Read, decide, print; the exit status."""
        told: Told = {}
        try:
            if self.isolation is not None and self.isolation not in LEVELS:
                refuse(f"--isolation: {unknown_level(self.isolation, load(self.logs).header.dialect)}")
            log = load(self.logs)
            told |= _told_of(log)
            work.tell(json.dumps(told).encode())
            verdict = self._decide(log)
            self._write_witness(verdict)
        except OutOfTime:
            work.lift()
            return self.stopped(self.bounds.too_long(), told)
        except MemoryError:
            work.lift()
            return self.stopped(self.bounds.too_large(), told)
        except RecursionError:
            work.lift()
            return self.stopped("not modelled: something that is nested too deeply", told)
        work.lift()
        self._print(verdict, log)
        return EXIT[verdict.status]

    def stopped(self, reason: str, told: Told) -> int:
        """Print that there is no verdict, for this reason, with what was told of the log; the exit status."""
        verdict = self._undecided(
            reason,
            told,
            notes=() if told else ("the log was not read to its end",),
            seconds=self.bounds.spent(),
        )
        self._print(verdict, Log(Header("", ()), (), ""))
        return EXIT[verdict.status]

    def _print(self, verdict: Verdict, log: Log) -> None:
        if self.form == "json":
            from troubadour.report.json_report import render_json

            emit(render_json(verdict))
        else:
            from troubadour.report.text import render_text

            emit(render_text(verdict, log, color=self.color))

    def _write_witness(self, verdict: Verdict) -> None:
        from troubadour.replay import WitnessError, write_witness

        if self.witness is not None and verdict.witness is not None:
            try:
                write_witness(self.witness, verdict.witness)
            except WitnessError as error:
                refuse(str(error))

    def _decide(self, log: Log) -> Verdict:
        # imported here: the other subcommands need no solver
        from troubadour.audit.driver import Options
        from troubadour.audit.driver import audit as decide
        from troubadour.search.problem.problem import Heuristics

        options = Options(
            self.isolation,
            self.order == "recorded",
            self.bounds.left(),
            Heuristics(*self.heuristics),
            self.max_staleness,
        )
        try:
            with progress_bar() as report:
                return decide(log, library_of(log), options, report)
        except LogError as error:
            refuse(str(error))
        except Unsupported as error:
            _check_levels(log, options.isolation)
            return self._undecided(f"not modelled: {error.construct}", _told_of(log))

    def _undecided(self, reason: str, told: Told, notes: tuple[str, ...] = (), seconds: float = 0.0) -> Verdict:
        return Verdict(
            status=Status.UNDECIDED,
            isolation=self.isolation or str(told.get("isolation", "")),
            total=int(told.get("total", 0)),
            committed=int(told.get("committed", 0)),
            aborted=int(told.get("aborted", 0)),
            unknown=int(told.get("unknown", 0)),
            verified_prefix=0,
            max_staleness=self.max_staleness,
            reason=reason,
            notes=notes,
            seconds=seconds,
        )


def _told_of(log: Log) -> Told:
    return {
        "isolation": log.header.isolation or "",
        "total": len(log.transactions),
        "committed": log.committed,
        "aborted": log.aborted,
        "unknown": log.unknown,
    }


def _check_levels(log: Log, isolation: str | None) -> None:
    """Exit status 2 wins over undecided (CONTRACT §2), also where nothing was modelled."""
    from troubadour.search.problem.problem import level_of

    try:
        for transaction in log.transactions:
            level_of(transaction, log, isolation)
    except LogError as error:
        refuse(str(error))
