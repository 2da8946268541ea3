"""Triggers are run where they are modelled; of others the writes that fire them are judged (docs/coverage.md)."""

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
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {}INSERT INTO seen VALUES (NEW.k);"
    " RETURN NEW; END $$",
    "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {}INSERT INTO parent VALUES (NEW.k);"
    " RETURN NEW; END $$",
]
NOT_MODELLED = "PERFORM jsonb_path_exists('[]', '$'); "
HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "postgres:serializable",
    "schema": SCHEMA,
    "initial": {"t": {"rows": [[1, 10]]}},
}


def log_of(tmp_path: Path, begins: str, *statements: dict[str, Any]) -> str:
    path = tmp_path / "log.jsonl"
    entries = [
        {"id": f"t{n}", "status": "committed" if "error" not in one else "aborted", "invoked": 10 * n,
         "returned": 10 * n + 5, "statements": [one]}
        for n, one in enumerate(statements)
    ]  # fmt: skip
    header = {**HEADER, "procedures": [text.format(begins) for text in ROUTINES]}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *entries)))
    return str(path)


WRITE = {"sql": "UPDATE t SET v = v + 1 WHERE k = 1", "affected": 1}
READ = {"sql": "SELECT v FROM t WHERE k = 1", "result": {"columns": ["v"], "rows": [[11]]}}
STALE = {"sql": "SELECT v FROM t WHERE k = 1", "result": {"columns": ["v"], "rows": [[12]]}}
SEEN = {"sql": "SELECT k FROM seen", "result": {"columns": ["k"], "rows": [[1]]}}
TWICE = {"sql": "SELECT k FROM seen", "result": {"columns": ["k"], "rows": [[1], [1]]}}
CHILD = {"sql": "INSERT INTO child VALUES (7)", "affected": 1}
FAILED = {"sql": "INSERT INTO t VALUES (3, 3)", "error": {"sqlstate": "P0001"}}
WRONG = {"sql": "UPDATE t SET v = v + 1 WHERE k = 9", "affected": 1}


@pytest.mark.parametrize(
    ("statements", "status", "judged"),
    [
        ((WRITE, READ), 0, 2),
        ((WRITE, STALE), 1, None),
        ((WRITE, SEEN, READ), 3, 2),
        ((WRITE, TWICE, READ), 3, 2),
        ((CHILD, WRITE, READ), 3, 2),
        ((WRITE, FAILED, READ), 3, 2),
        ((WRONG,), 1, None),
        ((TWICE,), 1, None),
    ],
)
def test_the_write_is_judged(
    run: Any, tmp_path: Path, statements: tuple[dict[str, Any], ...], status: int, judged: int | None
) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, NOT_MODELLED, *statements))
    assert ended.status == status, ended.json
    if judged is not None:
        assert ended.json["coverage"]["judged"] == judged


@pytest.mark.parametrize(
    ("statements", "status"),
    [
        ((WRITE, READ), 0),
        ((WRITE, SEEN, READ), 0),
        ((WRITE, TWICE, READ), 1),
        ((WRITE, WRITE, TWICE), 0),
        ((CHILD, WRITE, READ), 0),
        ((WRITE, FAILED, READ), 0),
        ((CHILD, CHILD), 1),
        ((CHILD, {"sql": "SELECT k FROM parent", "result": {"columns": ["k"], "rows": [[7]]}}), 0),
        ((CHILD, {"sql": "SELECT k FROM parent", "result": {"columns": ["k"], "rows": []}}), 1),
        ((CHILD, {**CHILD, "error": {"sqlstate": "23505"}, "affected": None}, WRITE), 0),
        ((WRITE, {**CHILD, "error": {"sqlstate": "23505"}, "affected": None}, WRITE), 0),
    ],
)
def test_what_is_run_is_judged(run: Any, tmp_path: Path, statements: tuple[dict[str, Any], ...], status: int) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, "", *statements))
    assert ended.status == status, ended.json
