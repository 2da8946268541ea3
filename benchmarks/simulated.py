"""How many seeded runs of the simulated DBMS with each of its faults are caught, and at which level.

A run is the mixed workload on four sessions; a run is caught at a level if its audit there is a violation. Prints one
line for each fault, and one for runs without faults, of which none may be. Run as ``python -m benchmarks.simulated``.
Does not know what the faults do.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import click

from benchmarks.skews import PLANTED, workload_for
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record.simulated import FAULTS, simulate

LEVELS = ("read-committed", "snapshot", "strict-snapshot")
SERIALIZABLE = "serializable"
OF_SERIALIZABLE = PLANTED | {"missed-conflict"}
"""Faults that only a server at SERIALIZABLE has."""


def levels_of(fault: str | None) -> tuple[str, ...]:
    """The levels that runs with a fault are held to, the weakest first."""
    return (*LEVELS, SERIALIZABLE) if fault in OF_SERIALIZABLE else LEVELS


def runs(fault: str | None, count: int, transactions: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """Over `count` seeds from `first` on: how many runs had the fault (``happened``), were caught at each level, and
    were undecided there (``LEVEL undecided``); and what was told of those without a fault that were not correct."""
    found: Counter[str] = Counter()
    told = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        for seed in range(first, first + count):
            isolation = "serializable" if fault in OF_SERIALIZABLE else "snapshot"
            workload = workload_for(fault, seed, items=8)
            run = simulate(workload, path, isolation=isolation, seed=seed, transactions=transactions, fault=fault)
            found["happened"] += run.happened > 0
            log = read_log([path])
            library = library_of(log)
            for level in levels_of(fault):
                verdict = audit(log, library, Options(level, timeout=60))
                found[level] += verdict.status is Status.VIOLATION
                found[f"{level} undecided"] += verdict.status is Status.UNDECIDED
                if verdict.status is not Status.CORRECT and not run.happened:
                    told.append(f"seed {seed} at {level}: {verdict.explanation or verdict.reason}")
    return found, told


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(["none", *FAULTS]))
@click.option("--runs", "count", default=100, show_default=True, help="Seeded runs with each fault.")
@click.option("--without", default=1000, show_default=True, help="Seeded runs without a fault.")
@click.option("--transactions", default=40, show_default=True, help="Committed transactions of a run.")
def main(kinds: tuple[str, ...], count: int, without: int, transactions: int) -> None:
    """Print how many runs are caught, for KINDS of faults or all."""
    click.echo(
        f"{'fault':22} {'runs':>5} {'happened':>9} " + " ".join(f"{level:>16}" for level in (*LEVELS, SERIALIZABLE))
    )
    for kind in kinds or ("none", *FAULTS):
        number = without if kind == "none" else count
        found, told = runs(None if kind == "none" else kind, number, transactions)
        columns = [
            f"{found[level]}" + (f" ({found[f'{level} undecided']} undec.)" if found[f"{level} undecided"] else "")
            if level in levels_of(kind)
            else "-"
            for level in (*LEVELS, SERIALIZABLE)
        ]
        click.echo(f"{kind:22} {number:5} {found['happened']:9} " + " ".join(f"{text:>16}" for text in columns))
        for line in told:
            click.echo(f"    {line}")


if __name__ == "__main__":
    main()
