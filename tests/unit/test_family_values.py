"""Enums, arrays and jsonb in a log: what is read, what is accused, and what costs itself only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "serializable",
    "schema": [
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE t (k INT PRIMARY KEY, m mood, a int[], b jsonb)",
    ],
}
ROW = [1, "sad", "{1,2}", '{"a": 1}']
ALL = "SELECT k, m, a, b FROM t"


def log_of(tmp_path: Path, row: list[Any], statement: dict[str, Any]) -> str:
    first = {"sql": "SELECT k FROM t WHERE k = 1", "result": {"columns": ["k"], "rows": [[1]]}}
    lines = [
        {**HEADER, "initial": {"t": {"rows": [row]}}},
        {"id": "t0", "status": "committed", "statements": [first]},
        {"id": "t1", "status": "committed", "statements": [statement]},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize(
    ("shown", "status"),
    [
        (ROW, 0),
        ([1, "sad", "{1, 2}", '{"a":1.0}'], 0),
        ([1, "ok", "{1,2}", '{"a": 1}'], 1),
        ([1, "sad", "{1,3}", '{"a": 1}'], 1),
        ([1, "sad", "{1,2}", '{"a": 2}'], 1),
        ([1, "sad", None, '{"a": 1}'], 1),
        ([1, "added since", "{1,2}", '{"a": 1}'], 3),
        ([1, "sad", "{{1},{2}}", '{"a": 1}'], 3),
        ([1, "sad", "{1,2}", "no JSON"], 3),
        ([1, "sad", "no array", '{"a": 1}'], 2),
    ],
)
def test_values_that_are_shown(run: Any, tmp_path: Path, shown: list[Any], status: int) -> None:
    result = {"columns": ["k", "m", "a", "b"], "rows": [shown]}
    assert run("audit", log_of(tmp_path, ROW, {"sql": ALL, "result": result})).status == status


@pytest.mark.parametrize(
    "row", [[1, "new", "{1}", "1"], [1, "sad", "{{1,2}}", "1"], [1, "sad", "{1}", "no JSON"]], ids=["m", "a", "b"]
)
def test_an_initial_value_costs_its_column(run: Any, tmp_path: Path, row: list[Any]) -> None:
    ended = run("audit", "--format", "json", log_of(tmp_path, row, {"sql": ALL}))
    assert (ended.status, ended.json["coverage"]["judged"], ended.json["coverage"]["statements"]) == (3, 1, 2)


@pytest.mark.parametrize(
    ("sql", "params", "status"),
    [
        ("SELECT k, m FROM t WHERE m = %s", ["sad"], 0),
        ("SELECT k, m FROM t WHERE m = %s", ["ok"], 1),
        ("SELECT k, m FROM t WHERE m = %s", ["no label"], 3),
        ("SELECT k, m FROM t WHERE b = %s", ['{"a": 1.00}'], 0),
        ("SELECT k, m FROM t WHERE %s = ANY (a)", [2], 0),
        ("SELECT k, m FROM t WHERE %s = ANY (a)", [3], 1),
    ],
)
def test_parameters(run: Any, tmp_path: Path, sql: str, params: list[Any], status: int) -> None:
    result = {"columns": ["k", "m"], "rows": [[1, "sad"]]}
    assert run("audit", log_of(tmp_path, ROW, {"sql": sql, "params": params, "result": result})).status == status
