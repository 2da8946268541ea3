"""Answers of a real PostgreSQL that few logs hold, audited as it gave them: never a violation; told otherwise, one."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sql_semantics.library import SqlLibrary
from troubadour.audit.driver import Options
from troubadour.audit.driver import audit as decide
from troubadour.cli.common import opened
from troubadour.formats.read import read_log
from troubadour.model.verdict import Status, Verdict

LEVEL = "postgres:read-committed"
SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, n NUMERIC, v INT)"
ROWS = [[1, "NaN", 10], [2, "1.5", 20], [3, "-Infinity", 30], [4, None, 40]]
ASKED = (
    *("SELECT n FROM t ORDER BY id", "SELECT id FROM t WHERE n > 1 ORDER BY id", "SELECT id, v FROM t ORDER BY n, id"),
    *("SELECT max(n), count(n), count(*) FROM t", "UPDATE t SET n = n + 1, v = v + 1 WHERE id = 1 RETURNING n, v"),
    *("SELECT v FROM t WHERE n = 'NaN'", "INSERT INTO t VALUES (5, 'Infinity', 50)", "SELECT v FROM t ORDER BY v"),
)
ZONES = ("UTC", "utc", "Etc/UTC", "etc/utc", "GMT", "gmt", "Etc/GMT", "Universal", "zulu")


def given(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def told(postgres: Any, sql: str, *params: str) -> dict[str, Any]:
    """A statement, run, as a log has it."""
    cursor = postgres.execute(sql.replace("$1", "%s"), params or None)
    said: dict[str, Any] = {"sql": sql, **({"params": list(params)} if params else {})}
    if cursor.description is None:
        return {**said, "affected": cursor.rowcount}
    rows = [[given(value) for value in row] for row in cursor.fetchall()]
    return {**said, "result": {"columns": [column.name for column in cursor.description], "rows": rows}}


def audited(folder: Path, statements: list[dict[str, Any]], initial: list[list[Any]]) -> Verdict:
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "postgres",
        "isolation": LEVEL,
        "schema": [SCHEMA],
        "settings": {"timezone": "UTC"},
        "initial": {"t": {"columns": ["id", "n", "v"], "rows": initial}},
    }
    transactions = [
        {
            "id": n,
            "session": "a",
            "status": "aborted" if "error" in each else "committed",
            "invoked": 10 * n,
            "returned": 10 * n + 5,
            "statements": [each],
        }
        for n, each in enumerate(statements)
    ]
    path = folder / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [header, *transactions])) + "\n", encoding="utf-8")
    log, library = opened(read_log([path]), LEVEL)
    assert isinstance(library, SqlLibrary)
    return decide(log, library, Options(LEVEL))


def test_numbers_that_are_none(postgres: Any, tmp_path: Path) -> None:
    postgres.execute(SCHEMA)
    for row in ROWS:
        postgres.execute("INSERT INTO t VALUES (%s, %s, %s)", row)
    statements = [told(postgres, sql) for sql in ASKED]
    verdict = audited(tmp_path, statements, ROWS)
    assert verdict.status is not Status.VIOLATION, verdict.explanation
    assert verdict.coverage is not None
    assert verdict.coverage.judged > 0
    plain = told(postgres, "SELECT v FROM t WHERE id = 2")
    assert plain["result"]["rows"] == [[20]]
    plain["result"]["rows"] = [[21]]
    assert audited(tmp_path, [plain, *statements], ROWS).status is Status.VIOLATION


def test_time_zones_that_are_set(postgres: Any, tmp_path: Path) -> None:
    statements = [told(postgres, "SELECT set_config('TimeZone', $1, false)", zone) for zone in ZONES]
    statements += [told(postgres, f"SELECT pg_catalog.set_config('timezone', '{zone}', true)") for zone in ZONES]
    verdict = audited(tmp_path, statements, [])
    assert verdict.status is Status.CORRECT, verdict.explanation
    statements[0]["result"]["rows"] = [["GMT"]]
    assert audited(tmp_path, statements, []).status is Status.VIOLATION


@pytest.mark.parametrize("before", [None, "CREATE INDEX vs ON t (v)", "CREATE UNIQUE INDEX vs ON t (v)"])
def test_an_index_that_may_be_there(postgres: Any, tmp_path: Path, before: str | None) -> None:
    """Whether rows with one value are refused then, hangs on what the log does not tell."""
    postgres.execute(SCHEMA)
    if before is not None:
        postgres.execute(before)
    asked = ("CREATE UNIQUE INDEX IF NOT EXISTS vs ON t (v)", "INSERT INTO t VALUES (1, 1, 7)")
    statements = [{"sql": sql} for sql in asked if postgres.execute(sql)]
    twice = "INSERT INTO t VALUES (2, 2, 7)"
    try:
        postgres.execute(twice)
        statements.append({"sql": twice})
    except psycopg.errors.UniqueViolation as error:
        statements.append({"sql": twice, "error": {"sqlstate": error.sqlstate, "message": ""}})
    assert ("error" in statements[-1]) is (before is None or "UNIQUE" in before)
    statements.append(told(postgres, "SELECT id, v FROM t ORDER BY id"))
    verdict = audited(tmp_path, statements, [])
    assert verdict.status is (Status.UNDECIDED if "error" in statements[-2] else Status.CORRECT), verdict.explanation
    statements[-1]["result"]["rows"] = [[1, 8]]
    assert audited(tmp_path, statements, []).status is Status.VIOLATION


def test_an_index_under_another_name(postgres: Any, tmp_path: Path) -> None:
    """The key goes with the name that it has by then."""
    postgres.execute(SCHEMA)
    statements: list[dict[str, Any]] = []
    for sql in (
        "CREATE UNIQUE INDEX vs ON t (v)",
        "INSERT INTO t VALUES (1, 1, 7)",
        "ALTER INDEX vs RENAME TO ws",
        "INSERT INTO t VALUES (2, 2, 7)",
        "ALTER INDEX ws RENAME TO xs",
        "DROP INDEX xs",
        "INSERT INTO t VALUES (3, 3, 7)",
    ):
        try:
            postgres.execute(sql)
            statements.append({"sql": sql})
        except psycopg.errors.UniqueViolation as error:
            statements.append({"sql": sql, "error": {"sqlstate": error.sqlstate, "message": ""}})
    statements.append(told(postgres, "SELECT id FROM t ORDER BY id"))
    assert [n for n, each in enumerate(statements) if "error" in each] == [3]
    verdict = audited(tmp_path, statements, [])
    assert verdict.status is Status.CORRECT, (verdict.explanation, verdict.reason)
    del statements[3]["error"]
    assert audited(tmp_path, statements, []).status is Status.VIOLATION
