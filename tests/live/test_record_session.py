"""What a recorded session writes: values, errors, broken connections, times."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import psycopg
import pytest

from tests.live.recorded import Recorded, disorder, read
from troubadour.record import (
    ConnectionLost,
    EmbeddedPostgres,
    Executor,
    Logic,
    PostgresSession,
    Recorder,
    RecordError,
    attempt,
    connect,
    run,
)
from troubadour.record.servers.server import Connection
from troubadour.record.values import to_json

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, n INT)"


def recorded(dsn: str, schema: str, path: Path, use: Callable[[Recorder], None]) -> Recorded:
    """A log of what `use` does with a recorder over table t."""
    with connect(dsn, schema) as connection:
        connection.execute(TABLE.encode())
        connection.execute(b"INSERT INTO t VALUES (1, 10), (2, NULL)")
    with Recorder(
        dsn, path, isolation="snapshot", schema=[TABLE], tables={"t": ("id", "n")}, search_path=schema
    ) as recorder:
        use(recorder)
    return read(path)


def in_session(work: Callable[[PostgresSession], None]) -> Callable[[Recorder], None]:
    def use(recorder: Recorder) -> None:
        with closing(recorder.session("a")) as session:
            work(session)

    return use


def test_observations(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def work(session: PostgresSession) -> None:
        session.begin()
        assert session.execute("SELECT id, n FROM t WHERE id >= $1 ORDER BY id", (1,)).rows == [(1, 10), (2, None)]
        assert session.execute("UPDATE t SET n = $1", (7,)).affected == 2
        assert session.execute("DELETE FROM t WHERE id = 2 RETURNING n AS m").rows == [(7,)]
        session.execute("SAVEPOINT s")
        assert session.commit()

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", in_session(work))
    (transaction,) = log.transactions
    select, update, delete, savepoint = transaction["statements"]
    assert select["result"] == {"columns": ["id", "n"], "rows": [[1, 10], [2, None]]}
    assert "affected" not in select
    assert select["params"] == [1]
    assert (update["affected"], "result" in update) == (2, False)
    assert (delete["affected"], delete["result"]) == (1, {"columns": ["m"], "rows": [[7]]})
    assert savepoint.keys() == {"sql", "invoked", "returned"}
    assert (transaction["id"], transaction["session"], transaction["status"]) == ("a-1", "a", "committed")
    assert log.rows == [{"table": "t", "columns": ["id", "n"], "rows": [[1, 10], [2, None]]}]
    assert disorder(log) == []


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("9223372036854775807::bigint", 9223372036854775807),
        ("0.00000000::numeric", "0.00000000"),
        ("1e30::numeric", "1" + "0" * 30),
        ("'NaN'::numeric", "NaN"),
        ("'-Infinity'::float8", "-Infinity"),
        ("'NaN'::float8", "NaN"),
        ("0.1::float8", 0.1),
        ("true", True),
        ("NULL::text", None),
        ("'ü\"'::text", 'ü"'),
        ("'\\x6869'::bytea", "\\x6869"),
        ("date '2024-02-29'", "2024-02-29"),
        ("date 'infinity'", "infinity"),
        ("timestamp '2024-02-29 12:34:56.000001'", "2024-02-29T12:34:56.000001"),
        ("time '12:34:56'", "12:34:56"),
        ("'{\"a\":  1}'::json", '{"a":  1}'),
    ],
)
def test_values(postgres_dsn: str, database_schema: str, tmp_path: Path, expression: str, expected: object) -> None:
    def work(session: PostgresSession) -> None:
        session.begin()
        session.execute(f"SELECT {expression}")
        session.commit()

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", in_session(work))
    ((found,),) = log.transactions[0]["statements"][0]["result"]["rows"]
    assert (found, type(found)) == (expected, type(expected))


def test_parameters_are_typed_as_literals_are(postgres_dsn: str) -> None:
    with connect(postgres_dsn) as connection:
        query = "SELECT $1 * $2, pg_typeof($1)::text, pg_typeof($3)::text, pg_typeof($4)::text"
        row = connection.execute(query.encode(), (300, 300, 2**31, 2**63)).fetchone()
    assert row == (90_000, "integer", "bigint", "numeric")


def test_to_json_of_python_values() -> None:
    values = [Decimal("1E+3"), Decimal("-0.10"), -math.inf, b"\x00\xff", datetime(2024, 1, 2, 3, 4, 5, 6)]
    assert [to_json(value) for value in values] == [
        "1000",
        "-0.10",
        "-Infinity",
        "\\x00ff",
        "2024-01-02T03:04:05.000006",
    ]


def test_two_statements_in_one_are_refused(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def work(session: PostgresSession) -> None:
        with pytest.raises(RecordError, match="several statements in one text"):
            attempt(session, lambda executor: void(executor.execute("DELETE FROM t; SELECT 1")))

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", in_session(work))
    assert log.transactions == []


def void(_: object) -> None:
    """For lambdas whose value does not matter."""


def test_a_session_name_is_taken_once(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def use(recorder: Recorder) -> None:
        recorder.session("a").close()
        with pytest.raises(RecordError, match="'a' is in this log already"):
            recorder.session("a")

    recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", use)


def test_errors(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def work(session: PostgresSession) -> None:
        session.begin()
        session.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.UniqueViolation):
            session.execute("INSERT INTO t VALUES (1, 0)")
        session.execute("ROLLBACK TO SAVEPOINT s")
        session.execute("INSERT INTO t VALUES (3, 0)")
        assert session.commit()
        session.begin()
        session.execute("DELETE FROM t")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            session.execute("SELECT nothing FROM t")
        assert not session.commit(), "a failed transaction's COMMIT is a ROLLBACK"

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", in_session(work))
    first, second = log.transactions
    assert first["status"] == "committed"
    assert [s["error"]["sqlstate"] for s in first["statements"] if "error" in s] == ["23505"]
    assert "\n" not in first["statements"][1]["error"]["message"]
    assert second["status"] == "aborted"
    assert second["statements"][1]["error"]["sqlstate"] == "42703"


def test_commit_that_fails_is_aborted(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def work(session: PostgresSession) -> None:
        session.begin()
        session.execute("INSERT INTO child VALUES (99)")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            session.commit()
        session.begin()
        assert session.commit()

    def use(recorder: Recorder) -> None:
        with connect(postgres_dsn, database_schema) as connection:
            connection.execute(b"CREATE TABLE child (p INT REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
        in_session(work)(recorder)

    (failed,) = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", use).transactions
    assert (failed["status"], failed["end"]["error"]["sqlstate"]) == ("aborted", "23503")


def test_connection_lost_at_commit_is_unknown(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def use(recorder: Recorder) -> None:
        with connect(postgres_dsn, database_schema) as connection:
            connection.execute(
                b"CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
                b" 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'"
            )
            connection.execute(
                b"CREATE CONSTRAINT TRIGGER d AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED"
                b" FOR EACH ROW EXECUTE FUNCTION die()"
            )
        session = recorder.session("a")
        session.begin()
        session.execute("UPDATE t SET n = 1 WHERE id = 1")
        with pytest.raises(ConnectionLost):
            session.commit()

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", use)
    (transaction,) = log.transactions
    assert transaction["status"] == "unknown"
    assert "commit" not in transaction
    assert transaction["end"].keys() == {"invoked"}


class KillsOnce:
    """Updates one row; the third transaction ends its own server process first."""

    schema = (TABLE,)
    tables = {"t": ("id", "n")}  # noqa: RUF012

    def __init__(self) -> None:
        self.drawn = 0

    def load(self, connection: Connection) -> None:
        connection.execute(TABLE.encode())

    def draw(self, random: Random) -> Logic:
        self.drawn += 1
        third = self.drawn == 3

        def logic(executor: Executor) -> None:
            executor.execute("UPDATE t SET n = $1 WHERE id = 1", (random.randrange(100),))
            if third:
                executor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

        return logic


def test_a_lost_session_goes_on_under_a_new_name(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    def use(recorder: Recorder) -> None:
        tally = run(recorder.session, KillsOnce(), sessions=1, transactions=5, seed=1)
        assert (tally.committed, tally.lost) == (5, 1)

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", use)
    assert [(line["id"], line["status"]) for line in log.transactions] == [
        ("s1-1", "committed"),
        ("s1-2", "committed"),
        ("s1-3", "aborted"),
        ("s1.1-1", "committed"),
        ("s1.1-2", "committed"),
        ("s1.1-3", "committed"),
    ]
    last = log.transactions[2]["statements"][1]
    assert last.get("outcome") == "unknown" or last["error"]["sqlstate"] == "57P01"


def test_commit_timestamps_are_the_servers_to_the_microsecond(
    postgres_dsn: str, database_schema: str, tmp_path: Path
) -> None:
    xids = []

    def work(session: PostgresSession) -> None:
        for n in range(20):
            session.begin()
            session.execute("UPDATE t SET n = $1 WHERE id = 1", (n,))
            xids.append(session.execute("SELECT pg_current_xact_id()::text").rows[0][0])
            session.commit()

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", in_session(work))
    expected = []
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        for xid in xids:
            row = connection.execute("SELECT pg_xact_commit_timestamp(%s::xid8::xid)", (xid,)).fetchone()
            assert row is not None
            expected.append((row[0] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    assert [transaction["commit"] for transaction in log.transactions] == expected
    assert expected == sorted(expected)


def test_lookup_that_fails_loses_no_transaction(tmp_path: Path) -> None:
    """The lines are in the log without commit timestamps, and the recorder says so."""
    path = tmp_path / "log.jsonl"
    with EmbeddedPostgres() as server:
        recorder = Recorder(server.dsn, path, isolation="snapshot", schema=[], tables={})
        session = recorder.session("a")
        session.execute("CREATE TABLE u (id INT PRIMARY KEY)")
        session.commit()
        session.close()
    with pytest.raises(RecordError, match="1 transactions are logged without commit time"):
        recorder.close()
    (transaction,) = read(path).transactions
    assert (transaction["status"], "commit" in transaction) == ("committed", False)


def test_no_commit_times_of_another_lifetime_of_the_server(tmp_path: Path) -> None:
    """A server that crashed may have lost commits, and gives their numbers to others."""
    path = tmp_path / "log.jsonl"
    with EmbeddedPostgres() as server:
        with connect(server.dsn) as connection:
            connection.execute(TABLE.encode())
        recorder = Recorder(server.dsn, path, isolation="snapshot", schema=[TABLE], tables={"t": ("id", "n")})
        for number, name in enumerate(("before", "after")):
            session = recorder.session(name)
            session.execute("INSERT INTO t VALUES ($1, 0)", (number,))
            session.commit()
            if name == "before":
                server.crash()
            session.close()
        recorder.close()
    assert [("commit" in line, line["session"]) for line in read(path).transactions] == [
        (False, "before"), (True, "after"),
    ]  # fmt: skip


def test_workload_error_ends_the_run(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    class Broken(KillsOnce):
        def draw(self, random: Random) -> Logic:
            return lambda executor: void(executor.execute("SELECT 1 / 0"))

    def use(recorder: Recorder) -> None:
        with pytest.raises(RecordError, match="22012"):
            run(recorder.session, Broken(), sessions=3, transactions=5, seed=1)

    log = recorded(postgres_dsn, database_schema, tmp_path / "log.jsonl", use)
    assert {line["status"] for line in log.transactions} == {"aborted"}


def test_server_without_commit_timestamps_is_refused(tmp_path: Path) -> None:
    with (
        EmbeddedPostgres({"track_commit_timestamp": "off"}) as server,
        pytest.raises(RecordError, match="ALTER SYSTEM SET track_commit_timestamp"),
    ):
        Recorder(server.dsn, tmp_path / "log.jsonl", isolation="snapshot", schema=[], tables={})
    assert list(tmp_path.iterdir()) == []


def _use_and_fail(embedded: EmbeddedPostgres, seen: list[str]) -> None:
    with embedded as server:
        with connect(server.dsn) as connection:
            rows = connection.execute(
                b"SELECT current_setting('work_mem'), current_setting('data_directory')"
            ).fetchall()
        seen.extend(str(value) for value in rows[0])
        seen.append(str(Path(seen[1]).exists()))
        raise ZeroDivisionError


def test_embedded_server_is_gone_after_an_error() -> None:
    server = EmbeddedPostgres({"work_mem": "5MB"})
    seen: list[str] = []
    with pytest.raises(ZeroDivisionError):
        _use_and_fail(server, seen)
    work_mem, directory, existed = seen
    assert (work_mem, existed) == ("5MB", "True")
    assert not Path(str(directory)).parent.exists()
    with pytest.raises(RecordError, match="not running"):
        _ = server.dsn


def test_embedded_server_that_does_not_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RecordError, match="does not start"), EmbeddedPostgres({"shared_buffers": "nonsense"}):
        pass
    assert list(tmp_path.iterdir()) == []
