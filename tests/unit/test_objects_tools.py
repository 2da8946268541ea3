"""`troubadour log` and logs of operations on objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log as command
from troubadour.formats import read_either, read_log
from troubadour.model.objects import ObjectLog

HEADER: dict[str, Any] = {
    "format": "troubadour-log", "version": 1, "isolation": "snapshot", "objects": {"kv": "register", "l": "list"}
}  # fmt: skip
TIMES = [(1, 5), (2, 9), (8, 10), (11, 12), (20, 21)]
OPERATIONS: list[list[list[Any]]] = [
    [["w", "kv", 7, 4]],
    [["r", "kv", 7, 4], ["append", "l", "x", "a,b"]],
    [["r", "l", "x", ["a,b"]], ["w", "kv", 7, "4"]],
    [["r", "l", "x"]],
    [["r", "kv", 7, "4"]],
]
LINES: list[dict[str, Any]] = [
    {"id": f"t{number}", "status": "committed", "invoked": invoked, "returned": returned, "ops": ops}
    for number, ((invoked, returned), ops) in enumerate(zip(TIMES, OPERATIONS, strict=True), 1)
]
LINES[0] |= {"session": "a", "sno": 0}
LINES[3]["status"] = "aborted"


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (HEADER, *LINES)))
    return str(file)


def run(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == status, result.output
    return result.output


def objects(path: Path) -> ObjectLog:
    found = read_either([path])
    assert isinstance(found, ObjectLog)
    return found


def test_expand(path: str, tmp_path: Path) -> None:
    out = tmp_path / "sql.jsonl"
    assert run("expand", path, "--out", str(out)) == f"{out}: 5 transactions\n"
    written, direct = read_log([out]), read_log([path])
    names = ("id", "status", "session", "sno", "invoked", "returned", "statements")
    told = [
        [getattr(one, name) for name in names]
        for one in (
            msgspec.structs.replace(
                each, statements=tuple(msgspec.structs.replace(part, implied=False) for part in each.statements)
            )
            for each in direct.transactions
        )
    ]
    assert [[getattr(one, name) for name in names] for one in written.transactions] == told
    assert {**{table.table: table.rows for table in written.header.initial}} == {
        table.table: tuple(table.rows) for table in direct.header.initial
    }
    assert "already" in run("expand", str(out), "--out", str(tmp_path / "again.jsonl"), status=2)


def test_merge_keeps_the_operations(path: str, tmp_path: Path) -> None:
    out = tmp_path / "merged.jsonl"
    run("merge", path, "--out", str(out))
    told = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["ops"] for one in told if "ops" in one] == [one["ops"] for one in LINES]


def test_cut_keeps_what_may_have_been_seen(path: str, tmp_path: Path) -> None:
    out = tmp_path / "cut.jsonl"
    run("cut", path, "--first", "2", "--out", str(out))
    log = objects(out)
    assert log.ids == ["t1", "t2", "t3"]
    assert [one.known for one in log.operations(2)] == [False, True]


def test_show_and_stats(path: str) -> None:
    shown = run("show", path, "--match", "a,b")
    assert "t2" in shown and '  l "x" += "a,b"' in shown and '  l "x" = ["a,b"]' in shown and "t5" not in shown
    assert '  l "x" = ?' in run("show", path, "--id", "t4")
    told = run("stats", path)
    assert "kv (register), l (list)" in told and "4 committed, 1 aborted, 0 unknown" in told
    assert "7: 4 r, 2 w, 1 append" in told


def test_validate_and_anonymize(path: str, tmp_path: Path) -> None:
    assert "all of them modelled" in run("validate", path)
    assert "verdict before and after: correct" in run("anonymize", path, "--out", str(tmp_path / "other.jsonl"))


@pytest.mark.parametrize(("shown", "status"), [(7, 0), (8, 1)])
def test_counters_unknown_at_first_are_audited(tmp_path: Path, shown: int, status: int) -> None:
    header = {**HEADER, "objects": {"c": "counter"}, "initial": {"c": "unknown"}}
    first = {"id": "t1", "status": "committed", "ops": [["r", "c", "x", 3], ["inc", "c", "x", 4]]}
    second = {"id": "t2", "status": "committed", "ops": [["r", "c", "x", shown]]}
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (header, first, second)))
    result = CliRunner().invoke(audit, [str(file), "--isolation", "serializable"])
    assert result.exit_code == status, result.output
