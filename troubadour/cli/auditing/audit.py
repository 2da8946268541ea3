"""``troubadour audit``. Does not know how a verdict is reached."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass
from troubadour.cli.auditing.streaming import Going, Streamed, as_stream
from troubadour.cli.common import (
    FORM,
    Report,
    as_sql,
    colored,
    emit,
    gaps_option,
    library_of,
    load,
    load_either,
    memory_option,
    opened,
    pass_on,
    progress_bar,
    refuse,
    refuse_log,
    ties_option,
    timeout_option,
    warn,
)
from troubadour.cli.logs.importing import as_logs, from_option
from troubadour.cli.supervision import Bounds, Work, supervise
from troubadour.formats.text import STDIN
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import Header, Log, LogError
from troubadour.model.verdict import Claim, Coverage, StatementRef, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sql_semantics.library import SqlLibrary
    from troubadour.audit.driver import Options
    from troubadour.audit.straight import Tried
    from troubadour.coverage.filtering import Filter
    from troubadour.model.objects import ObjectLog

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
@FORM
@click.option(
    "--explain",
    type=click.Choice(["brief", "full"]),
    default="full",
    show_default=True,
    help="How much of a violation is shown: its name and chain, or also the answer row by row, the statements of the "
    "core, what was assumed and what to look at next.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE.html",
    help="Write the verdict to this file as one page of HTML: reason, diagram, time line, statements, figures.",
)
@click.option(
    "--reproduce",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the core of a violation to this folder in a form that runs: a schedule for `troubadour reproduce DIR`, "
    "a spec for PostgreSQL's isolation tester, a script for terminals.",
)
@click.option(
    "--stats",
    is_flag=True,
    help="Show how often each step of the audit was tried, how often it helped, and what it cost: units of work (about "
    "a microsecond each on an idle machine, the same on every machine) and CPU seconds.",
)
@click.option("--quiet", is_flag=True, help="Print the verdict on one line, and no progress.")
@timeout_option("Stop after this many seconds, reading included: undecided (exit 3).")
@memory_option("Stop rather than use more memory than this: undecided (exit 3).")
@click.option(
    "--max-staleness",
    type=click.IntRange(min=0),
    metavar="N",
    help="Assume that no transaction reads a state that more than N transactions followed before its turn (at a "
    "product's profile aborted ones count, too), and forget older states. A log that only those could explain is a "
    "violation within that scope.",
)
@click.option(
    "--witness",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the witness of a correct log to this file; `troubadour verify` checks it.",
)
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The database's own account of the run (docs/certificates.md): where it explains the log, there is no search.",
)
@click.option(
    "--require-certificate",
    is_flag=True,
    help="A log that is possible, but not as the certificate says, is a violation (exit 1); with an incomplete "
    "certificate it is undecided.",
)
@click.option(
    "--strongest",
    is_flag=True,
    help="Say for every level and profile whether the log keeps it. The exit status is that of the level asked for "
    "(--isolation, else the log's own), else 0 where some level holds.",
)
@click.option(
    "--lattice",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="With --strongest: draw the levels and which of them hold, as SVG, to this file.",
)
@click.option(
    "--allow-unjudged",
    "allowed",
    multiple=True,
    metavar="CONSTRUCT",
    help="Call the log correct even if statements with this construct, as `coverage` names it, were not judged; 'all' "
    "for any. May be repeated.",
)
@click.option(
    "--min-transactions",
    "minimum",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Call the log correct only if statements of at least N committed transactions were judged.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Judge the answers of some transactions only, the others count for what they wrote: session=NAME[,NAME...], "
    "time=FROM..TO (client times in microseconds), id=ID, trace=ID; * and ? stand for any text. May be repeated.",
)
@click.option(
    "--allow-unobserved",
    "unobserved",
    is_flag=True,
    help="Call a log correct even if it has no observation: no row, no count, no error.",
)
@ties_option(
    "At the levels by timestamps, for logs of operations: equal timestamps stand in either order, or a commit at "
    "the moment of a start is seen."
)
@gaps_option("At the levels by timestamps, for logs of operations: what a number that is missing in a session is.")
@click.option(
    "--ask-engine",
    is_flag=True,
    help="Before reporting a violation that depends on what one statement returns, run that statement on a throw-away "
    "instance of the product: SQLite and DuckDB in this process, an embedded PostgreSQL, other servers by --ask-dsn. "
    "If it returns what the log says, the model is at fault, and the log is undecided.",
)
@click.option("--ask-dsn", metavar="DSN", help="A server for --ask-engine; a database is created there, and dropped.")
@click.option("--indexing/--no-indexing", default=True, help="H1: find rows by an index on equality predicates.")
@click.option(
    "--window",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="STATES",
    help="H2: symbolic reads look at this many newest states first; 0 for all at once.",
)
@click.option(
    "--concretization/--no-concretization",
    default=True,
    help="H3: a symbolic value with one possible value left becomes that value.",
)
@click.option("--stronger-first/--no-stronger-first", default=True, help="H4: try the newest states first.")
@click.option(
    "--straight/--no-straight",
    default=True,
    help="With H4: ask first whether every transaction read the newest state, in the order of the log.",
)
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Note in this file, and in FILE.ids beside it, how far the audit is, and go on from there where another run "
    "was ended; both vanish with the verdict. Only logs that are judged as they are read can be gone on with.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Judge the parts of a log between its checkpoints on so many processes.",
)
@from_option
def audit(
    logs: tuple[str, ...],
    source: str | None,
    isolation: str | None,
    order: str,
    form: str,
    explain: str,
    report: Path | None,
    reproduce: Path | None,
    stats: bool,
    quiet: bool,
    timeout: float | None,
    memory: int | None,
    max_staleness: int | None,
    witness: Path | None,
    certificate: Path | None,
    require_certificate: bool,
    strongest: bool,
    lattice: Path | None,
    allowed: tuple[str, ...],
    minimum: int,
    filters: tuple[str, ...],
    unobserved: bool,
    ties: str,
    gaps: str,
    ask_engine: bool,
    ask_dsn: str | None,
    indexing: bool,
    window: int,
    concretization: bool,
    stronger_first: bool,
    straight: bool,
    resume: Path | None,
    jobs: int,
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
    logs, chosen = _filter(logs, filters)
    if chosen is not None and (witness is not None or certificate is not None or strongest):
        refuse("--filter: of some of the answers there is no --witness, --certificate or --strongest")
    if require_certificate and certificate is None:
        refuse("--require-certificate: there is no --certificate")
    if lattice is not None and not strongest:
        refuse("--lattice: it is drawn with --strongest")
    if strongest and (report is not None or reproduce is not None):
        refuse("--strongest asks many levels: give --report and --reproduce with one of them, --lattice draws all")
    if strongest and (witness is not None or certificate is not None):
        refuse("--strongest asks many levels: give --witness or --certificate with one of them")
    if resume is not None:
        _check_resume(resume, logs, witness)
    bounds = Bounds(timeout, memory)
    heuristics = (indexing, window or None, concretization, stronger_first, straight)
    color = colored()
    account = Account(certificate, require_certificate)
    survey = Survey(strongest, lattice)
    judging = Judging(allowed, minimum, unobserved, ask_engine, ask_dsn, ties == "visible", gaps == "violation", chosen)
    shown = Shown(form, color, explain, quiet, stats, report, reproduce)
    request = Request(
        logs, source, isolation, order, shown, max_staleness, witness, heuristics, bounds, account, survey, judging,
        Going(resume, jobs),
    )  # fmt: skip
    if not bounds.given:
        sys.exit(request.audit(Work()))
    ended = supervise(request.audit, bounds)
    if ended.reason is None:
        pass_on(ended, styled=color)
        sys.exit(ended.status)
    sys.exit(request.stopped(ended.reason, json.loads(ended.told or b"{}")))


@dataclass(frozen=True, slots=True)
class Shown:
    """How a verdict is printed: as text or JSON, in colour, how much of it, whether in one line, and whether with what
    the steps took; where its page and what reproduces it go."""

    form: str
    color: bool
    explain: str
    quiet: bool
    stats: bool
    report: Path | None
    reproduce: Path | None


@dataclass(frozen=True, slots=True)
class Account:
    """The database's own account, where there is one, and whether it has to be right."""

    certificate: Path | None
    required: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """Whether every level is asked for, and where their picture goes."""

    wanted: bool
    lattice: Path | None


