"""Logs of more transactions than every order of is tried, one of them of unknown outcome, in which the DBMS's own times
leave no version that a transaction can have met. Does not check the refuter alone: tests/property/test_anywhere does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status

HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "postgres:repeatable-read",
    "schema": ["CREATE TABLE a (id INT PRIMARY KEY, v INT)"],
    "initial": {"a": {"columns": ["id", "v"], "rows": [[1, 0], [2, 0]]}},
    "settings": {"collation": "C"},
}
ADD = "UPDATE a SET v = v + 1 WHERE id = 2"
SUM = "SELECT SUM(v) FROM a"


def transaction(name: str, start: int, commit: int, sql: str, shown: int | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {"affected": 1} if shown is None else {"result": {"columns": ["v"], "rows": [[shown]]}}
    level = "postgres:serializable" if name.startswith("s") else "postgres:repeatable-read"
    line = {"id": name, "status": "committed", "isolation": level, "statements": [{"sql": sql} | answer]}
    return line | {"start": start, "commit": commit}


def log(second: dict[str, Any]) -> list[dict[str, Any]]:
    unknown = transaction("unknown", 0, 0, "UPDATE a SET v = v + 1 WHERE id = 1") | {"status": "unknown"}
    del unknown["start"], unknown["commit"]
    return [
        transaction("s1", 22, 30, ADD),
        second,
        transaction("s3", 64, 70, ADD),
        unknown,
        transaction("s4", 72, 80, "UPDATE a SET v = 5 WHERE id = 1"),
        transaction("s5", 82, 85, ADD),
        transaction("s6", 86, 90, ADD),
        transaction("s7", 92, 95, "SELECT SUM(v) FROM a WHERE id = 1", 5),
        transaction("s8", 97, 99, "SELECT COUNT(*) FROM a", 2),
    ]


@pytest.mark.parametrize(
    ("second", "core"),
    [
        (transaction("lost", 13, 40, ADD), ("s1", "lost")),
        (transaction("right", 33, 40, ADD), None),
        (transaction("stale", 33, 40, SUM, 0), ("s1", "stale")),
        (transaction("fresh", 13, 40, SUM, 0), None),
    ],
    ids=lambda value: value["id"] if isinstance(value, dict) else "",
)
def test_what_times_leave(second: dict[str, Any], core: tuple[str, ...] | None, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [HEADER, *log(second)])) + "\n", encoding="utf-8")
    read = read_log([path])
    verdict = audit(read, library_of(read), Options(effort=1))
    assert verdict.status is (Status.CORRECT if core is None else Status.VIOLATION), verdict
    assert verdict.core == core
