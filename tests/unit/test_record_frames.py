"""Segments as a recorder leaves them: what a killed process had finished is kept, and damage elsewhere is refused."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from troubadour.cli.audit import audit
from troubadour.cli.log import log
from troubadour.formats import read_log
from troubadour.record.core.frames import frame
from troubadour.record.core.journal import Journal
from troubadour.record.core.segments import Captured, create
from troubadour.record.core.tape import NOTHING, Tape, fields
from troubadour.record.core.unroll import DAMAGED, NEEDED

HEADER = {"dialect": "postgres", "isolation": "snapshot", "schema": ["CREATE TABLE t (a INT PRIMARY KEY)"]}


def recorded(path: Path) -> Journal:
    """One that wrote and committed, one that reads and is rolled back, one whose COMMIT is not answered."""
    assert create(path, Captured(HEADER))
    journal = Journal(path, "")
    tape = Tape(journal, session="a")
    for number, status in enumerate(("committed", "aborted", "sent")):
        transcript = tape.begin(1000)
        transcript.add(fields({"sql": f"INSERT INTO t VALUES ({number})"}), 2000, 3000, NOTHING)
        if status != "aborted":
            tape.intend(transcript, 4000)
        if status != "sent":
            tape.end(status, 4000, 5000)
    return journal


def killed(path: Path) -> bytes:
    """What the process had written when it died."""
    journal = recorded(path)
    os.close(journal._file.close())
    journal.closed = True
    return path.read_bytes()


def statuses(path: Path) -> list[str]:
    return [transaction.status for transaction in read_log([path]).transactions]


def test_closing_makes_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    recorded(path).close()
    assert sorted(statuses(path)) == ["aborted", "committed", "unknown"]
    assert path.read_text().endswith('{"kind":"end","transactions":2}\n')
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("torn", [1, 8, 9, 40])
def test_what_a_killed_process_left(tmp_path: Path, torn: int) -> None:
    path = tmp_path / "log.jsonl"
    whole = killed(path)
    last = frame([(3, "a", 4, 6000, None, None, None, [], "aborted", None, None, None, None, None)], 5)
    path.write_bytes(whole + last[:torn] + b"\0" * 5000)
    refused = CliRunner().invoke(audit, [str(path)])
    assert (refused.exit_code, "troubadour log repair" in refused.stderr) == (2, True)
    told = CliRunner().invoke(log, ["repair", "--dry-run", str(path)]).stdout
    assert f"would be mended: 2 transactions, 1 more of unknown outcome, {5000 + torn:,} bytes taken off" in told
    assert CliRunner().invoke(log, ["repair", str(path)]).exit_code == 0
    assert sorted(statuses(path)) == ["aborted", "committed", "unknown"]
    assert {one.name for one in tmp_path.iterdir()} == {"log.jsonl", "log.jsonl.damaged"}


def test_damage_in_the_middle_leaves_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = bytearray(killed(path))
    place = whole.index(b"\x01", whole.index(b"\n")) + 30
    whole[place] ^= 0xFF
    path.write_bytes(whole)
    mended = CliRunner().invoke(log, ["repair", str(path)])
    assert mended.exit_code == 0, mended.stderr
    assert "gaps" in mended.stdout
    assert {gap.reason for gap in read_log([path]).header.gaps} == {DAMAGED, NEEDED}
    judged = CliRunner().invoke(audit, [str(path)])
    assert (judged.exit_code, "the log has a gap" in judged.stdout) == (3, True)
    assert (tmp_path / "log.jsonl.damaged").read_bytes() == whole


def test_a_packed_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    journal = recorded(path)
    journal.path = tmp_path / "log.jsonl.gz"
    journal.close()
    assert list(tmp_path.iterdir()) == [tmp_path / "log.jsonl.gz"]
    assert gzip.decompress((tmp_path / "log.jsonl.gz").read_bytes()).endswith(b"\n")
    assert len(statuses(tmp_path / "log.jsonl.gz")) == 3
