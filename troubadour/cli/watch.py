"""``troubadour watch``. Does not know how a log is followed or judged."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TextIO

import click

from sql_semantics.records import dataclass
from troubadour.cli.auditing.audit import EXIT, Account, Judging, Request, Shown, Survey
from troubadour.cli.auditing.streaming import Going, forget
from troubadour.cli.common import emit, gaps_option, load_either, memory_option, pass_on, refuse, ties_option
from troubadour.cli.supervision import Bounds, Work, resident, supervise
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.log import Header, Log
from troubadour.model.verdict import Coverage, Status, Verdict

if TYPE_CHECKING:
    from troubadour.watch.following import Following, Plan
    from troubadour.watch.judging import Event, Suspects
    from troubadour.watch.notices import Notices

_UNUSABLE = 2


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1)
@click.option("--isolation", metavar="LEVEL", help="The level to judge at. Default: the level in the log.")
@click.option("--listen", type=click.IntRange(0, 65535), metavar="PORT", help="Take lines by POST on this port of "
              "127.0.0.1 (0: a free one, which the first line tells).")  # fmt: skip
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Tell of a read that is wrong when it has been so for so long: what it read may still come.",
)
@memory_option("Use no more memory than this.")
@click.option(
    "--spill",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the copy of the log goes that is audited at the end; it stays there. Default: a temporary folder.",
)
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Note here how far it is, and go on from there where another run was ended. The copy stays beside it.",
)
@click.option(
    "--until-idle",
    "idle",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="A log that has not grown for so long has ended. Default: it ends with its `end` line, with the end of "
    "standard input, with SIGINT or SIGTERM.",
)
@click.option(
    "--sessions",
    type=click.IntRange(min=1),
    metavar="N",
    help="The log is of so many sessions, and the transactions of each come in its order: a wrong read is told for "
    "good when all sessions are behind it.",
)
@click.option(
    "--forget",
    is_flag=True,
    help="Drop what is old instead of moving it to disk: where a transaction comes for it, nothing is decided.",
)
@click.option(
    "--flips/--no-flips",
    default=True,
    show_default=True,
    help="Tell of each read that became right or wrong as others came; they are counted all the same.",
)
@click.option(
    "--metrics",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Tell how far it is by GET /metrics on this port of 127.0.0.1, as text for Prometheus (0: a free one, which "
    "the first line tells).",
)
@click.option(
    "--on-violation",
    "command",
    metavar="COMMAND",
    help="Run this by the shell with the line of a violation on its standard input: for each of the first 20, and at "
    "the end with the last line, if the log is a violation.",
)
@ties_option("As of `audit`.")
@gaps_option("As of `audit`.")
def watch(
    logs: tuple[str, ...],
    isolation: str | None,
    listen: int | None,
    timeout: float,
    memory: int | None,
    spill: Path | None,
    resume: Path | None,
    idle: float | None,
    sessions: int | None,
    forget: bool,
    flips: bool,
    metrics: int | None,
    command: str | None,
    ties: str,
    gaps: str,
) -> None:
    """Follow a log as it grows, and tell at once what goes wrong.

    LOG is JSON Lines; - is standard input; several are segments of one, each followed. A file may be replaced by the
    next segment of its name. Standard output has a JSON line for each `violation`, `flip` (a read that was right is
    wrong now, or the other way round), `late` (a transaction behind another of its session) and `status`, with "final":
    whether nothing can change it any more; the last line is the object of `audit --format json`.

    Exit status: as of `audit`; 2 also where any line could not be used.
    """
    if not logs and listen is None:
        raise click.UsageError("name a LOG, - for standard input, or --listen PORT")
    if isolation is not None and isolation not in LEVELS:
        refuse(f"--isolation: {unknown_level(isolation, None)}")
    from troubadour.timestamps.ledger import Rules
    from troubadour.watch.following import Following, Plan, Unusable
    from troubadour.watch.notices import Notices
    from troubadour.watch.sources import Metrics

    if forget and resume is not None:
        raise click.UsageError("--forget and --resume: what is forgotten cannot be gone on from")
    rules = Rules(visible=ties == "visible", gaps=gaps == "violation")
    plan = Plan(isolation, rules, timeout, idle, memory, resume, sessions, forget)
    with ExitStack() as stack:
        folder = _folder(stack, spill, resume)
        try:
            following = Following(logs, listen, folder, plan)
        except Unusable as error:
            refuse(str(error))
        except OSError as error:
            refuse(f"{error.filename or 'watch'}: cannot be read: {error.strerror}")

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            following.stopped = True

        for one in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, one, signal.signal(one, stop))
        unusable = None
        notices = None if command is None else Notices(command)
        tell = Telling(flips, notices)
        gc.disable()
        try:
            served = {}
            if metrics is not None:
                serving = Metrics(metrics, following.metrics)
                stack.callback(serving.close)
                served["metrics"] = serving.port
            for event in following.run():
                tell.event({**event, **served})
                served = {}
        except Unusable as error:
            unusable = str(error)
        except OSError as error:
            refuse(f"--metrics: port {metrics} cannot be had: {error.strerror}")
        finally:
            gc.enable()
            following.close()
        status = _concluded(following, plan, unusable, tell)
        if notices is not None:
            notices.close(tell.last if status == 1 else None)
        sys.exit(status)


class Telling:
    """What is printed of the events, and told to the user's command, each violation once."""

    def __init__(self, flips: bool, notices: Notices | None) -> None:
        self._flips, self._notices = flips, notices
        self._told: set[str] = set()
        self.last = ""
        """The object of the verdict."""

    def event(self, event: Event) -> None:
        """Tell of one."""
        from troubadour.watch.following import line_of

        if event["kind"] == "flip" and not self._flips:
            return
        line = line_of(event)
        emit(line)
        if self._notices is not None and event["kind"] == "violation":
            about = line_of({**event, "final": None})
            if about not in self._told:
                self._told.add(about)
                self._notices.tell(line)


