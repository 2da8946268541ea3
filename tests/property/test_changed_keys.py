"""Statements that give rows another key, or are followed in no row, on a real SQLite: what is derived of the rows
contradicts no such log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.case_files import opened
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.order.rows.propagation import Rows
from troubadour.problem.problem import Problem

TABLES = (
    "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int)",
    "CREATE TABLE u (k int NOT NULL PRIMARY KEY REFERENCES t (k) ON UPDATE CASCADE ON DELETE CASCADE, w int)",
)


def statement(random: Random, keys: bool) -> str:
    """One that reads or writes rows by their keys, or all of them; `keys`: or gives them others."""
    k, v = random.randrange(10), random.randrange(5)
    texts = [
        f"UPDATE t SET v = v + 1 WHERE k = {k}",
        "UPDATE t SET v = u.w FROM u WHERE u.k = t.k",
        f"INSERT INTO t VALUES ({k}, {v})",
        f"INSERT INTO u VALUES ({k}, {v})",
        f"DELETE FROM t WHERE k = {k}",
        "SELECT k, v FROM t",
        "SELECT COUNT(*) FROM t",
        f"SELECT v FROM t WHERE k = {k}",
        "SELECT k, w FROM u",
        f"SELECT w FROM u WHERE k = {k}",
    ]
    changing = [
        f"UPDATE t SET k = {k} WHERE v = {v}",
        f"UPDATE t SET k = k + 1 WHERE k = {k}",
        f"UPDATE t SET v = {v}, k = {k}",
        f"INSERT INTO t VALUES ({k}, {v}) ON CONFLICT (k) DO UPDATE SET k = t.k + 3",
    ]
    return random.choice(texts + changing * keys)


def answered(connection: sqlite3.Connection, text: str, clock: Iterator[int]) -> dict[str, Any]:
    """A statement as the log has it."""
    told: dict[str, Any] = {"sql": text, "invoked": next(clock)}
    try:
        cursor = connection.execute(text)
    except sqlite3.IntegrityError as error:
        told["error"] = {"sqlstate": "23503" if "FOREIGN" in str(error) else "23505"}
    else:
        found = cursor.fetchall()
        if cursor.description is None:
            told["affected"] = cursor.rowcount
        else:
            told["result"] = {"columns": [item[0] for item in cursor.description], "rows": found}
    return {**told, "returned": next(clock)}


def recorded(seed: int, path: Path) -> None:
    """The log of transactions one after another."""
    random, keys = Random(seed), seed % 2 == 0
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    rows = [[key, random.randrange(4)] for key in random.sample(range(8), random.randint(1, 4))]
    for text in TABLES:
        connection.execute(text)
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.executemany("INSERT INTO u VALUES (?, 1)", [row[:1] for row in rows[::2]])
    initial = {
        "t": {"columns": ["k", "v"], "rows": rows},
        "u": {"columns": ["k", "w"], "rows": [[row[0], 1] for row in rows[::2]]},
    }
    lines: list[dict[str, Any]] = [
        {"format": "troubadour-log", "version": 1, "dialect": "sqlite", "dbms": "SQLite 3.40.1", "isolation": "sqlite",
         "schema": list(TABLES), "initial": initial, "settings": {"foreign_keys": True}}
    ]  # fmt: skip
    clock = iter(range(1, 10**6))
    for number in range(random.randint(8, 24)):
        told = [answered(connection, statement(random, keys), clock) for _ in range(random.choice((1, 2)))]
        line = {"id": f"t{number}", "session": f"s{number % 3}", "status": "committed", "invoked": told[0]["invoked"]}
        lines.append({**line, "statements": told, "returned": next(clock)})
    connection.close()
    lines.append({"kind": "end", "transactions": len(lines) - 1})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 2000), marks=pytest.mark.slow)])
def test_what_is_told_of_rows_contradicts_nothing(seeds: range, tmp_path: Path) -> None:
    derived = 0
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        recorded(seed, path)
        log, library = opened(read_log([path]), None)
        problem = Problem(log, library, known_rows(log, library), isolation=None, unknown=unknown_tables(log, library))
        found = Rows(problem).derive()
        derived += found is not None
        assert found is None or found.conflict is None, (seed, found.conflict)
    assert derived > len(seeds) // 2
