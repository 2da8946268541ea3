"""Certificates of a real PostgreSQL: those of its snapshot levels are accepted, also where the order of commit records
is not that of visibility; at READ COMMITTED it does not tell what a statement read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import psycopg
import pytest
from click.testing import CliRunner

from troubadour.audit.certified.dependencies import Cycle, serial_order
from troubadour.audit.certified.examine import examine
from troubadour.audit.certified.order import certified_order
from troubadour.audit.certified.witnessing import run_certified
from troubadour.cli.main import cli
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.certificate import Certificate, Examined, ReadState, Snapshot, Standing
from troubadour.model.log import Log
from troubadour.problem.problem import Problem
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


@pytest.mark.parametrize("isolation", ["snapshot", "read-committed"])
@pytest.mark.parametrize("seed", range(3))
def test_anomalies_of_predicates_alone_are_circles_of_predicates(
    dsn: str, tmp_path: Path, isolation: str, seed: int
) -> None:
    """Emme §7.1: each of two transactions inserts what the other's predicate would have met. No row was read by both,
    so items alone have no circle. At READ COMMITTED nothing else commits meanwhile, so that a third connection's
    snapshot is that of their statements."""
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    random = Random(seed)
    level = psycopg.IsolationLevel.REPEATABLE_READ if isolation == "snapshot" else psycopg.IsolationLevel.READ_COMMITTED
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
            connection.isolation_level = level
            connection.execute(random.choice(looks), (random.randint(6, 9),)).fetchall()
        with psycopg.connect(dsn) as third:
            row = third.execute("SELECT pg_current_snapshot()::text").fetchone()
        for number, connection in enumerate((one, other)):
            connection.execute("INSERT INTO shifts VALUES (%s, 10, 12)", (10 + number,))
        for connection in random.sample((one, other), 2):
            connection.commit()
    recorder.close()
    read, account = read_log([log]), read_certificate(certificate)
    library = library_of(read)
    if isolation == "read-committed":
        assert row is not None
        account = _with_snapshot(account, read, Snapshot(*_numbers(row[0])))
    problem = Problem(read, library, known_rows(read, library), isolation="snapshot")
    trace = run_certified(problem, certified_order(problem, account)).trace
    assert sorted(serial_order(trace, predicates=False)) == [0, 1]
    with pytest.raises(Cycle, match="did not see"):
        serial_order(trace)
    examined, _ = examine(read, library, account, isolation="serializable")
    assert examined.status is Standing.REFUTED
    assert examine(read, library, account, isolation="snapshot")[0] == Examined(Standing.ACCEPTED)


def _numbers(text: str) -> tuple[int, int, frozenset[int]]:
    lowest, highest, running = text.split(":")
    return int(lowest), int(highest), frozenset(map(int, filter(None, running.split(","))))


def _with_snapshot(account: Certificate, log: Log, snapshot: Snapshot) -> Certificate:
    """Every transaction read this snapshot."""
    reads = {one.id: ReadState(None if one.xid is None else int(one.xid), snapshot) for one in log.transactions}
    return msgspec.structs.replace(account, reads=reads)


def test_the_command_line_records_and_accepts_a_certificate(dsn: str, tmp_path: Path) -> None:
    log, certificate = str(tmp_path / "run.jsonl"), str(tmp_path / "run.cert.jsonl")
    options = ["--isolation", "snapshot", "--transactions", "20", "--out", log, "--certificate", certificate]
    recorded = CliRunner().invoke(cli, ["record", "kv", "--dsn", dsn, *options])
    assert recorded.exit_code == 0, recorded.output
    audited = CliRunner().invoke(cli, ["audit", log, "--certificate", certificate, "--require-certificate"])
    assert audited.exit_code == 0, audited.output
    assert "accepted" in audited.output


def test_values_of_the_write_ahead_log_are_those_of_the_log(dsn: str, tmp_path: Path) -> None:
    """Types whose text in the write-ahead log is not how a log writes them, and a value that was not touched."""
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    with psycopg.connect(dsn) as setup:
        setup.execute(
            "CREATE TABLE kinds (id INT PRIMARY KEY, a DOUBLE PRECISION, b REAL, c NUMERIC(8,2), d BOOLEAN,"
            " e TIMESTAMP, f BYTEA, g CHAR(5), h TEXT, i BIGINT, j UUID, k DATE)"
        )
    large = Random(1).randbytes(9000).hex()
    row = f"1.5, 0.1, 12.30, true, '2024-02-03 04:05:06', '\\x6869', 'ab', '{large}', 5, "
    with recorder.connect(dsn, log=log, certificate=certificate) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        uuid = "'00000000-0000-0000-0000-000000000001', '2024-02-03'"
        connection.execute(f"INSERT INTO kinds VALUES (1, {row}{uuid})".encode())
        connection.execute("INSERT INTO kinds VALUES (2, 'NaN', '-Infinity')")
        connection.commit()
        connection.execute("UPDATE kinds SET i = 6, a = 1e-7")
        connection.commit()
    recorder.close()
    read, account = read_log([log]), read_certificate(certificate)
    changes = account.commits[-1].changes
    assert changes is not None
    assert [None if one.new is None else "h" in one.new for one in changes] == [False, True]
    examined, _ = examine(read, library_of(read), account, isolation="snapshot")
    assert examined == Examined(Standing.ACCEPTED)


def test_an_id_that_is_older_than_the_snapshot_is_accepted(dsn: str, tmp_path: Path) -> None:
    """LOCK TABLE gives a transaction its id before it takes its snapshot, in which that id is not told as running."""
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    with psycopg.connect(dsn) as setup:
        setup.execute("CREATE TABLE locked (id INT PRIMARY KEY, v INT)")
        setup.execute("INSERT INTO locked VALUES (1, 0), (2, 0)")
        setup.execute("CREATE TABLE elsewhere (id INT PRIMARY KEY)")
    with (
        recorder.connect(dsn, log=log, certificate=certificate) as one,
        recorder.connect(dsn, log=log, certificate=certificate) as other,
    ):
        one.isolation_level = other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        one.execute("LOCK TABLE elsewhere IN ACCESS EXCLUSIVE MODE")
        other.execute("UPDATE locked SET v = 5 WHERE id = 1")
        other.commit()
        assert one.execute("SELECT v FROM locked WHERE id = 1").fetchone() == (5,)
        one.execute("UPDATE locked SET v = 7 WHERE id = 1")
        one.commit()
    recorder.close()
    read, account = read_log([log]), read_certificate(certificate)
    own = [one for one in account.reads.values() if one.snapshot is not None and one.xid == one.snapshot.lowest]
    assert any(one.snapshot is not None and one.snapshot.highest > one.snapshot.lowest for one in own)
    examined, _ = examine(read, library_of(read), account, isolation="snapshot")
    assert examined == Examined(Standing.ACCEPTED)


def test_deletions_truncations_and_moved_keys_are_those_of_the_log(dsn: str, tmp_path: Path) -> None:
    """With and without a primary key, rows of which the write-ahead log has the whole row before."""
    log, certificate = tmp_path / "run.jsonl", tmp_path / "run.cert.jsonl"
    with psycopg.connect(dsn) as setup:
        setup.execute("CREATE TABLE keyed (id INT PRIMARY KEY, v INT, name TEXT UNIQUE)")
        setup.execute(
            "CREATE TABLE named (name TEXT UNIQUE, id INT PRIMARY KEY, twice INT GENERATED ALWAYS AS (id * 2) STORED)"
        )
        setup.execute("CREATE TABLE nameless (v INT, w DOUBLE PRECISION)")
        setup.execute("ALTER TABLE nameless REPLICA IDENTITY FULL")
        setup.execute("INSERT INTO keyed SELECT i, i, 'n' || i FROM generate_series(1, 6) i")
        setup.execute("INSERT INTO named SELECT 'n' || i, i FROM generate_series(1, 6) i")
        setup.execute("INSERT INTO nameless VALUES (1, 'NaN'), (1, 'NaN'), (2, 0.5)")
    texts = (
        ("DELETE FROM keyed WHERE id = 1", "UPDATE keyed SET id = id + 10 WHERE id > 4", "UPDATE keyed SET v = v"),
        ("INSERT INTO keyed VALUES (1, 1, 'new')", "DELETE FROM keyed WHERE id = 1"),
        (
            "DELETE FROM named WHERE id = 1",
            "UPDATE named SET name = 'x' WHERE id = 2",
            "UPDATE named SET id = 9 WHERE id = 3",
        ),
        ("INSERT INTO nameless VALUES (1, 'NaN'), (3, 3)", "DELETE FROM nameless WHERE v = 2"),
        ("UPDATE nameless SET v = v + 1",),
        ("TRUNCATE nameless", "INSERT INTO nameless VALUES (4, 4)"),
        ("DELETE FROM keyed WHERE id < 4", "INSERT INTO keyed VALUES (2, 2, 'back')"),
    )
    with recorder.connect(dsn, log=log, certificate=certificate) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for statements in texts:
            for text in statements:
                connection.execute(text.encode())
            connection.commit()
    recorder.close()
    read, account = read_log([log]), read_certificate(certificate)
    examined, _ = examine(read, library_of(read), account, isolation="snapshot")
    assert examined == Examined(Standing.ACCEPTED)
