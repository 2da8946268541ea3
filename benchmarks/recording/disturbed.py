"""Runs of a real PostgreSQL that is disturbed: connections killed while they commit, and the server crashed. A last
session reads all tables, and its answer tells what the server kept.

What is audited is what the clients saw; what the server kept is compared with what the witness says. Run as
``python -m benchmarks.recording.disturbed kills`` or ``crash [--lossy]``. Does not know how verdicts are reached.
"""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log, Transaction
from troubadour.model.verdict import Status, Verdict
from troubadour.record import EmbeddedPostgres, Recorder, Tally, connect, load, run, scratch_schema
from troubadour.record.runs.disturb import Kills, killing
from troubadour.workloads.ledger import LAST_LOOK, Ledger

LOSSY = {"synchronous_commit": "off", "wal_writer_delay": "10000ms", "wal_writer_flush_after": "1GB"}
"""A commit is answered before it is on disk, and is put there ten seconds later, or when others have filled the
buffers."""
DURABLE = {"synchronous_commit": "on"}
LAST_SESSION = "last"


@dataclass(slots=True)
class Disturbed:
    """A recorded run: its log, what was done to it, and the numbers of the entries that the last session found."""

    log: Log
    tally: Tally
    kept: set[int]
    kills: Kills = field(default_factory=Kills)
    crashed: int = 0


def record_kills(path: Path, *, transactions: int, seed: int, sessions: int = 4, period: float = 0.05) -> Disturbed:
    """A run whose connections are killed now and then."""
    with (
        EmbeddedPostgres() as server,
        scratch_schema(server.dsn) as schema,
        _recorder(server.dsn, schema, path) as recorder,
    ):
        with killing(server.dsn, seed=seed, period=period) as kills:
            tally = run(recorder.session, Ledger(), sessions=sessions, transactions=transactions, seed=seed, patience=5)
        kept = _last_look(recorder)
    return Disturbed(read_log([path]), tally, kept, kills)


def record_crash(path: Path, *, transactions: int, seed: int, lossy: bool, sessions: int = 4) -> Disturbed:
    """A run in whose middle the server is stopped at once and started again. `crashed`: how many had committed."""
    with (
        EmbeddedPostgres(LOSSY if lossy else DURABLE) as server,
        scratch_schema(server.dsn) as schema,
        _recorder(server.dsn, schema, path) as recorder,
    ):
        with connect(server.dsn) as connection:
            connection.execute(b"CHECKPOINT")  # the tables and their first rows are to survive
        committed = _Committed(transactions // 2)

        def crash() -> None:
            committed.reached.wait()
            server.crash()

        with ThreadPoolExecutor(1) as pool:
            crashing = pool.submit(crash)
            try:
                tally = run(
                    recorder.session,
                    Ledger(),
                    sessions=sessions,
                    transactions=transactions,
                    seed=seed,
                    progress=committed,
                    period=0.002,
                    patience=300,
                )
            finally:
                committed.reached.set()
            crashing.result()
        kept = _last_look(recorder)
    return Disturbed(read_log([path]), tally, kept, crashed=committed.count)


class _Committed:
    """A progress callback that says when so many have committed."""

    def __init__(self, wanted: int) -> None:
        self.reached = threading.Event()
        self.count = 0
        self._wanted = wanted

    def __call__(self, tally: Tally) -> None:
        if tally.committed >= self._wanted and not self.reached.is_set():
            self.count = tally.committed
            self.reached.set()


def _recorder(dsn: str, schema: str, path: Path) -> Recorder:
    workload = Ledger()
    with connect(dsn, schema) as connection:
        load(workload, connection.cursor())
    return Recorder(
        dsn,
        path,
        isolation="snapshot",
        schema=workload.schema,
        tables=workload.tables,
        search_path=schema,
    )


def _last_look(recorder: Recorder) -> set[int]:
    session = recorder.session(LAST_SESSION)
    session.begin()
    entries, _ = [session.execute(sql).rows for sql in LAST_LOOK]
    session.commit()
    session.close()
    return {row[0] for row in entries if isinstance(row[0], int)}


def entry_of(transaction: Transaction) -> int | None:
    """The number of the entry that a transaction made, if it made one."""
    for statement in transaction.statements:
        if statement.sql.startswith("INSERT") and isinstance(statement.params, Sequence):
            return int(statement.params[0])
    return None


def lost(run: Disturbed) -> list[Transaction]:
    """The transactions that the server acknowledged, and whose entries the last session does not find."""
    return [
        transaction
        for transaction in run.log.transactions
        if transaction.status == "committed" and (entry := entry_of(transaction)) is not None and entry not in run.kept
    ]


def resolved(log: Log, verdict: Verdict) -> dict[str, bool]:
    """For each transaction of unknown outcome, whether the verdict's witness says that the last session saw it happen.

    A COMMIT whose answer was lost may still come into force after that session has looked, for all that was observed.
    """
    if verdict.witness is None:
        raise ValueError("only a correct log has a witness")
    order = verdict.witness.order
    last = next(at for at, name in enumerate(order) if str(name).startswith(LAST_SESSION))
    happened = set(order[:last])
    return {str(t.id): t.id in happened for t in log.transactions if t.status == "unknown"}


def check(log: Log, timeout: float) -> Verdict:
    """The verdict at strict snapshot: what was acknowledged has to be seen from then on."""
    return audit(log, library_of(log), Options("strict-snapshot", timeout=timeout))


@click.group()
def main() -> None:
    """Disturb a PostgreSQL, and audit what its clients saw."""


@main.command()
@click.option("--transactions", default=2000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--timeout", default=600.0, show_default=True)
def kills(transactions: int, seed: int, timeout: float) -> None:
    """Kill connections, also while they commit."""
    with tempfile.TemporaryDirectory() as folder:
        run = record_kills(Path(folder) / "log.jsonl", transactions=transactions, seed=seed)
    log = run.log
    click.echo(f"killed: {run.kills.transactions} in a transaction, {run.kills.commits} in a COMMIT")
    click.echo(
        f"logged: {log.committed} committed, {log.aborted} aborted, {log.unknown} unknown; lost {len(lost(run))}"
    )
    verdict = check(log, timeout)
    _tell(verdict)
    if verdict.status is Status.CORRECT:
        told = resolved(log, verdict)
        entries = {str(t.id): entry_of(t) for t in log.transactions}
        truth = Counter((told[name], entries[name] in run.kept) for name in told if entries[name] is not None)
        click.echo(f"unknown ones (witness says it happened, the server has it): {dict(truth)}")


@main.command()
@click.option("--lossy", is_flag=True, help="synchronous_commit = off")
@click.option("--transactions", default=2000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--timeout", default=600.0, show_default=True)
def crash(lossy: bool, transactions: int, seed: int, timeout: float) -> None:
    """Crash the server in the middle of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = record_crash(Path(folder) / "log.jsonl", transactions=transactions, seed=seed, lossy=lossy)
    log, gone = run.log, lost(run)
    click.echo(f"crashed after {run.crashed}; {log.committed} committed, {log.unknown} unknown, {len(gone)} lost")
    verdict = check(log, timeout)
    _tell(verdict)
    names = {str(transaction.id) for transaction in gone}
    if verdict.status is Status.VIOLATION:
        core = {str(name) for name in verdict.core or ()}
        click.echo(f"the core names {len(core & names)} of the {len(names)} lost ones, and {sorted(core - names)}")


def _tell(verdict: Verdict) -> None:
    click.echo(f"{verdict.status.value}: {verdict.explanation or verdict.reason or ''} core {verdict.core}")


if __name__ == "__main__":
    main()
