"""Serial logs with one answer changed: what is decided from the last writers alone is what the whole log says.

Statements of all kinds by key and by condition, run on SQLite. Does not know why a log is a violation.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.case_files import opened
from troubadour.audit import driver, one_state
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.heuristics import Heuristics
from troubadour.replay.newest import writers

SCHEMA = "CREATE TABLE items (id INT PRIMARY KEY, grp INT NOT NULL, n INT NOT NULL)"
LEVELS = ("strict-serializable", "strict-snapshot", "postgres:repeatable-read", "postgres:serializable")
TEXTS = (
    ("SELECT n FROM items WHERE id = $1", "k"),
    ("SELECT id, n FROM items WHERE grp = $1 ORDER BY id", "g"),
    ("SELECT SUM(n) AS total, COUNT(*) AS many FROM items WHERE grp = $1", "g"),
    ("SELECT COUNT(*) AS many FROM items WHERE n > $1", "n"),
    ("UPDATE items SET n = n + $2 WHERE id = $1", "kn"),
    ("UPDATE items SET n = $2 WHERE id = $1", "kn"),
    ("UPDATE items SET n = n + 1 WHERE grp = $1", "g"),
    ("UPDATE items SET grp = $2 WHERE id = $1", "kg"),
    ("DELETE FROM items WHERE id = $1", "k"),
    ("INSERT INTO items (id, grp, n) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = items.n + 1", "kgn"),
    ("INSERT INTO items (id, grp, n) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING", "kgn"),
)


def made(random: Random, count: int) -> list[dict[str, Any]]:
    """A serial run, one transaction after another."""
    server = sqlite3.connect(":memory:")
    server.execute(SCHEMA)
    rows = [[key, key % 4, 100] for key in range(1, 13)]
    server.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
    lines: list[dict[str, Any]] = [
        {
            "format": "troubadour-log",
            "version": 1,
            "dialect": "postgres",
            "schema": [SCHEMA],
            "initial": {"items": {"rows": rows}},
        }
    ]
    clock = 0
    for number in range(count):
        statements = []
        begun = clock
        for _ in range(random.randint(1, 4)):
            text, kinds = random.choice(TEXTS)
            values = {"k": random.randint(1, 16), "g": random.randint(0, 3), "n": random.randint(1, 5)}
            params = [values[kind] for kind in kinds]
            found = server.execute(text, {str(n): value for n, value in enumerate(params, 1)})
            statement: dict[str, Any] = {"sql": text, "params": params, "invoked": clock + 1, "returned": clock + 2}
            if found.description is not None:
                columns = [column[0] for column in found.description]
                statement["result"] = {"columns": columns, "rows": [list(row) for row in found]}
            else:
                statement["affected"] = found.rowcount
            statements.append(statement)
            clock += 3
        end = {"invoked": clock + 1, "returned": clock + 2}
        one = {"id": f"t{number}", "status": "committed", "session": f"s{number % 3}", "statements": statements}
        lines.append({**one, "invoked": begun, "returned": clock + 3, "end": end})
        clock += 5
    return lines


def spoilt(random: Random, lines: list[dict[str, Any]]) -> None:
    """Change one answer in the last half."""
    one = random.choice(lines[len(lines) // 2 :])
    statement = random.choice(one["statements"])
    if "affected" in statement:
        statement["affected"] += 1
        return
    rows = statement["result"]["rows"]
    kind = random.choice(("value", "missing", "extra"))
    if kind == "extra" or not rows:
        rows.append([77] * len(statement["result"]["columns"]))
    elif kind == "missing":
        rows.pop(random.randrange(len(rows)))
    else:
        row = random.choice(rows)
        row[-1] = 7 if row[-1] is None else row[-1] + random.randint(1, 7)


def told(verdict: Verdict) -> tuple[object, ...]:
    """What has to be the same however it was found."""
    return verdict.status, verdict.failing_transaction, verdict.verified_prefix, verdict.scope


def judged(path: Path, level: str, *, straight: bool) -> Verdict:
    """The verdict on a log, at once or by searching."""
    log, library = opened(read_log([path]), level)
    return audit(log, library, Options(level, heuristics=Heuristics(straight=straight), effort=20))


def overlapping(random: Random, lines: list[dict[str, Any]]) -> None:
    """Let some in the last third have begun, and what they answered have been asked, while the one before ran."""
    for _ in range(random.randint(1, 3)):
        place = random.randrange(2 * len(lines) // 3, len(lines))
        one, before = lines[place], lines[place - 1]
        one["invoked"] = before["invoked"] + random.randint(0, 2)
        for statement in one["statements"]:
            if random.random() < 0.8:
                statement["invoked"] = one["invoked"]
            if random.random() < 0.5:
                break
        if random.random() < 0.4:
            before["returned"], before["end"]["returned"] = one["returned"], one["end"]["returned"]


def check(folder: Path, seed: int, count: int, *, overlap: bool = False) -> tuple[Verdict, Verdict]:
    """One log, decided in both ways."""
    random = Random(seed)
    lines = made(random, count)
    if overlap:
        overlapping(random, lines)
    spoilt(random, lines)
    path = folder / f"{seed}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    level = LEVELS[seed % len(LEVELS)]
    return judged(path, level, straight=True), judged(path, level, straight=False)


def agree(folder: Path, seed: int, count: int, *, overlap: bool = False) -> None:
    """Both ways come to the same, but that what is decided at once may be more."""
    found, searched = check(folder, seed, count, overlap=overlap)
    assert searched.status is Status.UNDECIDED or told(found) == told(searched), seed


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short logs, too, are decided by few of theirs."""
    monkeypatch.setattr(one_state, "HUNDREDS", 0)
    monkeypatch.setattr(driver, "THOUSANDS", 0)


