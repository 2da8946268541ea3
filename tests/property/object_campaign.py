"""Logs of operations on objects before every judge: the audit of their SQL, the oracle's enumeration, the replay of the
SQL and the replay on columns. ``make objects`` runs all of it. Does not know how any of them decides.
"""

from __future__ import annotations

import argparse
import random
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import monotonic

from tests.property.object_logs import GENERAL, KINDS, in_turn, mutated, random_log
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.oracle.enumerate import BudgetExceeded
from troubadour.replay.checker import check as check_sql
from troubadour.replay.objects import check as check_columns

MUTANTS = 4
"""Spoilt witnesses of each log."""

BUDGET = 40_000

BEGIN, END = "<!-- counted by make objects -->", "<!-- end of counts -->"


def judged(kind: str, seed: int, *, audits: bool = True, mutants: int = MUTANTS) -> Iterator[str]:
    """What came of a log, a word for each question; those that begin with ``FAULT`` tell that two judges differ."""
    log = random_log(kind, seed).read()
    rng = random.Random(f"level {kind} {seed}")
    level = None if log.header.isolation is not None and rng.random() < 0.6 else rng.choice(GENERAL)
    sql, library = library_for(expanded(log), level)
    where = f"{kind} {seed} at {level or 'its own levels'}"
    try:
        answer = explain(sql, library, level, budget=BUDGET)
    except BudgetExceeded:
        yield "too many witnesses to enumerate"
        return
    yield f"oracle: {answer.status.value}"
    if audits:
        verdict = audit(sql, library, Options(level), lambda phase, done, total: None)
        if verdict.status is Status.UNDECIDED:
            yield "audit: undecided"
        elif (verdict.status, verdict.verified_prefix) != (answer.status, answer.verified_prefix):
            told = f"{verdict.status.value} after {verdict.verified_prefix}"
            other = f"{answer.status.value} after {answer.verified_prefix}"
            yield f"FAULT {where}: the audit says {told}, the oracle {other}"
        if verdict.witness is not None and (refused := check_columns(log, verdict.witness, level)) is not None:
            yield f"FAULT {where}: the audit's witness is refused on columns: {refused.text}"
    witness = answer.witness if answer.status is Status.CORRECT else in_turn(log, level)
    assert witness is not None
    for number in range(mutants + 1):
        spoilt = mutated(witness, log, rng) if number else witness
        by_sql, by_columns = check_sql(sql, spoilt, library, isolation=level), check_columns(log, spoilt, level)
        if (by_sql is None) != (by_columns is None):
            yield f"FAULT {where}, witness {number}: replay of its SQL says {by_sql}, on columns {by_columns}"
        what = "witness" if number == 0 else "spoilt witness"
        yield f"{what}: {'accepted' if by_sql is None else f'refused: {by_sql.condition}'}"


def run(kind: str, seeds: Iterable[int], *, audits: bool = True, mutants: int = MUTANTS) -> Counter[str]:
    """What came of some logs, counted; faults come once each."""
    return Counter(word for seed in seeds for word in judged(kind, seed, audits=audits, mutants=mutants))


def faults(counts: Counter[str]) -> list[str]:
    """The faults among what came of logs."""
    return [word for word in counts if word.startswith("FAULT")]


def _block(task: tuple[str, range]) -> tuple[str, Counter[str]]:
    return task[0], run(*task)


def campaign(logs: int, first: int, jobs: int, minutes: float | None = None) -> dict[str, dict[str, int]]:
    """What came of so many logs of each kind, or of as many as begin within `minutes`."""
    until = None if minutes is None else monotonic() + 60 * minutes
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    with ProcessPoolExecutor(jobs) as pool:
        for start in range(first, first + logs, 50):
            if until is not None and monotonic() > until:
                break
            seeds = range(start, min(start + 50, first + logs))
            for kind, counts in pool.map(_block, [(kind, seeds) for kind in KINDS]):
                found[kind] += counts
                for fault in faults(counts):
                    print(fault, flush=True)  # noqa: T201 - what the command is for
    return {kind: dict(sorted(counts.items())) for kind, counts in found.items()}


def page(figures: Mapping[str, Mapping[str, int]], commit: str) -> str:
    """The figures as a table."""
    words = sorted({word for counts in figures.values() for word in counts if not word.startswith("FAULT")})
    rows = [f"| | {' | '.join(figures)} |", f"|---|{'---:|' * len(figures)}"]
    rows += [f"| {word} | {' | '.join(f'{counts.get(word, 0):,}' for counts in figures.values())} |" for word in words]
    found = sum(word.startswith("FAULT") for counts in figures.values() for word in counts)
    count = min(sum(n for word, n in counts.items() if word.startswith("oracle: ")) for counts in figures.values())
    told = f"the judges differed {found} times" if found else "no two judges differed"
    told = f"At {commit}, of {count:,} logs of each type at least, {told}."
    return "\n".join([BEGIN, told, "", *rows, END])


def write_page(path: Path, text: str) -> None:
    """Put the figures where the page has the last ones."""
    old = path.read_text(encoding="utf-8")
    before, _, rest = old.partition(BEGIN)
    path.write_text(before + text + rest.partition(END)[2], encoding="utf-8")


def main() -> None:
    """Run the campaign and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=5000, help="logs of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, help="the page whose table gets the figures")
    parser.add_argument("--minutes", type=float, help="begin no more logs then")
    given = parser.parse_args()
    figures = campaign(given.logs, given.first, given.jobs, given.minutes)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    text = page(figures, commit.stdout.strip())
    print(text)  # noqa: T201
    if given.page:
        write_page(given.page, text)
    if any(word.startswith("FAULT") for counts in figures.values() for word in counts):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
