"""What the gate writes for pipelines, held to schemas of others and read by parsers of others; and the workflow of
docs/ci.md, step by step."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("xmlschema", reason="tools of others are not installed")
pytest.importorskip("sarif_pydantic", reason="tools of others are not installed")

import jsonschema
import xmlschema
from junitparser import JUnitXml
from sarif_pydantic import Sarif

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "data" / "schemas"
LOGS = ROOT / "logs" / "anomalies"
POLICY = """
[gate]
isolation = "serializable"
[[gate.allow]]
fingerprint = "{fingerprint}"
expires = 2099-01-31
reason = "ticket 7: <&> ünicode ]]>"
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a gate has run over logs of every outcome."""
    folder = tmp_path_factory.mktemp("gate")
    logs = folder / "logs"
    logs.mkdir()
    for name in ("write-skew", "lost-update", "stale-read"):
        shutil.copy(LOGS / f"{name}.jsonl", logs)
    header = (LOGS / "write-skew.jsonl").read_text(encoding="utf-8").splitlines()[0]
    odd = {"id": "<&\u0001\"'>", "status": "committed", "statements": [{"sql": "SELECT sin(k) FROM kv -- \u202e ]]>"}]}
    (logs / "unmodelled.jsonl").write_text(f"{header}\n{json.dumps(odd)}\n", encoding="utf-8")
    (logs / "broken.jsonl").write_text('{"format": "troubadour-log", "version": 1}\n{"id"', encoding="utf-8")
    (folder / "troubadour.toml").write_text(POLICY.format(fingerprint="0" * 12), encoding="utf-8")
    first = run_gate(folder, "--format", "json", logs="logs/write-skew.jsonl")
    (skew,) = json.loads(first.stdout)["logs"]
    (folder / "troubadour.toml").write_text(POLICY.format(fingerprint=skew["fingerprint"]), encoding="utf-8")
    ended = run_gate(
        folder, "--junit", "junit.xml", "--sarif", "found.sarif", "--markdown", "summary.md", "--artifacts", "kept"
    )
    assert ended.returncode == 1, ended.stderr
    return folder


def run_gate(folder: Path, *options: str, logs: str = "logs") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "gate", logs, *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_junit_is_valid_by_its_schema(gate: Path) -> None:
    schema = xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")
    schema.validate(str(gate / "junit.xml"))
    wrong = (gate / "junit.xml").read_text(encoding="utf-8").replace("<testcase ", "<testcase colour='red' ", 1)
    assert not schema.is_valid(wrong)


def test_a_parser_of_others_reads_the_junit(gate: Path) -> None:
    found = JUnitXml.fromfile(str(gate / "junit.xml"))
    (suite,) = list(found)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 1, 2, 1)
    results = {Path(case.name).stem: [type(one).__name__ for one in case.result] for case in suite}
    assert results == {
        "write-skew": ["Skipped"],
        "lost-update": ["Failure"],
        "stale-read": [],
        "unmodelled": ["Error"],
        "broken": ["Error"],
    }
    (lost,) = [case for case in suite if case.name.endswith("lost-update.jsonl")]
    assert lost.result[0].message.startswith("lost update: ")
    assert "1. t2 comes before t1" in lost.result[0].text


def test_sarif_is_valid_by_its_schema(gate: Path) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    document = json.loads((gate / "found.sarif").read_text(encoding="utf-8"))
    validator = jsonschema.Draft4Validator(schema)
    assert list(validator.iter_errors(document)) == []
    document["runs"][0]["results"][0]["level"] = "dreadful"
    assert list(validator.iter_errors(document)) != []


def test_a_parser_of_others_reads_the_sarif(gate: Path) -> None:
    found = Sarif.model_validate_json((gate / "found.sarif").read_text(encoding="utf-8"))
    (run,) = found.runs
    assert run.tool.driver.name == "troubadour"
    results = {Path(one.locations[0].physical_location.artifact_location.uri).stem: one for one in run.results}
    assert {name: one.rule_id for name, one in results.items()} == {
        "write-skew": "write-skew",
        "lost-update": "lost-update",
        "unmodelled": "undecided",
        "broken": "unusable",
    }
    assert results["write-skew"].suppressions[0]["justification"].startswith("ticket 7: <&> ünicode ]]>")
    assert results["lost-update"].locations[0].physical_location.region.start_line == 3


def test_artifacts_are_kept(gate: Path) -> None:
    kept = {str(file.relative_to(gate / "kept")) for file in (gate / "kept").rglob("*") if file.is_file()}
    assert {
        f"logs-lost-update.jsonl/{name}" for name in ("verdict.json", "report.html", "reproduction/finding.spec")
    } <= kept
    assert "logs-stale-read.jsonl/witness.json" in kept
    assert "| `logs/lost-update.jsonl` | serializable | ❌ violation |" in (gate / "summary.md").read_text(
        encoding="utf-8"
    )


def steps() -> list[str]:
    """The commands of the workflow in docs/ci.md."""
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.DOTALL)
    return re.findall(r"- run: (.*)", text)


@pytest.mark.parametrize(("names", "status"), [(["lost-update"], 1), (["write-skew"], 0)])
def test_the_workflow_runs_by_its_steps(tmp_path: Path, names: list[str], status: int) -> None:
    """As a runner runs them: one shell each, until one fails. The step that records is the user's; the first one
    installs the wheel, which `make release` tries."""
    recording = tmp_path / "run-the-tests-that-record-logs.sh"
    copies = " ".join(str(LOGS / f"{name}.jsonl") for name in names)
    recording.write_text(f"#!/bin/sh\nmkdir -p logs && cp {copies} logs/\n", encoding="utf-8")
    recording.chmod(0o755)
    (tmp_path / "troubadour.toml").write_text('[gate]\nisolation = "snapshot"\n', encoding="utf-8")
    environment: dict[str, Any] = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    installing, *commands = steps()
    assert (installing, len(commands)) == ("pip install ./ci/troubadour-*.whl", 2)
    for command in commands:
        ended = subprocess.run(
            ["bash", "-e", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            break
    assert (command, ended.returncode) == (commands[-1], status), ended.stdout + ended.stderr
    assert ("::error file=" in ended.stdout) is (status == 1)
    # what the steps after it upload
    assert (tmp_path / "troubadour.sarif").stat().st_size
    assert list((tmp_path / "artifacts").rglob("report.html"))
    assert "## Troubadour" in (tmp_path / "summary.md").read_text(encoding="utf-8")
