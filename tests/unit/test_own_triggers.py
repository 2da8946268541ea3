"""Logs with triggers of SQLite and MariaDB: what they write is judged; what is not modelled of them is left open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TABLES = ["CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)", "CREATE TABLE seen (k INTEGER)"]
NOTE = "INSERT INTO seen VALUES (NEW.k)"
AFTER = f"CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW BEGIN {NOTE}; END"
WRITE = {"sql": "UPDATE t SET v = v + 1 WHERE k = 1", "affected": 1}
BOTH = {"sql": "UPDATE t SET v = v + 1", "affected": 2}


def seen(*keys: int) -> dict[str, Any]:
    return {"sql": "SELECT k FROM seen", "result": {"columns": ["k"], "rows": [[key] for key in keys]}}


def value(number: int) -> dict[str, Any]:
    return {"sql": "SELECT v FROM t WHERE k = 1", "result": {"columns": ["v"], "rows": [[number]]}}


def log_of(tmp_path: Path, dialect: str, trigger: str, *statements: dict[str, Any]) -> str:
    header = {
        "format": "troubadour-log", "version": 1, "dialect": dialect, "isolation": "strict-serializable",
        "schema": [*TABLES, trigger], "initial": {"t": {"rows": [[1, 10], [2, 20]]}},
    }  # fmt: skip
    entries = [
        {"id": f"t{n}", "status": "committed" if "error" not in one else "aborted", "invoked": 10 * n,
         "returned": 10 * n + 5, "statements": [one]}
        for n, one in enumerate(statements)
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *entries)))
    return str(path)


@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
@pytest.mark.parametrize(
    ("statements", "status"),
    [((WRITE, seen(1)), 0), ((WRITE, seen()), 1), ((WRITE, seen(2)), 1), ((BOTH, seen(2, 1)), 0), ((BOTH, seen(1)), 1)],
)
def test_what_a_trigger_writes(
    run: Any, tmp_path: Path, dialect: str, statements: tuple[dict[str, Any], ...], status: int
) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, dialect, AFTER, *statements))
    assert ended.status == status, ended.json


SET = "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = NEW.v * 2"
RAISED = "CREATE TRIGGER x BEFORE UPDATE OF v ON t WHEN NEW.v > 10 BEGIN SELECT RAISE({}) WHERE OLD.k = 1; END"
SIGNAL = "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW IF NEW.v > 10 THEN SIGNAL SQLSTATE '45000'; END IF"
FAILED = {"sql": "UPDATE t SET v = v + 1 WHERE k = 1"}
READ = "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW INSERT INTO seen SELECT k FROM t"
DELAYED = "CREATE TRIGGER x AFTER UPDATE ON t BEGIN SELECT count(*) FROM t; INSERT INTO seen VALUES (1); END"


@pytest.mark.parametrize(
    ("dialect", "trigger", "statements", "status"),
    [
        ("mysql", SET, (WRITE, value(22)), 0),
        ("mysql", SET, (WRITE, value(11)), 1),
        ("mysql", SIGNAL, ({**FAILED, "error": {"sqlstate": "45000"}}, value(10)), 0),
        ("mysql", SIGNAL, (WRITE,), 1),
        ("mysql", READ, (WRITE, value(11)), 0),
        ("mysql", READ, (WRITE, value(12)), 1),
        ("mysql", READ, (WRITE, seen(7)), 3),
        ("sqlite", RAISED.format("ABORT, 'no'"), ({**FAILED, "error": {"sqlstate": "23000"}}, value(10)), 0),
        ("sqlite", RAISED.format("ABORT, 'no'"), (WRITE,), 1),
        ("sqlite", RAISED.format("IGNORE"), ({**WRITE, "affected": 0}, value(10)), 0),
        ("sqlite", RAISED.format("IGNORE"), (WRITE,), 1),
        ("sqlite", RAISED.format("ROLLBACK, 'no'"), (WRITE,), 3),
        ("sqlite", DELAYED, (WRITE, seen(1)), 3),
        ("sqlite", DELAYED, (WRITE, value(12)), 1),
    ],
)
def test_what_is_run_and_what_is_not(
    run: Any, tmp_path: Path, dialect: str, trigger: str, statements: tuple[dict[str, Any], ...], status: int
) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, dialect, trigger, *statements))
    assert ended.status == status, ended.json
