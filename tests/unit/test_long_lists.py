"""Long IN lists of parameters are one set for an execution, and say what a chain of comparisons says. Does not know how
fast that is (`test_bounds`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import write
from troubadour.cli.main import main

PLACES = {"postgres": "$%d", "mysql": "?", "sqlite": "?", "duckdb": "?"}
COUNT = 20
"""More than are compared one by one."""


def places(dialect: str, count: int = COUNT) -> str:
    mark = PLACES[dialect]
    return ", ".join(mark % number if "%" in mark else mark for number in range(1, count + 1))


def verdict(folder: Path, capsys: pytest.CaptureFixture[str], dialect: str, *statements: dict[str, Any]) -> Any:
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": dialect,
        "isolation": "serializable",
        "schema": ["CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)"],
        "initial": {"t": {"columns": ["id", "v"], "rows": [[1, 1], [2, None], [3, 50], [4, 19]]}},
    }
    log = write(folder, header, {"id": "t1", "status": "committed", "statements": list(statements)})
    with pytest.raises(SystemExit):
        main(["audit", "--format", "json", log])
    return json.loads(capsys.readouterr().out)["verdict"]


def answer(sql: str, params: list[Any], *ids: int) -> dict[str, Any]:
    return {"sql": sql, "params": params, "result": {"columns": ["id"], "rows": [[number] for number in ids]}}


@pytest.mark.parametrize("dialect", PLACES)
def test_each_execution_has_its_own_items(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = f"SELECT id FROM t WHERE v IN ({places(dialect)}) ORDER BY id"
    missing = f"SELECT id FROM t WHERE v NOT IN ({places(dialect)}) ORDER BY id"
    numbers, with_null = list(range(COUNT)), [*range(COUNT - 1), None]
    right = [
        answer(found, numbers, 1, 4),
        answer(found, [*range(50, 50 + COUNT)], 3),
        answer(found, with_null, 1),
        answer(found, numbers, 1, 4),
        answer(missing, numbers, 3),
        answer(missing, with_null),
        answer(missing, [*range(1, COUNT + 1)], 3),
    ]
    assert verdict(tmp_path, capsys, dialect, *right) == "correct"
    for place, statement in enumerate(right):
        wrong = [*right[:place], {**statement, "result": {"columns": ["id"], "rows": [[2]]}}, *right[place + 1 :]]
        assert verdict(tmp_path, capsys, dialect, *wrong) == "violation"
