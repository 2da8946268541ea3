"""Reads and judges generated logs of a million transactions of 15 operations, and writes what that took into a page.

``python -m benchmarks.objects --page docs/histories.md`` (``make objects``). Every log is of a process of its own:
processor seconds, and the most memory that it had used by then. The logs are executions of snapshot isolation, seeded.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from troubadour.formats import read_either
from troubadour.model.objects import ObjectLog
from troubadour.replay.objects import Reading, by_timestamps, check_reading

OPERATIONS = 15
KINDS = ("register", "counter", "set", "list", "mixed")
LEVELS = (
    "read-committed", "read-atomic", "causal", "prefix", "snapshot", "session-snapshot", "strict-snapshot",
    "serializable", "session-serializable", "strict-serializable",
)  # fmt: skip
_TYPES = {"register": "register", "counter": "counter", "set": "set", "list": "list"}
_CHANGE = {"register": "w", "counter": "inc", "set": "add", "list": "append"}
_BEGIN, _END = "<!-- measured by make objects -->", "<!-- end -->"


def lines(kind: str, transactions: int, seed: int = 1) -> Iterator[str]:
    """A serial log: 50 sessions, half of the operations reads, keys uniform. Lists and sets are short: a key is used a
    dozen times and never again, as Elle's generator does."""
    rng = random.Random(seed)
    types = [kind] if kind != "mixed" else [*_TYPES]
    header = {"format": "troubadour-log", "version": 1, "objects": {one: one for one in types}}
    header["initial"] = {one: {"default": 0} for one in types if one in ("register", "counter")}
    yield json.dumps(header)
    there: dict[tuple[str, int], Any] = {}
    numbers = [0] * 50
    written = 0
    for number in range(transactions):
        operations: list[list[Any]] = []
        for place in range(OPERATIONS):
            one = types[(number + place) % len(types)]
            key = rng.randrange(10_000)
            if one in ("list", "set"):
                key = key % 100 + number * OPERATIONS // 1200 * 100
            if rng.random() < 0.5:
                value = there.get((one, key), 0 if one in ("register", "counter") else [])
                operations.append(["r", one, key, value if one in ("register", "counter") else list(value)])
                continue
            written += 1
            value = rng.randrange(10) if one == "counter" else written
            operations.append([_CHANGE[one], one, key, value])
            if one == "register":
                there[one, key] = value
            elif one == "counter":
                there[one, key] = there.get((one, key), 0) + value
            else:
                there[one, key] = [*there.get((one, key), []), value]
        session = rng.randrange(50)
        line = {"id": number, "session": session, "sno": numbers[session], "status": "committed"}
        numbers[session] += 1
        line |= {"start": 2 * number, "commit": 2 * number + 1, "ops": operations}
        yield json.dumps(line, separators=(",", ":"))


def measure(path: str) -> list[dict[str, Any]]:
    """The figures of a log, in this process: ``json.loads`` of its lines, reading it, and its timestamps judged at each
    level."""
    found = [_timed("json.loads", lambda: _loads(path)), _timed("read", lambda: read_either([path]))]
    log = read_either([path])
    assert isinstance(log, ObjectLog)
    for level in LEVELS:
        found.append(_timed(level, partial(_judged, log, level)))
    return found


def _timed(what: str, run: Callable[[], object]) -> dict[str, Any]:
    begun = time.process_time()
    run()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"what": what, "seconds": round(time.process_time() - begun, 1), "mib": used}


def _loads(path: str) -> None:
    with open(path, "rb") as file:
        for line in file:
            json.loads(line)


def _judged(log: ObjectLog, level: str) -> None:
    reading = by_timestamps(log, level)
    assert isinstance(reading, Reading)
    refusal = check_reading(log, reading, level)
    assert refusal is None, refusal


def page(figures: dict[str, list[dict[str, Any]]], transactions: int, commit: str) -> str:
    """The figures as a table."""
    names = [one["what"] for one in next(iter(figures.values()))]
    rows = [f"| | {' | '.join(figures)} |", f"|---|{'---:|' * len(figures)}"]
    for number, name in enumerate(names):
        cells = []
        for found in figures.values():
            one = found[number]
            cells.append(f"{one['seconds']} s, {one['mib']:,} MiB")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    what = (
        f"{transactions:,} transactions of {OPERATIONS} operations at {commit}: processor seconds, most memory so far"
    )
    return "\n".join([_BEGIN, what, "", *rows, _END])


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--measure", metavar="LOG")
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return
    figures: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in given.kinds:
            path = Path(folder) / f"{kind}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines(kind, given.transactions))
            command = [sys.executable, "-m", "benchmarks.objects", "--measure", str(path)]
            ended = subprocess.run(command, capture_output=True, text=True, check=True)
            figures[kind] = json.loads(ended.stdout)
            print(kind, *figures[kind], sep="\n", flush=True)
            path.unlink()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    text = page(figures, given.transactions, commit.stdout.strip())
    print(text)
    if given.page:
        old = given.page.read_text(encoding="utf-8")
        before, _, rest = old.partition(_BEGIN)
        given.page.write_text(before + text + rest.partition(_END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
