"""Wrong results that SQLancer found: the right rows are explained, the wrong ones are a violation.

Each case is a log of one session. Where the final statement is refused by name the verdict is `undecided`, for both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.paper.bugs import bugs, log_of
from troubadour.cli import main as command

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


def cases() -> list[Any]:
    return [pytest.param(bug, id=bug["id"]) for bug in bugs()]


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
    right = verdict(tmp_path, capsys, log_of(bug, observed["right"]))
    wrong = verdict(tmp_path, capsys, log_of(bug, observed["wrong"]))
    if bug["id"] in UNDECIDED and right["verdict"] == wrong["verdict"] == "undecided":
        return
    assert right["verdict"] == "correct", right["reason"] or right["explanation"]
    assert wrong["verdict"] == "violation", wrong["reason"]
