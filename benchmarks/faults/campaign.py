"""``python -m benchmarks.faults.campaign``: single faults of 11 kinds in fresh logs of eight applications.

Each log is recorded on PostgreSQL or MariaDB by eight sessions at a level of the product's, audited as it is, and with
one fault at a time, at that level's profile. What was found is kept line by line beside the recorded logs, so that the
campaign can be stopped and goes on where it was. Counts for each size the verdicts, and the reasons of what stays
undecided. A `correct` of a log with a fault is held against the server: its witness is driven there (of a sample).
Fails where a log without a fault is accused, or the server contradicts a `correct`. Does not know how a fault is found.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import click

from benchmarks.faults.apps import APPLICATIONS
from benchmarks.faults.kinds import ANYWHERE, NoPlace, with_fault
from benchmarks.faults.raw import RawLog
from benchmarks.mixed.__main__ import up
from benchmarks.replayed.one import told_of
from benchmarks.verdicts.measure import Auditor
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.order.rows.propagation import Rows
from troubadour.problem.problem import Problem
from troubadour.record import record_run

KEPT = Path(__file__).with_name("last.json")
RECORDED_AT = {
    "postgres:read-committed": "read-committed",
    "postgres:repeatable-read": "snapshot",
    "postgres:serializable": "serializable",
    "mysql:read-committed": "read-committed",
    "mysql:repeatable-read": "mysql:repeatable-read",
    "mysql:serializable": "serializable",
}
"""What the recorder is asked for, by profile."""
PRODUCTS = {"postgres": "postgres", "mysql": "mariadb"}
SIZES = (100, 100, 100, 300, 1000)
"""Committed transactions of the logs, in turn."""
SESSIONS = 8


@dataclass(frozen=True, slots=True)
class Run:
    """One log of a campaign, by its number."""

    number: int
    application: str
    profile: str
    size: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.number:03}-{self.application}-{self.profile.replace(':', '-')}-{self.size}"


@dataclass(frozen=True, slots=True)
class Found:
    """One audit. `kind`: of the fault (None: no fault); `reason`: of one that is undecided; `driven`: what became of
    the witness of a `correct` on the server (None: not in the sample)."""

    log: int
    application: str
    profile: str
    size: int
    fault: int
    kind: str | None
    verdict: str
    reason: str | None
    cpu: float
    driven: str | None = None


def plan(number: int) -> Run:
    """Applications in turn, profiles in turn of these, and sizes in turn."""
    names, profiles = list(APPLICATIONS), list(RECORDED_AT)
    application = names[number % len(names)]
    profile = profiles[(number % len(names) + number // len(names)) % len(profiles)]
    return Run(number, application, profile, SIZES[number % len(SIZES)])


def faulted(log: RawLog, seed: int, run: Run, count: int) -> Iterator[tuple[int, str | None, RawLog]]:
    """The log as it is, then `count` faults, each by its number; kinds in turn, from log to log the next ones."""
    yield 0, None, log
    made = attempt = 0
    while made < count and attempt < 4 * count:
        kind = ANYWHERE[(run.number * count + attempt) % len(ANYWHERE)]
        attempt += 1
        try:
            changed = with_fault(log, kind, Random(f"{seed}/{run.number}/{attempt}"))
        except NoPlace:
            continue
        made += 1
        yield made, kind, changed


def record(run: Run, dsn: str, seed: int, path: Path) -> RawLog:
    """The log of a run, recorded unless it is there."""
    packed = path.with_suffix(".jsonl.gz")
    if not packed.exists():
        workload = replace(APPLICATIONS[run.application], dialect=run.profile.partition(":")[0])
        path.unlink(missing_ok=True)
        level = RECORDED_AT[run.profile]
        record_run(
            workload, dsn, path, isolation=level, sessions=SESSIONS, transactions=run.size, seed=seed + run.number
        )
        packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    log = RawLog.read(packed)
    log.head[0]["isolation"] = run.profile
    return log


def kind_of(reason: str | None) -> str:
    """A reason without what is of one log alone: names and numbers."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "_", reason or "no reason given")
    return re.sub(r"\d[\d,.]*", "N", text)[:160]


@dataclass(slots=True)
class Sampled:
    """How many more witnesses of `correct` may be driven."""

    left: int


def driven(pool: ProcessPoolExecutor, path: Path, profile: str, dsn: str, timeout: float) -> str:
    """What the server says of the witness of a log with a fault."""
    product = PRODUCTS[profile.partition(":")[0]]
    told = pool.submit(told_of, path, product, dsn, timeout).result()
    return f"{told.driven}{': ' + told.text[:200] if told.driven == 'disagreed' else ''}"


def _tell_of_rows(run: Run, logs: Iterator[tuple[int, str | None, RawLog]], path: Path, told: Counter[str]) -> None:
    """Count of which logs what answers tell of rows contradicts itself."""
    for number, kind, changed in logs:
        changed.write(path)
        log = read_log([path])
        library = library_of(log)
        initial, unknown = known_rows(log, library), unknown_tables(log, library)
        derived = Rows(Problem(log, library, initial, isolation=run.profile, unknown=unknown)).derive()
        found = "refuted" if derived is not None and derived.conflict is not None else "open"
        told[f"{'no fault' if kind is None else 'fault'}, {found}"] += 1
        told[f"{run.application}: {'no fault' if kind is None else 'fault'}, {found}"] += 1
        if found == "open" and kind is not None:
            print(f"{run.name} {number} {kind}: open", flush=True)