@pytest.mark.parametrize("seed", range(8, 16))
def test_the_last_writers_decide_as_the_whole_log(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_state, "HUNDREDS", 0)
    agree(tmp_path, seed, 25)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(5_000, 5_012))
def test_few_that_overlap_decide_as_the_whole_log(tmp_path: Path, seed: int) -> None:
    agree(tmp_path, seed, 14, overlap=True)


ABORTED: tuple[dict[str, Any], ...] = (
    {"sql": "SELECT n FROM items WHERE id = 2", "result": {"columns": ["n"], "rows": [[1]]}},
    {"sql": "INSERT INTO items VALUES (9, 1, 1)", "error": {"sqlstate": "23505"}},
)
"""What was so near the beginning."""


def out_of_turn(path: Path, sooner: dict[str, Any], *between: dict[str, Any], dialect: str = "postgres") -> None:
    """A log in which the last but two saw the next one, which did something else before."""
    initial = {"items": {"rows": [[1, 0, 0], [2, 0, 0], [5, 0, 0]]}}
    lines: list[dict[str, Any]] = [
        {"format": "troubadour-log", "version": 1, "dialect": dialect, "schema": [SCHEMA], "initial": initial}
    ]

    def put(id: str, invoked: int, returned: int, *statements: dict[str, Any]) -> None:
        times = {"invoked": invoked, "returned": returned}
        lines.append({"id": id, "status": "committed", **times, "statements": statements})

    for number in range(1, 16):
        text = {3: "INSERT INTO items VALUES (9, 0, 0)", 4: "DELETE FROM items WHERE id = 9"}.get(number)
        text = text or f"UPDATE items SET n = {number} WHERE id = 2"
        put(f"t{number}", 10 * number, 10 * number + 5, {"sql": text, "affected": 1})
    looks = ("SELECT n FROM items WHERE id = 1", 7), ("SELECT n FROM items WHERE id = 2", 15)
    put("later", 200, 205, *({"sql": text, "result": {"columns": ["n"], "rows": [[n]]}} for text, n in looks))
    lines += between
    put("sooner", 200, 210, sooner, {"sql": "UPDATE items SET n = 7 WHERE id = 1", "affected": 1})
    put("last", 220, 230, {"sql": "UPDATE items SET n = 8 WHERE id = 1", "affected": 1})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


NOTHING = {"sql": "UPDATE items SET n = 0 WHERE id = 77", "affected": 0}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("statement", ABORTED)
@pytest.mark.parametrize("level", LEVELS)
def test_an_aborted_one_among_few_that_overlap_may_be_older(
    tmp_path: Path, level: str, statement: dict[str, Any]
) -> None:
    path = tmp_path / "log.jsonl"
    out_of_turn(path, NOTHING, {"id": "aborted", "status": "aborted", "statements": [statement]})
    assert judged(path, level, straight=True).status is Status.CORRECT


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("level", ["strict-serializable", "strict-snapshot"])
def test_a_row_that_is_in_the_way_of_a_key_is_there(
    tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_state, "THOUSANDS", 1)
    path = tmp_path / "log.jsonl"
    failed = {"sql": "INSERT INTO items VALUES (5, 1, 1)", "error": {"sqlstate": "23000"}}
    out_of_turn(path, failed, dialect="mysql")
    assert judged(path, level, straight=True).status is Status.CORRECT


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("level", ["strict-serializable", "strict-snapshot"])
def test_rows_that_are_gone_and_forgotten_are_not_taken_to_be_missing(
    tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "_KEPT", 1)
    path = tmp_path / "log.jsonl"
    out_of_turn(path, NOTHING)
    *lines, later, sooner, last = path.read_text(encoding="utf-8").splitlines()
    removed = {"id": "removed", "status": "committed", "invoked": 198, "returned": 203}
    texts = [f"DELETE FROM items WHERE id = {key}" for key in (5, 6)]
    lines[0] = lines[0].replace("[5, 0, 0]", "[5, 0, 0], [6, 0, 0]")
    statements = [{"sql": text, "affected": 1} for text in texts]
    lines += [json.dumps({**removed, "statements": statements}), later, sooner, last]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    assert judged(path, level, straight=True).status is Status.CORRECT


@pytest.mark.usefixtures("few")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6_000, 6_600))
def test_few_of_more_that_overlap(tmp_path: Path, seed: int) -> None:
    agree(tmp_path, seed, 8 + seed % 40, overlap=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(8), *range(16, 24), *range(1_000, 1_600)])
def test_the_same_at_length(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_state, "HUNDREDS", 0)
    agree(tmp_path, seed, 10 + seed % 90)
