"""Tiny bank runs on a real server: what the log says is what the server did."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.live.recorded import Recorded, disorder, read, replay, stale_writes
from troubadour.formats import read_log
from troubadour.record import Recorder, Tally, connect, load, run
from troubadour.workloads.bank import Bank, Variant

SEED = 20_250


def record_bank(
    dsn: str, schema: str, path: Path, workload: Bank, isolation: str, transactions: int = 100
) -> tuple[Recorded, Tally, dict[int, Decimal]]:
    """Record a run; the log, the tally, and the balances that the server ends with."""
    with connect(dsn, schema) as connection:
        load(workload, connection.cursor())
        with Recorder(
            dsn,
            path,
            isolation=isolation,
            schema=workload.schema,
            tables=workload.tables,
            search_path=schema,
        ) as recorder:
            tally = run(recorder.session, workload, sessions=4, transactions=transactions, seed=SEED)
        rows = connection.execute("SELECT id, balance FROM accounts").fetchall()
    return read(path), tally, {int(str(account)): Decimal(str(balance)) for account, balance in rows}


@pytest.mark.parametrize("isolation", ["read-committed", "snapshot", "serializable"])
def test_replay_in_commit_order_gives_the_servers_balances(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str
) -> None:
    workload = Bank(accounts=6, blind_writes=50, seed=SEED)
    path = tmp_path / "log.jsonl.gz"
    log, tally, final = record_bank(postgres_dsn, database_schema, path, workload, isolation)

    assert log.accounts() == dict(workload.initial())
    balances, misfits = replay(log)
    assert misfits == []
    assert balances == final
    assert balances != log.accounts()

    assert 100 <= tally.committed < 104
    assert len(log.by_status("committed")) == tally.committed
    assert len(log.by_status("aborted")) == sum(tally.aborted.values())
    assert len(log.transactions) == log.end["transactions"] == tally.committed + sum(tally.aborted.values())
    assert disorder(log) == []
    assert log.header["isolation"] == {"read-committed": "postgres:read-committed"}.get(isolation, isolation)
    assert {"timezone", "collation"} <= log.header["settings"].keys()


def test_the_audits_reader_takes_the_log(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log, tally, _ = record_bank(postgres_dsn, database_schema, path, Bank(accounts=1500, seed=SEED), "snapshot")
    found = read_log([path])
    assert (found.committed, found.aborted, found.unknown) == (tally.committed, sum(tally.aborted.values()), 0)
    (table,) = found.header.initial
    assert [row[0] for row in table.rows] == list(range(1, 1501))
    assert len(log.rows) > 0, "1,500 rows belong in rows lines"


def test_writers_have_a_commit_timestamp(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    """Who changed something has one; who did not, has none."""
    path = tmp_path / "log.jsonl"
    log, _, _ = record_bank(postgres_dsn, database_schema, path, Bank(accounts=6, seed=SEED), "snapshot")
    changed = 0
    for transaction in log.by_status("committed"):
        wrote = sum(statement.get("affected", 0) for statement in transaction["statements"]) > 0
        assert ("commit" in transaction) == wrote
        changed += wrote
    assert changed
    assert log.intents == []


def test_read_then_write_under_snapshot_loses_nothing(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    workload = Bank(accounts=3, variant=Variant.READ_THEN_WRITE, seed=SEED)
    path = tmp_path / "log.jsonl"
    log, _, final = record_bank(postgres_dsn, database_schema, path, workload, "snapshot", 200)
    assert replay(log)[0] == final
    assert stale_writes(log) == []


def test_read_then_write_under_read_committed_loses_updates(
    postgres_dsn: str, database_schema: str, tmp_path: Path
) -> None:
    workload = Bank(accounts=2, variant=Variant.READ_THEN_WRITE, read_only=0, seed=SEED)
    path = tmp_path / "log.jsonl"
    log, _, final = record_bank(postgres_dsn, database_schema, path, workload, "read-committed", 400)
    assert replay(log)[0] == final
    assert stale_writes(log) != []
