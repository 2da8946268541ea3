"""A log that is removed, renamed or cut while it is recorded: what is missing is said with a time and a number, in the
log or, where the process was killed as well, in a segment beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log as log_command
from troubadour.formats import read_log
from troubadour.record import recorder
from troubadour.record.core.appending import LOOKED
from troubadour.record.core.journal import _BY_PATH, _OPEN, Journal
from troubadour.record.errors import RecordError

BEFORE, AFTER = 20, 7


def removed(log: Path) -> None:
    log.unlink()


def renamed(log: Path) -> None:
    log.rename(log.with_name("old.jsonl"))


def rotated(log: Path) -> None:
    renamed(log)
    log.touch()


def cut(log: Path) -> None:
    os.truncate(log, 0)


def cut_in_the_rows(log: Path) -> None:
    os.truncate(log, log.read_bytes().index(b"\n") + 20)


def cut_in_the_middle(log: Path) -> None:
    os.truncate(log, len(log.read_bytes().rstrip(b"\0")) // 2)


WAYS = [removed, renamed, rotated, cut, cut_in_the_rows, cut_in_the_middle]
Connect = Callable[[str], tuple[sqlite3.Connection, Path, Path]]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connect:
    monkeypatch.setattr("troubadour.record.core.appending.LOOKED", 0)
    assert LOOKED

    def connected(unwritable: str) -> tuple[sqlite3.Connection, Path, Path]:
        database, log = tmp_path / "shop.db", tmp_path / "log.jsonl"
        with sqlite3.connect(database) as setup:
            setup.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
            setup.executemany("INSERT INTO t VALUES (?, 'x')", [(-n,) for n in range(1, 40)])
        setup.close()
        return recorder.wrap(sqlite3.connect(database), log=log, unwritable=unwritable), database, log

    return connected


def acknowledged(connection: sqlite3.Connection, numbers: range) -> set[int]:
    """The numbers whose commit was answered."""
    found = set()
    for number in numbers:
        try:
            connection.execute("INSERT INTO t VALUES (?, 'y')", (number,))
            connection.commit()
        except RecordError:
            continue
        found.add(number)
    return found


def known(logs: list[Path]) -> tuple[set[int], int, list[int | None]]:
    """What the log has of these, how many transactions its gaps count, and since when."""
    read = read_log(logs)
    there = {
        statement.params[0]
        for transaction in read.transactions
        if transaction.status != "aborted"
        for statement in transaction.statements
        if statement.params and isinstance(statement.params, tuple)
    }
    gaps = read.header.gaps
    return there, sum(gap.transactions or 0 for gap in gaps), [gap.since for gap in gaps]


@pytest.mark.parametrize("unwritable", ["stop", "go-on"])
@pytest.mark.parametrize("way", WAYS)
def test_a_log_that_is_closed(connect: Connect, way: Callable[[Path], None], unwritable: str) -> None:
    connection, _, log = connect(unwritable)
    acks = acknowledged(connection, range(BEFORE))
    way(log)
    acks |= acknowledged(connection, range(BEFORE, BEFORE + AFTER))
    connection.close()
    try:
        recorder.close()
        clean = True
    except RecordError as error:
        clean, text = False, str(error)
    there, missing, since = known([log])
    assert there <= acks
    assert missing == len(acks - there)
    assert (acks == there) == (unwritable == "stop" and not way.__name__.startswith("cut"))
    assert clean != way.__name__.startswith("cut"), text
    assert not list(log.parent.glob("*lost-*"))
    judged = CliRunner().invoke(audit, [str(log)])
    assert judged.exit_code in ((0, 3) if missing else (0,))
    assert ("has a gap" in " ".join(judged.stdout.split())) == bool(missing)
    if missing:
        earliest = min(number or 0 for number in since)
        assert (
            all(
                transaction.returned <= earliest
                for transaction in read_log([log]).transactions
                if transaction.status == "committed" and transaction.returned is not None
            )
            or way is cut_in_the_middle
        )


@pytest.mark.parametrize("unwritable", ["stop", "go-on"])
@pytest.mark.parametrize("way", WAYS)
def test_a_process_that_is_killed_afterwards(connect: Connect, way: Callable[[Path], None], unwritable: str) -> None:
    connection, _, log = connect(unwritable)
    acks = acknowledged(connection, range(BEFORE))
    way(log)
    acks |= acknowledged(connection, range(BEFORE, BEFORE + AFTER))
    killed(connection.recording.tape._journal)
    left = [path for path in sorted(log.parent.glob("*.jsonl")) if path.stat().st_size]
    mended = [path for path in left if CliRunner().invoke(log_command, ["repair", str(path)]).exit_code == 0]
    judged = CliRunner().invoke(audit, list(map(str, mended)))
    there, missing, _ = known(mended)
    assert missing >= len(acks - there)
    assert judged.exit_code in (0, 3), judged.stderr
    assert "has a gap" in " ".join(judged.stdout.split()) or acks == there, judged.stdout
    if way in (removed, renamed, rotated, cut):
        assert missing == len(acks - there)


def killed(journal: Journal) -> None:
    """What the death of the process leaves of a journal."""
    journal._file.abandon()
    journal.closed = True
    journal._at_exit.cancel()
    _OPEN.discard(journal)
    _BY_PATH.pop(journal.path)


@pytest.mark.parametrize("lose", WAYS)
def test_a_further_connection_needs_no_file(lose: Callable[[Path], None], connect: Connect) -> None:
    connection, database, log = connect("go-on")
    lose(log)
    further = recorder.wrap(sqlite3.connect(database), log=log, unwritable="go-on")
    assert further.execute("SELECT 1").fetchall() == [(1,)]
    further.close()
    connection.close()
    with suppress(RecordError):  # that the log has a gap
        recorder.close()
