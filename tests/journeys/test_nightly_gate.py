"""A reliability engineer's job: logs of a nightly run are held to a policy; a known finding stands until its ticket is
closed, a new one stops the pipeline. From an empty folder."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from tests.journeys.steps import troubadour

GATE = (
    "gate", "nightly/", "--baseline", "last.json", "--junit", "junit.xml", "--sarif", "found.sarif",
    "--markdown", "summary.md", "--artifacts", "kept", "--format", "json",
)  # fmt: skip


def night(folder: Path, status: int) -> dict[str, dict[str, object]]:
    """A run of the gate: each log by its name."""
    told = json.loads(troubadour(folder, status, *GATE).stdout)
    assert told["exit"] == status
    return {Path(one["log"]).stem: one for one in told["logs"]}


def record(folder: Path, name: str, *options: str) -> None:
    """One log of the nightly run."""
    (folder / "nightly").mkdir(exist_ok=True)
    command = ("record", "simulated", "--workload", "objects", "--transactions", "60", "--out", f"nightly/{name}.jsonl")
    troubadour(folder, 0, *command, *options)


def test_gate_a_nightly_run(tmp_path: Path) -> None:
    (tmp_path / "troubadour.toml").write_text('[gate]\nisolation = "snapshot"\ntimeout = 60\n', encoding="utf-8")
    record(tmp_path, "orders")
    assert night(tmp_path, 0)["orders"]["outcome"] == "passed"
    # the first bad night
    record(tmp_path, "stock", "--fault", "lost-update", "--rate", "1", "--keys", "4")
    found = night(tmp_path, 1)["stock"]
    assert (found["outcome"], found["new"]) == ("violation", True)
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (result,) = json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert (result["level"], result["baselineState"]) == ("error", "new")
    assert "[[gate.allow]]" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert (tmp_path / "kept" / "nightly-stock.jsonl" / "verdict.json").exists()
    # the next night it is known, and still red; with the entry that was offered it is green
    assert night(tmp_path, 1)["stock"]["new"] is False
    with (tmp_path / "troubadour.toml").open("a", encoding="utf-8") as policy:
        policy.write(f"\n{found['allow']}\n")
    assert night(tmp_path, 0)["stock"]["outcome"] == "allowed"
    # mended: it is gone
    record(tmp_path, "stock")
    assert night(tmp_path, 0)["stock"]["outcome"] == "passed"
    assert json.loads((tmp_path / "last.json").read_text(encoding="utf-8"))["findings"] == []
