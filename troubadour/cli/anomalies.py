"""``troubadour anomalies``. Does not know how an anomaly is found."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sql_semantics.errors import SchemaError, UnknownTable
from sql_semantics.records import dataclass
from troubadour.cli.common import FORM, emit, load, load_either, memory_option, pass_on, refuse, timeout_option
from troubadour.cli.logs.importing import as_logs, from_option
from troubadour.cli.supervision import Bounds, Work, supervise
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.models import MODELS, level_named
from troubadour.isolation.naming import unknown_level
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import LogError
from troubadour.model.verdict import Status

if TYPE_CHECKING:
    from troubadour.anomalies.levels import Survey
    from troubadour.anomalies.report import Report
    from troubadour.model.log import Log
    from troubadour.model.objects import ObjectLog

_ASSUMPTIONS = ("writes-follow-reads", "sequential-keys", "linearizable-keys", "commit-order")
"""As `troubadour.anomalies.assumptions.Assumption`, which is not imported before it is needed."""

EXIT = {Status.CORRECT: 0, Status.VIOLATION: 1, Status.UNDECIDED: 3}


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
@click.option(
    "--expect",
    "expected",
    metavar="LEVEL",
    help=f"The level that is expected to hold: one of audit's, or {', '.join(MODELS)}. Default: the log's own.",
)
@click.option(
    "--assume",
    "assumed",
    multiple=True,
    type=click.Choice(_ASSUMPTIONS),
    help="Take for granted of each register: what a transaction writes follows what it read there; each session sees "
    "its versions in their order; what was over before another transaction began it sees; its versions are in the "
    "order of commit timestamps. May be given several times.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a text and a drawing for each kind of anomaly here, and results.edn.",
)
@click.option(
    "--report",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Write all anomalies to this file as one page of HTML: chains, circles, what the transactions did.",
)
@FORM
@timeout_option("Give up (exit 3) after this long, reading included.")
@memory_option("Give up (exit 3) rather than use more memory than this.")
@from_option
def anomalies(
    logs: tuple[str, ...],
    source: str | None,
    expected: str | None,
    assumed: tuple[str, ...],
    out: Path | None,
    page: Path | None,
    form: str,
    timeout: float | None,
    memory: int | None,
) -> None:
    """List all anomalies of a log, and the isolation levels that they rule out.

    An audit ends at the first failing transaction; this goes on. LOG is as for `troubadour audit`.

    Exit status: 1 the expected level is ruled out, 0 it is proved, 3 neither, 2 the input or the options cannot be
    used.
    """
    request = _Request(logs, source, expected, assumed, out, page, form, Bounds(timeout, memory))
    if not request.bounds.given:
        sys.exit(request.answer(Work()))
    ended = supervise(request.answer, request.bounds)
    if ended.reason is None:
        pass_on(ended)
        sys.exit(ended.status)
    sys.exit(request.stopped(ended.reason, json.loads(ended.told or b"{}").get("expected")))


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for, options as they were given."""

    logs: Sequence[str]
    source: str | None
    expected: str | None
    assumed: Sequence[str]
    out: Path | None
    page: Path | None
    form: str
    bounds: Bounds

    def answer(self, work: Work) -> int:
        """Read, look, print; the exit status."""
        from troubadour.anomalies.assumptions import Assumption
        from troubadour.anomalies.decide import Asked, facts_kept, look_further, own_levels, survey_of

        survey: Survey | None = None
        shown: str | None = self.expected
        reason: str | None = None
        try:
            with as_logs(self.source, self.logs) as logs:
                expected = self._expected(logs)
                log = load_either(logs)
            own = own_levels(log)
            _check(own)
            shown = expected or ", ".join(own) or None
            work.tell(json.dumps({"expected": shown}).encode())
            asked = Asked(expected, [Assumption(one) for one in self.assumed], self.bounds.left(), self.out is not None)
            facts = facts_kept(log)
            survey = survey_of(log, asked, facts)
            look_further(survey, log, asked, facts)
        except (LogError, SchemaError, UnknownTable) as error:
            refuse(str(error))
        except OutOfTime:
            reason = self.bounds.too_long()
        except (MemoryError, SystemError) as error:
            if not self.bounds.is_memory(error):
                raise
            reason = self.bounds.too_large()
        except RecursionError:
            reason = "not modelled: something that is nested too deeply"
        work.lift()
        if survey is None:
            return self.stopped(reason or "", shown)
        report, standing = survey.report(), survey.standing()
        if self.out is not None:
            from troubadour.report.anomaly_files import write_files

            try:
                write_files(self.out, report, log, standing)
            except OSError as error:
                refuse(f"--out: {error.filename or self.out}: {error.strerror}")
        self._write_page(report, log, shown, standing)
        self._print(report, shown, standing, reason)
        return EXIT[standing]

    def _write_page(self, report: Report, log: Log | ObjectLog, expected: str | None, standing: Status) -> None:
        if self.page is None:
            return
        from troubadour.report.html.listing import render_listing, transactions_on_page
        from troubadour.report.html.places import links_to

        links = links_to(self.logs if self.source is None else (), transactions_on_page(report), self.page)
        try:
            text = render_listing(report, log, expected, standing, links)
            self.page.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            refuse(f"--report: {self.page}: {error.strerror}")

    def _expected(self, logs: Sequence[str]) -> str | None:
        """The level or model that `--expect` names."""
        if self.expected is None:
            return None
        found = level_named(self.expected)
        if found is None:
            dialect = load(logs).header.dialect if self.source is None else None
            refuse(f"--expect: {unknown_level(self.expected, dialect, MODELS)}")
        return found

    def stopped(self, reason: str, expected: str | None) -> int:
        """Print that the look at the log was not finished, for this reason; the exit status."""
        from troubadour.anomalies.report import Report

        empty = Report((), frozenset(), frozenset())
        self._print(empty, expected or self.expected, Status.UNDECIDED, reason)
        return EXIT[Status.UNDECIDED]

    def _print(self, report: Report, expected: str | None, standing: Status, reason: str | None) -> None:
        from troubadour.report.anomalies import anomalies_json, anomalies_text

        if self.form == "json":
            emit(anomalies_json(report, expected, standing, self.bounds.spent(), reason))
        else:
            emit(anomalies_text(report, expected, standing, reason))


def _check(own: Sequence[str]) -> None:
    """Exit status 2 where the log names a level that there is none of."""
    for name in own:
        if name not in LEVELS:
            refuse(unknown_level(name, None))
