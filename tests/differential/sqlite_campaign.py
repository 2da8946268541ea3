"""Random histories of a real SQLite, audited: a history is no violation, nor one that cannot be told; the same with a
wrong row in an answer mostly is. Run by itself it takes any number of them and writes the smallest log of each that is
judged wrongly: ``python -m tests.differential.sqlite_campaign --first 0 --logs 2000``.

Does not know what in a history may be judged.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.case_files import opened
from tests.differential.sqlite_logs import History, shrunk
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict

_AS_FAR = ("everything judged is explained", "no statement is judged")
_NO_ROW = 77
"""An id that no history has."""


def judged(log: Log) -> Verdict:
    followed, library = opened(log, None)
    return audit(followed, library, Options(None, timeout=600))


def is_wrong(history: History) -> bool:
    """Whether a history that was is not judged as one that may be."""
    verdict = judged(history.read())
    left = verdict.status is Status.UNDECIDED and (verdict.reason or "").startswith(_AS_FAR)
    return verdict.status is not Status.CORRECT and not left


def spoil(history: History, chance: random.Random) -> bool:
    """Put a wrong row into an answer that a transaction read by itself; whether there is one."""
    reads = [
        entry
        for entry in history.entries
        if entry["status"] == "committed"
        and "end" not in entry
        and entry["statements"][0]["sql"].startswith("SELECT *")
        and entry["statements"][0]["result"]["rows"]
    ]
    if not reads:
        return False
    result = chance.choice(reads)["statements"][0]["result"]
    row = chance.randrange(len(result["rows"]))
    place = result["columns"].index("id") if "id" in result["columns"] else 0
    values = list(result["rows"][row])
    values[place] = _NO_ROW
    result["rows"] = [*result["rows"][:row], tuple(values), *result["rows"][row + 1 :]]
    return True


def campaign(seeds: Iterable[int], steps: int, folder: Path, *, keeps: bool = False) -> Counter[str]:
    """How many are judged how; with `keeps` the smallest log of each that is judged wrongly stays in the folder."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        history = History(seed, folder).made(steps)
        verdict = judged(history.read())
        seen[verdict.status.value] += 1
        if verdict.coverage is not None:
            seen["statements"] += verdict.coverage.statements
            seen["judged"] += verdict.coverage.judged
        if is_wrong(history):
            seen["wrong"] += 1
            sys.stdout.write(f"seed {seed}: {verdict.status.value}, {verdict.explanation or verdict.reason}\n")
            if keeps:
                smallest = shrunk(history, is_wrong)
                (folder / f"wrong{seed}.jsonl").write_text("".join(f"{line}\n" for line in smallest.lines()))
        elif spoil(history, random.Random(seed)):
            seen["spoiled"] += 1
            spoiled = judged(history.read()).status
            assert spoiled is not Status.CORRECT, f"seed {seed}: a wrong row is overlooked"
            seen["told"] += spoiled is Status.VIOLATION
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--into", type=Path, default=None, help="where wrong logs go (default: a new folder)")
    given = parser.parse_args()
    folder = given.into or Path(tempfile.mkdtemp(prefix="sqlite-logs-"))
    folder.mkdir(parents=True, exist_ok=True)
    seen = campaign(range(given.first, given.first + given.logs), given.steps, folder, keeps=True)
    sys.stdout.write(f"{dict(seen)}; wrong logs are in {folder}\n")
    sys.exit(bool(seen["wrong"]))


if __name__ == "__main__":
    main()
