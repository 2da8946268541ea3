"""What an audit does with a witness that replay refuses: it searches on without that reading, and accuses nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import read_case
from troubadour.audit import driver, searched
from troubadour.audit.again import stronger
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Verdict
from troubadour.model.witness import Witness
from troubadour.problem.budget import Budget
from troubadour.problem.problem import Heuristics
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal

TWO_WAYS = """
# level: snapshot  expect: correct
schema: kv.sql
init kv ('x', 0)
t1  UPDATE kv SET v = 1 WHERE k = 'x'
t2  UPDATE kv SET v = 0 WHERE k = 'x'
t3  SELECT v FROM kv WHERE k = 'x'  -> (0)
"""

SEARCHED = Options("snapshot", heuristics=Heuristics(straight=False))


def _state(witness: Witness, name: str) -> int:
    return witness.views[witness.order.index(name)].state


def _audited(monkeypatch: pytest.MonkeyPatch, folder: Path, states: set[int]) -> tuple[Verdict, list[Witness]]:
    """With a replay that refuses t3 where it reads one of these states; and the witnesses that it was shown."""
    shown: list[Witness] = []

    def refusing(log: Any, witness: Witness, *arguments: Any, **options: Any) -> Refusal | None:
        shown.append(witness)
        if _state(witness, "t3") in states:
            return Refusal("t3", 0, "observation", "for a test")
        return check(log, witness, *arguments, **options)

    monkeypatch.setattr(searched, "check", refusing)
    monkeypatch.setattr(stronger, "check", refusing)
    log = read_case(TWO_WAYS, "two ways").log(folder)
    return audit(log, library_of(log), SEARCHED), shown


def test_the_search_goes_on_to_another_reading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    verdict, shown = _audited(monkeypatch, tmp_path, {2})
    assert [_state(witness, "t3") for witness in shown] == [2, 0]
    assert verdict.status.value == "correct"
    assert verdict.witness is shown[-1]


def test_no_other_reading_is_no_violation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    verdict, shown = _audited(monkeypatch, tmp_path, {0, 1, 2, 3})
    assert len(shown) > 2
    assert verdict.status.value == "undecided"
    assert verdict.reason is not None
    assert verdict.reason.startswith("the witness found was refused by replay at transaction 't3'")


def test_what_is_refused_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = replace(SEARCHED, budget=Budget())
    monkeypatch.setattr(
        searched,
        "check",
        lambda log, witness, *rest, **more: (
            Refusal("t3", 0, "observation", "for a test")
            if _state(witness, "t3") == 2
            else check(log, witness, *rest, **more)
        ),
    )
    log = read_case(TWO_WAYS, "two ways").log(tmp_path)
    assert audit(log, library_of(log), options).status.value == "correct"
    (replays,) = [one for one in driver.stats_of(options.budget) if one.step == "replay"]
    assert (replays.tried, replays.helped) == (2, 1)