@dataclass(frozen=True, slots=True)
class Judging:
    """What need not be judged, how much must be, whether anything must have been observed, and whether the product
    itself is asked before it is accused; by timestamps, whether a commit at a start is seen, and whether a gap in a
    session is a violation."""

    allowed: tuple[str, ...]
    minimum: int
    unobserved: bool
    asks: bool
    dsn: str | None
    visible: bool
    gaps: bool
    chosen: Filter | None = None
    """Whose answers are judged; None: all."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of an audit, options as they were given."""

    logs: tuple[str, ...]
    source: str | None
    """The format of another checker that the logs are of."""
    isolation: str | None
    order: str
    shown: Shown
    max_staleness: int | None
    witness: Path | None
    heuristics: tuple[bool, int | None, bool, bool, bool]
    bounds: Bounds
    account: Account
    survey: Survey
    judging: Judging
    going: Going

    def audit(self, work: Work) -> int:
        """Read, decide, print; the exit status."""
        told: Told = {}
        try:
            with as_logs(self.source, self.logs) as logs:
                if self.isolation is not None and self.isolation not in LEVELS:
                    refuse(f"--isolation: {unknown_level(self.isolation, load(logs).header.dialect)}")
                streamed = self._as_stream(logs)
                held = streamed.held
                found, log = self._read(logs) if held is None else (None, held)
            told |= _told_of(log)
            work.tell(json.dumps(told).encode())
            if self.survey.wanted:
                return self._tell_levels(log, found)
            verdict = streamed.verdict or self._decide_objects(found, self.isolation)
            verdict = verdict or self._decide(log, streamed.tried)
            if found is not None:
                verdict = self._with_violations(found, verdict)
            if self.judging.asks and verdict.claim is not None:
                verdict = _asked(verdict, verdict.claim, *opened(log, self.isolation, self.logs), self.judging.dsn)
            self._write_witness(verdict)
            verdict = self._with_levels(verdict, log)
            verdict = self._finished(verdict, log)
        except OutOfTime:
            work.lift()
            return self.stopped(self.bounds.too_long(), told)
        except (MemoryError, SystemError) as error:
            work.lift()
            if not self.bounds.is_memory(error):
                raise
            return self.stopped(self.bounds.too_large(), told)
        except RecursionError:
            work.lift()
            return self.stopped("not modelled: something that is nested too deeply", told)
        work.lift()
        self._write_report(verdict, log, found)
        self._write_reproduction(verdict, log)
        self._print(verdict, log)
        streamed.finished()
        return EXIT[verdict.status]

    def _as_stream(self, logs: Sequence[str]) -> Streamed:
        """What becomes of the log where it is read once; nothing where more is asked of it."""
        more = self.shown.report is not None or self.account.certificate is not None or self.judging.chosen is not None
        plain = self.heuristics[3] and self.heuristics[4] and self.order == "search" and self.max_staleness is None
        if more or not plain or self.survey.wanted or self.source is not None or len(logs) != 1:
            if self.going.resume is not None:
                warn("--resume: no step of this audit can be resumed: where it is ended, it begins anew")
            if self.going.jobs > 1:
                warn("--jobs: one process judges all: a log that is held is not cut")
            return Streamed()
        going = self.going
        if going.jobs > 1 and self.bounds.memory is not None:
            warn("--jobs: one process judges all: that of several is not held to --memory")
            going = Going(going.resume)
        with progress_bar(quiet=self.shown.quiet) as report:
            return as_stream(logs[0], self.isolation, self._options, going, report, stats=self.shown.stats)

    def _with_levels(self, verdict: Verdict, log: Log) -> Verdict:
        """An undecided verdict with what other levels come to."""
        if verdict.status is not Status.UNDECIDED or self.order == "recorded" or self.account.certificate is not None:
            return verdict
        from dataclasses import replace

        from troubadour.audit.driver import audit as decide
        from troubadour.cli.auditing.other_levels import decided_elsewhere
        from troubadour.problem.budget import AT_ONCE

        options = replace(self._options(), accounts=False, notes_product=False, parts=False, effort=AT_ONCE)
        bounded = self.bounds.timeout is not None

        def asked(level: str, left: float) -> Verdict:
            own = replace(options, isolation=level, timeout=left if bounded else None)
            return decide(*opened(log, level, self.logs), own)

        try:
            found = decided_elsewhere(log, verdict, asked, (lambda: self.bounds.left() or 0.0) if bounded else None)
        except (LogError, Unsupported):
            return verdict
        return msgspec.structs.replace(verdict, levels=found)

    def _finished(self, verdict: Verdict, log: Log) -> Verdict:
        """The verdict with all the time that was spent, and what a filter left out."""
        verdict = msgspec.structs.replace(verdict, seconds=self.bounds.spent())
        if self.judging.chosen is None:
            return verdict
        from troubadour.coverage.filtering import Filtered

        left = [one for one in log.transactions if not self.judging.chosen.selects(one)]
        told = Filtered(log, len(log.transactions) - len(left), sum(len(one.statements) for one in left))
        covered = None if verdict.coverage is None else told.coverage(verdict.coverage)
        return msgspec.structs.replace(verdict, coverage=covered, notes=(*verdict.notes, told.note()))

    def _read(self, logs: Sequence[str]) -> tuple[ObjectLog | None, Log]:
        """A log of operations on objects, where it is one that facts and order may decide, and the log in SQL."""
        from troubadour.model.objects import ObjectLog

        if self.account.certificate is not None:
            return None, load(logs, streamed=True)
        found = load_either(logs)
        log = as_sql(found)
        if self.judging.chosen is not None:
            from troubadour.coverage.filtering import filtered

            try:
                return None, filtered(log, self.judging.chosen).log
            except LogError as error:
                refuse(str(error))
        recorded = self.order == "recorded" or self.max_staleness is not None
        return (found if isinstance(found, ObjectLog) and not recorded else None), log

    def _decide_objects(self, log: ObjectLog | None, isolation: str | None) -> Verdict | None:
        """What facts and order say of a log of operations on objects, where they decide it."""
        if log is None:
            return None
        from troubadour.audit.objects.decide import ObjectOptions, decide_objects
        from troubadour.audit.objects.second import by_sql

        judging = self.judging
        options = ObjectOptions(isolation, judging.unobserved, judging.minimum, judging.visible, judging.gaps)
        try:
            return decide_objects(log, options, by_sql)
        except LogError as error:
            refuse(str(error))

    def _with_violations(self, log: ObjectLog, verdict: Verdict) -> Verdict:
        """What is told of a log that is judged by its timestamps beside the verdict."""
        from troubadour.audit.objects.decide import ObjectOptions, with_violations

        options = ObjectOptions(self.isolation, visible=self.judging.visible, gaps=self.judging.gaps)
        return with_violations(log, options, verdict)

    def stopped(self, reason: str, told: Told) -> int:
        """Print that there is no verdict, for this reason, with what was told of the log; the exit status."""
        verdict = self._undecided(
            reason,
            told,
            notes=() if told else ("the log was not read to its end",),
            seconds=self.bounds.spent(),
        )
        self._write_report(verdict, Log(Header("", ()), (), ""))
        self._print(verdict, Log(Header("", ()), (), ""))
        return EXIT[verdict.status]

    def _print(self, verdict: Verdict, log: Log) -> None:
        if self.shown.form == "json":
            from troubadour.report.json_report import render_json

            emit(render_json(verdict, log))
        elif self.shown.quiet:
            from troubadour.report.text import render_quiet

            emit(render_quiet(verdict))
        else:
            from troubadour.report.text import render_text

            text = render_text(verdict, log, color=self.shown.color, explain=self.shown.explain)
            emit(text, styled=self.shown.color)

    def _write_report(self, verdict: Verdict, log: Log, objects: ObjectLog | None = None) -> None:
        if self.shown.report is None:
            return
        from troubadour.report.html.page import render_html, shown_on_page
        from troubadour.report.html.places import links_to
        from troubadour.report.html.stepping import steps_of

        paths = self.logs if self.source is None else ()
        shown = shown_on_page(verdict, log)
        links = links_to(paths, shown, self.shown.report)
        steps = steps_of(verdict, log)
        if objects is not None:
            from troubadour.report.operations import in_operations

            log = in_operations(log, objects, set(shown))
        page = render_html(verdict, log, steps, links)
        try:
            self.shown.report.write_text(page, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            refuse(f"--report: {self.shown.report}: {error.strerror}")

    def _write_reproduction(self, verdict: Verdict, log: Log) -> None:
        if self.shown.reproduce is None or verdict.status is not Status.VIOLATION:
            return
        from troubadour.report.reproduction import write_reproduction

        try:
            missing = write_reproduction(self.shown.reproduce, verdict, log, library_of(log))
        except OSError as error:
            refuse(f"--reproduce: {error.filename}: {error.strerror}")
        if missing is not None:
            warn(f"nothing to reproduce was written: {missing}")
            return
        self._write_core(self.shown.reproduce, verdict, log)

    def _write_core(self, folder: Path, verdict: Verdict, log: Log) -> None:
        """The core as a log, where it is a violation by itself, and a test for pytest."""
        from dataclasses import replace

        from sql_semantics.products import PRODUCTS
        from troubadour.audit.driver import audit as decide
        from troubadour.problem.budget import LONGER
        from troubadour.report.reproduction import write_core, write_test

        try:
            path = write_core(folder, verdict, log)
            if path is not None:
                core = load([str(path)])
                options = replace(self._options(), accounts=False, notes_product=False, effort=LONGER)
                found = decide(*opened(core, self.isolation), options)
                if found.status is not Status.VIOLATION:
                    path.unlink()
                    path = None
            rules = PRODUCTS[log.header.dialect].running
            runs = rules.session_levels or rules.begin_names_level  # a server of its own can be started
            if path is not None or runs:
                write_test(folder, verdict, core=path is not None, runs=runs)
        except OSError as error:
            refuse(f"--reproduce: {error.filename}: {error.strerror}")

    def _write_witness(self, verdict: Verdict) -> None:
        from troubadour.replay.witness.file import WitnessError, write_witness

        if self.witness is not None and verdict.witness is not None:
            try:
                write_witness(self.witness, verdict.witness)
            except WitnessError as error:
                refuse(str(error))

    def _tell_levels(self, log: Log, found: ObjectLog | None) -> int:
        from troubadour.cli.auditing.strongest import tell_levels

        first = partial(self._decide_objects, found)
        return tell_levels(log, self.logs, self._options(), self.shown.form, self.survey.lattice, first)

    def _options(self) -> Options:
        # imported here: the other subcommands need no solver
        from troubadour.audit.driver import Options
        from troubadour.problem.heuristics import Heuristics

        return Options(
            self.isolation,
            self.order == "recorded",
            self.bounds.left(),
            Heuristics(*self.heuristics),
            self.max_staleness,
            self.judging.allowed,
            self.judging.minimum,
            self.judging.unobserved,
            notes_product=True,
            accounts=not self.survey.wanted,
        )

    def _decide(self, log: Log, tried: Tried | None) -> Verdict:
        from dataclasses import replace

        from troubadour.audit.driver import stats_of

        options = replace(self._options(), tried=tried)
        try:
            with progress_bar(quiet=self.shown.quiet) as report:
                verdict = self._decided(log, options, report)
        except LogError as error:
            refuse_log(error, self.logs)
        except Unsupported as error:
            from troubadour.coverage.reduced import nothing_of

            _check_levels(log, options.isolation, self.logs)
            verdict = self._undecided(
                f"not modelled: {error.construct}", _told_of(log), coverage=nothing_of(log, error.construct)
            )
        return msgspec.structs.replace(verdict, stats=stats_of(options.budget)) if self.shown.stats else verdict

    def _decided(self, log: Log, options: Options, report: Report) -> Verdict:
        from troubadour.audit.driver import audit as decide

        if self.account.certificate is None:
            return decide(*opened(log, options.isolation, self.logs), options, report)
        from troubadour.audit.certified.decide import audit_certified
        from troubadour.formats.certificate import read_certificate

        account = read_certificate(self.account.certificate)
        return audit_certified(log, library_of(log), options, account, require=self.account.required, progress=report)

    def _undecided(
        self,
        reason: str,
        told: Told,
        notes: tuple[str, ...] = (),
        seconds: float = 0.0,
        coverage: Coverage | None = None,
    ) -> Verdict:
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
            coverage=coverage,
        )


