"""Logs with the database's timestamps, audited offline and watched online: seconds, memory, flips (Chronos and Aion,
sections V and VI), into a page.

``python -m benchmarks.timestamps --page docs/histories.md`` (``make timestamps``). Logs are simulated, seeded, and each
command is a process of its own. Does not know how a log is judged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.anomalies.page import put

Json = dict[str, Any]
COMMAND = (sys.executable, "-c", "from troubadour.cli.main import main; main()")
LEVELS = ("timestamp-snapshot", "timestamp-serializable")
DELAY, SPREAD = 100.0, 10.0
"""Milliseconds by which a transaction comes late, of a normal distribution (section VI-C)."""


def recorded(folder: Path, name: str, *options: str) -> Path:
    """A simulated log of operations."""
    path = folder / f"{name}.jsonl"
    command = [*COMMAND, "record", "simulated", "--workload", "objects", *options, "--out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def measured(*arguments: str, stdin: Path | None = None) -> tuple[Json, list[Json], float, float, int]:
    """The last line of a command, the lines before it, seconds by the clock and of the processor, and its MiB."""
    with tempfile.TemporaryFile() as out, (stdin or Path(os.devnull)).open("rb") as given:
        begun = time.monotonic()
        process = subprocess.Popen([*COMMAND, *arguments], stdout=out, stderr=subprocess.DEVNULL, stdin=given)
        _, _, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        out.seek(0)
        told = [json.loads(line) for line in out]
    return told[-1], told[:-1], seconds, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def delayed(path: Path, seed: int = 0) -> Iterator[bytes]:
    """The lines of a log as they come when each is late by a moment of its own, 500 transactions in 100 ms."""
    header, *lines = path.read_bytes().splitlines()
    ends = [lines.pop()] if b'"end"' in lines[-1][:20] else []
    rng = random.Random(seed)
    moments = [(number / 5 + rng.gauss(DELAY, SPREAD), number) for number in range(len(lines))]
    yield header
    for _, number in sorted(moments):
        yield lines[number]
    yield from ends


def offline(what: str, path: Path, levels: Sequence[str]) -> Iterator[str]:
    """A row for each level."""
    for level in levels:
        verdict, _, wall, cpu, mib = measured("audit", "--isolation", level, "--format", "json", str(path))
        violations = verdict["violations"]
        count = "-" if violations is None else f"{violations['count']:,}"
        yield (
            f"| audit, {what} | `{level}` | {verdict['verdict']} ({verdict['engine']}) | {count} | {wall:.1f} "
            f"| {cpu:.1f} | {mib:,} | |"
        )


def online(what: str, path: Path, levels: Sequence[str], *, late: bool) -> Iterator[str]:
    """A row for each level, with what the audit says of the same log held against it."""
    if late:
        shuffled = path.with_suffix(".late")
        shuffled.write_bytes(b"".join(line + b"\n" for line in delayed(path)))
        path = shuffled
    for level in levels:
        verdict, events, wall, cpu, mib = measured("watch", "--isolation", level, "-", stdin=path)
        last = events[-1]
        flips = [one for one in events if one["kind"] == "flip"]
        final = sum(one["kind"] == "violation" and one["final"] for one in events)
        listed = verdict["violations"]["count"] if verdict["violations"] else 0
        assert final == listed == last["violations"], (final, listed, last)
        several = len({one["transaction"] for one in flips})
        rate = last["transactions"] / (cpu or 1)
        told = f"{rate:,.0f}/s of the processor; {several / max(1, last['transactions']):.1%} of transactions flip"
        yield (
            f"| watch, {what} | `{level}` | {verdict['verdict']} | {listed:,} | {wall:.1f} | {cpu:.1f} | {mib:,} "
            f"| {told} |"
        )


def rows(folder: Path, transactions: int, watched: int) -> Iterator[str]:
    """The table."""
    default = ("--sessions", "50", "--keys", "10000", "--concurrency", "16")
    for count in dict.fromkeys((transactions // 10, transactions)):
        log = recorded(folder, f"si-{count}", "--transactions", str(count), "--operations", "15", *default)
        yield from offline(f"{count:,} x 15 registers", log, LEVELS)
        log.unlink()
    lists = ("--type", "list", "--writes-per-key", "100", "--keys", "1000", "--concurrency", "16")
    log = recorded(folder, "lists", "--transactions", "10000", "--operations", "15", "--sessions", "50", *lists)
    yield from offline("10,000 x 15 lists", log, LEVELS)
    online_shape = ("--sessions", "24", "--operations", "8", "--keys", "10000", "--concurrency", "24")
    log = recorded(folder, "online", "--transactions", str(watched), *online_shape)
    yield from online(f"{watched:,} x 8, 24 sessions", log, LEVELS, late=False)
    log = recorded(folder, "delayed", "--transactions", "10000", *online_shape)
    yield from online("10,000 x 8, delayed N(100, 10²) ms", log, LEVELS, late=True)


def measurements(table: Sequence[str], commit: str) -> list[str]:
    """The table, with its heading."""
    head = [
        "| | level | verdict | violations | s by the clock | CPU s | MiB | |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    load = os.getloadavg()[0]
    return [f"At {commit}, two cores, load {load:.0f} at the end:", "", *head, *table]


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--watched", type=int, default=500_000)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(prefix="troubadour-timestamps-") as folder:
        table = [*rows(Path(folder), given.transactions, given.watched)]
    lines = measurements(table, commit.stdout.strip())
    if given.page is None:
        print("\n".join(lines))
    else:
        put(given.page, "timestamps", lines)


if __name__ == "__main__":
    main()