def _closing_of(resume: Path) -> Path:
    """Where it is noted how far the audit at the end is."""
    return resume.with_name(f"{resume.name}.audit")


def _finish(plan: Plan) -> None:
    if plan.resume is not None:
        forget(_closing_of(plan.resume))


def _folder(stack: ExitStack, spill: Path | None, resume: Path | None) -> Path:
    """Where the copies go."""
    if spill is None and resume is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="troubadour-watch-")))
    folder = spill if spill is not None else resume.with_name(f"{resume.name}.d") if resume is not None else Path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if resume is None or not resume.exists():
            for old in (*folder.glob("[0-9][0-9][0-9][0-9][0-9].jsonl"), *folder.glob("settled.sqlite*")):
                old.unlink()
            if resume is not None:
                forget(_closing_of(resume))
    except OSError as error:
        refuse(f"--spill: {folder}: {error.strerror}")
    return folder


class _Renamed(io.TextIOBase):
    """A stream on which files have other names."""

    def __init__(self, stream: TextIO, names: dict[str, str]) -> None:
        self._stream, self._names = stream, names

    def write(self, text: str) -> int:
        """Write on, with the names changed."""
        for path, name in self._names.items():
            text = text.replace(path, name)
        return self._stream.write(text)

    def flush(self) -> None:
        """Write now."""
        self._stream.flush()

    def isatty(self) -> bool:
        """As the stream."""
        return self._stream.isatty()


