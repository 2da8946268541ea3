"""Where a snapshot was taken that the client asked for: at the beginning, or another's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.cli.common import library_of
from troubadour.formats import read_log, write_log
from troubadour.model.verdict import Status
from troubadour.replay import check

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
