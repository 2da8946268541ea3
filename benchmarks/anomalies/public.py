"""What `troubadour anomalies` says of public histories beside what is published of them, and what large ones take:
`python -m benchmarks.anomalies.public public ROOT` (ROOT as for `benchmarks.histories public`), `speed` and `scale`.

Does not know how an anomaly is found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.histories.public import published
from troubadour.cli.recording.simulated import simulated

_MEANT = {"correct": "proved", "violation": "ruled out", "undecided": "neither ruled out nor proved"}
_COMMAND = "from troubadour.cli.main import main; main()"
_SIZES = (("register", 10_000, "15"), ("list", 10_000, "15"), ("register", 100_000, "15"), ("list", 100_000, "15"),
          ("register", 100_000, "1-5"), ("list", 100_000, "1-5"))  # fmt: skip
_SCALE = ((10_000, 20), (100_000, 20), (1_000_000, 20), (100_000, 1), (100_000, 5), (100_000, 50), (100_000, 100))
"""Transactions, and clients at once."""


@click.group()
def main() -> None:
    """All anomalies of logs."""


def _asked(arguments: Sequence[str]) -> tuple[dict[str, Any] | None, float, int]:
    """The JSON object that the command printed (None: it could not use the log), processor seconds and MiB."""
    command = [sys.executable, "-c", _COMMAND, "anomalies", *arguments, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


def _told(found: dict[str, Any]) -> str:
    counts: Counter[str] = Counter()
    for one in found["anomalies"]:
        counts[one["name"]] += one["count"]
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "-"


@main.command()
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--timeout", default=60, show_default=True, help="Seconds for a history and a level.")
def public(root: Path, timeout: int) -> None:
    """Public histories: what is expected to be ruled out or proved, and what is."""
    print("| history | level | published | here | anomalies | not |\n|---|---|---|---|---|---|")
    agreed: Counter[bool] = Counter()
    for one in published(root):
        for level, verdict in one.verdicts.items():
            path = str(root / one.repository / one.path)
            found, _, _ = _asked(["--from", one.form, path, "--expect", level, "--timeout", str(timeout)])
            if found is None:
                continue
            agreed[found["standing"] == _MEANT[verdict]] += 1
            row = (f"{one.repository} {Path(one.path).name}", level, _MEANT[verdict], found["standing"], _told(found),
                   ", ".join(found["not"]) or "-")  # fmt: skip
            print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{agreed[True]} of {agreed.total()} as published")


_FOLDER = click.option("--folder", type=click.Path(path_type=Path), default=Path("build/histories"), show_default=True)


@main.command()
@_FOLDER
def speed(folder: Path) -> None:
    """Simulated runs with snapshots: what listing all their anomalies takes, reading included."""
    print("| transactions | level | standing | anomalies | CPU s | MiB |\n|---|---|---|---|---:|---:|")
    for kind, count, operations in _SIZES:
        found, cpu, peak = _simulated(folder, kind, count, operations)
        name = f"{kind}s, {count:,} x {operations}"
        print(f"| {name} | snapshot | {found['standing']} | {_told(found)} | {cpu:.1f} | {peak} |", flush=True)


@main.command()
@_FOLDER
def scale(folder: Path) -> None:
    """Lists of 1 to 5 operations on 100 keys: more and more transactions, and more and more clients at once."""
    print("| transactions | clients | anomalies | CPU s | MiB |\n|---:|---:|---:|---:|---:|")
    for count, clients in _SCALE:
        found, cpu, peak = _simulated(folder, "list", count, "1-5", clients)
        many = sum(one["count"] for one in found["anomalies"])
        print(f"| {count:,} | {clients} | {many:,} | {cpu:.1f} | {peak} |", flush=True)


def _simulated(
    folder: Path, kind: str, count: int, operations: str, clients: int = 20
) -> tuple[dict[str, Any], float, int]:
    """What is said of a simulated run, in processor seconds, with MiB."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "anomalies.jsonl"
    options = ["--workload", "objects", "--type", kind, "--transactions", str(count), "--sessions", "50"]
    options += ["--operations", operations, "--concurrency", str(clients), "--writes-per-key", "100"]
    options += ["--keys", "100"] if operations == "1-5" else []
    simulated.main([*options, "--out", str(path)], standalone_mode=False)
    found, cpu, peak = _asked([str(path), "--expect", "snapshot"])
    assert found is not None
    return found, cpu, peak


if __name__ == "__main__":
    main()
