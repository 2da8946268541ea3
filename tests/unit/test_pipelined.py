"""Statements that were sent before the one before them was answered, in a pipeline with their COMMIT.

Each looked at the database between when it was sent and when it was answered, whatever was sent meanwhile.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import opened
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.replay.checker import check

HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "schema": ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"],
    "initial": {"t": {"columns": ["id", "v"], "rows": [[1, 0], [2, 0]]}},
}
READ = "SELECT v FROM t WHERE id = $1"


def transaction(
    name: str, committed: tuple[int, int], *statements: tuple[str, list[int], object, int, int]
) -> dict[str, Any]:
    """Statements with their parameters, what they gave, and when they were sent and answered; when COMMIT was."""
    lines = [
        {"sql": sql, "params": params, "invoked": sent, "returned": answered}
        | ({"affected": gave} if isinstance(gave, int) else {"result": {"columns": ["v"], "rows": gave}})
        for sql, params, gave, sent, answered in statements
    ]
    times = {"invoked": min(one[3] for one in statements), "returned": committed[1]}
    end = {"invoked": committed[0], "returned": committed[1]}
    return {"id": name, "session": name, "status": "committed", **times, "end": end, "statements": lines}


def other(sent: int, answered: int) -> dict[str, Any]:
    """A transaction that writes a 7."""
    update = ("UPDATE t SET v = $2 WHERE id = $1", [1, 7], 1, sent, sent + 2)
    return transaction("other", (sent + 4, answered), update)


def pipelined(first: int) -> dict[str, Any]:
    """Two reads and their COMMIT, sent at 100 and answered at 200, 210 and 220; the first shows this."""
    reads = ((READ, [1], [[first]], 100, 200), (READ, [2], [[0]], 100, 210))
    return transaction("pipelined", (101, 220), *reads)


LEVELS = ("postgres:read-committed", "postgres:repeatable-read", "postgres:serializable", "strict-snapshot",
          "strict-serializable", "serializable")  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("first", "sent", "answered", "right"),
    [(7, 120, 150, True), (0, 120, 150, True), (7, 20, 90, True), (0, 20, 90, False), (7, 230, 250, False)],
)
def test_a_pipeline_reads_what_was_committed_while_it_waited(
    tmp_path: Path, level: str, first: int, sent: int, answered: int, *, right: bool
) -> None:
    path = tmp_path / "log.jsonl"
    lines = [HEADER, other(sent, answered), pipelined(first)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log, library = opened(read_log([path]), level)
    verdict = audit(log, library, Options(level))
    right = right or (level == "serializable" and first == 0)  # which keeps no time
    assert verdict.status is (Status.CORRECT if right else Status.VIOLATION)
    if verdict.witness is not None:
        assert check(log, verdict.witness, library, isolation=level) is None
