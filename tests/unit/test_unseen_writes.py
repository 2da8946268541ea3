"""What a transaction wrote without telling is read anew where a later one shows it, in logs too long for every order.

Does not test how fast that goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.case_files import library_of
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status

ROUNDS = 8
HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "settings": {"collation": "C.UTF-8"},
    "schema": ["CREATE TABLE kv (k TEXT PRIMARY KEY, v INT NOT NULL)"],
    "initial": {"kv": {"columns": ["k", "v"], "rows": [["x", 0], ["y", 0]]}},
}


def transaction(name: str, begun: int, over: int, sql: str, value: int | None = None) -> dict[str, object]:
    """One statement, answered soon; the COMMIT takes the last 10."""
    statement: dict[str, object] = {"sql": sql, "invoked": begun + 1, "returned": over - 11}
    if value is not None:
        statement["result"] = {"columns": ["v"], "rows": [[value]]}
    end = {"invoked": over - 10, "returned": over}
    return {
        "id": name,
        "session": name[0],
        "status": "committed",
        "invoked": begun,
        "returned": over,
        "statements": [statement],
        "end": end,
    }


def rounds(count: int, seen: int) -> Iterator[dict[str, object]]:
    """In each: *a* sets y while *b*, which commits after it, copies the greatest value to x without telling; a reader
    shows that it did not see what *a* wrote (`seen` is 0), or saw something that nobody ever wrote."""
    for n in range(count):
        base = 1000 * n
        yield transaction(f"a{n}", base, base + 100, f"UPDATE kv SET v = {10 * n + 10} WHERE k = 'y'")
        yield transaction(f"b{n}", base + 10, base + 200, "UPDATE kv SET v = (SELECT MAX(v) FROM kv) WHERE k = 'x'")
        yield transaction(f"r{n}", base + 300, base + 400, "SELECT v FROM kv WHERE k = 'x'", 10 * n + seen)


@pytest.mark.parametrize("level", ["snapshot", "postgres:repeatable-read", "postgres:read-committed"])
@pytest.mark.parametrize(("seen", "status"), [(0, Status.CORRECT), (10, Status.CORRECT), (3, Status.VIOLATION)])
def test_an_unseen_write_is_read_anew(level: str, seen: int, status: Status, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [HEADER, *rounds(ROUNDS, seen)]), encoding="utf-8")
    log = read_log([path])
    verdict = audit(log, library_of(log), Options(level, timeout=120.0))
    assert verdict.status is status, verdict.reason or verdict.explanation
