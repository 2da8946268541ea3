"""What a transaction wrote without telling is read anew where a later one shows it, in logs too long for every order.

Does not test how fast that goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.problem.problem import Problem
from troubadour.search.repair.moves.pull_forward import separate_ahead
from troubadour.search.repair.moves.reassign_reads import revise
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.placer import Frontier

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
    verdict = audit(log, library_of(log), Options(level, timeout=600))
    assert verdict.status is status, verdict.reason or verdict.explanation


def missed(count: int, seen: int) -> Iterator[dict[str, object]]:
    """In each: *a* and then *b* set a row each, and *b* is answered first; *c*, sent in between, copies the sum to x
    without telling, and a reader shows that *c* saw both (`seen` is 0), *b* alone (-10), or something else."""
    for n in range(count):
        base, before = 1000 * n, 3 * n
        yield transaction(f"a{n}", base, base + 205, f"UPDATE kv SET v = {10 * n + 10} WHERE k = 'y'") | {
            "end": {"invoked": base + 100, "returned": base + 205}
        }
        yield transaction(f"b{n}", base + 10, base + 195, f"UPDATE kv SET v = {before + 3} WHERE k = 'z'") | {
            "end": {"invoked": base + 110, "returned": base + 195}
        }
        sums = "UPDATE kv SET v = (SELECT SUM(v) FROM kv WHERE k <> 'x') WHERE k = 'x'"
        yield transaction(f"c{n}", base + 199, base + 300, sums)
        yield transaction(f"r{n}", base + 400, base + 500, "SELECT SUM(v) FROM kv", seen + 26 * n + 26)


@pytest.mark.parametrize("level", ["postgres:repeatable-read", "postgres:read-committed"])
@pytest.mark.parametrize(("seen", "correct"), [(0, True), (-10, True), (1, False)])
def test_a_commit_that_was_missed_comes_behind_what_was_seen(
    level: str, seen: int, correct: bool, tmp_path: Path
) -> None:
    header = HEADER | {"initial": {"kv": {"columns": ["k", "v"], "rows": [["x", 0], ["y", 0], ["z", 0]]}}}
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *missed(ROUNDS, seen)]), encoding="utf-8")
    log = read_log([path])
    verdict = audit(log, library_of(log), Options(level, timeout=600))
    assert (verdict.status is Status.CORRECT) == correct, verdict.reason or verdict.explanation


def frontier_of(
    lines: Iterator[dict[str, object]], path: Path, before: Sequence[str], level: str = "postgres:read-committed"
) -> Frontier:
    """The frontier of a log, with these placed."""
    header = HEADER | {"initial": {"kv": {"columns": ["k", "v"], "rows": [["x", 0], ["y", 0], ["z", 0]]}}}
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *lines]), encoding="utf-8")
    log = read_log([path])
    library = library_of(log)
    problem = Problem(log, library, known_rows(log, library), isolation=level)
    frontier = Frontier(problem)
    items = {problem.transaction(item).id: item for item in problem.judged}
    assert all(frontier.place(items[name]) is None for name in before)
    return frontier


def placed_in(frontier: Frontier) -> list[str]:
    """Who is placed."""
    return [frontier.problem.transaction(placement.item).id for placement in frontier.trace.placements]


def item_of(frontier: Frontier, name: str) -> int:
    """A transaction's item."""
    return next(item for item in frontier.problem.judged if frontier.problem.transaction(item).id == name)


@pytest.mark.parametrize(("seen", "placed"), [(10, ["w", "r", "a"]), (12, ["a"])])
def test_a_later_commit_is_seen_and_an_earlier_one_is_not(seen: int, placed: list[str], tmp_path: Path) -> None:
    """*a* (1) was answered late, and *w* (10), which comes after the reader in hint order, did not see it either."""
    writers = [
        transaction(name, begun, 60, f"UPDATE kv SET v = {value} WHERE k = '{key}'")
        | {"returned": over, "end": {"invoked": sent, "returned": over}}
        for name, begun, sent, over, key, value in [("a", 0, 50, 500, "x", 1), ("w", 80, 110, 600, "y", 10)]
    ]
    read = {"sql": "SELECT SUM(v) FROM kv", "invoked": 81, "returned": 90, "result": {"columns": ["s"], "rows": [[0]]}}
    writers[1]["statements"] = [read, {"sql": "UPDATE kv SET v = 10 WHERE k = 'y'", "invoked": 91, "returned": 100}]
    reader = transaction("r", 150, 320, "SELECT SUM(v) FROM kv", seen)
    lines = iter([*writers, reader])
    frontier = frontier_of(lines, tmp_path / "log.jsonl", ["a"], "postgres:repeatable-read")
    item = item_of(frontier, "r")
    assert frontier.place(item) is not None
    assert separate_ahead(frontier, item, lambda other: True) is (len(placed) > 1)
    assert placed_in(frontier) == placed


@pytest.mark.parametrize(("seen", "placed"), [(4, ["v", "w", "r"]), (1, ["w", "v"])])
def test_a_reader_comes_behind_a_commit_that_it_did_not_see_and_that_was_answered_first(
    seen: int, placed: list[str], tmp_path: Path
) -> None:
    """*r* locks what it reads; *v* (4) was answered before it was sent, *w* (1) while it ran, and before its COMMIT."""
    writers = [
        transaction(name, begun, 60, f"UPDATE kv SET v = {value} WHERE k = '{key}'")
        | {"returned": over, "end": {"invoked": sent, "returned": over}}
        for name, begun, sent, over, key, value in [("w", 0, 50, 200, "x", 1), ("v", 1, 55, 100, "y", 4)]
    ]
    reader = transaction("r", 150, 320, "SELECT v FROM kv WHERE v > 0 FOR UPDATE", seen)
    frontier = frontier_of(iter([*writers, reader]), tmp_path / "log.jsonl", ["w", "v"], "postgres:repeatable-read")
    item = item_of(frontier, "r")
    assert frontier.place(item) is not None
    assert separate(frontier, item) is ("r" in placed)
    assert placed_in(frontier) == placed


def test_one_of_two_that_copied_unseen_is_read_anew_alone(tmp_path: Path) -> None:
    """The later one is tried first, in vain, and then copies what it had copied."""
    copies = [(f"INSERT INTO {table} SELECT k, v FROM kv", table) for table in ("c", "d")]
    lines: list[dict[str, Any]] = [
        {"format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "snapshot",
         "schema": [f"CREATE TABLE {table} (k INT PRIMARY KEY, v BIGINT)" for table in ("kv", "c", "d")]},
        {"kind": "rows", "table": "kv", "columns": ["k", "v"], "rows": [[1, 0]]},
        *({"kind": "rows", "table": table, "columns": ["k", "v"], "rows": []} for table in ("c", "d")),
        {"id": "a", "status": "committed", "statements": [{"sql": "UPDATE kv SET v = 1 WHERE k = 1"}]},
        *({"id": table, "status": "committed", "statements": [{"sql": sql}]} for sql, table in copies),
        {"id": "r", "status": "committed", "statements": [
            {"sql": "SELECT c.v, d.v FROM c JOIN d ON c.k = d.k",
             "result": {"columns": ["v", "v"], "rows": [[0, 1]]}}]},
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_log([path])
    library = library_of(log)
    frontier = Frontier(Problem(log, library, known_rows(log, library), isolation="snapshot"))
    for item in range(3):
        assert frontier.place(item) is None
        frontier.settle()
    assert frontier.place(3) is not None
    assert revise(frontier, 3)
    assert placed_in(frontier) == ["a", "c", "d", "r"]
