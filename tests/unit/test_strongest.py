"""Which levels a log keeps: asked of few, told of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from troubadour.audit.strongest import levels_for, strongest, survey_levels
from troubadour.formats import read_log
from troubadour.isolation.levels import implied_by
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.report.lattice import covers, lattice_svg, lattice_text, ranks

LOGS = Path(__file__).parents[2] / "logs" / "anomalies"


@pytest.fixture
def log() -> Log:
    return read_log([LOGS / "write-skew.jsonl"])


def answer(level: str, status: Status) -> Verdict:
    return Verdict(status=status, isolation=level, total=0, committed=0, aborted=0, unknown=0, verified_prefix=0)


@pytest.mark.parametrize(
    "truth", ["read-committed", "causal", "snapshot", "session-snapshot", "strict-serializable", ""]
)
def test_few_levels_are_asked_and_all_are_told(log: Log, truth: str) -> None:
    holds = set(implied_by(truth)) if truth else set()
    asked = []

    def decide(level: str, left: float) -> Verdict:
        assert left > 0
        asked.append(level)
        return answer(level, Status.CORRECT if level in holds else Status.VIOLATION)

    found = survey_levels(log, decide)
    assert set(found) == set(levels_for(log))
    assert {name for name, one in found.items() if one.status is Status.CORRECT} == holds & set(found)
    assert len(asked) == len(set(asked)) < len(found)
    assert all(
        (one.verdict is None) == (name not in asked) and (one.by in asked or one.verdict) for name, one in found.items()
    )
    assert set(strongest(found)) == ({truth} if truth else set())


def test_what_is_undecided_settles_nothing(log: Log) -> None:
    found = survey_levels(log, lambda level, left: answer(level, Status.UNDECIDED))
    assert all(one.verdict is not None for one in found.values())
    assert strongest(found) == ()


def test_time_that_is_over_leaves_levels_undecided(log: Log) -> None:
    found = survey_levels(log, lambda level, left: answer(level, Status.CORRECT), left=lambda: 0.0)
    assert {one.status for one in found.values()} == {Status.UNDECIDED}


def test_the_picture_has_every_level_below_what_implies_it(log: Log) -> None:
    statuses = dict.fromkeys(levels_for(log), Status.CORRECT) | {"serializable": Status.VIOLATION}
    row_of = {name: number for number, row in enumerate(ranks(statuses)) for name in row}
    assert set(row_of) == set(statuses)
    assert all(row_of[stronger] < row_of[weaker] for stronger, weaker in covers(statuses))
    drawing = ElementTree.fromstring(lattice_svg(statuses))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(texts, key=str) == sorted(f"{'✗' if name == 'serializable' else '✓'} {name}" for name in statuses)
    assert len(lattice_text(statuses).splitlines()) == len(statuses)


class TestCommand:
    def test_of_write_skew_snapshots_hold_and_serial_orders_do_not(self, run: Any, tmp_path: Path) -> None:
        picture = tmp_path / "lattice.svg"
        log = str(LOGS / "write-skew.jsonl")
        ended = run("audit", "--strongest", "--format", "json", "--lattice", str(picture), log)
        assert ended.status == 0
        levels = ended.json["levels"]
        assert "session-snapshot" in ended.json["strongest"]
        assert levels["snapshot"]["verdict"] == "correct"
        assert levels["serializable"]["verdict"] == levels["strict-serializable"]["verdict"] == "violation"
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
        assert run("audit", "--strongest", "--isolation", "serializable", log).status == 1

    def test_the_picture_goes_with_it(self, run: Any, tmp_path: Path) -> None:
        assert run("audit", "--lattice", str(tmp_path / "x.svg"), str(LOGS / "write-skew.jsonl")).status == 2
