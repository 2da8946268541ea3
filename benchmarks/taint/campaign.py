"""Runs cases and judges their logs: verdicts, and how much is judged. Does not know how a case is made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.taint.runs import Lines, on_postgres, on_sqlite, prepared, recorded
from benchmarks.taint.schemas import WORLDS
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.formats import read_log
from troubadour.model.log import LogError
from troubadour.model.verdict import Status
from troubadour.record import EmbeddedPostgres


@dataclass(slots=True)
class Tally:
    """What was found of some cases: verdicts, statements and how many of them were judged, and the numbers of cases
    that are no honest verdict."""

    verdicts: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    judged: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in another."""
        self.verdicts += other.verdicts
        self.statements += other.statements
        self.judged += other.judged
        self.refused += other.refused
        self.failed += other.failed


def judged(lines: Lines, path: Path) -> Tally:
    """The verdict on a log, which is written at `path`, and stays there if it is a violation or cannot be used."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = Tally()
    try:
        verdict = audit(*library_for(read_log([path])), Options())
    except LogError as error:
        found.verdicts["unusable"] += 1
        found.failed.append(f"{path}: {error}")
        return found
    found.verdicts[verdict.status.value] += 1
    if verdict.coverage is not None:
        found.statements, found.judged = verdict.coverage.statements, verdict.coverage.judged
        found.refused = bool(verdict.coverage.unjudged)
    if verdict.status is Status.VIOLATION:
        found.failed.append(f"{path}: {verdict.explanation}")
    else:
        path.unlink()
    return found


def logs(product: str, numbers: range, seed: int) -> Iterator[tuple[int, Lines]]:
    """The logs of cases, run on the product."""

    def one(number: int) -> Random:
        return Random(f"{seed}-{product}-{number}")

    if product == "sqlite":
        for number in numbers:
            random = one(number)
            yield number, recorded(WORLDS[product](random), on_sqlite, product, random)
        return
    with EmbeddedPostgres({"fsync": "off", "max_connections": "20"}) as server, prepared(server.dsn) as connection:
        for number in numbers:
            random = one(number)
            yield number, recorded(WORLDS[product](random), on_postgres(connection), product, random)


def campaign(product: str, numbers: range, seed: int, folder: Path) -> Tally:
    """Run and judge cases."""
    found = Tally()
    for number, lines in logs(product, numbers, seed):
        found.add(judged(lines, folder / f"{product}-{seed}-{number}.jsonl"))
    return found
