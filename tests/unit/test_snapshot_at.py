"""Where a snapshot was taken that the client asked for: at the beginning, or another's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from troubadour.audit.driver import Options, audit
from troubadour.audit.told.remarks import with_remarks
from troubadour.cli.auditing.audit import audit as audit_command
from troubadour.cli.logs.log import log as log_command
from troubadour.coverage.library import library_of
from troubadour.formats import read_log, write_log
from troubadour.model.log import Begin
from troubadour.model.verdict import Status
from troubadour.replay.checker import check

SCHEMA = ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"]
SETTINGS = {"sql_mode": "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO", "collation": "utf8mb4_bin"}


def log(path: Path, dialect: str, level: str, seen: int, reader: dict[str, Any], begun: int = 1000) -> Path:
    """One transaction commits between the beginning of another and its first read."""
    header = {
        "format": "troubadour-log", "version": 1, "dialect": dialect, "isolation": level, "schema": SCHEMA,
        "settings": SETTINGS if dialect == "mysql" else {},
        "initial": {"kv": {"rows": [[1, 0]]}},
    }  # fmt: skip
    update = {"sql": "UPDATE kv SET v = 1 WHERE k = 1", "invoked": 2000, "returned": 2100, "affected": 1}
    read = {
        "sql": "SELECT v FROM kv WHERE k = 1", "invoked": 3000, "returned": 3100,
        "result": {"columns": ["v"], "rows": [[seen]]},
    }  # fmt: skip
    writer = {"id": "w", "session": "b", "status": "committed", "invoked": 2000, "statements": [update],
              "end": {"invoked": 2200, "returned": 2300}, "returned": 2300}  # fmt: skip
    other = {"id": "r", "session": "a", "status": "committed", "invoked": begun, "statements": [read],
             "end": {"invoked": 3200, "returned": 3300}, "returned": 3300, **reader}  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, writer, other)))
    return path


@pytest.mark.parametrize(
    ("dialect", "level", "snapshot_at", "seen", "status"),
    [
        ("mysql", "mysql:repeatable-read", "begin", 0, Status.CORRECT),
        # when BEGIN was answered is not known
        ("mysql", "mysql:repeatable-read", "begin", 1, Status.CORRECT),
        ("mysql", "mysql:repeatable-read", "statement", 0, Status.VIOLATION),
        ("mysql", "mysql:repeatable-read", "statement", 1, Status.CORRECT),
        # a log that does not say: either is possible
        ("mysql", "mysql:repeatable-read", None, 0, Status.CORRECT),
        ("mysql", "mysql:repeatable-read", None, 1, Status.CORRECT),
        ("postgres", "postgres:repeatable-read", None, 0, Status.VIOLATION),
        ("postgres", "postgres:repeatable-read", None, 1, Status.CORRECT),
        ("postgres", "postgres:repeatable-read", "imported", 0, Status.CORRECT),
        ("postgres", "postgres:repeatable-read", "imported", 1, Status.CORRECT),
    ],
)
def test_where_a_snapshot_is_taken(
    tmp_path: Path, dialect: str, level: str, snapshot_at: str | None, seen: int, status: Status
) -> None:
    path = log(
        tmp_path / "log.jsonl", dialect, level, seen, {} if snapshot_at is None else {"snapshot_at": snapshot_at}
    )
    found = read_log([path])
    assert {transaction.id: transaction.snapshot_at for transaction in found.transactions} == {
        "w": None,
        "r": snapshot_at,
    }
    verdict = audit(found, library_of(found), Options(None))
    assert verdict.status is status, verdict
    if verdict.witness is not None:
        assert check(found, verdict.witness, library_of(found), isolation=None) is None
    write_log(tmp_path / "again.jsonl", found.header, found.transactions)
    assert list(read_log([tmp_path / "again.jsonl"]).transactions) == list(found.transactions)


def test_an_imported_snapshot_is_of_another_transaction_that_began_before(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", "postgres", "postgres:repeatable-read", 0, {"snapshot_at": "imported"}, 2900)
    found = read_log([path])
    assert audit(found, library_of(found), Options(None)).status is Status.CORRECT


@pytest.mark.parametrize(
    ("dialect", "level", "begin", "seen", "status"),
    [
        ("mysql", "mysql:repeatable-read", {"invoked": 1000, "returned": 1100, "snapshot": True}, 0, Status.CORRECT),
        ("mysql", "mysql:repeatable-read", {"invoked": 1000, "returned": 1100, "snapshot": True}, 1, Status.VIOLATION),
        # BEGIN was answered after the other's COMMIT was sent
        ("mysql", "mysql:repeatable-read", {"invoked": 1000, "returned": 2250, "snapshot": True}, 1, Status.CORRECT),
        # it was sent after the other's COMMIT was answered
        ("mysql", "mysql:repeatable-read", {"invoked": 2400, "returned": 2500, "snapshot": True}, 0, Status.VIOLATION),
        # BEGIN took none, or the log does not say
        ("mysql", "mysql:repeatable-read", {"invoked": 1000, "returned": 1100, "snapshot": False}, 0, Status.VIOLATION),
        ("mysql", "mysql:repeatable-read", {"invoked": 1000, "returned": 1100}, 0, Status.CORRECT),
        ("mysql", "mysql:repeatable-read", {"invoked": 1000, "returned": 1100}, 1, Status.CORRECT),
        ("mysql", "mysql:repeatable-read", {"invoked": 2400, "returned": 2500}, 0, Status.VIOLATION),
        ("mysql", "mysql:repeatable-read", {"returned": 1100, "snapshot": True}, 1, Status.VIOLATION),
        ("postgres", "postgres:repeatable-read", {"invoked": 1000, "returned": 1100}, 1, Status.CORRECT),
        ("postgres", "postgres:repeatable-read", {"invoked": 1000, "returned": 1100}, 0, Status.VIOLATION),
        ("sqlite", "sqlite", {"invoked": 1000, "returned": 1100, "snapshot": True}, 1, Status.VIOLATION),
    ],
)
def test_a_begin_with_times_of_its_own(
    tmp_path: Path, dialect: str, level: str, begin: dict[str, Any], seen: int, status: Status
) -> None:
    found = read_log([log(tmp_path / "log.jsonl", dialect, level, seen, {"begin": begin})])
    verdict = audit(found, library_of(found), Options(None))
    assert verdict.status is status, verdict
    if verdict.witness is not None:
        assert check(found, verdict.witness, library_of(found), isolation=None) is None
    write_log(tmp_path / "again.jsonl", found.header, found.transactions)
    assert list(read_log([tmp_path / "again.jsonl"]).transactions) == list(found.transactions)


@pytest.mark.parametrize("begin", [None, {"invoked": 1000}, {"invoked": 1000, "returned": 1100, "snapshot": True}])
def test_what_a_begin_without_times_leaves_open_is_said(tmp_path: Path, begin: dict[str, Any] | None) -> None:
    given = {"snapshot_at": "begin"} | ({} if begin is None else {"begin": begin})
    found = read_log([log(tmp_path / "log.jsonl", "mysql", "mysql:repeatable-read", 0, given)])
    verdict = audit(found, library_of(found), Options(None))
    assert verdict.status is Status.CORRECT
    said = any("the snapshot of r was taken by BEGIN" in note for note in with_remarks(found, verdict).notes)
    assert said is (begin is None or "returned" not in begin)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"begin": {"invoked": 1200, "returned": 1100}}, "the begin returned at 1100, before it was invoked at 1200"),
        ({"begin": {"invoked": 900}}, "begin was invoked at 900, before the transaction was at 1000"),
        ({"begin": {"invoked": 3001}}, "begin was invoked at 3001, after a statement was at 3000"),
        ({"begin": {"returned": 3301}}, "begin returned at 3301, after the transaction did at 3300"),
        ({"begin": {"invoked": 2**63}}, "begin: a time beyond 64 bits"),
        ({"begin": {"at": 1100}}, "unknown field 'at'"),
        ({"begin": {"snapshot": 1}}, "begin.snapshot"),
        ({"begin": [1000, 1100]}, "begin"),
        ({"begin": {"snapshot": True}, "snapshot_at": "statement"}, "snapshot is true, but snapshot_at is 'statement'"),
        ({"begin": {"snapshot": False}, "snapshot_at": "begin"}, "snapshot is false, but snapshot_at is 'begin'"),
    ],
)
def test_a_begin_that_cannot_be(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    path = log(tmp_path / "log.jsonl", "mysql", "mysql:repeatable-read", 0, given)
    ran = CliRunner().invoke(audit_command, [str(path)])
    assert (ran.exit_code, ran.stdout, message in ran.stderr) == (2, "", True), ran.stderr


def test_a_begin_tells_when_its_transaction_was_invoked(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", "mysql", "strict-serializable", 0, {"invoked": None})
    with_begin = log(
        tmp_path / "begin.jsonl", "mysql", "strict-serializable", 0, {"invoked": None, "begin": {"invoked": 2400}}
    )
    assert [CliRunner().invoke(audit_command, [str(one)]).exit_code for one in (path, with_begin)] == [0, 1]


@pytest.mark.parametrize("tool", ["cut", "merge", "anonymize", "show"])
def test_tools_keep_a_begin(tmp_path: Path, tool: str) -> None:
    begin = {"invoked": 1000, "returned": 1100, "snapshot": True}
    path = log(tmp_path / "log.jsonl", "mysql", "mysql:repeatable-read", 0, {"begin": begin})
    if tool == "show":
        told = CliRunner().invoke(log_command, ["show", str(path), "--id", "r"])
        assert "begin invoked 1000 returned 1100 with the snapshot" in told.stdout, told.output
        return
    out = tmp_path / "out.jsonl"
    first = ["--first", "2"] if tool == "cut" else []
    ran = CliRunner().invoke(log_command, [tool, str(path), *first, "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    assert [one.begin for one in read_log([out]).transactions] == [None, Begin(1000, 1100, True)]
