"""How fast the audit is on the recorded logs, at the level that each was recorded at.

Prints transactions per second: of the audit in memory (search and replay), of replaying its witness alone, and of all,
from the file to the verdict; and how many times longer that all takes than reading the file's JSON does (same run, same
machine). Run as ``python -m benchmarks.audit``. Does not know how the logs were made.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.replay.checker import check

LOGS = Path(__file__).parents[1] / "logs" / "recorded"


@dataclass(frozen=True, slots=True)
class Timings:
    """Median seconds of each part; `transactions` are all in the log."""

    transactions: int
    json: float
    search: float
    replay: float
    total: float

    @property
    def rates(self) -> tuple[float, float, float]:
        """Transactions per second of search, replay and all."""
        return self.transactions / self.search, self.transactions / self.replay, self.transactions / self.total

    @property
    def ratio(self) -> float:
        """How many times longer than reading the JSON."""
        return self.total / self.json


def read_json(path: Path) -> int:
    """Read a log with nothing but gzip and json: the lines."""
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    return sum(1 for line in lines if json.loads(line) is not None)


def whole(path: Path) -> Verdict:
    """From the file to the verdict."""
    log = read_log([path])
    return audit(log, library_of(log), Options())


def seconds(action: Callable[[], object]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def measure(path: Path, rounds: int) -> Timings:
    """Time every part `rounds` times, in turns. Raises SystemExit where the log is not correct."""
    log = read_log([path])
    verdict = whole(path)
    witness = verdict.witness
    if verdict.status is not Status.CORRECT or witness is None:
        raise SystemExit(f"{path.name}: {verdict.status.value}: {verdict.explanation or verdict.reason}")
    found: dict[str, list[float]] = {"json": [], "replay": [], "audit": [], "total": []}
    for _ in range(rounds):
        found["json"].append(seconds(lambda: read_json(path)))
        library = library_of(log)
        found["audit"].append(seconds(lambda library=library: audit(log, library, Options())))  # type: ignore[misc]
        library = library_of(log)
        found["replay"].append(seconds(lambda library=library: check(log, witness, library, isolation=None)))  # type: ignore[misc]
        found["total"].append(seconds(lambda: whole(path)))
    medians = {name: median(values) for name, values in found.items()}
    search = medians["audit"] - medians["replay"]
    return Timings(len(log.transactions), medians["json"], search, medians["replay"], medians["total"])


@click.command()
@click.argument("logs", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rounds", default=5, show_default=True, help="Rounds; medians are printed.")
def main(logs: tuple[Path, ...], rounds: int) -> None:
    """Print transactions per second for LOGS, by default the recorded ones."""
    click.echo(f"{'log':32} {'search':>8} {'replay':>8} {'all':>8}   all / reading JSON")
    for path in logs or sorted(LOGS.glob("*.jsonl.gz")):
        timings = measure(path, rounds)
        search, replay, total = timings.rates
        name = path.name.removesuffix(".gz").removesuffix(".jsonl")
        click.echo(f"{name:32} {search:8,.0f} {replay:8,.0f} {total:8,.0f} {timings.ratio:8.1f}   per second")


if __name__ == "__main__":
    main()
