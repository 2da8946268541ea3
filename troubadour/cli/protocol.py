"""``troubadour protocol`` (docs/protocols.md). Does not know how a verdict is reached.

Exit status of ``check``: 0 proved, 1 refuted, 2 the model or the options cannot be used, 3 neither.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from troubadour.cli.common import FORM, colored, emit, library_of, pass_on, progress_bar, refuse
from troubadour.cli.supervision import Bounds, supervise
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.model.verdict import Verdict as AuditVerdict
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.loading import SHIPPED, load_model
from troubadour.protocols.terms import ModelError

if TYPE_CHECKING:
    from troubadour.cli.supervision import Work
    from troubadour.protocols.check import Outcome
    from troubadour.protocols.language import Model
    from troubadour.protocols.runs.trace import Trace

EXIT = {"proved": 0, "refuted": 1, "open": 3}
BOUNDS = ("keys", "clients", "transactions", "times", "operations")
MODEL = (
    f"MODEL: {', '.join(SHIPPED)}, or file.py:Class for one of your own (docs/protocols.md). A file is run as Python, "
    "with all that you may do: check one that is not yours as you would any program."
)


@click.group()
def protocol() -> None:
    """Prove or refute that a protocol keeps an isolation level (docs/protocols.md)."""


@protocol.command(name="levels")
def levels() -> None:
    """The levels that a protocol may be checked at."""
    width = max(map(len, PROTOCOL_LEVELS))
    emit("\n".join(f"{name:<{width}}  {row.title}" for name, row in PROTOCOL_LEVELS.items()))


def _bound(context: click.Context, parameter: click.Parameter, given: str | None) -> dict[str, int]:
    del context
    found: dict[str, int] = {}
    for part in (given or "").split(","):
        name, _equals, number = part.strip().partition("=")
        if not part.strip():
            continue
        if name not in BOUNDS or not number.isdigit() or not 1 <= int(number) <= 9:
            raise click.BadParameter(f"{part.strip()!r}: one of {', '.join(BOUNDS)}, = and 1 to 9", param=parameter)
        found[name] = int(number)
    return found


@protocol.command(name="check", epilog=MODEL)
@click.argument("model", metavar="MODEL")
@click.option("--level", metavar="LEVEL", help=f"One of {', '.join(PROTOCOL_LEVELS)}. Default: the model's own.")
@click.option(
    "--bound",
    callback=_bound,
    metavar="NAME=N,...",
    help="How large the runs are that are searched for a refutation; a proof has no bound. Each is 1 to 9. Default: "
    "keys=2,clients=2,transactions=3,times=4,operations=4; operations are the reads and writes of all together.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Give up (exit 3) after this long.",
)
@click.option(
    "--keeping", metavar="LEVEL", help="Prove nothing; look for a run that --level refuses and this level allows."
)
@click.option(
    "--programs",
    default="",
    metavar="TEXT",
    help="What the transactions do in the runs that are tried first: 'w1 w2 @1; r1 r2 @2' is one that writes keys 1 "
    "and 2, of client 1, and one that reads them, of client 2. Without @ it is of client 1.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="LOG",
    help="Write the log of a refutation here.",
)
@FORM
def check_command(
    model: str,
    level: str | None,
    bound: dict[str, int],
    timeout: float,
    keeping: str | None,
    programs: str,
    out: Path | None,
    form: str,
) -> None:
    """Does the protocol keep the level, whatever its clients do?

    PROVED for any number of keys, clients and transactions; REFUTED by a run of the protocol, whose log is audited; or
    OPEN, neither, with what could not be proved and how far the search for a run got.

    Exit status: 0 proved, 1 refuted, 2 the model or the options cannot be used, 3 open.
    """
    for option, name in (("--level", level), ("--keeping", keeping)):
        if name is not None and name not in PROTOCOL_LEVELS:
            refuse(f"{option}: unknown level {name!r}; known are {', '.join(PROTOCOL_LEVELS)}")
    bounds = Bounds(timeout + _AUDIT)
    color = colored()

    def work(_work: Work) -> int:
        return _check(model, level, bound, timeout, keeping, programs, out, form, color=color)

    ended = supervise(work, bounds)
    if ended.reason is None:
        pass_on(ended, styled=color)
        sys.exit(ended.status)
    from troubadour.report.protocol import render_stopped

    emit(render_stopped(model, level, ended.reason, round(bounds.spent(), 1), form=form))
    sys.exit(EXIT["open"])


_AUDIT = 0.6
"""Seconds beyond the time limit that the audit of a refutation has."""


def _check(
    model: str,
    level: str | None,
    bound: dict[str, int],
    timeout: float,
    keeping: str | None,
    programs: str,
    out: Path | None,
    form: str,
    *,
    color: bool,
) -> int:
    """The check, whose exit status it answers, and what it prints."""
    begun = time.monotonic()
    read = _load(model)
    from troubadour.protocols.check import Limits, check
    from troubadour.protocols.runs.machine import Bound
    from troubadour.report.protocol import Refutation, render_check_json, render_check_text

    operations = bound.pop("operations", None)
    left = timeout - (time.monotonic() - begun)
    limits = Limits(Bound(**bound), seconds=left, keeping=keeping, programs=programs, **_operations(operations))
    try:
        with progress_bar() as report:
            outcome = check(read, level or read.level, limits, report)
    except ModelError as error:
        refuse(f"{model}: {error}")
    refutation: Refutation | None = None
    if outcome.trace is not None:
        log, audited = _audited(outcome, outcome.trace, out, max(1.0, timeout - (time.monotonic() - begun)))
        refutation = Refutation(log, audited)
        if audited.status is not Status.VIOLATION:
            outcome.disputed(audited.status.value)
    seconds = round(time.monotonic() - begun, 1)
    if form == "json":
        emit(render_check_json(outcome, limits, refutation, seconds))
    else:
        emit(render_check_text(outcome, limits, refutation, seconds, color=color), styled=color)
    return EXIT[outcome.verdict.value]


def _operations(given: int | None) -> dict[str, int]:
    return {} if given is None else {"operations": given}


def _load(name: str) -> Model:
    try:
        return load_model(name)
    except ModelError as error:
        refuse(str(error))


def _audited(outcome: Outcome, trace: Trace, out: Path | None, seconds: float) -> tuple[Log, AuditVerdict]:
    """The log of the run and what the audit says of it at the level."""
    from troubadour.audit.driver import Options
    from troubadour.audit.driver import audit as decide
    from troubadour.protocols.runs.emit import emit_log

    assert outcome.machine is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl" if out is None else out
        try:
            emit_log(outcome.machine, trace, outcome.level.name, path)
        except OSError as error:
            refuse(f"--out: {path}: {error.strerror}")
        log = read_log([path])
        return log, decide(log, library_of(log), Options(outcome.level.name, timeout=seconds))


@protocol.command(name="run", epilog=MODEL, short_help="Write one random run of a protocol as a log.")
@click.argument("model", metavar="MODEL")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N")
@click.option(
    "--bound",
    callback=_bound,
    metavar="NAME=N,...",
    help="How large the run is: keys=2,clients=2,transactions=5,times=4.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    required=True,
    metavar="LOG",
    help="The log.",
)
def run_command(model: str, seed: int, bound: dict[str, int], out: Path) -> None:
    """Run a protocol with random programs in a random order, and write what its clients saw.

    Exit status: 0, or 2 where the model or the options cannot be used.
    """
    from troubadour.protocols.runs.emit import emit_log
    from troubadour.protocols.runs.machine import Bound, Machine
    from troubadour.protocols.runs.simulate import run_that_commits

    read = _load(model)
    if "operations" in bound:
        refuse("--bound: operations are for check alone")
    try:
        machine = Machine(read, Bound(**{"transactions": 5, **bound}))
        trace = run_that_commits(machine, seed)
        if trace is None:
            refuse(f"{model}: no initial state was found")
        count = emit_log(machine, trace, read.level, out)
    except ModelError as error:
        refuse(f"{model}: {error}")
    except OSError as error:
        refuse(f"--out: {out}: {error.strerror}")
    emit(f"{count} transactions committed in {len(trace.steps)} steps: {out}")
