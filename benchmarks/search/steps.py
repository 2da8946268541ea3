"""What each step of an audit is tried for, gives and takes, over the corpus.

Run as ``python -m benchmarks.search.steps [FAMILY ...]`` or ``make steps``. Audits go through the command line with
``--stats``, each in a process of its own under its time limit; one that is stopped from outside tells nothing, and is
counted. ``--kept FILE`` notes each audit, and does none again that is noted there. ``--without STEP``: a step that is
attempted (a move, or a refuter by ``refute: `` and its name) never helps, and what ends otherwise is told, of the
corpus or of logs of other kinds (``--log``): a step is deleted only where neither loses anything. Does not know what is
right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.verdicts.corpus import Entry, corpus
from benchmarks.verdicts.measure import MEMORY, SERVER, WARM_UP
from benchmarks.verdicts.results import LAST

WITHOUT = """
import runpy
import troubadour.proof.refuters as refuters
from troubadour.problem.budget import Budget
names = {names}
attempt = Budget.attempt
Budget.attempt = lambda budget, name, step: name not in names and attempt(budget, name, step)
refuters.REFUTERS = tuple(one for one in refuters.REFUTERS if f"refute: {{one.name}}" not in names)
runpy.run_path({server!r}, run_name="__main__")
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


class Auditor:
    """Audits with their steps, by a process that loaded the program once."""

    def __init__(self, without: Sequence[str]) -> None:
        code = WITHOUT.format(names=list(without), server=str(SERVER))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, str(WARM_UP)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def told_of(self, entry: Entry) -> dict[str, Any]:
        """The verdict of one audit with its steps; empty where it was stopped before it could tell."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None and answered is not None
        args = ["audit", *(str(path.absolute()) for path in entry.paths), "--format", "json", "--stats"]
        args += ["--isolation", entry.level] if entry.level is not None else []
        asked.write(json.dumps({"args": args, "cpu": 2 * entry.cpu, "memory": MEMORY}) + "\n")
        asked.flush()
        answer = json.loads(answered.readline())
        found: dict[str, Any] = json.loads(answer["out"]) if answer["exit"] >= 0 and answer["out"] else {}
        return {"verdict": found["verdict"], "stats": found["stats"], "cpu": answer["cpu"]} if found else {}

    def end(self) -> None:
        """No audit follows."""
        self._process.terminate()
        self._process.communicate()


@click.command()
@click.argument("families", nargs=-1)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/verdicts"), show_default=True)
@click.option("--fast", is_flag=True, help="The short corpus only.")
@click.option("--without", multiple=True, help="A step that never helps, by its name in --stats.")
@click.option("--log", "logs", type=click.Path(path_type=Path), multiple=True, help="These, in place of the corpus.")
@click.option("--kept", type=click.Path(path_type=Path), help="A file of what audits came to, to be gone on with.")
def main(
    families: tuple[str, ...],
    folder: Path,
    fast: bool,
    without: tuple[str, ...],
    logs: tuple[Path, ...],
    kept: Path | None,
) -> None:
    """Audit the corpus, or some of its FAMILIES, and add up what the steps came to."""
    entries = [Entry("logs", path.stem, (path,), cpu=20) for path in logs]
    entries = entries or [
        entry for entry in corpus(folder) if (not families or entry.family in families) and (entry.fast or not fast)
    ]
    results: dict[str, dict[str, Any]] = json.loads(LAST.read_text(encoding="utf-8"))["results"]
    noted: dict[str, dict[str, Any]] = {}
    if kept is not None and kept.exists():
        noted = dict(json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines())
    auditor, reference = Auditor(without), Auditor(()) if logs and without else None
    sums: dict[str, Sum] = defaultdict(Sum)
    silent: list[str] = []
    for entry in entries:
        if entry.key not in noted:
            noted[entry.key] = auditor.told_of(entry)
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps((entry.key, noted[entry.key])) + "\n")
        told = noted[entry.key]
        if without:
            before = results.get(entry.key, {}) if reference is None else reference.told_of(entry)
            if told.get("verdict") != before.get("verdict"):
                print(f"{entry.key}: {told.get('verdict')}, was {before.get('verdict')}", flush=True)
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
    for one in (auditor, reference):
        if one is not None:
            one.end()
    print("| step | audits | tried | helped | helped in audits | 1,000 units | CPU s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for step, total in sorted(sums.items(), key=lambda pair: -pair[1].seconds):
        cells = (total.audits, total.tried, total.helped, total.helped_in, total.units // 1000)
        print(f"| {step} | {' | '.join(f'{cell:,}' for cell in cells)} | {total.seconds:,.1f} |")
    print(f"\n{len(entries)} audits, of which {len(silent)} were stopped before they told: {', '.join(silent) or '-'}")


if __name__ == "__main__":
    main()
