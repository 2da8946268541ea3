"""NaN and infinities of PostgreSQL's NUMERIC among the initial rows leave their column unjudged, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import transaction, write

SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, n NUMERIC, v INT, w INT, UNIQUE (n))"
TABLE = {"columns": ["id", "n", "v", "w"], "rows": [[1, "NaN", 10, 100], [2, "1.5", 20, 200], [3, "Infinity", 30, 300]]}
HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "isolation": "postgres:read-committed",
    "dialect": "postgres",
    "schema": [SCHEMA],
    "initial": {"t": TABLE},
}


def read(sql: str, *rows: list[Any]) -> dict[str, Any]:
    return transaction(sql, result={"columns": [f"c{n}" for n in range(len(rows[0]))], "rows": list(rows)})


def numbered(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    times = ({"id": f"t{n}", "session": "a", "invoked": 10 * n, "returned": 10 * n + 5} for n in range(len(entries)))
    return [{**entry, **time} for entry, time in zip(entries, times, strict=True)]


@pytest.mark.parametrize(("seen", "status"), [(10, 0), (11, 1)])
def test_the_other_columns_are_judged(run: Any, tmp_path: Path, seen: int, status: int) -> None:
    entries = numbered(read("SELECT v FROM t WHERE id = 1", [seen]))
    assert run("audit", write(tmp_path, HEADER, *entries)).status == status


@pytest.mark.parametrize(
    "entry",
    [
        read("SELECT n FROM t ORDER BY id", ["NaN"], ["1.5"], ["Infinity"]),
        read("SELECT id FROM t WHERE n > 1 ORDER BY id", [1], [2], [3]),
        read("SELECT n FROM t ORDER BY n", ["1.5"], ["Infinity"], ["NaN"]),
        read("SELECT sum(n), max(n), count(n) FROM t", ["NaN", "NaN", 3]),
        transaction("UPDATE t SET n = n + 1 WHERE id = 1", affected=1),
        transaction("UPDATE t SET n = $1 WHERE id = 2", params=["-Infinity"], affected=1),
        transaction(
            "INSERT INTO t VALUES (4, 'NaN', 4, 4)", error={"sqlstate": "23505", "message": ""}, status="aborted"
        ),
    ],
)
def test_what_is_asked_of_them_costs_only_itself(run: Any, tmp_path: Path, entry: dict[str, Any]) -> None:
    right, wrong = (read("SELECT v FROM t WHERE id = 1", [v]) for v in (10, 11))
    ended = run("audit", "--format", "json", write(tmp_path, HEADER, *numbered(entry, right)))
    assert ended.status in (0, 3), ended.json
    assert ended.json["coverage"]["judged"] > 0
    assert run("audit", write(tmp_path, HEADER, *numbered(wrong, entry))).status == 1


def test_another_column_that_goes_unjudged_does_not_bring_it_back(run: Any, tmp_path: Path) -> None:
    lost = transaction("UPDATE t SET w = json_array_length('[1]') WHERE id = 1", affected=1)
    asked = read("SELECT n FROM t WHERE id = 1", ["NaN"])
    for value, status in ((10, 3), (11, 1)):
        entries = numbered(lost, asked, read("SELECT v FROM t WHERE id = 1", [value]))
        ended = run("audit", "--format", "json", write(tmp_path, HEADER, *entries))
        assert ended.status == status, ended.json
