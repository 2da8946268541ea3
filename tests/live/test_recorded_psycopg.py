"""A recorded psycopg connection: what an application sees is what it sees without, and its log is right."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.live.audited import done
from troubadour.formats import read_log
from troubadour.model.log import Transaction
from troubadour.record import recorder
from troubadour.record.core.frames import Frames, lines_before
from troubadour.record.core.tape import INTENT, UNKNOWN
from troubadour.record.errors import NotRecorded, RecordError


def texts(transaction: Transaction) -> list[str]:
    return [statement.sql for statement in transaction.statements]


def test_what_the_application_sees_is_psycopgs(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl", row_factory=dict_row) as connection:
        assert isinstance(connection, psycopg.Connection)
        cursor = connection.execute("SELECT id, balance FROM accounts WHERE id = %s", (1,))
        assert cursor.fetchall() == [{"id": 1, "balance": Decimal("100.00")}]
        with connection.cursor(binary=True) as binary:
            assert binary.execute("SELECT balance FROM accounts WHERE id = %(x)s", {"x": 2}).fetchone() == {
                "balance": Decimal("100.00")
            }
        some = connection.execute("SELECT count(*) AS n FROM accounts WHERE id = ANY(%s)", ([1, 2, 99],))
        assert some.fetchone() == {"n": 2}
        update = connection.execute("UPDATE accounts SET balance = balance + %s WHERE id > 8", (Decimal("0.50"),))
        assert (update.rowcount, update.statusmessage) == (2, "UPDATE 2")
    (transaction,) = done(tmp_path / "log.jsonl").transactions
    first, second, some_of, third = transaction.statements
    assert some_of.sql == "SELECT count(*) AS n FROM accounts WHERE id IN ($1, $2, $3)"
    assert first.results is not None
    assert second.results is not None
    assert first.results[0].rows == ((1, "100.00"),)
    assert second.results[0].rows == (("100.00",),)
    assert (third.sql, third.params, third.affected) == (
        "UPDATE accounts SET balance = balance + $1::numeric WHERE id > 8", ("0.50",), 2,
    )  # fmt: skip
    assert transaction.status == "committed"
    assert transaction.commit is not None
    assert transaction.isolation is None


@pytest.mark.parametrize("compatible", [None, 1])
def test_a_begin_has_times_of_its_own(dsn: str, tmp_path: Path, compatible: int | None) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl", compatible=compatible) as connection:
        connection.execute("SELECT 1")
        connection.commit()
        connection.autocommit = True
        connection.execute("SELECT 2")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT 3")
        connection.execute("COMMIT")
        with connection.transaction():
            connection.execute("SELECT 4")
    one, alone, *others = done(tmp_path / "log.jsonl").transactions
    assert alone.begin is None
    for transaction in (one, *others):
        if compatible is not None:
            assert transaction.begin is None
            continue
        begin = transaction.begin
        assert begin is not None
        assert begin.snapshot is None
        times = [transaction.invoked, begin.invoked, begin.returned, transaction.statements[0].invoked]
        assert times == sorted(time for time in times if time is not None)
    with pytest.raises(RecordError, match="compatible=2"):
        recorder.connect(dsn, log=tmp_path / "other.jsonl", compatible=2)


def test_savepoints_errors_and_rollbacks(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        with connection.transaction():
            connection.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
            with pytest.raises(psycopg.errors.CheckViolation), connection.transaction("inner"):
                connection.execute("UPDATE accounts SET balance = -1 WHERE id = 1")
            assert connection.execute("SELECT balance FROM accounts WHERE id = 1").fetchone() == (1,)
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO accounts VALUES (1, 'x', 0)")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        connection.execute("DELETE FROM accounts")
    kept, failed, deleted = done(tmp_path / "log.jsonl").transactions
    assert [text.split()[0] for text in texts(kept)] == [
        "UPDATE",
        "SAVEPOINT",
        "UPDATE",
        "ROLLBACK",
        "RELEASE",
        "SELECT",
    ]
    assert kept.statements[2].error is not None
    assert kept.statements[2].error.sqlstate == "23514"
    assert (kept.status, failed.status, deleted.status) == ("committed", "aborted", "committed")
    assert [statement.error.sqlstate for statement in failed.statements if statement.error] == ["23505", "25P02"]


def test_what_becomes_of_parameters_later_does_not_matter(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    keys, document, data = [1, 2], {"a": [1]}, bytearray(b"abc")
    with recorder.connect(dsn, log=path) as connection:
        for _ in range(7):  # the first time, later ones, and prepared
            connection.execute("SELECT id FROM accounts WHERE id = ANY(%s)", (keys,))
            connection.execute("SELECT %s", (Jsonb(document),))
            connection.execute("SELECT %b, %s", (data, data))
            keys[0], document["a"], data[:] = 9, [2], b"xyz"
            keys[0], document["a"], data[:] = 1, [1], b"abc"
        keys[0], document["a"], data[:] = 9, [2], b"xyz"
    recorder.close()
    (transaction,) = read_log([path]).transactions
    found = {(s.sql, str(s.params)) for s in transaction.statements}
    assert found == {
        ("SELECT id FROM accounts WHERE id IN ($1, $2)", "(1, 2)"),
        ("SELECT $1::jsonb", "('{\"a\": [1]}',)"),
        ("SELECT $1::bytea, $2::bytea", "('\\\\x616263', '\\\\x616263')"),
    }


def test_levels(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute("SELECT count(*) FROM accounts")
        connection.commit()
        connection.isolation_level = connection.read_only = None
        connection.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        connection.execute("SELECT count(*) FROM accounts")
        connection.commit()
        connection.autocommit = True
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM accounts")
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        connection.execute("DELETE FROM accounts WHERE id = 3")
        connection.execute("COMMIT")
    found = done(tmp_path / "log.jsonl")
    assert [(t.isolation or found.header.isolation, t.read_only) for t in found.transactions] == [
        ("postgres:repeatable-read", True), ("postgres:serializable", None), ("postgres:repeatable-read", None),
        ("postgres:read-committed", None),
    ]  # fmt: skip


def test_autocommit_statements_are_transactions(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with recorder.connect(dsn, log=path, autocommit=True) as connection:
        connection.execute("UPDATE accounts SET balance = 5 WHERE id = 5")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO accounts VALUES (1, 'x', 0)")
        connection.cursor().executemany("UPDATE accounts SET balance = %s WHERE id = %s", [(1, 1), (2, 2)])
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.cursor().executemany("UPDATE accounts SET balance = %s WHERE id = %s", [(7, 1), (-2, 2)])
        assert connection.execute("SELECT balance FROM accounts WHERE id = 1").fetchone() == (1,)
    with path.open("rb") as file:
        assert len(list(lines_before(file))) > 0
        intents = [record for record in Frames(file) if record[0] == INTENT]
    found = done(path)
    assert [(t.status, len(t.statements)) for t in found.transactions] == [
        ("committed", 1), ("aborted", 1), ("committed", 2), ("aborted", 2), ("committed", 1),
    ]  # fmt: skip
    assert [[statement[-1] == UNKNOWN for statement in record[7]] for record in intents][:2] == [[True], [True]]


def test_executemany_returning(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        cursor = connection.cursor()
        cursor.executemany(
            "INSERT INTO accounts VALUES (%s, %s, %s) RETURNING id", [(20, "a", 1), (21, None, 2)], returning=True
        )
        assert [result.fetchone() for result in cursor.results()] == [(20,), (21,)]
        cursor.executemany("UPDATE accounts SET balance = 3 WHERE id = %s", [(20,), (21,)])
        assert cursor.rowcount == 2
    (transaction,) = done(tmp_path / "log.jsonl").transactions
    assert [statement.affected for statement in transaction.statements] == [1, 1, 1, 1]


def test_server_side_cursors(dsn: str, tmp_path: Path) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        with connection.cursor("some") as cursor:
            cursor.execute("SELECT id FROM accounts WHERE id > %s ORDER BY id", (2,))
            connection.execute("DELETE FROM accounts WHERE id = 4")
            assert cursor.fetchmany(2) == [(3,), (4,)]
        with connection.cursor("all") as cursor:
            cursor.itersize = 3
            cursor.execute("SELECT id FROM accounts ORDER BY id")
            assert len(list(cursor)) == 9
        with pytest.raises(NotRecorded, match="SCROLL"), connection.cursor("back", scrollable=True) as cursor:
            cursor.execute("SELECT id FROM accounts")
    (transaction,) = done(tmp_path / "log.jsonl").transactions
    some, deleted, every = transaction.statements
    assert some.results is not None
    assert every.results is not None
    assert (some.results[0].rows, some.results[0].truncated) == (((3,), (4,)), True)
    assert (len(every.results[0].rows), every.results[0].truncated) == (9, False)
    assert deleted.affected == 1


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda c: c.cursor().copy("COPY accounts TO STDOUT").__enter__(), "COPY"),
        (lambda c: c.execute("UPDATE accounts SET balance = 0; DELETE FROM accounts"), "several statements"),
        (lambda c: c.execute("DECLARE c CURSOR FOR SELECT 1"), "DECLARE"),
        (lambda c: c.execute("COMMIT AND CHAIN"), "CHAIN"),
        (lambda c: c.execute("PREPARE p AS SELECT 1"), "PREPARE"),
        (lambda c: c.execute("SET default_transaction_isolation = 'serializable'"), "default_transaction_isolation"),
    ],
)  # fmt: skip
def test_what_has_no_form_is_refused_before_it_is_sent(dsn: str, tmp_path: Path, use: Any, message: str) -> None:
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        with pytest.raises(NotRecorded, match=message):
            use(connection)
        assert connection.execute("SELECT count(*) FROM accounts WHERE balance = 100").fetchone() == (10,)
    assert len(done(tmp_path / "log.jsonl").transactions) == 1


def test_deferred_constraint_fails_the_commit(dsn: str, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as setup:
        setup.execute("ALTER TABLE accounts ADD UNIQUE (owner) DEFERRABLE INITIALLY DEFERRED")
    with recorder.connect(dsn, log=tmp_path / "log.jsonl") as connection:
        connection.execute("UPDATE accounts SET owner = 'owner 2' WHERE id = 1")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.commit()
        connection.execute("SELECT 1")
    recorder.close()
    failed, _ = read_log([tmp_path / "log.jsonl"]).transactions
    assert failed.status == "aborted"
    assert failed.end is not None
    assert failed.end.error is not None
    assert failed.end.error.sqlstate == "23505"


def test_a_log_is_of_one_database_and_ends_once(dsn: str, postgres_dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    connection = recorder.connect(dsn, log=path)
    with psycopg.connect(dsn, autocommit=True) as setup:
        setup.execute("CREATE DATABASE another")
    try:
        other = postgres_dsn.replace("/postgres?", "/another?")
        assert other != postgres_dsn
        with pytest.raises(RecordError, match="another database"):
            recorder.connect(other, log=path)
    finally:
        with psycopg.connect(dsn, autocommit=True) as setup:
            setup.execute("DROP DATABASE another WITH (FORCE)")
    connection.execute("UPDATE accounts SET balance = 1")
    recorder.close()
    with pytest.raises(RecordError, match="the log is closed"):
        connection.commit()
    connection.close()
    assert list(read_log([path]).transactions) == []


def test_a_path_that_is_no_log(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("hello\n")
    with pytest.raises(RecordError, match="exists and is no log"):
        recorder.connect(dsn, log=tmp_path / "log.jsonl")
