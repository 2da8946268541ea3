"""What each step of an audit is tried for, gives and takes, over the corpus.

Run as ``python -m benchmarks.steps [FAMILY ...]`` or ``make steps``. Audits go through the command line with
``--stats``, each under its time limit; one that is stopped from outside tells nothing, and is counted. Does not know
what is right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.verdicts.corpus import Entry, corpus

COMMAND = "import sys; from troubadour.cli.main import main; sys.exit(main())"


@dataclass(slots=True)
class Sum:
    """One step over many audits: in how many it was tried, and helped."""

    audits: int = 0
    tried: int = 0
    helped: int = 0
    helped_in: int = 0
    units: int = 0
    seconds: float = 0.0


def stats_of(entry: Entry) -> list[dict[str, float | str]] | None:
    """The steps of one audit; None where it was stopped before it could tell."""
    command = [sys.executable, "-c", COMMAND, "audit", *map(str, entry.paths), "--format", "json", "--stats"]
    command += ["--isolation", entry.level] if entry.level is not None else []
    command += ["--timeout", str(2 * entry.cpu)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    found: list[dict[str, float | str]] | None = json.loads(ran.stdout).get("stats") if ran.stdout else None
    return found


@click.command()
@click.argument("families", nargs=-1)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/verdicts"), show_default=True)
@click.option("--jobs", default=2, show_default=True)
def main(families: tuple[str, ...], folder: Path, jobs: int) -> None:
    """Audit the corpus, or some of its FAMILIES, and add up what the steps came to."""
    entries = [entry for entry in corpus(folder) if not families or entry.family in families]
    sums: dict[str, Sum] = defaultdict(Sum)
    silent: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        for entry, stats in zip(entries, pool.map(stats_of, entries), strict=True):
            if stats is None:
                silent.append(entry.key)
            for one in stats or ():
                total = sums[str(one["step"])]
                total.audits += 1
                total.tried += int(one["tried"])
                total.helped += int(one["helped"])
                total.helped_in += bool(one["helped"])
                total.units += int(one["units"])
                total.seconds += float(one["seconds"])
    print("| step | audits | tried | helped | helped in audits | 1,000 units | CPU s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for step, total in sorted(sums.items(), key=lambda pair: -pair[1].seconds):
        cells = (total.audits, total.tried, total.helped, total.helped_in, total.units // 1000)
        print(f"| {step} | {' | '.join(f'{cell:,}' for cell in cells)} | {total.seconds:,.1f} |")
    print(f"\n{len(entries)} audits, of which {len(silent)} were stopped before they told: {', '.join(silent) or '-'}")


if __name__ == "__main__":
    main()