def _check_resume(resume: Path, logs: Sequence[str], witness: Path | None) -> None:
    """Ends with exit status 2 where a file that it writes is one that is read or written otherwise."""
    from troubadour.audit.streamed.state import files_of

    others = [Path(path) for path in logs if path != STDIN] + ([] if witness is None else [witness])
    for own in files_of(resume):
        if any(one == own or (one.exists() and own.exists() and one.samefile(own)) for one in others):
            refuse(f"--resume: {own} is the log, or the witness")
    if not resume.parent.is_dir():
        refuse(f"--resume: {resume.parent}: no such folder")


def _filter(logs: tuple[str, ...], filters: tuple[str, ...]) -> tuple[tuple[str, ...], Filter | None]:
    """The logs, and the filter that is asked for; ``--filter session=a time=1..2`` may have several terms."""
    if not filters:
        return logs, None
    from troubadour.coverage.filtering import KEYS, FilterError, read_filter

    more = tuple(one for one in logs if one.partition("=")[0] in KEYS and "=" in one and not Path(one).exists())
    try:
        chosen = read_filter([term for one in (*filters, *more) for term in one.split()])
    except FilterError as error:
        refuse(str(error))
    rest = tuple(one for one in logs if one not in more)
    if not rest:
        refuse("--filter: no LOG is named")
    return rest, chosen


