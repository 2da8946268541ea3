"""The proxy takes the order of commits from the write-ahead log, where that may be decoded."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.live.audited import done
from tests.live.test_proxy import proxied
from troubadour.record import EmbeddedPostgres, RecordError
from troubadour.record.proxy.postgres.carried.server import open_postgres


def test_commits_have_their_places_in_the_write_ahead_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with EmbeddedPostgres({"wal_level": "logical", "track_commit_timestamp": "off"}) as server:
        with psycopg.connect(server.dsn, autocommit=True) as setup:
            setup.execute("CREATE TABLE t (a INT PRIMARY KEY, b INT)")
            setup.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
        with (
            proxied(server.dsn, log, "--commit-order", "wal") as through,
            psycopg.connect(through) as one,
            psycopg.connect(through) as two,
        ):
            one.execute("UPDATE t SET b = b + 1 WHERE a = 1")
            two.execute("UPDATE t SET b = b + 1 WHERE a = 2")
            two.commit()
            one.commit()
            one.execute("SELECT * FROM t")
            one.commit()
        with psycopg.connect(server.dsn) as after:
            assert after.execute("SELECT count(*) FROM pg_replication_slots").fetchone() == (0,)
            assert after.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)
        found = done(log)
    first, second, read = sorted(found.transactions, key=lambda one: one.commit or 1 << 63)
    assert (first.session, second.session) == ("c2", "c1")
    assert first.commit is not None
    assert second.commit is not None
    assert read.commit is None


def test_a_server_whose_log_cannot_be_decoded_is_refused_at_once(dsn: str) -> None:
    with (
        pytest.raises(RecordError, match="wal_level = logical"),
        open_postgres(dsn, "wal", offers_tls=False),
    ):
        pass