def table(rows: Sequence[Found], by: str) -> list[str]:
    """Verdicts of faults by one of the fields."""
    groups: dict[Any, Counter[str]] = defaultdict(Counter)
    seconds: dict[Any, float] = defaultdict(float)
    for row in rows:
        if row.kind is not None:
            groups[getattr(row, by)][row.verdict] += 1
            seconds[getattr(row, by)] += row.cpu
    lines = [f"| {by} | faults | violation | correct | undecided | CPU s each |", "|---|" + "---:|" * 5]
    for key, counts in sorted(groups.items()):
        total = counts.total()
        share = f"{counts['undecided']} ({100 * counts['undecided'] / total:.1f}%)"
        each = seconds[key] / total
        lines.append(f"| {key} | {total} | {counts['violation']} | {counts['correct']} | {share} | {each:.1f} |")
    return lines


def summary(rows: Sequence[Found]) -> dict[str, Any]:
    """What is kept: counts by size, application, profile and kind, the reasons, logs without a fault, witnesses."""

    def counted(by: str) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            if row.kind is not None:
                found[str(getattr(row, by))][row.verdict] += 1
        return {key: dict(sorted(value.items())) for key, value in sorted(found.items())}

    undecided = [row for row in rows if row.kind is not None and row.verdict == "undecided"]
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for row in undecided:
        reasons[str(row.size)][kind_of(row.reason)] += 1
    return {
        "faults": sum(row.kind is not None for row in rows),
        **{by: counted(by) for by in ("size", "application", "profile", "kind")},
        "reasons": {size: dict(counts.most_common()) for size, counts in sorted(reasons.items())},
        "without a fault": dict(Counter(f"{row.size} {row.verdict}" for row in rows if row.kind is None)),
        "witnesses driven": dict(Counter((row.driven or "").partition(":")[0] for row in rows if row.driven)),
        "cpu": round(sum(row.cpu for row in rows), 1),
    }


@click.command()
@click.option("--logs", default=100, show_default=True)
@click.option("--first", default=0, show_default=True, help="The number of the first log.")
@click.option("--faults", default=10, show_default=True, help="In each log.")
@click.option("--size", "sizes", multiple=True, type=int, help="Of the logs, in turn.")
@click.option("--seed", default=29, show_default=True)
@click.option("--cpu", default=60.0, show_default=True, help="Processor seconds of an audit.")
@click.option("--sample", default=50, show_default=True, help="Witnesses of `correct` that are driven, at most.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/fault-campaign"), show_default=True)
@click.option("--rows-only", is_flag=True, help="Only what answers tell of rows, without search; nothing is kept.")
@click.option("--again", is_flag=True, help="Audit anew what was undecided.")
@click.option("--keep", is_flag=True, help="Keep the figures in the repository.")
def main(
    logs: int,
    first: int,
    faults: int,
    sizes: Sequence[int],
    seed: int,
    cpu: float,
    sample: int,
    folder: Path,
    rows_only: bool,
    again: bool,
    keep: bool,
) -> None:
    """Record logs, put faults into them, and audit them, from where an earlier call left off."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "audits.jsonl"
    known: dict[tuple[int, int, int], Found] = {}
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            one = Found(**json.loads(line))
            known[one.log, one.size, one.fault] = one
    told: Counter[str] = Counter()
    sampled = Sampled(sample - sum(one.driven is not None for one in known.values()))
    runs = [plan(number) for number in range(first, first + logs)]
    if sizes:
        runs = [replace(run, size=sizes[run.number % len(sizes)]) for run in runs]
    with ExitStack() as stack:
        addresses: dict[str, str] = {}
        auditor = stack.enter_context(Auditor())
        pool = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        out = stack.enter_context(journal.open("a", encoding="utf-8"))
        for run in runs:
            product = PRODUCTS[run.profile.partition(":")[0]]
            if product not in addresses:
                addresses[product] = stack.enter_context(up(product))
            log = record(run, addresses[product], seed, folder / f"{run.name}.jsonl")
            if rows_only:
                _tell_of_rows(run, faulted(log, seed, run, faults), folder / "faulted.jsonl", told)
                continue
            for number, kind, changed in faulted(log, seed, run, faults):
                before = known.get((run.number, run.size, number))
                if before is not None and not (again and before.verdict == "undecided"):
                    continue
                path = folder / "faulted.jsonl"
                changed.write(path)
                now = auditor.audit((path,), run.profile, cpu)
                found = Found(
                    run.number, run.application, run.profile, run.size, number, kind, now.verdict, now.reason, now.cpu
                )
                if now.verdict == "correct" and kind is not None and sampled.left > 0:
                    sampled.left -= 1
                    found = replace(found, driven=driven(pool, path, run.profile, addresses[product], 2 * cpu))
                known[run.number, run.size, number] = found
                out.write(json.dumps(asdict(found)) + "\n")
                out.flush()
                print(f"{run.name} {number} {kind}: {found.verdict} {found.cpu:.1f} s {found.reason or ''}", flush=True)
    if rows_only:
        print(*(f"{name}: {count}" for name, count in sorted(told.items())), sep="\n")
        raise SystemExit(told["no fault, refuted"] > 0)
    rows = [known[key] for key in sorted(known)]
    for by in ("size", "application", "profile", "kind"):
        print(*table(rows, by), "", sep="\n")
    figures = summary(rows)
    print(json.dumps({name: figures[name] for name in ("reasons", "without a fault", "witnesses driven")}, indent=1))
    if keep:
        commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        said = {"commit": commit.stdout.strip(), "seed": seed, "limit": cpu, **figures}
        KEPT.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    accused = [row for row in rows if row.kind is None and row.verdict == "violation"]
    contradicted = [row for row in rows if (row.driven or "").startswith("disagreed")]
    raise SystemExit(bool(accused or contradicted))


if __name__ == "__main__":
    main()
