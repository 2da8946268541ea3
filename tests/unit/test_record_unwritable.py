"""A log that cannot be written: nothing commits that it would lack, or it has a gap, and the verdict knows."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.formats import read_log
from troubadour.record import recorder
from troubadour.record.core.appending import AppendedFile
from troubadour.record.errors import RecordError

UPDATE = "UPDATE t SET b = b + 1 WHERE a = 1"


def full(self: AppendedFile, wanted: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("unwritable", ["stop", "go-on"])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unwritable: str) -> None:
    path, log = tmp_path / "shop.db", tmp_path / "log.jsonl"
    with sqlite3.connect(path) as setup:
        setup.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
        setup.execute("INSERT INTO t VALUES (1, 0)")
    connection = recorder.wrap(sqlite3.connect(path), log=log, unwritable=unwritable)
    connection.execute(UPDATE)
    connection.commit()
    with monkeypatch.context() as now:
        now.setattr(AppendedFile, "_grow", full)
        filled = connection.recording.tape._journal._file
        used, filled._size = (
            filled._size,
            filled._end - 4096,
        )  # the window is full but for what is reserved
        if unwritable == "stop":
            connection.execute(UPDATE)
            with pytest.raises(RecordError, match=r"log\.jsonl.*No space left"):
                connection.commit()
            assert not connection.in_transaction
        else:
            connection.execute(UPDATE)
            connection.commit()
    assert used < filled._size
    connection.execute(UPDATE)
    connection.commit()
    assert connection.execute("SELECT b FROM t").fetchone() == (2 if unwritable == "stop" else 3,)
    connection.close()
    recorder.close()
    gaps = read_log([log]).header.gaps
    judged = CliRunner().invoke(audit, [str(log)])
    if unwritable == "stop":
        assert not [gap for gap in gaps if "No space" in gap.reason]
    else:
        assert [(gap.transactions, "No space" in gap.reason) for gap in gaps if gap.until is not None] == [(1, True)]
        assert judged.exit_code == 3
        assert "the log has a gap" in judged.stdout


def test_a_file_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troubadour.record.core.appending.LOOKED", 0)
    path, log = tmp_path / "shop.db", tmp_path / "log.jsonl"
    with sqlite3.connect(path) as setup:
        setup.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
    connection = recorder.wrap(sqlite3.connect(path), log=log)
    connection.execute(UPDATE)
    connection.commit()
    log.unlink()
    connection.execute(UPDATE)
    with pytest.raises(RecordError, match="removed"):
        connection.commit()
    connection.close()
    recorder.close()
    assert [transaction.status for transaction in read_log([log]).transactions].count("committed") == 1