@dataclass(frozen=True, slots=True)
class _Closing(Request):
    """The audit of the whole log, of which `bad` lines could not be used."""

    bad: int
    names: dict[str, str]
    """What messages call the copies, by their paths."""
    hopeful: str | None
    """The level by timestamps at which nothing is wrong with the log as it came."""
    forgotten: str | None
    """Why it is not to be called correct."""
    suspects: Suspects | None
    """What of it tells its violations by timestamps."""

    def audit(self, work: Work) -> int:
        """As of a log, under the names of what was followed."""
        with contextlib.redirect_stderr(_Renamed(sys.stderr, self.names)):
            status = Request.audit(self, work)
        return EXIT[Status.UNDECIDED] if self.forgotten and status == EXIT[Status.CORRECT] else status

    def by_windows(self) -> Verdict | None:
        """Correct, where that is shown in a memory that does not grow with the log: of one that nothing speaks
        against so far."""
        if not self.hopeful or len(self.logs) != 1:
            return None
        from troubadour.replay.objects.windows import explained

        begun = time.perf_counter()
        most = None if self.bounds.memory is None else 0.9 * self.bounds.memory * (1 << 20)
        found = explained(Path(self.logs[0]), self.hopeful, room=lambda: most is None or resident() < most)
        if found is None or not found.observed or not found.committed:
            return None
        return Verdict(
            status=Status.CORRECT,
            isolation=self.hopeful,
            total=found.total,
            committed=found.committed,
            aborted=found.aborted,
            unknown=0,
            verified_prefix=found.committed,
            engine="timestamps",
            coverage=Coverage(found.operations, found.operations, found.observed),
            seconds=round(time.perf_counter() - begun, 4),
        )

    def by_part(self) -> Verdict | None:
        """A violation, where a part of the log has it, in a memory that does not grow with the log: what comes before
        the failing transaction is explained window by window."""
        suspects = self.suspects
        if suspects is None or len(self.logs) != 1:
            return None
        import msgspec

        from troubadour.audit.objects.decide import ObjectOptions, refuted_part
        from troubadour.audit.objects.second import by_sql
        from troubadour.model.objects import COMMITTED, MISSING, ObjectLog
        from troubadour.replay.objects.windows import explained
        from troubadour.watch.part import write_part

        begun = time.perf_counter()
        most = None if self.bounds.memory is None else 0.9 * self.bounds.memory * (1 << 20)

        def room() -> bool:
            return most is None or resident() < most

        path, part = Path(self.logs[0]), Path(f"{self.logs[0]}.part")
        level, moment = LEVELS[suspects.level], suspects.moment
        found = write_part(
            path,
            part,
            suspects.cells,
            moment,
            timed=lambda one: one.commit != MISSING and (level.horizon.latest or one.start != MISSING),
            room=room,
        )
        if found is None or found.now != 1 or not found.observed:
            return None
        log = load_either([str(part)])
        part.unlink()
        if not isinstance(log, ObjectLog):
            return None
        judging = self.judging
        if not (judging.visible or judging.gaps) and found.earlier:
            before = explained(path, suspects.level, room=room, until=moment)
            if before is None:
                return None
        options = ObjectOptions(suspects.level, unobserved=True, visible=judging.visible, gaps=judging.gaps)
        verdict = refuted_part(log, options, by_sql, suspects.counts)
        earlier = sum(
            status == COMMITTED and commit < moment for status, commit in zip(log.statuses, log.commits, strict=True)
        )
        if verdict is None or verdict.verified_prefix != earlier:
            return None
        return msgspec.structs.replace(
            verdict,
            total=found.total,
            committed=found.committed,
            aborted=found.aborted,
            verified_prefix=found.earlier,
            coverage=Coverage(found.operations, found.operations, found.observed),
            seconds=round(time.perf_counter() - begun, 4),
        )

    def shown_decided(self, verdict: Verdict) -> int:
        """Print what was decided here; of a correct log, where nothing speaks against saying so; the exit status."""
        self._print(verdict, Log(Header("", ()), (), ""))
        return EXIT[Status.UNDECIDED if self.forgotten and verdict.status is Status.CORRECT else verdict.status]

    def _print(self, verdict: Verdict, log: Log) -> None:
        if self.bad and verdict.status is Status.CORRECT:
            lines = "1 line" if self.bad == 1 else f"{self.bad:,} lines"
            verdict = verdict.left_open(f"{lines} could not be used")
        elif self.forgotten and verdict.status is Status.CORRECT:
            verdict = verdict.left_open(self.forgotten)
        Request._print(self, verdict, log)


def _concluded(following: Following, plan: Plan, unusable: str | None, tell: Telling) -> int:
    """Audit the whole log, and tell; the exit status."""
    certain = [*following.closed()]
    last = following.last()
    names, hopeful = following.names, following.hopeful
    bad, paths, forgotten = following.bad, tuple(map(str, following.paths)), following.forgotten
    suspects = following.suspects
    following.forget()
    gc.collect()
    bounds = Bounds(None, plan.memory)
    shown = Shown("json", color=False, explain="full", quiet=True, stats=False, report=None, reproduce=None)
    rules = plan.rules
    judging = Judging((), 0, unobserved=False, asks=False, dsn=None, visible=rules.visible, gaps=rules.gaps)
    going = Going() if plan.resume is None or len(paths) != 1 else Going(_closing_of(plan.resume), silent=True)
    request = _Closing(
        paths, None, plan.isolation, "search", shown, None, None, (True, 8, True, True, True), bounds,
        Account(None, required=False), Survey(wanted=False, lattice=None), judging, going, bad, names, hopeful,
        forgotten, suspects,
    )  # fmt: skip
    reason, status, out = unusable, _UNUSABLE, ""
    if reason is None and not paths:
        reason = "nothing came, not even a header"
    decided = (request.by_windows() or request.by_part()) if reason is None else None
    if decided is not None:
        from troubadour.report.json_report import render_json

        for event in certain if decided.status is Status.VIOLATION else ():
            tell.event(event)
        tell.event(last)
        tell.last = render_json(decided)
        status = request.shown_decided(decided)
        following.finished()
        _finish(plan)
        return _UNUSABLE if bad else status
    if reason is None:
        ended = supervise(request.audit, bounds)
        status, out = ended.status, ended.out
        if ended.reason is not None:
            tell.event(last)
            status = request.stopped(ended.reason, json.loads(ended.told or b"{}"))
            return _UNUSABLE if bad else status
    if status == 1:
        for event in certain:
            tell.event(event)
    tell.event(last)
    tell.last = out.strip()
    if out:
        pass_on(ended)
    else:
        request.stopped(reason or "the log cannot be used", {})
    if reason is not None:
        click.echo(f"troubadour: {reason}", err=True)
    if status in (0, 1, 3):
        following.finished()
        _finish(plan)
    return _UNUSABLE if bad else status
