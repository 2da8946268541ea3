"""The paper's evaluation: its page is that of the figures that are kept, and its random logs are correct."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.paper.__main__ import KEPT, PAGE
from benchmarks.paper.charts import Field, drawn
from benchmarks.paper.page import write_page
from benchmarks.paper.questions import ANOMALIES, LOGS, history
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status


def test_the_page_is_that_of_the_figures(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    write_page(tmp_path / "evaluation.md", json.loads(KEPT.read_text(encoding="utf-8")))
    assert (tmp_path / "evaluation.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    for picture in (tmp_path / "pictures").iterdir():
        assert picture.read_text() == (PAGE.parent / "pictures" / picture.name).read_text()


def test_what_is_slower_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    row = next(one for one in kept["rq3"]["rows"] if one["value"] == "TPC-C" and one["level"] == "snapshot")
    row["seconds"] = 10.0 * row["explained"]
    undecided = next(one for one in kept["rq3"]["rows"] if one["part"] == "read-only")
    undecided["verdict"] = "undecided"
    write_page(tmp_path / "page.md", kept)
    (found,) = [part for part in (tmp_path / "page.md").read_text().split("\n\n") if part.startswith("**Slower")]
    said = " ".join(found.split())
    assert "TPC-C at `snapshot`: 0.1 transactions a second, the paper 1.3" in said
    assert "undecided after" in said


@pytest.mark.parametrize("seed", range(3))
def test_random_logs_are_correct_at_read_committed(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{line}\n" for line in history(seed)), encoding="utf-8")
    log = read_log([path])
    assert audit(log, library_of(log), Options("read-committed")).status is Status.CORRECT


def test_every_anomaly_has_a_log() -> None:
    assert all((LOGS / f"{case}.jsonl").exists() for case, _ in ANOMALIES.values())


def test_a_chart_has_its_lines_where_something_is_known() -> None:
    svg = drawn([Field("one", ["a", "b", "c"], {"x": [1.0, None, 100.0], "y": [10.0, 10.0, 10.0]})], " s")
    assert svg.count("<circle") == 5
    assert svg.startswith("<svg") and svg.endswith("</svg>\n")
