"""``troubadour record simulated``: a run on a DBMS in memory, of SQL or of operations on objects, faults on request.

Does not know how the simulated servers work, nor how a log is judged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from troubadour.cli.common import CannotRecord
from troubadour.model.visible import one_line

if TYPE_CHECKING:
    from troubadour.record.simulated.objects import Plan
    from troubadour.workloads.objects import Shape

Command = Callable[..., None]
PERCENT = click.FloatRange(0, 100)


class Span(click.ParamType[tuple[int, int]]):
    """A number, or a least and a most: ``15``, ``1-5``."""

    name = "N|N-M"

    def convert(
        self, value: str | tuple[int, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """As least and most."""
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", value)
        if match is None or not 1 <= int(match[1]) <= int(match[2] or match[1]):
            self.fail(f"{value!r} is neither a number nor a least and a most, as 1-5", param, ctx)
        return int(match[1]), int(match[2] or match[1])


def objects_options(command: Command) -> Command:
    """The options that shape transactions on objects."""
    options = (
        click.option(
            "--type",
            "kind",
            type=click.Choice(["register", "list", "set", "counter"]),
            default="register",
            show_default=True,
            help="Type of the objects.",
        ),
        click.option(
            "--keys", type=click.IntRange(1), default=1000, show_default=True, help="Keys in use at the same time."
        ),
        click.option("--operations", type=Span(), default="15", show_default=True, help="Operations of a transaction."),
        click.option(
            "--reads", type=PERCENT, default=50, show_default=True, help="Percentage of operations that read."
        ),
        click.option(
            "--distribution",
            type=click.Choice(["uniform", "zipf", "hotspot"]),
            default="uniform",
            show_default=True,
            help="How keys are drawn; hotspot: 80% of the operations on 20% of the keys.",
        ),
        click.option(
            "--writes-per-key",
            type=click.IntRange(1),
            help="Replace a key by a new one after this many writes.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.option("--workload", type=click.Choice(["mixed", "objects"]), default="mixed", show_default=True)
@click.option("--fault", metavar="FAULT", help="The fault to inject, of the list above. Default: none.")
@click.option(
    "--rate", type=click.FloatRange(0, 1), help="How often the fault happens, as a share of its opportunities."
)
@click.option(
    "--isolation",
    type=click.Choice(["read-committed", "snapshot", "serializable"]),
    default="snapshot",
    show_default=True,
    help="The level to run at; read-committed with the mixed workload only.",
)
@click.option("--sessions", type=click.IntRange(1), default=4, show_default=True)
@click.option(
    "--transactions",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Committed transactions; with the workload objects, all transactions.",
)
@click.option(
    "--items", type=click.IntRange(1), default=8, show_default=True, help="Rows of the mixed workload's table."
)
@objects_options
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Object transactions that overlap.",
)
@click.option("--aborts", type=PERCENT, default=0, help="Percentage of object transactions that abort.")
@click.option(
    "--unknown",
    type=PERCENT,
    default=0,
    help="Percentage of object transactions whose outcome the client does not learn.",
)
@click.option(
    "--late",
    type=PERCENT,
    default=0,
    help="Percentage of object transactions that stand up to 200 lines late in the log.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Equal seeds give equal logs.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The log to write.")
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the server's own account of the run to this file (docs/certificates.md); mixed workload only.",
)
def simulated(
    workload: str,
    fault: str | None,
    rate: float | None,
    isolation: str,
    sessions: int,
    transactions: int,
    items: int,
    kind: str,
    keys: int,
    operations: tuple[int, int],
    reads: float,
    distribution: str,
    writes_per_key: int | None,
    concurrency: int,
    aborts: float,
    unknown: float,
    late: float,
    seed: int,
    out: Path,
    certificate: Path | None,
) -> None:
    """Record a mix of everything on a simulated DBMS in memory, with a fault if one is asked for; or operations on
    objects, with timestamps, at any size (docs/histories.md).

    \b
    Faults of the workload mixed: stale-snapshot, non-atomic-visibility, lost-update, dirty-read, aborted-read,
    write-dropped, write-twice, missed-row, wrong-aggregate, uniqueness, order-inversion, missed-conflict,
    missed-insert, missed-delete, updated-insert, clock-skew.
    Faults of the workload objects: stale-snapshot, non-atomic-visibility, lost-update, missed-conflict, dirty-read,
    aborted-read, write-dropped, own-write-missed, clock-skew, session.

    \b
    Examples:
      troubadour record simulated --fault lost-update --out run.jsonl
      troubadour record simulated --workload objects --transactions 100000 --sessions 50 --out chronos.jsonl.gz
      troubadour record simulated --workload objects --type list --keys 100 --operations 1-5 --writes-per-key 100 \\
        --transactions 10000 --sessions 20 --concurrency 20 --out elle.jsonl
    """
    from troubadour.record.simulated import simulate
    from troubadour.record.simulated.objects import Plan
    from troubadour.workloads.mixed import Mixed
    from troubadour.workloads.objects import Distribution, Shape, Type

    try:
        if workload == "objects":
            if certificate is not None:
                raise ValueError("--certificate: the workload objects has timestamps instead")
            shape = Shape(
                cast(Type, kind), keys, operations, reads / 100, cast(Distribution, distribution), writes_per_key
            )
            plan = Plan(
                transactions,
                sessions,
                concurrency,
                isolation,
                seed,
                fault,
                rate,
                aborts / 100,
                unknown / 100,
                late / 100,
            )
            counts, happened = _objects(shape, plan, out)
            told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        else:
            run = simulate(
                Mixed(items=items, seed=seed),
                out,
                isolation=isolation,
                sessions=sessions,
                transactions=transactions,
                seed=seed,
                fault=fault,
                rate=rate,
                certificate=certificate,
            )
            happened = run.happened
            told = f"{run.committed} committed, {sum(run.aborted.values())} aborted"
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise CannotRecord(str(error)) from error
    if fault is not None:
        told += f"; {fault} happened {happened} times"
    click.echo(f"{one_line(str(out))}: {told}", err=True)


def _objects(shape: Shape, plan: Plan, out: Path) -> tuple[Counter[str], int]:
    """Write the log; how many transactions ended how, and how often the fault happened."""
    from troubadour.formats import LogWriter
    from troubadour.record.simulated.objects import SimulatedObjects
    from troubadour.workloads.objects import Objects

    run = SimulatedObjects(Objects(shape), plan)
    with LogWriter(out, run.header()) as writer:
        for line in run.lines():
            writer.transaction(line)
    return run.told.counts, run.told.happened
