"""Records every workload on PostgreSQL, and on MariaDB where it is installed, and audits what was recorded.

Prints one line for each: how fast it ran, what was aborted, the verdict, and how long that took. Run as
``python -m benchmarks.recording.workloads``, or ``make workloads``. Does not know how verdicts are reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.record import EmbeddedPostgres, Workload, record_run
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing
from troubadour.workloads.bank import Bank, Variant
from troubadour.workloads.kv import KeyValue
from troubadour.workloads.rubis import Rubis
from troubadour.workloads.smallbank import SmallBank
from troubadour.workloads.texts import DialectName, Mode
from troubadour.workloads.tpcc import Tpcc
from troubadour.workloads.twitter import Twitter

SCALE = 4
"""TPC-C's transactions are so many times fewer: each does more."""
WORKLOADS: Mapping[str, Callable[[DialectName, Mode], Workload]] = {
    "bank": lambda dialect, mode: Bank(
        1000, Variant.PROCEDURES if mode == "procedures" else Variant.SINGLE_STATEMENT, dialect=dialect
    ),
    "twitter": lambda dialect, mode: Twitter(dialect, mode),
    "rubis": lambda dialect, mode: Rubis(dialect, mode),
    "smallbank": lambda dialect, mode: SmallBank(dialect, mode),
    "kv": lambda dialect, mode: KeyValue(dialect, mode),
    "tpcc": lambda dialect, mode: Tpcc(dialect, mode),
}


@contextmanager
def servers() -> Iterator[dict[DialectName, str]]:
    """The connection string of each server that there is."""
    with EmbeddedPostgres() as postgres:
        if missing() is not None:
            yield {"postgres": postgres.dsn}
            return
        with PrivateMariaDB() as mariadb:
            yield {"postgres": postgres.dsn, "mysql": mariadb.dsn}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(WORKLOADS)))
@click.option("--mode", type=click.Choice(["procedures", "statements"]), default="procedures", show_default=True)
@click.option("--isolation", multiple=True, default=["snapshot", "serializable"], show_default=True)
@click.option("--transactions", default=20_000, show_default=True, help="Committed ones of each run.")
@click.option("--sessions", default=4, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--timeout", default=1800.0, show_default=True, help="Seconds of each audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/workloads"), show_default=True)
def main(
    names: tuple[str, ...],
    mode: Mode,
    isolation: tuple[str, ...],
    transactions: int,
    sessions: int,
    seed: int,
    timeout: float,
    folder: Path,
) -> None:
    """Record and audit NAMES, by default all."""
    folder.mkdir(parents=True, exist_ok=True)
    with servers() as dsns:
        for name in names or WORKLOADS:
            for dialect, dsn in dsns.items():
                for level in isolation:
                    path = folder / f"{name}-{dialect}-{mode}-{level}.jsonl.gz"
                    tally = record_run(
                        WORKLOADS[name](dialect, mode),
                        dsn,
                        path,
                        isolation=level,
                        sessions=sessions,
                        transactions=transactions // SCALE if name == "tpcc" else transactions,
                        seed=seed,
                    )
                    begun = time.monotonic()
                    log = read_log([path])
                    verdict = audit(log, library_of(log), Options(timeout=timeout))
                    told = verdict.explanation or verdict.reason or ""
                    ran = f"{tally.committed} at {tally.rate:.0f} per second, aborted {dict(tally.aborted)}"
                    click.echo(f"{path.name}: {ran}: {verdict.status.value} in {time.monotonic() - begun:.1f} s {told}")


if __name__ == "__main__":
    main()
