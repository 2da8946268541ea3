"""Every hostile log audited under limits: seconds, memory, exit status, object and longest line, as a table.

An audit holds its bounds if it ends within two seconds of the time limit and a tenth of the memory limit, with an
object where its input could be used (exit status 0, 1 or 3), with one line where not (2), and with no line over 500
characters. The interpreter's start, measured by the audit of an empty log, is no part of the seconds. Does not know
which verdict is right: `python -m benchmarks.verdicts` does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.hostile.inputs import inputs
from benchmarks.hostile.statements import FAMILIES, ROWS, TABLE, Hostile

MAIN = [sys.executable, "-c", "from troubadour.cli.main import main; main()"]
MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], check=False).returncode
sys.stderr.write(f"\\n{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}")
sys.exit(status)
"""
LATE, LARGER, LINE = 2.0, 1.1, 500


@dataclass(frozen=True, slots=True)
class Found:
    """How one audit ended: seconds, MiB of its largest process, characters of the longest line on standard error."""

    status: int
    seconds: float
    peak: float
    longest: int
    said: str
    whole: bool

    def faults(self, timeout: float, memory: int, start: float) -> list[str]:
        """The bounds that it does not keep."""
        broken = []
        if self.seconds > timeout + LATE + start:
            broken.append("late")
        if self.peak > memory * LARGER:
            broken.append("large")
        if self.status not in (0, 1, 2, 3) or not self.whole:
            broken.append("no answer")
        if self.longest >= LINE:
            broken.append("long line")
        return broken


def audited(path: str, timeout: float, memory: int) -> Found:
    """Audit a log under limits."""
    options = ["audit", "--format", "json", "--timeout", str(timeout), "--memory", str(memory), path]
    begun = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, *MAIN, *options], capture_output=True, text=True, check=False, timeout=600
    )
    seconds = time.monotonic() - begun
    told, _, peak = ended.stderr.rpartition("\n")
    verdict = json.loads(ended.stdout) if ended.stdout else None
    said = told.strip() if verdict is None else f"{verdict['verdict']}: {verdict['reason'] or ''}"
    whole = "Traceback" not in told and (verdict is None) == (ended.returncode == 2)
    return Found(ended.returncode, seconds, float(peak), max(map(len, told.splitlines()), default=0), said, whole)


def logs(folder: Path, families: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Name and path of each hostile log."""
    folder.mkdir(parents=True, exist_ok=True)
    for family, members in FAMILIES.items():
        if not families or family in families:
            for number, (name, hostile) in enumerate(members.items()):
                yield f"{family}: {name}", _written(hostile, folder / f"{family}-{number}.jsonl")
    if not families or "inputs" in families:
        for name, path in inputs(folder):
            yield f"inputs: {name}", path


def _written(hostile: Hostile, path: Path) -> str:
    header = {"format": "troubadour-log", "version": 1, "dialect": hostile.dialect, "isolation": "serializable"}
    header |= {"schema": [TABLE], "initial": ROWS, **hostile.header}
    statements = [
        {"sql": sql} if hostile.params is None else {"sql": sql, "params": list(hostile.params)}
        for sql in hostile.statements
    ]
    transaction = {"id": "t1", "status": "committed", "statements": statements}
    path.write_text(f"{json.dumps(header)}\n{json.dumps(transaction)}\n", encoding="utf-8")
    return str(path)


@click.command()
@click.argument("families", nargs=-1, type=click.Choice([*FAMILIES, "inputs"]))
@click.option("--timeout", default=3.0, help="Seconds that each audit may take.")
@click.option("--memory", default=512, help="MiB that each audit may use.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/hostile"))
def main(families: tuple[str, ...], timeout: float, memory: int, folder: Path) -> None:
    """Audit the hostile logs, or some of their FAMILIES; exit status 1 if one leaves its bounds."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = _written(Hostile(["SELECT 1"]), folder / "plain.jsonl")
    start = min(audited(plain, timeout, memory).seconds for _ in range(2))
    click.echo(f"limits: {timeout:g} s, {memory} MiB; an audit of one SELECT takes {start:.1f} s, its start included")
    bad: list[str] = []
    latest = largest = longest = 0.0
    count = 0
    for name, path in logs(folder, families):
        found = audited(path, timeout, memory)
        faults = found.faults(timeout, memory, start)
        if found.status == 2 and not name.startswith("inputs"):
            faults.append("unusable")
        bad += [name] if faults else []
        count += 1
        latest, largest = max(latest, found.seconds - start - timeout), max(largest, found.peak)
        longest = max(longest, found.longest)
        click.echo(
            f"{name:45} exit {found.status}  {found.seconds:5.1f} s  {found.peak:5.0f} MiB  "
            f"line {found.longest:3}  {', '.join(faults).upper():9} {found.said[:90]!r}"
        )
    click.echo(
        f"\n{count} logs, {len(bad)} out of bounds; at the latest {latest:.1f} s after the limit, "
        f"at most {largest:.0f} MiB, the longest line {longest:.0f} characters"
    )
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
