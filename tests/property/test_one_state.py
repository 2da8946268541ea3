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
from troubadour.audit import one_state
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.heuristics import Heuristics

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


def check(folder: Path, seed: int, count: int) -> tuple[Verdict, Verdict]:
    """One log, decided in both ways."""
    random = Random(seed)
    lines = made(random, count)
    spoilt(random, lines)
    path = folder / f"{seed}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    level = LEVELS[seed % len(LEVELS)]
    return judged(path, level, straight=True), judged(path, level, straight=False)


def agree(folder: Path, seed: int, count: int) -> None:
    """Both ways come to the same, but that what is decided at once may be more."""
    found, searched = check(folder, seed, count)
    assert searched.status is Status.UNDECIDED or told(found) == told(searched), seed


@pytest.mark.parametrize("seed", range(24))
def test_the_last_writers_decide_as_the_whole_log(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_state, "HUNDREDS", 0)
    agree(tmp_path, seed, 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000, 1_600))
def test_the_same_at_length(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_state, "HUNDREDS", 0)
    agree(tmp_path, seed, 10 + seed % 90)
