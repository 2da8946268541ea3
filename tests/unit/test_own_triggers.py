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
    tables, initial = TABLES, {"t": {"rows": [[1, 10], [2, 20]]}}
    if dialect == "mysql":
        tables = [*TABLES, "CREATE TABLE n (k INTEGER PRIMARY KEY AUTO_INCREMENT, w VARCHAR(5) NOT NULL)"]
        initial |= {"n": {"rows": [[1, "a"]]}}
    header = {
        "format": "troubadour-log", "version": 1, "dialect": dialect, "isolation": "strict-serializable",
        "schema": [*tables, trigger], "initial": initial,
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
COMPOUND = "CREATE TRIGGER x BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'no') FROM t WHERE 0 UNION SELECT 1; END"
STOPPED = "CREATE TRIGGER x {} UPDATE ON t WHEN NEW.k = 2 BEGIN SELECT RAISE(FAIL, 'no'); END"
WITHIN = "CREATE TRIGGER x AFTER UPDATE ON t BEGIN INSERT OR FAIL INTO t VALUES (NEW.k, 1); END"
STOPS = {"sql": "UPDATE t SET v = v + 1", "error": {"sqlstate": "23000"}}
NUMBERED = "CREATE TRIGGER x BEFORE INSERT ON n FOR EACH ROW SET NEW.k = {}"
GIVEN = "CREATE TRIGGER x BEFORE INSERT ON n FOR EACH ROW SET NEW.w = 'x'"
INSERTED = {"sql": "INSERT INTO n VALUES (5, 'y')", "affected": 1}
HANDLED = (
    "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW BEGIN DECLARE EXIT HANDLER FOR 1062 INSERT INTO seen VALUES (0); "
    "INSERT INTO n VALUES (3, 'a'), (1, 'b'); END"
)
NEXT = {"sql": "SELECT k FROM n", "result": {"columns": ["k"], "rows": [[1], [3]]}}
LATE = (
    "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW BEGIN DECLARE z INT; SELECT k INTO z FROM n WHERE k = 1; "
    "UPDATE n SET w = w WHERE k = 9; INSERT INTO seen VALUES (z); END"
)
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
        ("sqlite", COMPOUND, (WRITE,), 3),
        ("sqlite", STOPPED.format("BEFORE"), (STOPS, value(11)), 3),
        ("sqlite", STOPPED.format("AFTER"), (STOPS, value(11)), 3),
        ("sqlite", WITHIN, (STOPS, value(11)), 3),
        ("mysql", NUMBERED.format("NULL"), (INSERTED, NEXT), 3),
        ("mysql", NUMBERED.format("0"), (INSERTED, NEXT), 3),
        ("mysql", NUMBERED.format("3"), (INSERTED, NEXT), 0),
        ("mysql", NUMBERED.format("4"), (INSERTED, NEXT), 1),
        ("mysql", GIVEN, ({"sql": "INSERT INTO n (k) VALUES (3)", "affected": 1}, NEXT), 3),
        ("mysql", HANDLED, (WRITE, NEXT), 3),
        ("mysql", LATE, (WRITE, seen(7)), 3),
        ("sqlite", DELAYED, (WRITE, seen(1)), 3),
        ("sqlite", DELAYED, (WRITE, value(12)), 1),
    ],
)
def test_what_is_run_and_what_is_not(
    run: Any, tmp_path: Path, dialect: str, trigger: str, statements: tuple[dict[str, Any], ...], status: int
) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, dialect, trigger, *statements))
    assert ended.status == status, ended.json


def test_fail_keeps_what_a_statement_has_done(run: Any, tmp_path: Path) -> None:
    stops = {"sql": "INSERT OR FAIL INTO t VALUES (7, 1), (1, 1)", "error": {"sqlstate": "23000"}}
    read = {"sql": "SELECT k FROM t", "result": {"columns": ["k"], "rows": [[1], [2], [7]]}}
    path = log_of(tmp_path, "sqlite", AFTER, stops, read)
    ended = run("audit", "--format", "json", path)
    assert ended.status == 3, ended.json


@pytest.mark.parametrize("rule", ["IGNORE", "REPLACE", "FAIL"])
def test_a_unique_that_decides_what_becomes_of_a_row(run: Any, tmp_path: Path, rule: str) -> None:
    unique = f"CREATE TABLE z (k INTEGER PRIMARY KEY, v INTEGER, UNIQUE (v) ON CONFLICT {rule})"
    skipped = {"sql": "INSERT INTO z VALUES (1, 1), (2, 1)", "affected": 1}
    ended = run("audit", "--format", "json", log_of(tmp_path, "sqlite", unique, skipped))
    assert ended.status == 3, ended.json


def test_a_trigger_fires_one_that_fills_a_column_and_is_listed_after_it(run: Any, tmp_path: Path) -> None:
    tables = [*TABLES, "CREATE TABLE n (k INTEGER PRIMARY KEY, w VARCHAR(5) NOT NULL)"]
    fires = "CREATE TRIGGER a AFTER UPDATE ON t FOR EACH ROW INSERT INTO n (k) VALUES (NEW.k)"
    path = Path(log_of(tmp_path, "mysql", GIVEN, WRITE, {"sql": "SELECT k FROM n"} | {"result": seen(1)["result"]}))
    header, *entries = path.read_text().splitlines(keepends=True)
    changed = json.loads(header) | {"schema": [*tables, fires, GIVEN], "initial": {"t": {"rows": [[1, 10], [2, 20]]}}}
    path.write_text(json.dumps(changed) + "\n" + "".join(entries))
    ended = run("audit", "--format", "json", str(path))
    assert ended.status == 3, ended.json


def test_a_handler_in_a_function_that_writes(run: Any, tmp_path: Path) -> None:
    tables = ["CREATE TABLE n (k INTEGER PRIMARY KEY, v INTEGER)"]
    function = (
        "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN DECLARE EXIT HANDLER FOR 1062 RETURN 9; "
        "INSERT INTO n VALUES (3, 1), (1, 1); RETURN 1; END"
    )
    called = {"sql": "SELECT f()", "result": {"columns": ["f()"], "rows": [[9]]}}
    path = Path(log_of(tmp_path, "mysql", GIVEN, called, NEXT))
    header, *entries = path.read_text().splitlines(keepends=True)
    changed = json.loads(header) | {
        "schema": tables, "procedures": [function], "initial": {"n": {"rows": [[1, 10]]}},
    }  # fmt: skip
    path.write_text(json.dumps(changed) + "\n" + "".join(entries))
    ended = run("audit", "--format", "json", str(path))
    assert ended.status == 3, ended.json
