"""Counts the verdicts on random schemas of which some definitions are not modelled: ``python -m benchmarks.taint``.

A log that is a violation, or that the audit cannot use, is kept in `build/taint` and fails the run. Does not know how
what a definition may write is told.
"""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.taint.campaign import Tally, campaign

FIGURES = Path(__file__).parent / "figures.json"
PART = 250
"""Cases that are run one after the other, on one server."""


@click.command()
@click.option("--sqlite", "sqlite", default=10_000, show_default=True, help="Cases on SQLite.")
@click.option("--postgres", "postgres", default=10_000, show_default=True, help="Cases on PostgreSQL.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first", default=0, show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/taint"), show_default=True)
@click.option("--write", is_flag=True, help="Write the figures beside this program, as they come.")
def main(sqlite: int, postgres: int, seed: int, first: int, jobs: int, folder: Path, write: bool) -> None:
    """Run, audit, count."""
    folder.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    figures: dict[str, object] = json.loads(FIGURES.read_text(encoding="utf-8")) if write and FIGURES.exists() else {}
    ran = {"commit": commit.stdout.strip(), "seed": seed, "first": first}
    failed: list[str] = []
    for product, count in (("sqlite", sqlite), ("postgres", postgres)):
        parts = [range(first + n, first + min(n + PART, count)) for n in range(0, count, PART)]
        found = Tally()
        done = 0
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            waiting = [pool.submit(campaign, product, part, seed, folder) for part in parts]
            for part, each in zip(parts, waiting, strict=True):
                found.add(each.result())
                done += len(part)
                figures[product] = {**ran, **told(found, done)}
                if write:
                    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        failed += found.failed
        click.echo(f"{product}: {json.dumps(figures.get(product))}")
    for text in failed[:20]:
        click.echo(text)
    if failed:
        raise SystemExit(1)


def told(found: Tally, cases: int) -> dict[str, object]:
    """The figures of a tally."""
    return {
        "cases": cases,
        "accused": found.verdicts["violation"],
        "unusable": found.verdicts["unusable"],
        "verdicts": dict(sorted(found.verdicts.items())),
        "with something not modelled": found.refused,
        "statements": found.statements,
        "judged": found.judged,
    }


if __name__ == "__main__":
    main()
