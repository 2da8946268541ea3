"""Wrong results that SQLancer found: the right rows are explained, the wrong ones are a violation.

Each case is a log of one session. Where the final statement is refused by name the verdict is `undecided`, for both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.suites.files import DATA, entries_of
from troubadour.cli import main as command

FILE = DATA / "sqlancer" / "bugs.jsonl.gz"
DIALECTS = {"TiDB": "mysql", "DuckDB": "duckdb"}
UNDECIDED = frozenset(
    {
        "duckdb-17",  # << with a negative count or number: the current DuckDB fails
        "duckdb-34",
        "duckdb-64",
        "duckdb-45",  # BETWEEN of values of several types: DuckDB's rule for it is not modelled
        "duckdb-51",  # BETWEEN of numbers and text: refused by the current DuckDB
        "duckdb-57",  # a date compared with a text column: likewise
    }
)
"""May be refused by name; if so, for the right rows and for the wrong ones."""
FAILED = {"duckdb-16": 1}
"""The write that breaks a key, by its place among the writes."""


def cases() -> list[Any]:
    return [pytest.param(bug, id=bug["id"]) for bug in entries_of(FILE)]


def log(bug: Any, rows: Any) -> str:
    """The bug's statements as one session's transactions, the last with these rows."""
    observed = bug["observations"][0]
    texts = bug["statements"][: observed["statement_index0"]]
    schema = [text for text in texts if text.upper().startswith("CREATE")]
    lines: list[dict[str, Any]] = [
        {
            "format": "troubadour-log",
            "version": 1,
            "dialect": DIALECTS[bug["dbms"]],
            "isolation": "strict-serializable",
            "schema": schema,
        }
    ]
    writes: list[dict[str, Any]] = [{"sql": text} for text in texts if text not in schema]
    width = len(rows[0]) if rows else len((observed["right"] or observed["wrong"])[0])
    read = {"sql": observed["sql"], "result": {"columns": [f"c{i}" for i in range(width)], "rows": rows}}
    for number, statement in enumerate((*writes, read)):
        line = {"id": number, "session": "a", "status": "committed", "start": 2 * number, "statements": [statement]}
        if FAILED.get(bug["id"]) == number:
            statement["error"] = {"sqlstate": "23505", "message": "duplicate key"}
            lines.append({**line, "status": "aborted"})
        else:
            lines.append({**line, "commit": 2 * number + 1})
    return "\n".join(json.dumps(line) for line in lines) + "\n"


def verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> dict[str, Any]:
    path = tmp_path / "log.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        command.main(["audit", str(path), "--format", "json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize("bug", cases())
def test_right_rows_are_explained_and_wrong_ones_are_not(
    bug: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    observed = bug["observations"][0]
    right = verdict(tmp_path, capsys, log(bug, observed["right"]))
    wrong = verdict(tmp_path, capsys, log(bug, observed["wrong"]))
    if bug["id"] in UNDECIDED and right["verdict"] == wrong["verdict"] == "undecided":
        return
    assert right["verdict"] == "correct", right["reason"] or right["explanation"]
    assert wrong["verdict"] == "violation", wrong["reason"]
