"""Weaker runs held to stronger levels: real anomalies, confirmed by the oracle on the core and those around it.

Does not know which anomalies a run has.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.case_files import library_of as library
from tests.live.anomalies import sub_log
from tests.live.mixed import MariaMixed
from tests.live.test_end_to_end import Items, library_of, record
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.record import record_run

SECONDS = 60.0


def confirmed(log: Log, ran_at: str, held_to: str, *, mariadb: bool = False) -> str:
    """What became of one run: ``correct``, ``undecided``, ``large`` (the oracle cannot say), ``confirmed`` (``confirmed
    whole``: with those around as they were), or else what the oracle says."""
    compiled = library(log) if mariadb else library_of(log)
    verdict = audit(log, compiled, Options(held_to, timeout=SECONDS))
    if verdict.status is not Status.VIOLATION:
        return verdict.status.value
    real = audit(log, compiled, Options(ran_at, timeout=SECONDS))
    if real.witness is None:
        return "undecided"
    told = "large"
    for whole in (False, True):
        small = sub_log(log, compiled, verdict.core or (), real.witness, ran_at, whole=whole)
        if small is None:
            continue
        try:
            answer = explain(small, compiled, held_to)
        except BudgetExceeded:
            continue
        if answer.status is Status.VIOLATION:
            return "confirmed whole" if whole else "confirmed"
        told = f"{answer.status.value}: {verdict.explanation}"
    return told


@pytest.mark.parametrize(
    ("isolation", "ran_at", "held_to"),
    [
        ("read-committed", "postgres:read-committed", "snapshot"),
        ("snapshot", "postgres:repeatable-read", "serializable"),
    ],
)
def test_anomalies_of_postgres(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str, ran_at: str, held_to: str
) -> None:
    path = tmp_path / "log.jsonl"
    log, _ = record(postgres_dsn, database_schema, path, Items(6), isolation, sessions=4, transactions=100)
    assert confirmed(log, ran_at, held_to) in ("confirmed", "confirmed whole", "large")


def test_anomalies_of_mariadb(mariadb_dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    options = {"isolation": "mysql:repeatable-read", "sessions": 4, "transactions": 60}
    record_run(MariaMixed(6), mariadb_dsn, path, **options)  # type: ignore[arg-type]
    found = confirmed(read_log([path]), "mysql:repeatable-read", "snapshot", mariadb=True)
    assert found in ("confirmed", "confirmed whole", "large")
