"""Recorded logs of tables that change (`logs/regress/*-changes-*`): a wrong answer put into one is found.

That they are correct as they are is told by `test_cases`. Does not know which definition a statement met.
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

REGRESS = Path(__file__).parents[2] / "logs" / "regress"
LOGS = sorted(REGRESS.glob("*-changes-*.jsonl"))


def shown(lines: list[dict[str, Any]]) -> list[list[Any]]:
    """The rows that a log shows."""
    statements = [statement for line in lines for statement in line.get("statements", ())]
    return [row for statement in statements for row in statement.get("result", {}).get("rows", ())]


def otherwise(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1000
    return "987.65" if value.replace(".", "").isdigit() else f"{value}q"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_wrong_answer_is_found(path: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    row = shown(lines)[0]
    place = max(place for place, value in enumerate(row) if value is not None)
    row[place] = otherwise(row[place])
    wrong = tmp_path / path.name
    wrong.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log, library = opened(read_log([wrong]), None)
    assert audit(log, library, Options()).status is Status.VIOLATION
