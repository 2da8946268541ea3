"""PostgreSQL's own log, imported: statements, errors and ends that a server wrote down, and what it does not tell."""

from __future__ import annotations

import csv
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from tests.live.audited import done
from tests.patience import until
from troubadour.cli.logs.log import log
from troubadour.model.log import LogError
from troubadour.record import EmbeddedPostgres
from troubadour.tools.server_log import FIELDS, transactions

SETTINGS = {
    "logging_collector": "on", "log_destination": "csvlog", "log_statement": "all", "log_filename": "server.log",
    "log_disconnections": "on", "log_directory": "messages",
}  # fmt: skip


def test_a_server_that_logs_all_statements(tmp_path: Path) -> None:
    with EmbeddedPostgres(SETTINGS) as server:
        with psycopg.connect(server.dsn) as setup:
            setup.execute("CREATE TABLE t (id INT PRIMARY KEY, s TEXT)")
        begin = tmp_path / "begin.jsonl"
        assert CliRunner().invoke(log, ["init", server.dsn, "--out", str(begin)]).exit_code == 0
        with psycopg.connect(server.dsn, application_name="app") as connection:
            connection.execute("INSERT INTO t VALUES (%s, %s)", (1, "it's"))
            connection.commit()
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute("INSERT INTO t VALUES (1, 'x')")
            connection.rollback()
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute("UPDATE t SET s = NULL WHERE id = %s", (1,))
            connection.execute("SAVEPOINT a")
            connection.execute("ROLLBACK TO a")
            connection.commit()
            connection.autocommit = True
            connection.execute("DELETE FROM t WHERE id = 7")
            pid = connection.info.backend_pid
        with psycopg.connect(server.dsn, autocommit=True) as other:
            (folder,) = other.execute("SELECT current_setting('data_directory') || '/messages'").fetchone() or ("",)
        own = tmp_path / "own.csv"

        def of_it() -> list[list[str]]:
            with (Path(folder) / "server.csv").open(newline="") as file:
                return [row for row in csv.reader(file) if row[3] == str(pid)]

        until(lambda: any("disconnection" in row[13] for row in of_it()))
        rows = of_it()
        with own.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    out = tmp_path / "run.jsonl"
    said = CliRunner().invoke(log, ["import", str(own), "--begin", str(begin), "--out", str(out)])
    assert said.exit_code == 0, said.output
    found = done(out)
    assert [t.status for t in found.transactions] == ["committed", "aborted", "committed", "committed"]
    first, failed, third, _ = found.transactions
    assert first.statements[0].params == ("1", "it's")
    assert failed.statements[0].error is not None
    assert failed.statements[0].error.sqlstate == "23505"
    assert third.isolation == "postgres:repeatable-read"
    assert [s.sql.split()[0] for s in third.statements] == ["UPDATE", "SAVEPOINT", "ROLLBACK"]


def line(**given: str) -> list[str]:
    entry = {"session_id": "s", "error_severity": "LOG", **given}
    return [entry.get(name, "") for name in FIELDS]


def test_ends_that_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "server.csv"
    rows = [
        line(session_id="a", message="statement: BEGIN"),
        line(session_id="a", message="AUDIT: SESSION,1,1,WRITE,INSERT,,,insert into t values (1),<none>"),
        line(session_id="a", message="statement: COMMIT"),
        line(session_id="b", message="statement: BEGIN"),
        line(session_id="b", message="statement: DELETE FROM t"),
        line(session_id="b", error_severity="FATAL", sql_state_code="57P01", message="terminating connection"),
        line(session_id="c", message="statement: DELETE FROM t"),
        line(session_id="d", message="statement: BEGIN"),
        line(session_id="d", message="statement: UPDATE t SET id = 2"),
        line(session_id="d", message="statement: COMMIT"),
        line(session_id="d", error_severity="ERROR", sql_state_code="40001", message="could not serialize"),
        line(session_id="e", message="statement: BEGIN"),
        line(session_id="e", message="statement: SELECT 1"),
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = {entry["session"]: entry for entry in transactions([path])}
    assert {name: entry["status"] for name, entry in found.items()} == {
        "a": "unknown", "b": "aborted", "c": "unknown", "d": "aborted", "e": "unknown",
    }  # fmt: skip
    assert found["d"]["end"]["error"]["sqlstate"] == "40001"
    assert found["a"]["statements"] == [{"sql": "insert into t values (1)"}]


def test_what_is_no_csvlog(tmp_path: Path) -> None:
    path = tmp_path / "server.csv"
    path.write_text("2024-01-01 LOG: hello\n")
    with pytest.raises(LogError, match="no csvlog"):
        list(transactions([path]))
