"""Fresh runs on a real PostgreSQL, audited: what a server does at a level is correct at that level.

The bank in both variants, and a mixed workload on ten contended rows: reads by key, by predicate and of aggregates,
inserts, deletes, updates by predicate. What the server decided is taken as right; a verdict that is not `correct` is a
fault of the audit. Does not know how a run is recorded.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.contended import Items
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.record import Recorder, Tally, Workload, connect, load, run
from troubadour.replay.checker import check
from troubadour.workloads.bank import Bank, Variant

SEED = 31_415
LEVELS = ("read-committed", "snapshot", "serializable")
SECONDS = 600.0


def record(
    dsn: str, schema: str, path: Path, workload: Workload, isolation: str, *, sessions: int, transactions: int
) -> tuple[Log, Tally]:
    """A recorded run, read back."""
    with connect(dsn, schema) as connection:
        load(workload, connection.cursor())
        with Recorder(
            dsn,
            path,
            isolation=isolation,
            schema=workload.schema,
            procedures=workload.procedures,
            tables=workload.tables,
            search_path=schema,
        ) as recorder:
            tally = run(recorder.session, workload, sessions=sessions, transactions=transactions, seed=SEED)
    return read_log([path]), tally


def assert_correct(log: Log, path: Path) -> Verdict:
    """Correct at its own level, with a witness that replay takes."""
    library = library_of(log)
    verdict = audit(log, library, Options(timeout=SECONDS))
    told = f"{path}: {verdict.status.value} at {verdict.failing_transaction}: {verdict.explanation or verdict.reason}"
    assert (verdict.status, verdict.verified_prefix) == (Status.CORRECT, log.committed), told
    assert verdict.witness is not None
    assert check(log, verdict.witness, library, isolation=None) is None
    return verdict


@pytest.mark.parametrize("variant", list(Variant), ids=lambda variant: variant.value)
@pytest.mark.parametrize("isolation", LEVELS)
def test_a_bank_run_is_correct_at_its_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str, variant: Variant
) -> None:
    path = tmp_path / "log.jsonl"
    workload = Bank(accounts=20, variant=variant, blind_writes=50, seed=SEED)
    log, tally = record(postgres_dsn, database_schema, path, workload, isolation, sessions=4, transactions=300)
    assert log.committed == tally.committed >= 300
    assert_correct(log, path)


def assert_mixed(log: Log, tally: Tally, isolation: str) -> None:
    """The run was what it is meant to be: contended, and of every kind of statement."""
    verbs = Counter(
        statement.sql.partition(" ")[0]
        for transaction in log.transactions
        if transaction.status == "committed"
        for statement in transaction.statements
    )
    assert all(verbs[verb] >= log.committed / 50 for verb in ("SELECT", "UPDATE", "INSERT", "DELETE")), verbs
    conflicts = sum(tally.aborted.values())
    assert conflicts > 0 if isolation != "read-committed" else log.committed > 0, tally


@pytest.mark.parametrize(
    ("isolation", "transactions"),
    [
        *((level, 400) for level in LEVELS),
        *(pytest.param(level, 1500, marks=pytest.mark.slow) for level in LEVELS[1:]),
    ],
)
def test_a_mixed_run_is_correct_at_its_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str, transactions: int
) -> None:
    path = tmp_path / "log.jsonl"
    log, tally = record(postgres_dsn, database_schema, path, Items(), isolation, sessions=6, transactions=transactions)
    assert_mixed(log, tally, isolation)
    assert_correct(log, path)


@pytest.mark.slow
@pytest.mark.parametrize("isolation", LEVELS)
def test_a_long_mixed_run_is_correct_at_its_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str
) -> None:
    path = tmp_path / "log.jsonl.gz"
    log, tally = record(postgres_dsn, database_schema, path, Items(), isolation, sessions=6, transactions=20_000)
    assert_mixed(log, tally, isolation)
    assert_correct(log, path)
