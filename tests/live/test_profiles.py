"""What products do is correct at their profiles: fresh contended runs of four of them.

Does not know how a profile is audited.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.contended import Mixed
from benchmarks.contended.texts import MARIADB
from benchmarks.profiles.runs import plan, product
from tests.live.test_end_to_end import record
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of as library
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.record import record_run
from troubadour.replay.checker import check

SECONDS = 300.0
BRIEFLY = 4.0
"""For what is asked of a run only to see that it does not pass."""
CHANCES = 4
"""Runs in which, on a machine that is busy, no two transactions may have met so that it shows."""
FEW, MANY = 60, 300
"""Transactions of a run that has to be explained, and of one of which it is enough that it is not accused."""


def served(verdict: Verdict, transactions: int) -> bool:
    """A real server is never accused. Long runs under contention may stay undecided: their order is not found."""
    told = f"{verdict.failing_transaction}: {verdict.explanation or verdict.reason}"
    assert verdict.status is not Status.VIOLATION, told
    assert transactions > FEW or verdict.status is Status.CORRECT, told
    return verdict.status is Status.CORRECT


@pytest.mark.parametrize("transactions", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
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
    verdict = audit(log, library(log), Options(profile, timeout=SECONDS))
    if served(verdict, transactions):
        assert verdict.witness is not None
        assert check(log, verdict.witness, library(log), isolation=profile) is None


@pytest.mark.parametrize(
    ("isolation", "profile"),
    [("mysql:repeatable-read", "mysql:repeatable-read"), ("read-committed", "mysql:read-committed")],
)
@pytest.mark.parametrize("runs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_on_mariadb_is_correct_at_its_profile_and_no_snapshot(
    mariadb_dsn: str, tmp_path: Path, runs: int, isolation: str, profile: str
) -> None:
    """Such runs do not pass for snapshot isolation, but by chance: where every order is excluded a violation."""
    other = 0
    for seed in range(1, runs + CHANCES):
        path = tmp_path / f"log-{seed}.jsonl"
        record_run(Mixed(10, MARIADB), mariadb_dsn, path, isolation=isolation, sessions=6, transactions=100, seed=seed)
        log = read_log([path])
        served(audit(log, library(log), Options(profile, timeout=SECONDS)), 100)
        held_to_snapshot = audit(log, library(log), Options("snapshot", timeout=SECONDS if runs > 1 else BRIEFLY))
        other += held_to_snapshot.status is not Status.CORRECT
        if other == runs:
            break
    assert other == runs


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_a_run_in_process_is_correct_at_its_profile(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log.jsonl"
    with product(name) as record:
        tally = record(replace(plan(name, 0, 1), transactions=300, rows=6, sessions=4), path, 0)
    assert tally.committed >= 300 and tally.aborted, "nothing conflicted"
    log = read_log([path])
    verdict = audit(log, library(log), Options(name, timeout=SECONDS))
    served(verdict, MANY)
