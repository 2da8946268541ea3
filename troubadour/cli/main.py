"""The ``troubadour`` command (CONTRACT §2). Does not know how anything is done.

Exit status: 0 correct, 1 violation, 2 input or options cannot be used, 3 undecided. Nothing else may end with one of
these: an interrupt is 130, and a fault of this program 70, where the interpreter's own 1 would look like a violation.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from types import TracebackType

import click

from troubadour.cli.audit import audit
from troubadour.cli.common import refuse
from troubadour.cli.gate import gate
from troubadour.cli.log import log
from troubadour.cli.protocol import protocol
from troubadour.cli.record import record
from troubadour.cli.verify import verify

INTERRUPTED = 130
FAULT = 70


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="troubadour")
def cli() -> None:
    """Tell whether a database did what it promised.

    Record what clients see of a database (`troubadour log init`, docs/recording.md; `troubadour record` for ready-made
    workloads), then audit the log: correct, with a witness that
    anyone can check (`troubadour verify`), or a violation, with the smallest failing prefix and the transactions
    that clash, or undecided, with what stopped the audit.
    """


cli.add_command(audit)
cli.add_command(verify)
cli.add_command(gate)
cli.add_command(record)
cli.add_command(log)
cli.add_command(protocol)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the command; `arguments` None: the process's. Ends with SystemExit."""
    # the audit allocates many long-lived objects and few cycles: a rarer collector is measurably quicker
    gc.set_threshold(200_000, 50, 50)
    sys.excepthook = _fault
    # not cli.main: it ends with status 1 on an interrupt and on a closed pipe
    try:
        with cli.make_context("troubadour", list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "troubadour"
        refuse(f"{error.format_message()} (see {command} --help)")
    except click.ClickException as error:
        refuse(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("troubadour: interrupted", err=True)
        sys.exit(INTERRUPTED)
    sys.exit(0)


def _fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    click.echo("troubadour: this is a fault of troubadour, not a verdict; please report it", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(FAULT)
