"""The paper's workloads at its own read committed: recorded once, audited with the processor time of each transaction.

``python -m benchmarks.read_committed FOLDER`` records what is not there yet: TPC-C of the paper's size (§8, two
sessions), TPC-C as the recorder has it, and SmallBank under snapshots, which a weaker level has to explain, too. Does
not know how an explanation is found.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.contended.runs import audited
from troubadour.model.verdict import Status
from troubadour.record import EmbeddedPostgres, Workload, record_run
from troubadour.workloads.smallbank import SmallBank
from troubadour.workloads.tpcc import Tpcc

LEVEL = "read-committed"


@dataclass(frozen=True, slots=True)
class Run:
    """What is recorded: how many committed transactions of how many sessions, at which level."""

    workload: Workload
    transactions: int
    sessions: int
    isolation: str


RUNS = {
    "tpcc-paper": Run(Tpcc("postgres", "procedures", districts=2, customers=3, items=1), 2_000, 2, "read-committed"),
    "tpcc": Run(Tpcc("postgres", "procedures"), 20_000, 4, "read-committed"),
    "smallbank": Run(SmallBank("postgres", "procedures"), 20_000, 4, "snapshot"),
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("names", nargs=-1, type=click.Choice(list(RUNS)))
@click.option("--transactions", type=int, help="Committed ones of each run, in place of its own number.")
@click.option("--seed", default=1, show_default=True)
@click.option("--timeout", default=600.0, show_default=True, help="Seconds of each audit.")
def main(folder: Path, names: tuple[str, ...], transactions: int | None, seed: int, timeout: float) -> None:
    """Record the runs that are not in FOLDER yet, audit all, and fail where one is not correct."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in names or RUNS:
        run = RUNS[name]
        count = transactions or run.transactions
        path = folder / f"{name}-{count}-{seed}.jsonl.gz"
        if not path.exists():
            _record(run, path, count, seed)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(audited, path, LEVEL, timeout).result()
        each = 1000 * found.cpu / max(1, found.committed)
        text = f"{path.name} at {found.level}: {found.verdict}, {found.verified} of {found.committed}"
        print(f"{text}, {found.cpu:.1f} CPU s, {each:.1f} ms each, {found.peak} MiB", flush=True)
        wrong += found.verdict != Status.CORRECT.value
    raise SystemExit(wrong > 0)


def _record(run: Run, path: Path, transactions: int, seed: int) -> None:
    with EmbeddedPostgres() as server:
        record_run(
            run.workload,
            server.dsn,
            path,
            isolation=run.isolation,
            sessions=run.sessions,
            transactions=transactions,
            seed=seed,
        )


if __name__ == "__main__":
    main()
