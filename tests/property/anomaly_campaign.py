"""Random logs of operations on objects at every general level: what facts and order decide and what anomalies rule out
beside the oracle. ``make agreement`` goes on where it was stopped, and keeps the figures in a file.

A level that holds wherever another one does is not asked where that one is proved, nor are those that hold only where
one that is refuted does. Does not know how any of them decides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import monotonic

from tests.property.object_logs import GENERAL, KINDS, random_log
from troubadour.anomalies.objects import anomalies_of
from troubadour.audit.objects.decide import Disagreement, ObjectOptions, decide_objects
from troubadour.coverage.library import library_for
from troubadour.facts.objects.gather import Derived
from troubadour.formats.objects.expand import expanded
from troubadour.isolation.models import weaker
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status, Verdict
from troubadour.oracle import explain
from troubadour.oracle.enumerate import BudgetExceeded
from troubadour.replay.checker import check as check_sql

BUDGET = 40_000
BLOCK = 100
OWN = "each its own"
FIGURES = Path("benchmarks/agreement.json")

Told = Mapping[str, Status]


def asked(told: Told) -> list[str]:
    """Of levels that were decided those whose verdicts say the others': the strongest that hold, the weakest that do
    not."""
    found = []
    for level, status in told.items():
        others = [one for one in told if one not in (level, OWN) and told[one] is status and level != OWN]
        if status is Status.CORRECT:
            settled = any(level in weaker(one) for one in others)
        else:
            settled = any(one in weaker(level) for one in others)
        if not settled:
            found.append(level)
    return found


def decided(log: ObjectLog) -> dict[str, Verdict]:
    """What facts and order say of each general level, and of the log's own ones, where they decide it."""
    derived = Derived(log)
    # the second decision is the oracle's here
    options = {level: ObjectOptions(_level(level), unobserved=True) for level in _levels(log)}
    found = {name: decide_objects(log, one, lambda *_: Status.VIOLATION, derived) for name, one in options.items()}
    return {level: one for level, one in found.items() if one is not None and one.status is not Status.UNDECIDED}


def _levels(log: ObjectLog) -> list[str]:
    return [*GENERAL, *([OWN] if log.header.isolation is not None else [])]


def _level(name: str) -> str | None:
    return None if name == OWN else name


def judged(kind: str, seed: int) -> Iterator[str]:
    """What came of a log, a word for each level; those that begin with ``FAULT`` tell of a difference."""
    log = random_log(kind, seed, distinct=bool(seed % 2)).read()
    verdicts = decided(log)
    statuses = {level: verdict.status for level, verdict in verdicts.items()}
    found = anomalies_of(log).anomalies
    out = {level: Status.VIOLATION for one in found for level in one.rules_out if level in GENERAL}
    for level in _levels(log):
        yield f"{level}: {statuses[level].value if level in statuses else 'left to the search'}"
        if level in out:
            yield f"{level}: ruled out by an anomaly"
            if statuses.get(level) is Status.CORRECT:
                yield f"FAULT {kind} {seed} at {level}: ruled out by an anomaly, and a candidate explains it"
    yield from (f"anomaly: {one.name}" for one in found)
    sql = expanded(log)
    for level in asked(statuses):
        verdict = verdicts[level]
        if verdict.witness is not None:
            yield "witnesses before the replay of SQL"
            judged_log, library = library_for(sql, _level(level))
            refused = check_sql(judged_log, verdict.witness, library, isolation=_level(level))
            if refused is not None:
                yield f"FAULT {kind} {seed} at {level}: the witness is refused as SQL: {refused.text}"
    refuted = {level for level, status in statuses.items() if status is Status.VIOLATION}
    for level in asked(dict.fromkeys(refuted | out.keys(), Status.VIOLATION)):
        names = ", ".join(one.name for one in found if level in one.rules_out)
        prefix = verdicts[level].verified_prefix if level in refuted else None
        try:
            answer = explain(*library_for(sql, _level(level)), _level(level), budget=BUDGET)
        except BudgetExceeded:
            yield "too many orders for the oracle"
            continue
        yield "refutations before the oracle"
        if answer.status is not Status.VIOLATION or prefix not in (None, answer.verified_prefix):
            told = f"{answer.status.value} after {answer.verified_prefix}"
            yield f"FAULT {kind} {seed} at {level}: refuted after {prefix} ({names}), the oracle says {told}"


def block(kind: str, first: int, count: int) -> Counter[str]:
    """What came of some logs, counted; faults come once each."""
    counts: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            counts.update(judged(kind, seed))
        except Disagreement as error:
            counts[f"FAULT {kind} {seed}: {error}"] += 1
        counts["logs"] += 1
    return counts


def _block(task: tuple[str, int, int]) -> tuple[str, Counter[str]]:
    return task[0], block(*task)


def _kept(path: Path) -> dict[str, Counter[str]]:
    told = json.loads(path.read_text()) if path.exists() else {"kinds": {}}
    return {kind: Counter(told["kinds"].get(kind, {})) for kind in KINDS}


def go_on(path: Path, logs: int, jobs: int, minutes: float | None) -> list[str]:
    """Go on until there are so many logs of each kind, or `minutes` are over; the faults of all that was asked."""
    until = None if minutes is None else monotonic() + 60 * minutes
    found = _kept(path)
    with ProcessPoolExecutor(jobs) as pool:
        while min(counts["logs"] for counts in found.values()) < logs and (until is None or monotonic() < until):
            least = min(counts["logs"] for counts in found.values())
            tasks = [(kind, counts["logs"], BLOCK) for kind, counts in found.items() if counts["logs"] == least]
            for kind, counts in pool.map(_block, tasks):
                found[kind] += counts
                _write(path, found)
    return [word for counts in found.values() for word in counts if word.startswith("FAULT")]


def _write(path: Path, found: Mapping[str, Counter[str]]) -> None:
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    told = {"commit": head.stdout.strip(), "kinds": {kind: dict(sorted(it.items())) for kind, it in found.items()}}
    path.write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    """Go on with the campaign and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=50_000, help="logs of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="begin no more logs then")
    parser.add_argument("--figures", type=Path, default=FIGURES)
    given = parser.parse_args()
    faults = go_on(given.figures, given.logs, given.jobs, given.minutes)
    print("\n".join(faults) or "no difference")  # noqa: T201 - what the command is for
    if faults:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
