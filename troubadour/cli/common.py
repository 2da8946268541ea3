"""What the subcommands share: options, reading logs, refusing input, progress. Knows no verdicts."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from sql_semantics.errors import SchemaError, UnknownTable
from troubadour.model.log import Log, LogError
from troubadour.model.visible import visible, visible_styled

if TYPE_CHECKING:
    from rich.progress import TaskID

    from sql_semantics.library import SqlLibrary
    from troubadour.cli.supervision import Ended
    from troubadour.model.objects import ObjectLog

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

FORM = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)

_LONGEST = 480
_LONGEST_LOOKED_AT = 1 << 16


def timeout_option(help: str) -> Callable[[Decorated], Decorated]:
    """``--timeout SECONDS``, none by default."""
    return click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help=help)


def memory_option(help: str) -> Callable[[Decorated], Decorated]:
    """``--memory MIB``, without a bound by default."""
    return click.option("--memory", type=click.IntRange(min=1), metavar="MIB", help=help)


def ties_option(help: str) -> Callable[[Decorated], Decorated]:
    """``--ties``, for what is judged by timestamps."""
    return click.option(
        "--ties", type=click.Choice(["either", "visible"]), default="either", show_default=True, help=help
    )


def gaps_option(help: str) -> Callable[[Decorated], Decorated]:
    """``--session-gaps``, for what is judged by timestamps, the parameter `gaps`."""
    return click.option(
        "--session-gaps",
        "gaps",
        type=click.Choice(["note", "violation"]),
        default="note",
        show_default=True,
        help=help,
    )


class CannotRecord(click.ClickException):
    """The server or the output cannot be used (exit status 2)."""

    exit_code = 2


def refuse(message: str) -> NoReturn:
    """End with exit status 2 and one line on standard error."""
    warn(brief(message))
    sys.exit(2)


def refuse_log(error: LogError, paths: Sequence[str]) -> NoReturn:
    """End with exit status 2 and what is wrong with a log, with the file and the line of the transaction at fault."""
    from troubadour.formats import place_of

    place = None if error.transaction is None else place_of(paths, error.transaction)
    refuse(str(error) if place is None else f"{place}: {error}")


def warn(message: str) -> None:
    """Tell something on standard error."""
    click.echo(f"troubadour: {visible(message)}", err=True)


def brief(message: str) -> str:
    """A message on one line of less than 500 characters: what is too long lacks its middle."""
    line = " ".join(message[:_LONGEST_LOOKED_AT].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 105]} ... {line[-100:]}"


def emit(text: str, *, styled: bool = False) -> None:
    """Print on standard output, without what would steer a terminal; `styled`: but for colours, given to a text that
    has passed there already.

    A reader that has closed the pipe has seen enough: the exit status is still the verdict's. Any other failure to
    write ends with exit status 2.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        shown = visible_styled(text) if styled else visible(text)
        sys.stdout.write(f"{shown}\n".encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # what is still buffered must not fail again when the interpreter ends
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        refuse(f"standard output: {error.strerror}")


def colored() -> bool:
    """Whether standard output shows colours, and is wanted to (no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


@contextmanager
def unwinding_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end what runs in this block as an exception does: their default action would leave servers
    running. A second one does not disturb the end; a SIGHUP that is ignored (nohup) stays so."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    caught = [number for number, action in before.items() if action is not signal.SIG_IGN]

    def ended(number: int, _: object) -> None:
        for each in caught:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in caught:
        signal.signal(number, ended)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])


def pass_on(ended: Ended, *, styled: bool = False) -> None:
    """Print what a supervised process printed; `styled` as `emit` has it."""
    if ended.out:
        emit(ended.out.removesuffix("\n"), styled=styled)


Report = Callable[[str, int, int], None]


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Report]:
    """A progress bar on standard error where that is a terminal: what is being done, how much of it, at what rate and
    for how long still. Otherwise, and if `quiet`, nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda phase, done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda phase, done, total: None
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as progress:
        tasks: dict[str, TaskID] = {}

        def report(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(phase, total=total, rate="")
            speed = progress.tasks[tasks[phase]].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            progress.update(tasks[phase], completed=done, total=total, rate=rate)

        yield report


def load(paths: Sequence[str], *, streamed: bool = False) -> Log:
    """Read a log; ends with exit status 2 where it cannot be used. `streamed`: each transaction is asked for a few
    times only, and need not stay in memory."""
    from troubadour.formats import SPILL_BYTES, STREAMED_BYTES, read_log

    try:
        return read_log(list(paths), spill_bytes=STREAMED_BYTES if streamed else SPILL_BYTES)
    except LogError as error:
        refuse(f"{error}{_foreign(paths)}")


def load_either(paths: Sequence[str]) -> Log | ObjectLog:
    """Read a log, one of operations on objects as such; ends with exit status 2 where it cannot be used."""
    from troubadour.formats import read_either

    try:
        return read_either(list(paths))
    except LogError as error:
        refuse(f"{error}{_foreign(paths)}")


def as_sql(log: Log | ObjectLog) -> Log:
    """A log of operations on objects as the SQL that it stands for; ends with exit status 2 where it has none."""
    from troubadour.formats.objects.expand import expanded
    from troubadour.model.objects import ObjectLog

    try:
        return expanded(log) if isinstance(log, ObjectLog) else log
    except LogError as error:
        refuse(str(error))


def _foreign(paths: Sequence[str]) -> str:
    """What to do about a file that is of another checker."""
    from troubadour.formats.histories import told_apart

    if len(paths) == 1 and os.path.exists(paths[0]):
        with suppress(OSError):
            form = told_apart(Path(paths[0]))
            return "" if form is None else f" (this looks like a history for --from {form})"
    return ""


def library_of(log: Log) -> SqlLibrary:
    """The log's schema and procedures, compiled; ends with exit status 2 where they cannot be read.

    Raises Unsupported where they can be read but are not modelled.
    """
    from troubadour.coverage import library

    return _opened(lambda: (log, library.library_of(log)))[1]


def opened(log: Log, isolation: str | None, paths: Sequence[str] = ()) -> tuple[Log, SqlLibrary]:
    """The log as an audit at `isolation` sees it, and its library, as `library_of`; `paths`: where it was read from."""
    from troubadour.coverage.library import library_for

    return _opened(lambda: library_for(log, isolation), paths)


def _opened(read: Callable[[], tuple[Log, SqlLibrary]], paths: Sequence[str] = ()) -> tuple[Log, SqlLibrary]:
    try:
        return read()
    except SchemaError as error:
        refuse(f"schema or procedures: {error}")
    except UnknownTable as error:
        refuse(f"procedures: {error}")
    except LogError as error:
        refuse_log(error, paths)
