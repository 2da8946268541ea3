"""Cursors of every kind on a recorded psycopg connection, made in every way: none passes unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import psycopg.types.net
import pytest
from psycopg.rows import dict_row

from tests.live.audited import done
from troubadour.model.log import Log
from troubadour.record import recorder
from troubadour.record.errors import NotRecorded

COUNT = "SELECT count(*) FROM accounts WHERE balance < %s"
UPDATE = "UPDATE accounts SET balance = balance + %s WHERE id = %s"


def seen(log: Log) -> list[tuple[str, Any]]:
    return [(s.sql, s.params) for transaction in log.transactions for s in transaction.statements]


@pytest.mark.parametrize(
    "make",
    [
        lambda c: psycopg.Cursor(c),
        lambda c: psycopg.Cursor(c, row_factory=dict_row),
        lambda c: psycopg.ClientCursor(connection=c),
        lambda c: c.cursor(),
        lambda c: type("Own", (psycopg.Cursor,), {})(c),
    ],
    ids=["by hand", "by hand, dicts", "client by hand", "asked for", "a class of its own"],
)
@pytest.mark.parametrize("factory", [None, psycopg.ClientCursor, lambda c, **o: psycopg.Cursor(c, **o)])
def test_cursors_are_recorded(dsn: str, tmp_path: Path, make: Any, factory: Any) -> None:
    options = {} if factory is None else {"cursor_factory": factory}
    with recorder.connect(dsn, log=tmp_path / "log.jsonl", **options) as connection:
        cursor = make(connection)
        assert isinstance(cursor, psycopg.Cursor)
        assert cursor.execute(UPDATE, (1, 1)).rowcount == 1
        connection.commit()
        cursor.executemany(UPDATE, [(2, 2), (3, 3)])
        connection.commit()
        assert len(cursor.execute(COUNT, (102,)).fetchall()) == 1
    found = done(tmp_path / "log.jsonl")
    assert [len(transaction.statements) for transaction in found.transactions] == [1, 2, 1]
    texts = [sql.replace("$1", "1").replace("$2", "1") for sql, _ in seen(found)]
    assert texts[0] == "UPDATE accounts SET balance = balance + 1 WHERE id = 1"


def test_client_cursors_send_literals(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl", cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("UPDATE accounts SET owner = %s WHERE id = %s", ("it's", 1))
        assert connection.execute("SELECT owner FROM accounts WHERE id = %(id)s", {"id": 1}).fetchone() == ("it's",)
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO accounts VALUES (%s, %s, %s)", (1, None, 0))
    assert seen(done(tmp_path / "log.jsonl")) == [
        ("UPDATE accounts SET owner = 'it''s' WHERE id = 1", None),
        ("SELECT owner FROM accounts WHERE id = 1", None),
        ("INSERT INTO accounts VALUES (1, NULL, 0)", None),
    ]


def test_server_cursors(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl", autocommit=True) as connection:
        with psycopg.ServerCursor(connection, "held", withhold=True, scrollable=False) as cursor:
            cursor.execute("SELECT id FROM accounts WHERE id > %s ORDER BY id", (7,))
            assert cursor.fetchmany(2) == [(8,), (9,)]
            connection.execute("DELETE FROM accounts WHERE id = 10")
            assert cursor.fetchmany(2) == [(10,)]
        connection.autocommit = False
        with psycopg.ServerCursor(connection, "beyond", withhold=True) as cursor:
            cursor.execute("SELECT id FROM accounts ORDER BY id")
            assert cursor.fetchone() == (1,)
            connection.commit()
            assert cursor.fetchone() == (2,)
    found = {t.statements[0].sql: t for t in done(tmp_path / "log.jsonl").transactions}
    held = found["SELECT id FROM accounts WHERE id > $1 ORDER BY id"].statements[0].results
    beyond = found["SELECT id FROM accounts ORDER BY id"].statements[0].results
    assert held is not None
    assert beyond is not None
    assert (held[0].rows, held[0].truncated) == (((8,), (9,), (10,)), False)
    assert (beyond[0].rows, beyond[0].truncated) == (((1,),), True)


def test_asynchronous_cursors(dsn: str, tmp_path: Path) -> None:
    async def use() -> None:
        async with await recorder.connect_async(dsn, log=tmp_path / "log.jsonl") as connection:
            for kind in (psycopg.AsyncCursor, psycopg.AsyncRawCursor, psycopg.AsyncClientCursor):
                cursor = kind(connection)
                await cursor.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
            async with psycopg.AsyncServerCursor(connection, "some") as named:
                await named.execute("SELECT balance FROM accounts WHERE id = 1")
                assert await named.fetchall() == [(1,)]
            with pytest.raises(NotRecorded, match="COPY"):
                async with psycopg.AsyncCursor(connection).copy("COPY accounts TO STDOUT"):
                    pass

    asyncio.run(use())
    (transaction,) = done(tmp_path / "log.jsonl").transactions
    assert len(transaction.statements) == 4


def test_pipelines_are_sent_one_by_one(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl", autocommit=True) as connection:
        with connection.pipeline() as pipeline:
            connection.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
            connection.execute("UPDATE accounts SET balance = 2 WHERE id = 2")
            pipeline.sync()
            connection.execute("UPDATE accounts SET balance = 3 WHERE id = 1")
        with pytest.raises(psycopg.errors.UniqueViolation), connection.pipeline():  # noqa: PT012  sent at its end
            connection.execute("UPDATE accounts SET balance = 4 WHERE id = 1")
            connection.execute("INSERT INTO accounts SELECT * FROM accounts WHERE id = 1")
        with connection.pipeline() as pipeline, connection.transaction():
            connection.execute("UPDATE accounts SET balance = 5 WHERE id = 1")
            pipeline.sync()
            connection.execute("UPDATE accounts SET balance = 6 WHERE id = 2")
        connection.execute("SELECT 1")
    transactions = done(tmp_path / "log.jsonl").transactions
    assert [(len(one.statements), one.status) for one in transactions] == [
        (2, "committed"), (1, "committed"), (2, "aborted"), (2, "committed"), (1, "committed"),
    ]  # fmt: skip
    assert all(statement.affected == 1 for statement in transactions[3].statements)


def test_pipelines_that_are_awaited(dsn: str, tmp_path: Path) -> None:
    async def use() -> None:
        opened = await recorder.connect_async(dsn, log=tmp_path / "log.jsonl")
        async with opened as connection, connection.pipeline() as pipeline:
            await connection.execute("UPDATE accounts SET balance = 5 WHERE id = 1")
            await pipeline.sync()

    asyncio.run(use())
    (transaction,) = done(tmp_path / "log.jsonl").transactions
    assert [statement.affected for statement in transaction.statements] == [1]


def test_pools_and_their_check(dsn: str, tmp_path: Path) -> None:
    pools = pytest.importorskip("psycopg_pool")
    pool = pools.ConnectionPool(
        dsn,
        connection_class=recorder.RecordedConnection,
        kwargs={"log": tmp_path / "log.jsonl"},
        check=pools.ConnectionPool.check_connection,
        min_size=1,
        open=True,
    )
    with pool.connection() as connection:
        connection.execute("-- nothing")
        connection.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
    pool.close()
    assert seen(done(tmp_path / "log.jsonl")) == [("UPDATE accounts SET balance = 1 WHERE id = 1", None)]


def test_a_process_wide_replacement(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.jsonl"
    monkeypatch.setattr(psycopg, "connect", lambda *given, **options: recorder.connect(*given, log=log, **options))
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
    assert len(done(log).transactions) == 1


def test_values_without_a_form_of_their_own(dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn) as setup:
        setup.execute("CREATE TABLE odd (id INT PRIMARY KEY, tags TEXT[], span INT4RANGE, host INET)")
        setup.execute("INSERT INTO odd VALUES (1, '{a,\"b c\"}', '[1,4)', '10.0.0.1')")
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            assert cursor.execute("SELECT tags FROM odd WHERE id = %s", (1,)).fetchone() == (["a", "b c"],)
            cursor.execute("SELECT span, host FROM odd")
        connection.execute("UPDATE odd SET tags = %s, host = %s", (["x"], psycopg.types.net.ip_address("10.0.0.2")))
    recorder.close()
    text = (tmp_path / "log.jsonl").read_text()
    assert text.count(r'"rows":[["{a,\"b c\"}"]]') == 2
    assert text.count('"rows":[["[1,4)","10.0.0.1"]]') == 2
    assert '"sql":"UPDATE odd SET tags = $1, host = $2::inet","params":["{x}","10.0.0.2"]' in text
    assert r'[1,"{a,\"b c\"}","[1,4)","10.0.0.1"]' in text


def test_passwords_are_in_no_log(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with recorder.connect(dsn, log=path, autocommit=True) as connection:
        connection.execute("CREATE ROLE somebody PASSWORD 'hunter2'")
        connection.execute("ALTER ROLE somebody PASSWORD 'hunter2' VALID UNTIL 'infinity'")
        with pytest.raises(psycopg.Error):
            connection.execute("ALTER ROLE nobody_knows PASSWORD 'hunter2' 'hunter2'")
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT dblink_connect(%s)", ("password=hunter2",))
        connection.execute("DROP ROLE somebody")
        assert b"hunter2" not in path.read_bytes()
    recorder.close()
    text = path.read_text()
    assert "hunter2" not in text
    assert text.count("***") >= 2
    assert path.stat().st_mode & 0o777 == 0o600
