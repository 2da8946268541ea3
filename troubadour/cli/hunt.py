"""``troubadour hunt``: drive a DBMS, audit what it did, and keep what is wrong, made small.

Does not know how a case is made or judged.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from troubadour.cli.common import emit, refuse, unwinding_on_signals, warn

if TYPE_CHECKING:
    from troubadour.hunt.campaign import Tally
    from troubadour.hunt.engines.protocol import Engine
    from troubadour.hunt.findings import Found, Known

_EVERY = 10.0
"""Seconds between two lines of progress."""


@click.command()
@click.argument("engine", required=False)
@click.option("--dsn", metavar="DSN", help="A server instead: a libpq connection string or mysql://...")
@click.option("--level", metavar="LEVEL", help="The isolation level to run at; default: all of the product's in turn.")
@click.option(
    "--minutes", type=click.FloatRange(min=0), default=5.0, show_default=True, metavar="M", help="How long to hunt."
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Of the first case.")
@click.option(
    "--sessions", type=click.IntRange(1, 16), default=3, show_default=True, metavar="N", help="Sessions of a case."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("troubadour-hunt"),
    show_default=True,
    metavar="DIR",
    help="Where findings go; a hunt of the same engine, seed and levels that is there goes on.",
)
@click.option("--against", metavar="ENGINE2", help="Another version of the product, whose answers are compared.")
def hunt(
    engine: str | None,
    dsn: str | None,
    level: str | None,
    minutes: float,
    seed: int,
    sessions: int,
    out: Path,
    against: str | None,
) -> None:
    """Generate work for a DBMS, run it, audit what its sessions saw, and make small what is wrong.

    ENGINE is postgres, mariadb, sqlite, duckdb or turso, each also with a version: duckdb@1.0.0 is put into an
    environment of its own, postgres@15 is Debian's. A server of --dsn must have no tables; a schema of its own is
    made there, and dropped.

    Exit status: 0 nothing found, 1 a new finding, 2 the engine or the options cannot be used, 3 every run was
    undecided.
    """
    if (engine is None) == (dsn is None):
        refuse("give an ENGINE or --dsn DSN, one of both (see troubadour hunt --help)")
    from troubadour.hunt.campaign import Hunt, Plan, Unusable
    from troubadour.hunt.engines.choose import engine_at, engine_named
    from troubadour.hunt.engines.protocol import EngineError

    try:
        with unwinding_on_signals(), ExitStack() as stack:
            driven = engine_named(engine) if engine is not None else engine_at(str(dsn))
            stack.callback(driven.close)
            other = None if against is None else engine_named(against)
            if other is not None:
                stack.callback(other.close)
                if other.dialect != driven.dialect:
                    refuse(f"{against} speaks another dialect than {driven.name}: their answers cannot be compared")
            plan = Plan(_levels(driven, level), seed, sessions, out, other)
            found = Hunt(driven, plan, _tell)
            stack.callback(found.close)
            warn(f"hunting {driven.dbms} at {', '.join(plan.levels)}; findings go to {out}")
            tally = found.until(time.monotonic() + 60 * minutes, _Progress())
    except (EngineError, Unusable) as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{out}: {error.strerror}")
    except KeyboardInterrupt:
        refuse("interrupted; the same command goes on from here")
    emit(table(tally))
    sys.exit(tally.status)


def _levels(engine: Engine, level: str | None) -> tuple[str, ...]:
    if level is None:
        return tuple(engine.levels)
    fitting = [name for name, one in engine.levels.items() if level in (name, one.profile, one.general)]
    if not fitting:
        refuse(f"{engine.name} has no level {level!r}: give one of {', '.join(engine.levels)}")
    return tuple(fitting)


class _Progress:
    """A line now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        if time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            warn(
                f"{tally.runs} runs, {tally.transactions} transactions, {len(tally.new)} new, {len(tally.known)} known"
            )


def _tell(found: Found, folder: Path, known: Known | None) -> None:
    said = found.said.splitlines()[0] if found.said else ""
    warn(f"{'known' if known is not None else 'new'} {found.kind}: {said[:200]} ({folder})")


def table(tally: Tally) -> str:
    """The figures at the end."""
    share = tally.judged / max(tally.statements, 1)
    lines = [
        f"{'runs':<24}{tally.runs}",
        f"{'transactions':<24}{tally.transactions}",
        f"{'statements':<24}{tally.statements}, {share:.1%} judged",
        f"{'waits for another':<24}{tally.waited}",
        f"{'in every order':<24}{tally.all_orders} cases, {tally.orders} runs",
    ]
    lines += [f"{name:<24}{tally.verdicts[name]}" for name in ("correct", "violation", "undecided", "fault")]
    lines += [f"{f'seconds {name}':<24}{seconds:.1f}" for name, seconds in sorted(tally.seconds.items())]
    for title, counts in (
        ("new findings", tally.new),
        ("known findings", tally.known),
        ("stronger than promised", tally.weaker),
        ("undecided by reason", tally.undecided),
        ("schemas refused", tally.refused),
    ):
        lines.append(f"{title:<24}{sum(counts.values())}")
        lines += [f"  {count:>6}  {name}" for name, count in counts.most_common(20)]
    return "\n".join(lines)
