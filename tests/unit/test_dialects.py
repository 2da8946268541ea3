"""What a log's connections set before it matters is read as the log's own setting."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import pytest

from sql_semantics.values.dialect import Dialect
from tests.case_files import read_case
from troubadour.execution.boundaries import misplaced
from troubadour.execution.dialects import dialect_of
from troubadour.model.log import Log

ON, OFF, LIKE = "PRAGMA foreign_keys = ON", "PRAGMA foreign_keys(0)", "PRAGMA case_sensitive_like = true"
WRITE, READ, MATCH = "INSERT INTO t VALUES (1)", "SELECT a FROM t", "SELECT a FROM t WHERE a LIKE 'A'"


def dialect(tmp_path: Path, *statements: tuple[str, str], **settings: Any) -> Dialect:
    """Of a log in which sessions ran statements, each in a transaction of its own but for those that a bar parts."""
    case = read_case("# level: serializable  expect: correct\ndialect: sqlite", "settings")
    case.header["schema"] = ["CREATE TABLE t (a INT)"]
    case.header["settings"] = settings
    case.transactions += [
        {"id": f"t{n}", "session": session, "status": "committed", "statements": [{"sql": s} for s in sql.split("|")]}
        for n, (session, sql) in enumerate(statements)
    ]
    log: Log = case.log(tmp_path)
    return dialect_of(log)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ((("a", ON), ("a", WRITE), ("b", READ), ("b", ON), ("b", WRITE)), True),
        ((("a", ON), ("a", WRITE), ("b", WRITE)), False),
        ((("a", ON), ("a", READ), ("b", WRITE)), False),
        ((("a", ON), ("a", WRITE), ("a", OFF), ("a", WRITE)), False),
        ((("a", WRITE), ("a", ON), ("a", WRITE)), False),
        ((("a", f"{READ}|{ON}"), ("a", WRITE)), False),
        ((("a", ON), ("b", READ)), True),
        ((), False),
    ],
)
def test_foreign_keys_are_on_where_all_writers_set_them(
    tmp_path: Path, statements: tuple[tuple[str, str], ...], expected: bool
) -> None:
    assert dialect(tmp_path, *statements, foreign_keys=False).foreign_keys is expected


def test_like_keeps_case_where_all_that_match_set_it(tmp_path: Path) -> None:
    assert dialect(tmp_path, ("a", LIKE), ("a", MATCH), ("b", READ)).like_keeps_case
    assert not dialect(tmp_path, ("a", LIKE), ("a", MATCH), ("b", MATCH)).like_keeps_case


def test_many_blanks_are_read_in_linear_time() -> None:
    begun = process_time()
    assert misplaced(" \n" * 400 + "DELETE FROM t") is None
    assert misplaced(" \n" * 400 + "BEGIN") is not None
    assert process_time() - begun < 0.5
