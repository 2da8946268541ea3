"""What a recorded psycopg connection asks the server about a transaction's place among the others: prepared ones, the
order of the write-ahead log, snapshots."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.live.audited import done
from troubadour.model.log import Log, Transaction
from troubadour.record import recorder
from troubadour.record.errors import RecordError


def test_two_phase_commit(tmp_path: Path) -> None:
    with recorder_server({"max_prepared_transactions": "5"}) as dsn:
        path = tmp_path / "log.jsonl"
        connection = recorder.connect(dsn, log=path)
        for number, end in enumerate((connection.tpc_commit, connection.tpc_rollback, lambda: None)):
            connection.tpc_begin(f"gid{number}")
            connection.execute("INSERT INTO t VALUES (%s)", (number,))
            connection.tpc_prepare()
            end()
        connection.close()
        found = done(path)
        assert [transaction.status for transaction in found.transactions] == ["committed", "aborted", "unknown"]
        assert found.transactions[0].commit is not None


def test_transactions_after_a_prepared_one_are_their_own(tmp_path: Path) -> None:
    with recorder_server({"max_prepared_transactions": "5"}) as dsn:
        path = tmp_path / "log.jsonl"
        with recorder.connect(dsn, log=path, autocommit=True) as connection:
            for number in (1, 3):
                connection.execute("BEGIN")
                connection.execute("INSERT INTO t VALUES (%s)", (number,))
                connection.execute(f"PREPARE TRANSACTION 'gid{number}'".encode())
                connection.execute("INSERT INTO t VALUES (%s)", (number + 1,))
            assert connection.execute("SELECT count(*) FROM t").fetchone() == (2,)
        found = done(path)
        by_status = {"unknown": [], "committed": []}  # type: dict[str, list[str]]
        for transaction in found.transactions:
            by_status[transaction.status] += [statement.sql.split()[0] for statement in transaction.statements]
        assert by_status == {"unknown": ["INSERT", "INSERT"], "committed": ["INSERT", "INSERT", "SELECT"]}


def recorder_server(settings: dict[str, str]) -> Any:
    from contextlib import contextmanager

    from troubadour.record import EmbeddedPostgres

    @contextmanager
    def serve() -> Iterator[str]:
        with EmbeddedPostgres(settings) as server:
            with psycopg.connect(server.dsn) as connection:
                connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
            yield server.dsn

    return serve()


def test_the_order_of_the_write_ahead_log(tmp_path: Path) -> None:
    with recorder_server({"wal_level": "logical"}) as dsn:
        path = tmp_path / "log.jsonl"

        def work(first: int) -> None:
            with recorder.connect(dsn, log=path, commit_order="wal") as connection:
                for number in range(first, first + 20):
                    connection.execute("INSERT INTO t VALUES (%s)", (number,))
                    connection.commit()
                connection.execute("SELECT count(*) FROM t")

        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = done(path)
        places = [transaction.commit for transaction in found.transactions if transaction.commit is not None]
        assert len(places) == len(set(places)) == 40
        assert places == sorted(places)
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)
            connection.execute("CREATE TABLE nameless (id INT)")
        with pytest.raises(RecordError, match="nameless has no primary key"):
            recorder.connect(dsn, log=tmp_path / "other.jsonl", commit_order="wal")


def test_wal_order_is_refused_where_it_cannot_be_had(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="wal_level = logical"):
        recorder.connect(dsn, log=tmp_path / "log.jsonl", commit_order="wal")
    with pytest.raises(RecordError, match="none of timestamps, wal, client"):
        recorder.connect(dsn, log=tmp_path / "log.jsonl", commit_order="best")


def sees(reader: Transaction, writer: Transaction) -> bool:
    """Whether the writer's id is over in the reader's snapshot, as PostgreSQL's manual has it."""
    assert reader.snapshot is not None
    assert writer.xid is not None
    first, bound, running = reader.snapshot.split(":")
    xid = int(writer.xid)
    return xid < int(first) or (xid < int(bound) and writer.xid not in running.split(","))


def by_text(log: Log, text: str) -> Transaction:
    (found,) = (t for t in log.transactions if any(text in statement.sql for statement in t.statements))
    return found


def test_snapshots(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    repeatable = psycopg.IsolationLevel.REPEATABLE_READ
    with (
        recorder.connect(dsn, log=path, snapshots=True) as reader,
        recorder.connect(dsn, log=path, snapshots=True) as early,
        recorder.connect(dsn, log=path, snapshots=True) as late,
        recorder.connect(dsn, log=path) as silent,
    ):
        reader.isolation_level = late.isolation_level = repeatable
        early.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
        late.execute("UPDATE accounts SET balance = 2 WHERE id = 2")
        early.commit()
        assert reader.execute("SELECT sum(balance) FROM accounts").fetchone() == (901,)
        late.commit()
        reader.commit()
        silent.execute("UPDATE accounts SET balance = 3 WHERE id = 3")
        silent.commit()
        reader.execute("UPDATE accounts SET balance = 4 WHERE id = 4")
        reader.rollback()
    log = done(path)
    sum_of, first, second = by_text(log, "sum"), by_text(log, "balance = 1 "), by_text(log, "balance = 2 ")
    assert sees(sum_of, first)
    assert not sees(sum_of, second)
    assert not sees(second, first)
    assert (sum_of.xid, first.snapshot) == (None, None)  # it wrote nothing; it had one for each statement
    assert {first.commit is None, second.commit is None} == {False}
    for unasked in (by_text(log, "balance = 3 "), by_text(log, "balance = 4 ")):
        assert (unasked.xid, unasked.snapshot) == (None, None)


def test_a_prepared_transactions_snapshot(tmp_path: Path) -> None:
    with recorder_server({"max_prepared_transactions": "2", "track_commit_timestamp": "off"}) as dsn:
        path = tmp_path / "log.jsonl"
        with recorder.connect(dsn, log=path, snapshots=True) as connection:
            connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            connection.tpc_begin("x")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.tpc_prepare()
            connection.tpc_commit()
        (transaction,) = done(path).transactions
        assert transaction.xid is not None
        assert transaction.snapshot is not None
        assert transaction.commit is None
