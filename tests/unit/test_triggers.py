"""Writes that fire triggers are judged, and what the triggers write is not (docs/coverage.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SCHEMA = [
    "CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE seen (k INT)",
    "CREATE TABLE parent (k INT PRIMARY KEY)",
    "CREATE TABLE child (k INT REFERENCES parent (k))",
    "CREATE TRIGGER x AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
    "CREATE TRIGGER y BEFORE INSERT ON child FOR EACH ROW EXECUTE FUNCTION g()",
]
ROUTINES = [
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (NEW.k);"
    " RETURN NEW; END $$",
    "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO parent VALUES (NEW.k);"
    " RETURN NEW; END $$",
]
HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "serializable",
    "schema": SCHEMA,
    "procedures": ROUTINES,
    "initial": {"t": {"rows": [[1, 10]]}},
}


def log_of(tmp_path: Path, *statements: dict[str, Any]) -> str:
    path = tmp_path / "log.jsonl"
    entries = [
        {"id": f"t{n}", "status": "committed" if "error" not in one else "aborted", "invoked": 10 * n,
         "returned": 10 * n + 5, "statements": [one]}
        for n, one in enumerate(statements)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *entries)))
    return str(path)


WRITE = {"sql": "UPDATE t SET v = v + 1 WHERE k = 1", "affected": 1}
READ = {"sql": "SELECT v FROM t WHERE k = 1", "result": {"columns": ["v"], "rows": [[11]]}}
STALE = {"sql": "SELECT v FROM t WHERE k = 1", "result": {"columns": ["v"], "rows": [[12]]}}
SEEN = {"sql": "SELECT k FROM seen", "result": {"columns": ["k"], "rows": [[1], [1]]}}
CHILD = {"sql": "INSERT INTO child VALUES (7)", "affected": 1}
FAILED = {"sql": "INSERT INTO t VALUES (3, 3)", "error": {"sqlstate": "P0001"}}
WRONG = {"sql": "UPDATE t SET v = v + 1 WHERE k = 9", "affected": 1}


@pytest.mark.parametrize(
    ("statements", "status", "judged"),
    [
        ((WRITE, READ), 0, 2),
        ((WRITE, STALE), 1, None),
        ((WRITE, SEEN, READ), 3, 2),
        ((CHILD, WRITE, READ), 3, 2),
        ((WRITE, FAILED, READ), 3, 2),
        ((WRONG,), 1, None),
        ((SEEN,), 1, None),
    ],
)
def test_the_write_is_judged(
    run: Any, tmp_path: Path, statements: tuple[dict[str, Any], ...], status: int, judged: int | None
) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, *statements))
    assert ended.status == status, ended.json
    if judged is not None:
        assert ended.json["coverage"]["judged"] == judged
