"""Long contended runs of a real PostgreSQL, recorded and audited: verdict, CPU seconds and peak memory of each.

``python -m benchmarks.contended record FOLDER`` records them, ``python -m benchmarks.contended audit LOG ...`` audits
each at its own level and profile, one process for each. ``python -m benchmarks.contended findings`` holds runs to more
than they ran at, and asks the oracle about what is found. Does not know how an order is found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.contended.findings import PROFILES, Finding, find
from benchmarks.contended.runs import audited, record
from benchmarks.profiles.runs import plan, product
from troubadour.formats import read_log
from troubadour.model.verdict import Status

LEVELS: Mapping[str, tuple[str, ...]] = {
    "serializable": ("serializable", "strict-serializable", "postgres:serializable"),
    "snapshot": ("snapshot", "postgres:repeatable-read"),
    "read-committed": ("postgres:read-committed",),
}
"""What a run is audited at, by what it was recorded at."""


@click.group()
def main() -> None:
    """Long contended runs of a real PostgreSQL."""


@main.command("record")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--transactions", default=50_000, show_default=True)
@click.option("--sessions", default=8, show_default=True)
@click.option("--rows", default=(10, 100), multiple=True, show_default=True)
@click.option("--isolation", default=tuple(LEVELS), multiple=True, type=click.Choice(tuple(LEVELS)))
def record_all(
    folder: Path, transactions: int, sessions: int, rows: tuple[int, ...], isolation: tuple[str, ...]
) -> None:
    """Record a run for each isolation level and number of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for level in isolation:
        for count in rows:
            record(folder / f"{level}-{count}-{transactions}.jsonl", level, count, transactions, sessions)


@main.command("audit")
@click.argument("logs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--isolation", multiple=True, help="Levels; else those that the run is to be correct at.")
@click.option("--timeout", default=1800.0, show_default=True)
def audit_all(logs: tuple[Path, ...], isolation: tuple[str, ...], timeout: float) -> None:
    """Audit each log, and fail where one is not correct."""
    wrong = 0
    for path in logs:
        recorded_at = str(read_log([path]).header.isolation).removeprefix("postgres:")
        for level in isolation or LEVELS[recorded_at]:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found = pool.submit(audited, path, level, timeout).result()
            text = f"{path.name} at {level}: {found.verdict}, {found.verified} of {found.committed}"
            print(f"{text}, {found.cpu:.0f} s, {found.peak} MiB, moved {found.moved}", flush=True)
            wrong += found.verdict != Status.CORRECT.value
    raise SystemExit(wrong > 0)


@main.command("findings")
@click.argument("logs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--isolation", help="The level; else one that the run is not owed.")
@click.option("--timeout", default=300.0, show_default=True)
@click.option("--fresh", multiple=True, type=click.Choice([profile for profile, _ in PROFILES.values()]))
@click.option("--runs", default=10, show_default=True, help="How many fresh ones to record of each profile.")
@click.option("--seed", default=0, show_default=True)
@click.option("--transactions", default=500, show_default=True, help="Committed ones of a fresh run, at most.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/findings"), show_default=True)
def find_all(
    logs: tuple[Path, ...],
    isolation: str | None,
    timeout: float,
    fresh: tuple[str, ...],
    runs: int,
    seed: int,
    transactions: int,
    folder: Path,
) -> None:
    """Audit each log at a level that it is not owed, and runs recorded for it: how many transactions are explained, how
    many contradict each other, what that is called, and whether the oracle says so as well."""
    paths = [*logs]
    for name in fresh:
        folder.mkdir(parents=True, exist_ok=True)
        with product(name) as recorded:
            for number in range(runs):
                paths.append(folder / f"{name.replace(':', '-')}-{seed}-{number}.jsonl")
                wanted = plan(name, seed, number)
                recorded(
                    dataclasses.replace(wanted, transactions=min(transactions, wanted.transactions)), paths[-1], seed
                )
    print(
        "| log | level | verdict | explained | core | kind | confirmed | CPU s |\n|---|---|---|---:|---:|---|---|---:|"
    )
    found: list[Finding] = []
    for path in paths:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found.append(pool.submit(find, path, isolation, timeout).result())
        print(found[-1].text, flush=True)
        if found[-1].verdict == Status.UNDECIDED.value:
            print(f"    {found[-1].told}", flush=True)


if __name__ == "__main__":
    main()
