"""What a real SQLite did is never a violation, and what it did not do is seldom overlooked: random histories with
foreign keys switched on and off and definitions that change, audited as logs. More of them:
``python -m tests.differential.sqlite_campaign --first 0 --logs 2000``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.sqlite_campaign import campaign


@pytest.mark.parametrize("count", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_what_sqlite_did_is_no_violation(tmp_path: Path, count: int) -> None:
    seen = campaign(range(count), 20, tmp_path)
    assert not seen["wrong"], seen
    assert seen["correct"] > count // 5, seen
    assert seen["spoiled"] > count // 2 and seen["told"] * 2 > seen["spoiled"], seen


@pytest.mark.slow
def test_what_sqlite_did_is_no_violation_at_length(tmp_path: Path) -> None:
    assert not campaign(range(1000, 1600), 35, tmp_path)["wrong"]
