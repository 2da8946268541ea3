"""Answers that no rows give are violations by themselves, and first rows by an order leave none out.

Each log is one transaction, or one beside a writer. Does not know how an answer is read.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.order.rows.propagation import RowConflict, Rows
from troubadour.problem.problem import Problem

HEAD = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "schema": ["CREATE TABLE t (id INT PRIMARY KEY, g INT, name TEXT)"],
    "initial": {"t": {"rows": [[1, 1, "b"], [2, 1, "a"], [3, 2, "c"], [4, None, "a"]]}},
}


def conflict_of(path: Path, sql: str, rows: list[list[object]]) -> RowConflict | None:
    """What is derived of one transaction with one answer."""
    columns = [f"c{n}" for n in range(len(rows[0]))] if rows else ["c0"]
    statement = {"sql": sql, "result": {"columns": columns, "rows": rows}}
    one = {"id": "t1", "status": "committed", "statements": [statement]}
    path.write_text("".join(json.dumps(line) + "\n" for line in (HEAD, one)), encoding="utf-8")
    log = read_log([path])
    compiled = library_of(log)
    problem = Problem(
        log, compiled, known_rows(log, compiled), isolation="serializable", unknown=unknown_tables(log, compiled)
    )
    derived = Rows(problem).derive()
    assert derived is not None
    return derived.conflict


@pytest.mark.parametrize(
    ("sql", "rows", "says"),
    [
        ("SELECT g, COUNT(*) FROM t GROUP BY g", [[1, 1], [2, 1], [1, 1]], "one group twice"),
        ("SELECT DISTINCT g FROM t WHERE g = 1", [[1], [1]], "may show once"),
        ("SELECT COUNT(*) FROM t", [[4], [4]], "are one"),
        ("SELECT id FROM t ORDER BY id", [[1], [3], [2], [4]], "not in the order"),
        ("SELECT id FROM t ORDER BY id DESC", [[3], [4], [2], [1]], "not in the order"),
        ("SELECT g, id FROM t WHERE g > 0 ORDER BY 1, id DESC", [[1, 1], [1, 2], [2, 3]], "not in the order"),
    ],
)
def test_an_answer_that_no_rows_give_is_refused(sql: str, rows: list[list[object]], says: str, tmp_path: Path) -> None:
    conflict = conflict_of(tmp_path / "log.jsonl", sql, rows)
    assert conflict is not None
    assert says in conflict.says


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT g, COUNT(*) FROM t GROUP BY g", [[1, 2], [2, 1], [None, 1]]),
        ("SELECT COUNT(*) FROM t GROUP BY g", [[2], [1], [1]]),
        ("SELECT g, id FROM t ORDER BY g DESC, id", [[None, 4], [2, 3], [1, 1], [1, 2]]),
        ("SELECT name, id FROM t ORDER BY name, id", [["a", 2], ["a", 4], ["b", 1], ["c", 3]]),
        ("SELECT id FROM t ORDER BY g, id LIMIT 2", [[1], [2]]),
        ("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1", [[2], [3]]),
        ("SELECT id FROM t ORDER BY id LIMIT 2", [[1], [2]]),
        ("SELECT g, id FROM t ORDER BY g LIMIT 2", [[1, 2], [1, 1]]),
    ],
)
def test_one_that_rows_give_is_none(sql: str, rows: list[list[object]], tmp_path: Path) -> None:
    assert conflict_of(tmp_path / "log.jsonl", sql, rows) is None


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT id FROM t ORDER BY id LIMIT 2", [[1], [3]]),
        ("SELECT id FROM t ORDER BY id DESC LIMIT 1", [[3]]),
        ("SELECT g, id FROM t WHERE g > 0 ORDER BY g DESC, id LIMIT 2", [[2, 3], [1, 2]]),
    ],
)
def test_the_first_rows_by_an_order_leave_none_out(sql: str, rows: list[list[object]], tmp_path: Path) -> None:
    assert conflict_of(tmp_path / "log.jsonl", sql, rows) is not None
