"""Random logs with the database's timestamps before every judge, and in many orders of arrival. ``make
timestamp-agreement`` goes on where the last run ended. Does not know how any of them decides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter, deque
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.anomalies.page import put
from tests.property.test_timestamp_levels import LEVELS, arrived, compared
from tests.property.timestamped_logs import KINDS

BLOCK = 50
ORDERS = 2
"""Orders in which the transactions of each log come."""


def block(task: tuple[str, int]) -> tuple[str, Counter[str]]:
    """What came of one block of a type's logs; a fault by its text."""
    kind, first = task
    counts: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        try:
            counts += compared(kind, [seed])
            counts["violations in them"] += arrived(kind, [seed], ORDERS)
        except AssertionError as error:
            counts[f"FAULT {str(error)[:300]}"] += 1
            continue
        counts["orders of arrival"] += ORDERS
        counts["logs"] += 1
    return kind, counts


def campaign(state: dict[str, Any], logs: int, jobs: int, minutes: float, kept: Path) -> None:
    """Go on until so many logs of each type, or for so long; what came of them is `kept` after each block of all."""
    until = monotonic() + 60 * minutes
    with ProcessPoolExecutor(jobs) as pool:
        left = range(state["next"], logs, BLOCK)
        ahead = deque[Future[tuple[str, Counter[str]]]]()
        for first in left:
            ahead.extend(pool.submit(block, (kind, first)) for kind in KINDS)
            if len(ahead) > jobs + len(KINDS) or first == left[-1]:
                _take(state, ahead, kept)
            if monotonic() > until:
                break
        while ahead:
            _take(state, ahead, kept)


def _take(state: dict[str, Any], ahead: deque[Future[tuple[str, Counter[str]]]], kept: Path) -> None:
    for _ in KINDS:
        kind, counts = ahead.popleft().result()
        found = Counter(state["counts"].get(kind, {})) + counts
        state["counts"][kind] = dict(sorted(found.items()))
    state["next"] += BLOCK
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(state, indent=1), encoding="utf-8")


def table(counts: Mapping[str, Mapping[str, int]], commit: str) -> list[str]:
    """What came of them, with the number of differences."""
    words = ("logs", "correct", "violation", "by timestamps", "open", "orders of arrival", "violations in them")
    faults = [word for found in counts.values() for word in found if word.startswith("FAULT")]
    rows = [f"| {word} | {' | '.join(f'{found.get(word, 0):,}' for found in counts.values())} |" for word in words]
    told = f"the judges differed {len(faults)} times" if faults else "no two judges differed"
    head = f"At {commit}, each log at {' and '.join(f'`{level}`' for level in LEVELS)}:"
    return [head, f"{told}.", "", f"| | {' | '.join(counts)} |", f"|---|{'---:|' * len(counts)}", *rows, *faults]


def main() -> None:
    """Run it, and print or write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=20_000, help="logs of each type")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--kept", type=Path, default=Path("build/agreement.json"))
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    state: dict[str, Any] = {"next": 0, "counts": {}, "commit": commit.stdout.strip()}
    if given.kept.exists():
        state = json.loads(given.kept.read_text(encoding="utf-8"))
        if state["commit"] != commit.stdout.strip():
            state["commit"] = f"{state['commit'].partition(' to ')[0]} to {commit.stdout.strip()}"
    campaign(state, given.logs, given.jobs, given.minutes, given.kept)
    lines = table(state["counts"], state["commit"])
    if given.page is None:
        print("\n".join(lines))  # noqa: T201 - what the command is for
    else:
        put(given.page, "agreement", lines)
    if any(line.startswith("FAULT") for line in lines):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
