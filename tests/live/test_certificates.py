"""Certificates of a real PostgreSQL: those of its snapshot levels are accepted, also where the order of commit records
is not that of visibility; at READ COMMITTED it does not tell what a statement read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest

from benchmarks.audit import library_of
from troubadour.audit.certified.dependencies import Cycle, serial_order
from troubadour.audit.certified.examine import examine
from troubadour.audit.certified.order import certified_order
from troubadour.audit.certified.witnessing import run_certified
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.certificate import Examined, Standing
from troubadour.record import EmbeddedPostgres, record_run, recorder
from troubadour.search.problem.problem import Problem
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


@pytest.mark.parametrize("seed", range(4))
def test_anomalies_of_predicates_alone_are_circles_of_predicates(dsn: str, tmp_path: Path, seed: int) -> None:
    """Emme §7.1: each of two transactions inserts what the other's predicate would have met. No row was read by both,
    so items alone have no circle."""
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    random = Random(seed)
    with psycopg.connect(dsn) as setup:
        setup.execute("DROP TABLE IF EXISTS shifts")
        setup.execute("CREATE TABLE shifts (id INT PRIMARY KEY, day INT, hours INT)")
        setup.execute("INSERT INTO shifts SELECT i, i, i FROM generate_series(1, 5) i")
    looks = ["SELECT count(*) FROM shifts WHERE day > %s", "SELECT max(hours) FROM shifts WHERE day >= %s"]
    with (
        recorder.connect(dsn, log=log, certificate=certificate) as one,
        recorder.connect(dsn, log=log, certificate=certificate) as other,
    ):
        for connection in (one, other):
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute(random.choice(looks), (random.randint(6, 9),)).fetchall()
        for number, connection in enumerate((one, other)):
            connection.execute("INSERT INTO shifts VALUES (%s, 10, 12)", (10 + number,))
        for connection in random.sample((one, other), 2):
            connection.commit()
    recorder.close()
    read = read_log([log])
    library = library_of(read)
    account = read_certificate(certificate)
    problem = Problem(read, library, known_rows(read, library), isolation="snapshot")
    trace = run_certified(problem, certified_order(problem, account)).trace
    assert sorted(serial_order(trace, predicates=False)) == [0, 1]
    with pytest.raises(Cycle, match="did not see"):
        serial_order(trace)
    examined, _ = examine(read, library, account, isolation="serializable")
    assert examined.status is Standing.REFUTED
    assert examine(read, library, account, isolation="snapshot")[0] == Examined(Standing.ACCEPTED)
