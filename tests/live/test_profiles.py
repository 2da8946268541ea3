"""What products do is correct at their profiles (DESIGN §8): fresh contended runs of four of them.

Does not know how a profile is audited.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random

import duckdb
import pytest

from benchmarks.contended import Mixed
from tests.case_files import library_of as library
from tests.live.in_process import ROWS, SCHEMA, Run
from tests.live.mixed import MariaMixed
from tests.live.test_end_to_end import library_of, record
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.record import record_run
from troubadour.replay import check

SECONDS = 30.0
FEW, MANY = 60, 300
"""Transactions of a run that has to be explained, and of one of which it is enough that it is not accused."""


def served(verdict: Verdict, transactions: int) -> bool:
    """A real server is never accused. Long runs under contention may stay undecided: their order is not found."""
    told = f"{verdict.failing_transaction}: {verdict.explanation or verdict.reason}"
    assert verdict.status is not Status.VIOLATION, told
    assert transactions > FEW or verdict.status is Status.CORRECT, told
    return verdict.status is Status.CORRECT


@pytest.mark.parametrize("transactions", [FEW, MANY])
@pytest.mark.parametrize(
    ("isolation", "profile"),
    [
        ("read-committed", "postgres:read-committed"),
        ("snapshot", "postgres:repeatable-read"),
        ("serializable", "postgres:serializable"),
    ],
)
def test_a_run_on_postgres_is_correct_at_its_profile(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str, profile: str, transactions: int
) -> None:
    path = tmp_path / "log.jsonl"
    log, _ = record(postgres_dsn, database_schema, path, Mixed(20), isolation, sessions=6, transactions=transactions)
    verdict = audit(log, library_of(log), Options(profile, timeout=SECONDS))
    if served(verdict, transactions):
        assert verdict.witness is not None
        assert check(log, verdict.witness, library_of(log), isolation=profile) is None


@pytest.mark.parametrize(
    ("isolation", "profile"),
    [("mysql:repeatable-read", "mysql:repeatable-read"), ("read-committed", "mysql:read-committed")],
)
def test_a_run_on_mariadb_is_correct_at_its_profile_and_no_snapshot(
    mariadb_dsn: str, tmp_path: Path, isolation: str, profile: str
) -> None:
    """Within 30 seconds most such runs are a violation of snapshot isolation; the others stay undecided."""
    held_to_snapshot = []
    for seed in range(1, 4):
        path = tmp_path / f"log-{seed}.jsonl"
        record_run(MariaMixed(10), mariadb_dsn, path, isolation=isolation, sessions=6, transactions=150, seed=seed)
        log = read_log([path])
        served(audit(log, library(log), Options(profile, timeout=SECONDS)), 150)
        held_to_snapshot.append(audit(log, library(log), Options("snapshot", timeout=SECONDS)).status)
        if held_to_snapshot[-1] is Status.VIOLATION:
            return
    pytest.fail(f"no violation in three runs: {held_to_snapshot}")


def sqlite_run(folder: Path, wanted: int) -> Run:
    file = folder / "items.db"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(SCHEMA)
        connection.executemany("INSERT INTO items VALUES (?, ?, ?)", ROWS)

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(file, timeout=0.02, isolation_level=None, check_same_thread=False)

    def begin(random: Random) -> str:
        return "BEGIN" if random.random() < 0.5 else "BEGIN IMMEDIATE"

    return Run("sqlite", connect, begin, wanted)


def duckdb_run(folder: Path, wanted: int) -> Run:
    database = duckdb.connect(str(folder / "items.duckdb"))
    database.execute(SCHEMA)
    database.executemany("INSERT INTO items VALUES (?, ?, ?)", ROWS)
    # where two write one row in different columns, or one deletes it, DuckDB keeps both: undecided
    return Run("duckdb", database.cursor, lambda random: "BEGIN TRANSACTION", wanted, one_column=True)


@pytest.mark.parametrize("start", [sqlite_run, duckdb_run], ids=["sqlite", "duckdb"])
def test_a_run_in_process_is_correct_at_its_profile(tmp_path: Path, start: object) -> None:
    assert callable(start)
    run: Run = start(tmp_path, 300)
    path = tmp_path / "log.jsonl"
    run.write(path, 4)
    assert len(run.lines) > run.committed >= 300, "nothing conflicted"
    log = read_log([path])
    verdict = audit(log, library(log), Options(None, timeout=SECONDS))
    served(verdict, MANY)
    assert verdict.isolation == run.dialect
