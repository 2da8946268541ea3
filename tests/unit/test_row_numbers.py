"""SQLite's numbers of rows: one more than the highest there is, which comes again after a row is deleted."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("table", ["id INTEGER PRIMARY KEY, v TEXT", "id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT"])
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("rounds", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_numbers_that_come_again(run: Any, tmp_path: Path, table: str, rounds: int, wrong: bool) -> None:
    engine = sqlite3.connect(":memory:")
    engine.execute(f"CREATE TABLE t ({table})")
    lines: list[dict[str, Any]] = [
        {"format": "troubadour-log", "version": 1, "dialect": "sqlite", "isolation": "sqlite",
         "schema": [f"CREATE TABLE t ({table})"]}
    ]  # fmt: skip
    scripts = []
    for n in range(rounds):
        scripts += [f"INSERT INTO t (v) VALUES ('a{n}')", f"INSERT INTO t (v) VALUES ('b{n}')"]
        scripts += ["SELECT id, v FROM t ORDER BY id DESC LIMIT 1", f"DELETE FROM t WHERE v = '{'ab'[n % 2]}{n}'"]
        scripts += ["SELECT count(*), max(id) FROM t"]
    for n, sql in enumerate(scripts):
        cursor = engine.execute(sql)
        statement: dict[str, Any] = {"sql": sql}
        if cursor.description is None:
            statement["affected"] = cursor.rowcount
        else:
            rows = [list(row) for row in cursor.fetchall()]
            statement["result"] = {"columns": ["x"] * len(rows[0]), "rows": rows}
        lines.append(
            {"id": n, "status": "committed", "invoked": 10 * n, "returned": 10 * n + 5, "statements": [statement]}
        )
    if wrong:
        lines[-1]["statements"][0]["result"]["rows"][0][0] += 1
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("audit", str(path)).status in ((1, 3) if wrong else (0,))
