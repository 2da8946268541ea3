"""Certificates of a real PostgreSQL: those of its snapshot levels are accepted, also where the order of commit records
is not that of visibility; at READ COMMITTED it does not tell what a statement read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from benchmarks.audit import library_of
from troubadour.audit.certified.examine import examine
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.certificate import Examined, Standing
from troubadour.record import EmbeddedPostgres, record_run, recorder
from troubadour.workloads.bank import Bank
from troubadour.workloads.kv import KeyValue


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    with EmbeddedPostgres({"wal_level": "logical", "track_commit_timestamp": "on"}) as server:
        yield server.dsn


@pytest.mark.parametrize("workload", [Bank, KeyValue])
@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_a_run_is_explained_by_its_certificate(
    dsn: str, tmp_path: Path, workload: type[Bank | KeyValue], isolation: str
) -> None:
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    record_run(workload(), dsn, log, isolation=isolation, sessions=4, transactions=150, seed=3, certificate=certificate)
    read = read_log([log])
    examined, witness = examine(read, library_of(read), read_certificate(certificate), isolation=isolation)
    assert examined == Examined(Standing.ACCEPTED)
    assert witness is not None
    assert len(witness.order) == read.committed


def test_a_writer_that_is_not_recorded_is_named(dsn: str, tmp_path: Path) -> None:
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    with psycopg.connect(dsn) as setup:
        setup.execute("CREATE TABLE outside (id INT PRIMARY KEY, v INT)")
        setup.execute("INSERT INTO outside VALUES (1, 0)")
    with recorder.connect(dsn, log=log, certificate=certificate) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("UPDATE outside SET v = 1 WHERE id = 1")
        connection.commit()
        with psycopg.connect(dsn) as other:
            other.execute("UPDATE outside SET v = 7 WHERE id = 1")
        assert connection.execute("SELECT v FROM outside").fetchone() == (7,)
    recorder.close()
    read = read_log([log])
    examined, _ = examine(read, library_of(read), read_certificate(certificate), isolation="snapshot")
    assert examined.status is Standing.INCOMPLETE
    assert "which is not in the log, changed outside" in str(examined.because)


def test_at_read_committed_snapshots_of_statements_are_not_told(dsn: str, tmp_path: Path) -> None:
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    record_run(
        KeyValue(), dsn, log, isolation="read-committed", sessions=2, transactions=10, seed=1, certificate=certificate
    )
    kinds = [json.loads(line).get("kind") for line in certificate.read_text().splitlines()]
    assert "commit" in kinds
    assert "read" not in kinds
    read = read_log([log])
    examined, _ = examine(read, library_of(read), read_certificate(certificate), isolation="read-committed")
    assert examined.status is Standing.INCOMPLETE
