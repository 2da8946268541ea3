"""What each step of an audit is tried for, gives and takes, over the corpus.

Run as ``python -m benchmarks.search.steps [FAMILY ...]`` or ``make steps``. Audits go through the command line with
``--stats``, each under its time limit; one that is stopped from outside tells nothing, and is counted. ``--without
STEP``: a step that is attempted (a way to mend, by its name in ``--stats``) never helps, and what ends otherwise is
told, of the corpus or of logs of other kinds (``--log``): a step is deleted only where neither loses anything. Does not
know what is right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.verdicts.corpus import Entry, corpus
from benchmarks.verdicts.results import LAST

COMMAND = "import sys; from troubadour.cli.main import main; sys.exit(main())"
WITHOUT = """
from troubadour.problem.budget import Budget
attempt = Budget.attempt
Budget.attempt = lambda budget, name, step: name not in {names} and attempt(budget, name, step)
"""


@dataclass(slots=True)
class Sum:
    """One step over many audits: in how many it was tried, and helped."""

    audits: int = 0
    tried: int = 0
    helped: int = 0
    helped_in: int = 0
    units: int = 0
    seconds: float = 0.0


def told_of(entry: Entry, without: Sequence[str]) -> dict[str, Any]:
    """The verdict of one audit with its steps; empty where it was stopped before it could tell."""
    begin = WITHOUT.format(names=list(without)) if without else ""
    command = [sys.executable, "-c", begin + COMMAND, "audit", *map(str, entry.paths), "--format", "json", "--stats"]
    command += ["--isolation", entry.level] if entry.level is not None else []
    command += ["--timeout", str(2 * entry.cpu)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(ran.stdout) if ran.stdout else {}
    return found


@click.command()
@click.argument("families", nargs=-1)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/verdicts"), show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--without", multiple=True, help="A step that never helps, by its name in --stats.")
@click.option("--log", "logs", type=click.Path(path_type=Path), multiple=True, help="These, in place of the corpus.")
def main(families: tuple[str, ...], folder: Path, jobs: int, without: tuple[str, ...], logs: tuple[Path, ...]) -> None:
    """Audit the corpus, or some of its FAMILIES, and add up what the steps came to."""
    entries = [Entry("logs", path.stem, (path,), cpu=20) for path in logs]
    entries = entries or [entry for entry in corpus(folder) if not families or entry.family in families]
    results: dict[str, dict[str, Any]] = json.loads(LAST.read_text(encoding="utf-8"))["results"]

    def kept_of(entry: Entry) -> str | None:
        return (told_of(entry, ()) if logs else results.get(entry.key, {})).get("verdict")

    sums: dict[str, Sum] = defaultdict(Sum)
    silent: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        for entry, told in zip(entries, pool.map(lambda one: told_of(one, without), entries), strict=True):
            if without and (now := told.get("verdict")) != (kept := kept_of(entry)):
                print(f"{entry.key}: {now}, was {kept}", flush=True)
            if not told:
                silent.append(entry.key)
            for one in told.get("stats", ()):
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
