"""Long runs against every engine, in slices: ``python -m tests.differential.campaigns [--statements N] [--keep]``.

A run goes on where the last one stopped (build/campaigns.json), and starts anew at another commit. `--keep` writes the
figures into docs/benchmarks.md. Does not know what is compared: see `campaign`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click

from tests.live.applications.page import commit, put

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "campaigns.json"
ENGINES = ("postgres", "mysql", "sqlite", "duckdb")
SLICE = 2500
_SUMMARY = re.compile(
    r"^statements (\d+) compared (\d+) .*? refused (\d+) .*? differences (\d+) in (\d+) s$", re.MULTILINE
)
_EXPLAINED = re.compile(r"^explained (\d+) ", re.MULTILINE)
Figures = dict[str, int]


def run_slice(engine: str, seed: int, statements: int) -> Figures:
    """The figures of one slice; its differences are printed."""
    command = [sys.executable, "-m", "tests.differential.campaign", engine, str(seed), str(statements)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = _SUMMARY.search(ended.stdout)
    if found is None:
        raise click.ClickException(f"{engine}, seed {seed}: {ended.stderr.strip()[-400:]}")
    if ended.returncode:
        click.echo(ended.stdout)
    names = ("statements", "compared", "refused", "differences", "seconds")
    figures = dict(zip(names, map(int, found.groups()), strict=True))
    return {**figures, "explained": sum(map(int, _EXPLAINED.findall(ended.stdout)))}


def table(figures: dict[str, Figures], at: str) -> list[str]:
    """As Markdown."""
    lines = [
        f"Measured at commit `{at}`.",
        "",
        "| engine | statements | compared | refused | explained | differences |",
    ]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for engine, one in figures.items():
        cells = (one[name] for name in ("statements", "compared", "refused", "explained", "differences"))
        lines.append(f"| {engine} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return lines


@click.command(help=__doc__)
@click.argument("engines", nargs=-1)
@click.option("--statements", default=20_000, show_default=True, help="For each engine.")
@click.option("--seed", default=1000, show_default=True)
@click.option("--keep", is_flag=True, help="Write the figures into docs/benchmarks.md.")
def main(engines: tuple[str, ...], statements: int, seed: int, keep: bool) -> None:
    """Run what is left, and print the table."""
    at = commit()
    known = json.loads(STATE.read_text()) if STATE.exists() else {}
    state = known if known.get("commit") == at else {"commit": at, "figures": {}}
    figures: dict[str, Figures] = state["figures"]
    for engine in engines or ENGINES:
        while (one := figures.get(engine, {})).get("statements", 0) < statements:
            done = one.get("statements", 0)
            found = run_slice(engine, seed + done // SLICE, min(SLICE, statements - done))
            figures[engine] = {name: one.get(name, 0) + count for name, count in found.items()}
            STATE.parent.mkdir(exist_ok=True)
            STATE.write_text(json.dumps(state))
    lines = table(figures, at)
    click.echo("\n".join(lines))
    if keep:
        put(ROOT / "docs" / "benchmarks.md", "campaigns", lines)
    sys.exit(any(one["differences"] for one in figures.values()))


if __name__ == "__main__":
    main()