def _told_of(log: Log) -> Told:
    return {
        "isolation": log.header.isolation or "",
        "total": len(log.transactions),
        "committed": log.committed,
        "aborted": log.aborted,
        "unknown": log.unknown,
    }


def _asked(verdict: Verdict, claim: Claim, log: Log, library: SqlLibrary, dsn: str | None) -> Verdict:
    """A violation again, or undecided where the product answers what we say it does not."""
    from troubadour.record.asking import answers_so
    from troubadour.record.errors import RecordError

    transaction = next(t for t in log.transactions if t.id == claim.transaction)
    try:
        answered = answers_so(claim, transaction, library, dsn)
    except RecordError as error:
        refuse(str(error))
    if not answered:
        told = (
            "the product was asked, and does not answer so" if answered is False else "the product could not be asked"
        )
        return msgspec.structs.replace(verdict, notes=(*verdict.notes, told))
    text = f"statement {claim.statement} of {claim.transaction}"
    return verdict.left_open(
        f"{text}: the product answers what the log says, so the fault is in how it is modelled here; please report it "
        f"({verdict.explanation})",
        statement=StatementRef(claim.transaction, claim.statement),
    )


def _check_levels(log: Log, isolation: str | None, paths: Sequence[str]) -> None:
    """Exit status 2 wins over undecided, also where nothing was modelled."""
    from troubadour.problem.problem import level_of

    try:
        for transaction in log.transactions:
            level_of(transaction, log, isolation)
    except LogError as error:
        refuse_log(error, paths)
