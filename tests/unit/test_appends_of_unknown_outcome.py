"""What a longer list shows has happened, also where the outcome of an append in its middle is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.test_anomalies_of_elle import lines_of
from troubadour.audit.objects.decide import ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.formats import read_either
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status

LEVELS = ("read-committed", "session-read-committed", "causal", "snapshot", "serializable")


@pytest.mark.parametrize("level", LEVELS)
def test_an_append_that_no_answer_ends_with(level: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    texts = ["x+1 ~", "x+2", "x=12 x+3", "x=12", "x=123"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines_of(texts, times=False)))
    log = read_either([path])
    assert isinstance(log, ObjectLog)
    verdict = decide_objects(log, ObjectOptions(level), by_sql)
    assert verdict is not None and verdict.status is Status.CORRECT
    assert verdict.witness is not None and "t1" in verdict.witness.order
