"""Segments as a recorder leaves them: what a killed process had finished is kept, and damage elsewhere is refused."""

from __future__ import annotations

import gzip
import io
import marshal
import os
import struct
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log
from troubadour.formats import read_log
from troubadour.record.core.frames import DEPTH, Frames, _decoded, frame
from troubadour.record.core.journal import Journal
from troubadour.record.core.segments import Captured, create
from troubadour.record.core.tape import NOTHING, UNKNOWN, Tape, fields
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


def value(random: Random, depth: int) -> Any:
    """Anything that a record may have."""
    kind = random.randrange(10 if depth else 7)
    if kind == 7:
        return {random.randrange(9): value(random, depth - 1) for _ in range(random.randrange(3))}
    if kind > 7:
        items = [value(random, depth - 1) for _ in range(random.randrange(4))]
        return items if kind == 8 else tuple(items)
    text = "".join(random.choices("aé\ud800\U0001f600", k=random.randrange(4)))
    number = random.randrange(-(2**70), 2**70) >> random.randrange(70)
    return [None, True, False, number, random.random(), random.randbytes(random.randrange(5)), text][kind]


def test_frames_are_read_as_they_were_made() -> None:
    random = Random(1)
    for _ in range(2000):
        made = [(value(random, 4), 1)]
        data = frame(made, 1)
        assert list(Frames(io.BytesIO(data))) == made
        assert list(Frames(io.BytesIO(data), own=True)) == made


def test_no_size_is_believed() -> None:
    for kind in b"sul([":
        with pytest.raises((ValueError, struct.error)):
            _decoded(bytes([kind]) + struct.pack("<i", 2**31 - 1), 0, DEPTH)
    with pytest.raises(ValueError, match="deep"):
        _decoded(b"[\x01\0\0\0" * 1000, 0, DEPTH)
    # code, references and what else marshal has are none of a frame's
    for strange in (compile("1", "", "eval"), {1}, 1j, frozenset()):
        with pytest.raises((ValueError, TypeError)):
            _decoded(marshal.dumps(strange, 2), 0, DEPTH)


def framed(records: bytes) -> bytes:
    """A frame whose checksum is right, whatever it holds."""
    return struct.pack("<BIII", 1, len(records), zlib.crc32(records), 1) + records


@pytest.mark.parametrize("seed", range(4))
def test_frames_that_others_have_made(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    path = tmp_path / "log.jsonl"
    whole = killed(path)
    place = whole.index(b"\x01", whole.index(b"\n"))
    length = struct.unpack_from("<I", whole, place + 1)[0]
    data = whole[place + 13 : place + 13 + length]
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(random.randint(1, 4)):
            changed[random.randrange(len(changed))] = random.choice(b"0NTFigsu([{l\x00\xff\x01")
        path.write_bytes(whole[:place] + framed(bytes(changed)))
        mended = CliRunner().invoke(log, ["repair", str(path), "--out", str(tmp_path / "out.jsonl")])
        assert mended.exit_code in (0, 2), mended.output
        assert mended.exit_code == 0 or mended.stderr.count("\n") == 1


def test_a_record_that_marshal_reads_and_no_recorder_wrote(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "data" / "strangers-3" / "repair-bad-marshal-6.jsonl"
    out = tmp_path / "out.jsonl"
    mended = CliRunner().invoke(log, ["repair", str(source), "--out", str(out)])
    assert mended.exit_code == 0
    assert [gap.reason for gap in read_log([out]).header.gaps]
    again = CliRunner().invoke(log, ["repair", str(source), str(source), "--out", str(out)])
    assert (again.exit_code, again.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(("sql", "told"), [("INSERT INTO t VALUES (9)", False), ("/* x */ CALL p()", True)])
def test_a_statement_alone_happened_as_a_whole_or_not_at_all(tmp_path: Path, sql: str, told: bool) -> None:
    path = tmp_path / "log.jsonl"
    assert create(path, Captured(HEADER))
    journal = Journal(path, "")
    tape = Tape(journal, session="a")
    transcript = tape.begin(1000)
    transcript.add(fields({"sql": sql}), 1000, None, UNKNOWN)
    tape.intend(transcript, None)
    os.close(journal._file.close())
    journal.closed = True
    assert CliRunner().invoke(log, ["repair", str(path)]).exit_code == 0
    (transaction,) = read_log([path]).transactions
    assert (transaction.status, '"outcome":"unknown"' in path.read_text()) == ("unknown", told)
