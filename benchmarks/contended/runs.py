"""One long contended run: recorded, and audited with what that costs.

Does not know how an order is found.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contended import Mixed
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log, TransactionId
from troubadour.record import EmbeddedPostgres, record_run

SEED = 31_415


@dataclass(frozen=True, slots=True)
class Audited:
    """One log at one level. `cpu` in seconds, from the file on, `peak` in MiB. `moved`: writers that stand before
    one of an earlier commit timestamp in the witness. `told`: where it stopped and why."""

    level: str
    verdict: str
    verified: int
    committed: int
    aborted: int
    cpu: float
    peak: int
    moved: int | None
    told: str


def moved(log: Log, order: Sequence[TransactionId]) -> int:
    """How many transactions with a commit timestamp stand before one that committed earlier."""
    commits = {transaction.id: transaction.commit for transaction in log.transactions}
    found, earliest = 0, None
    for identifier in reversed(order):
        commit = commits[identifier]
        if commit is None:
            continue
        found += earliest is not None and commit > earliest
        earliest = commit if earliest is None else min(earliest, commit)
    return found


def audited(path: Path, level: str, timeout: float) -> Audited:
    """Read and audit a log. To be called in a process of its own, or `peak` is that of all before."""
    begun = time.process_time()
    log = read_log([path])
    verdict = audit(log, library_of(log), Options(level, timeout=timeout))
    cpu = time.process_time() - begun
    behind = moved(log, verdict.witness.order) if verdict.witness is not None else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    told = f"{verdict.verified_prefix} of {log.committed}, at {verdict.failing_transaction}: "
    told += str(verdict.explanation or verdict.reason)
    return Audited(
        level, verdict.status.value, verdict.verified_prefix, log.committed, log.aborted, cpu, peak, behind, told
    )


def record(path: Path, isolation: str, rows: int, transactions: int, sessions: int) -> None:
    """Record one run on an embedded server."""
    with EmbeddedPostgres() as server:
        tally = record_run(
            Mixed(rows), server.dsn, path, isolation=isolation, sessions=sessions, transactions=transactions, seed=SEED
        )
    print(f"{path.name}: {tally.committed} committed, {sum(tally.aborted.values())} aborted, {tally.seconds:.0f} s")
